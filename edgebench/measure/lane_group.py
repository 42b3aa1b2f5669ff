"""All sessions of an experiment: a lane for every host, side by side where there are several."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from edgebench import interruption
from edgebench.contract import Device
from edgebench.measure.adaptive import Settled, TimeBudget, never
from edgebench.measure.lane import ExplainTrial, Lane, Store, nothing_to_add
from edgebench.measure.lane_trials import LaneTrials, Standing
from edgebench.measure.progress import Observer
from edgebench.measure.run_progress import RunProgress
from edgebench.measure.signals import handling
from edgebench.measure.target_revisions import Revise, unrevised
from edgebench.plan.estimate import Cost
from edgebench.plan.known_costs import KnownCosts
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.vocabulary.artifact import Artifact

SIGNAL_CHECK_S = 1.0
"""How long a signal may lie before the thread that waits for the lanes looks for one by itself."""


@dataclass(frozen=True)
class Outcome:
    """How an experiment ended."""

    interrupted: bool
    sessions: int  # measured in this run, failed ones included
    out_of_time: bool = False  # the time that it was given ended before all was measured
    elapsed_s: float = 0.0
    faults: tuple[
        Exception, ...
    ] = ()  # which ended the measuring on one host each, and are none of EdgeBench's


@dataclass
class Experiment:
    """One experiment: its plan, the artifacts that were made for it, and the way to its devices.

    `costs` are what sessions took in earlier runs, by trial key, as far as there were any.
    `open_device` is called in the thread that measures on it: one thread a host, the main one where there
    is only one host.
    """

    plan: Plan
    artifacts: Mapping[str, Artifact]  # by trial key; a trial without one is unsupported
    open_device: Callable[[PlannedTrial], Device]
    store: Store
    observer: Observer
    costs: Mapping[str, Cost]
    note_cost: Callable[[PlannedTrial, Cost], None] = lambda trial, cost: None
    explain: ExplainTrial = nothing_to_add
    settled: Settled = never
    revise: Revise = unrevised
    clock: Callable[[], float] = time.monotonic

    def run(self) -> Outcome:
        """Measure what is missing; Ctrl-C ends it after the sessions in hand are stored.

        The plan's `max_time_s` counts from here; no session starts after it.

        A target that cannot be opened is an error where it is the only one; else its trials fail, with
        the reason in their records, and the others go on.
        """
        budget = TimeBudget(self.plan.max_time_s, self.clock)
        lanes = self._lanes(budget)
        if len(lanes) > 1:
            _side_by_side(lanes)
        else:
            for lane in lanes:
                lane.run()
        return Outcome(
            interrupted=any(lane.interrupted for lane in lanes),
            sessions=sum(lane.measured for lane in lanes),
            out_of_time=any(lane.out_of_time for lane in lanes),
            elapsed_s=budget.elapsed_s,
            faults=tuple(lane.fault for lane in lanes if lane.fault is not None),
        )

    def _lanes(self, budget: TimeBudget) -> list[Lane]:
        trials = {trial.key: trial for trial in self.plan.trials if trial.key in self.artifacts}
        standing = {key: self._from_store(key) for key in trials}
        due = [trial for key, trial in trials.items() if standing[key].due(self.plan.sessions)]
        hosts = list(dict.fromkeys(trial.target.host for trial in due))
        lock = threading.RLock()
        if len(hosts) > 1 and None in hosts:
            self.observer.note(
                "this machine is measured while it drives other boards: for its best figures measure it alone"
            )
        artifacts = {key: self.artifacts[key] for key in trials}
        progress = RunProgress(
            self.observer,
            [host or "" for host in hosts],
            sum(self.plan.sessions - standing[trial.key].ok for trial in due),
            at_most=self.plan.adaptive,
            lock=lock,
            beside_others=len(hosts) > 1 and None in hosts,
        )
        by_host = {
            host: {key: trial for key, trial in trials.items() if trial.target.host == host} for host in hosts
        }
        return [
            Lane(
                host=host or "",
                plan=self.plan,
                trials=LaneTrials(
                    plan=self.plan,
                    by_key=by_host[host],
                    artifacts=artifacts,
                    standing=standing,
                    standing_of=self._from_store,
                    costs=KnownCosts(
                        by_host[host], {key: self.costs[key] for key in by_host[host] if key in self.costs}
                    ),
                    settled=self.settled,
                ),
                open_device=self.open_device,
                store=self.store,
                progress=progress,
                note_cost=self.note_cost,
                contained=any(
                    trial.target.connection != self.plan.trials[0].target.connection
                    for trial in self.plan.trials
                ),
                lock=lock,
                explain=self.explain,
                revise=self.revise,
                budget=budget,
            )
            for host in hosts
        ]

    def _from_store(self, key: str) -> Standing:
        records = [record for record in self.store.finished(key) if record.status == "ok"]
        plan = self.plan
        return Standing(
            ok=len(records),
            settled=plan.adaptive and plan.min_sessions <= len(records) < plan.sessions and self.settled(key),
            has_images=any("images" in record.predicted for record in records),
        )


def _side_by_side(lanes: Sequence[Lane]) -> None:
    """Run every lane in a thread of its own; the first error of one interrupts the others and is raised."""
    errors: list[BaseException] = []
    ended = [threading.Event() for _ in lanes]

    def work(number: int) -> None:
        try:
            with interruption.heard_here(interrupts[number]):
                lanes[number].run()
        except BaseException as error:
            errors.append(error)
            interruption.pass_on_to_all(
                [lane_interrupts for at, lane_interrupts in enumerate(interrupts) if at != number]
            )
        finally:
            ended[number].set()

    with ExitStack() as held:
        interrupts = [held.enter_context(interruption.Interrupts()) for _ in lanes]
        threads = [
            threading.Thread(target=work, args=(number,), name=f"lane {number}")
            for number in range(len(lanes))
        ]
        with _passing_on(interrupts):
            for thread in threads:
                thread.start()
            # An event, not join(): Python 3.11 takes a thread for ended when a signal interrupts its join.
            for event in ended:
                # A signal that comes just before the kernel blocks this thread wakes it no more: look again.
                while not event.wait(SIGNAL_CHECK_S):
                    pass
            for thread in threads:
                thread.join()
    if errors:
        raise errors[0]


@contextmanager
def _passing_on(interrupts: Sequence[interruption.Interrupts]) -> Iterator[None]:
    """Ctrl-C and its kin reach every one of these threads instead of the main thread."""
    with handling(lambda number, frame: interruption.pass_on_to_all(interrupts)):
        yield
