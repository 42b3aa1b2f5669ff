"""Faults of the board and its firmware: resets, wrong answers, none, and firmware of another kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .clock import Clock
from .engine import BoardReset, Engine
from .faults import Fault, Stalled, is_command
from .firmware import READY, Answer, Cause
from .identity import Identity

_RESULTS = "m-results-["


class _ResetInInfer(Fault):
    name = "reset-in-infer"
    description = "the board resets amid every Nth infer"
    default = 3

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        is_due = is_command(answer, "infer") and self.is_due()
        for line in answer.lines:
            yield line
            if is_due and line.startswith("m-infer-start-"):
                raise BoardReset("watchdog")


class _ResetInLoad(Fault):
    name = "reset-in-load"
    description = "the board resets at the end of every Nth load"
    default = 3

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        for line in answer.lines:
            if line == "m-load-done" and self.is_due():
                raise BoardReset("watchdog")
            yield line


class _Abort(Fault):
    name = "abort"
    description = "what infers aborts at every Nth infer, which resets the board"
    default = 3

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        if is_command(answer, "infer") and self.is_due():
            yield "m-warmup-start-0"
            engine.abort()
        yield from answer.lines


class _Stall(Fault):
    name = "stall"
    description = "from the Nth command on nothing is answered"
    default = 1

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        if answer.cause is Cause.COMMAND and self.is_due():
            raise Stalled
        yield from answer.lines


class _StallInInfer(Fault):
    name = "stall-in-infer"
    description = "the Nth infer does not end, and nothing is answered from then on"
    default = 1

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        is_due = is_command(answer, "infer") and self.is_due()
        for line in answer.lines:
            yield line
            if is_due:
                raise Stalled


class _LoadError(Fault):
    name = "load-error"
    description = "every Nth load is answered by an error"
    default = 1

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        is_load = answer.cause is Cause.COMMAND and answer.command.split()[:2] in (
            ["db", "load"],
            ["db", "bin"],
        )
        return iter(("e-[Out of memory]", READY)) if is_load and self.is_due() else answer.lines


class _WrongCount(Fault):
    name = "wrong-count"
    description = "an infer names N inferences more than were asked for"
    default = 1

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        start = "m-infer-start-"
        for line in answer.lines:
            count = line.removeprefix(start)
            yield f"{start}{int(count) + self.n}" if line.startswith(start) else line


class _ChangedResults(Fault):
    def _results(self, answer: Answer, change: Callable[[list[str]], str]) -> Iterator[str]:
        """With the results that the change makes of the scores."""
        for line in answer.lines:
            is_results = line.startswith(_RESULTS)
            yield _RESULTS + change(line[len(_RESULTS) : -1].split(",")) if is_results else line


class _TruncatedResults(_ChangedResults):
    name = "truncated-results"
    description = "results break off after N scores"
    default = 2

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        return self._results(answer, lambda scores: ",".join(scores[: self.n]))


class _NanResults(_ChangedResults):
    name = "nan-results"
    description = "all results are nan"

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        return self._results(answer, lambda scores: ",".join("nan" for _ in scores) + "]")


class _OtherResults(_ChangedResults):
    name = "other-results"
    description = "results are those of another class: moved on by N"
    default = 1

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        return self._results(
            answer,
            lambda scores: ",".join(scores[-self.n % len(scores) :] + scores[: -self.n % len(scores)]) + "]",
        )


class _Wrap(Fault):
    name = "wrap"
    description = "the clock passes 2^32 us within every infer: it moves on before it"

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        for line in answer.lines:
            if line.startswith("m-infer-start-"):
                clock.wrap_in_next_window()
            yield line


class _OtherModel(Fault):
    name = "other-model"
    description = "the firmware names another file of the same variant"

    def identity(self, identity: Identity) -> Identity:
        variant, _, _ = identity.model_id.partition(":")
        return replace(identity, model_id=f"{variant}:{'0' * 64}")


class _NoBinaryLoad(Fault):
    name = "no-binary-load"
    description = "help offers no binary load, and there is none"

    def identity(self, identity: Identity) -> Identity:
        return replace(identity, has_binary_load=False)


class _Foreign(Fault):
    name = "foreign"
    description = "firmware of another vendor: a known id for its model, no m-info lines, no binary load"

    def identity(self, identity: Identity) -> Identity:
        return replace(
            identity,
            name="vendor-board",
            profile="Vendor firmware 2.1",
            model_id="vww01",
            has_infos=False,
            has_binary_load=False,
        )

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        for line in answer.lines:
            # The benchmark's reference firmware says this without the brackets of an error.
            yield line[len("e-[") : -1] if line.startswith("e-[Supplied buffer size") else line


class _Energy(Fault):
    name = "energy"
    description = "an energy build: stamps are pulses of a pin, and no lines"

    def identity(self, identity: Identity) -> Identity:
        return replace(identity, is_energy_build=True)


BOARD_FAULTS: tuple[type[Fault], ...] = (
    _ResetInInfer,
    _ResetInLoad,
    _Abort,
    _Stall,
    _StallInInfer,
    _LoadError,
    _WrongCount,
    _TruncatedResults,
    _NanResults,
    _OtherResults,
    _Wrap,
    _OtherModel,
    _NoBinaryLoad,
    _Foreign,
    _Energy,
)
