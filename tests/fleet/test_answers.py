"""Answers of a machine that are damaged, or another session's: no session is made of them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import edgebench
from edgebench.errors import SessionError
from edgebench.fleet.machine import PART_BYTES, Heard, SentSession, SessionRequest
from edgebench.fleet.remote import RemoteMachine
from edgebench.fleet.scheduler import Announcement, OfferedMachine
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.run.measuring.session import SessionWatch
from edgebench.run.measuring.session_record import Job, Measured
from edgebench.run.settings import RunConfig
from tests.fakes import made_artifact, made_scene
from tests.synthetic_results import made_experiment

TABLES = ("passes", "batches", "probes", "predictions")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_experiment(tmp_path_factory.mktemp("made"), sessions=2, power=True)


class Actor:
    """Stands for the actor on a machine: it answers with a stored session, changed by `fault`."""

    def __init__(self, result: Path, fault: Callable[[SentSession], Any]) -> None:
        record = edgebench.load(result).sessions.iloc[0]
        self.key, self.n = str(record["trial"]), int(record["session"])
        self._folder = result / "trials" / self.key / "sessions" / "000"
        self._fault = fault
        self.files = {name: (self._folder / f"{name}.parquet").read_bytes() for name in TABLES}
        self.called: list[str] = []
        self.events: Any = (("close", ()), ("report", ("load", 0, 0)))  # the first is none that is known

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.called.append(name)
            return SimpleNamespace(result=lambda timeout: getattr(self, f"do_{name}")(*arguments, **named))

        return call

    def do_lacks(self, files: Any) -> list[Any]:
        return []

    def do_begin(self, what: str, *arguments: Any) -> None:
        self.request: SessionRequest = arguments[0]

    def do_hear(self, seen: int) -> Heard:
        files = tuple(
            (name, len(data), hashlib.sha256(data).hexdigest()) for name, data in self.files.items()
        )
        record = (self._folder / "session.json").read_text()
        sent = SentSession(self.request, record, interrupted=False, files=files)
        return Heard(ended=True, value=self._fault(sent), events=self.events)

    def do_part(self, name: str, offset: int) -> bytes:
        return self.files[name][offset : offset + PART_BYTES]


def measured(actor: Actor, folder: Path) -> Measured | None:
    """A session of a run whose machine's actor is the stand-in."""
    offered = OfferedMachine("tcp://127.0.0.1:1", Announcement(), {}, 0.0, "")
    machine = RemoteMachine(RunConfig(), offered, ["one"], note=lambda text: None)
    machine._actor = actor
    machine._client = SimpleNamespace(as_current=contextlib.nullcontext, status="running")
    machine._has_turn = True
    plan = MeasurePlan(made_scene(), 3)
    job = Job(actor.key, actor.n, 0, made_artifact(), SessionSettings(1, {}, Launch()), plan)
    return machine.measure(Target("one", "toy"), job, SessionWatch(plan), folder)


def with_file(name: str, size_bytes: int | None = None, sha256: str = "0" * 64) -> Callable[..., Any]:
    """The answer with one more table, or another one of that name."""

    def change(sent: SentSession) -> SentSession:
        others = tuple(file for file in sent.files if file[0] != name)
        return replace(sent, files=((name, size_bytes or 1, sha256), *others))

    return change


def without(*names: str) -> Callable[..., Any]:
    return lambda sent: replace(sent, files=tuple(file for file in sent.files if file[0] not in names))


def test_a_sound_answer_is_taken(result: Path, tmp_path: Path) -> None:
    actor = Actor(result, lambda sent: sent)
    taken = measured(actor, tmp_path)
    assert taken is not None and taken.record.status == "ok"
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {f"{name}.received": data for name, data in actor.files.items()}
    assert "close" not in actor.called  # an event that no watch has is not called


FAULTS: dict[str, tuple[Callable[..., Any], str]] = {
    "nothing": (lambda sent: None, "another session"),
    "nonce": (lambda sent: replace(sent, request=replace(sent.request, nonce="0")), "another session"),
    "number": (lambda sent: replace(sent, request=replace(sent.request, n=1)), "another session"),
    "trial": (lambda sent: replace(sent, request=replace(sent.request, trial="0" * 16)), "another session"),
    "without tables": (
        lambda sent: replace(sent, files=(), request=replace(sent.request, nonce="0")),
        "another session",
    ),
    "its record": (lambda sent: replace(sent, record=sent.record.replace('"n": 0', '"n": 1')), "session 1"),
    "no record": (lambda sent: replace(sent, record="{"), "record is invalid"),
    "no tables": (lambda sent: replace(sent, files=()), "no tables of passes and batches"),
    "no batches": (without("batches"), "no tables of passes and batches"),
    "no passes": (without("passes"), "no tables of passes and batches"),
    "a path": (with_file("../../escaped"), "not those of a session"),
    "an absolute path": (with_file("/tmp/escaped"), "not those of a session"),
    "twice": (lambda sent: replace(sent, files=(*sent.files, sent.files[0])), "not those of a session"),
    "many": (lambda sent: replace(sent, files=sent.files * 1000), "not those of a session"),
    "a size": (with_file("passes", 1 << 60), f"{1 << 60} bytes"),
    "below zero": (with_file("passes", -5), "-5 bytes"),
}


@pytest.mark.attack("a fleet's machine sends another session, other tables or sizes: its session has failed")
@pytest.mark.parametrize("name", FAULTS)
def test_an_answer_that_cannot_be_is_a_failed_session(result: Path, tmp_path: Path, name: str) -> None:
    fault, why = FAULTS[name]
    actor = Actor(result, fault)
    with pytest.raises(SessionError, match="did not send the session") as caught:
        measured(actor, tmp_path)
    assert (caught.value.status, caught.value.stage) == ("protocol_error", "measure")
    assert why in caught.value.why and caught.value.fix
    if why == "another session":
        assert "part" not in actor.called  # before the tables
    assert not [path for path in tmp_path.rglob("*") if path.suffix != ".received"]


@pytest.mark.attack("a fleet's machine sends a table of other columns: its session has failed")
def test_a_table_that_cannot_be_is_a_failed_session(result: Path, tmp_path: Path) -> None:
    actor = Actor(result, lambda sent: sent)
    actor.files["passes"] = actor.files["batches"]
    with pytest.raises(SessionError) as caught:
        measured(actor, tmp_path)
    assert "its table passes: it has no column" in caught.value.why


@pytest.mark.attack("Ctrl-C reaches a run whose machine has just been lost: the run ends, it does not wait")
def test_ctrl_c_ends_a_run_whose_machine_is_lost(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEBENCH_RECONNECT_S", "120")

    class Lost(Actor):
        def do_hear(self, seen: int) -> Heard:
            raise KeyboardInterrupt

        def do_interrupt(self) -> None:
            raise OSError("the worker is gone")

    actor = Lost(result, lambda sent: sent)
    with pytest.raises(KeyboardInterrupt):
        measured(actor, tmp_path)
    assert actor.called.count("hear") == 1
