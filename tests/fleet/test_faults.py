"""A machine of a fleet is killed, cut off, or its scheduler starts again: no session is lost or doubled."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.fleet.labs import Lab, Proxy, lab_of, sessions_of, target
from tests.walk.conftest import Place

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
TARGET = target("one", "options = { delay_us = 20000 }")


@pytest.fixture
def lab(place: Place) -> Iterator[Lab]:
    with lab_of(place) as made:
        yield made


def measured_through(
    lab: Lab,
    fault: Callable[[subprocess.Popen[str]], None],
    reconnect_s: float = 120,
    port: int | None = None,
) -> tuple[int, str]:
    """A run of five sessions with a fault in its third; its exit code and what it says.

    `port` is that of a proxy on the run's way to the scheduler.
    """
    with (lab.place.folder / "run.log").open("wb") as log:
        words = [word for word in lab.words("-t", "one", "--sessions", "5", "--name", "run") if word != "-q"]
        words = [word.replace(str(lab.port), str(port or lab.port)) for word in words]
        process = lab.place.start(*words, stderr=log, EDGEBENCH_RECONNECT_S=str(reconnect_s))
        try:
            lab.until(lambda: "session 3" in lab.log("run"), "run")
            fault(process)
            process.communicate(timeout=240)
        finally:
            with contextlib.suppress(OSError):
                process.kill()
    return process.returncode, lab.log("run")


def require_each_once(lab: Lab) -> None:
    [records] = sessions_of(lab.place.folder / "results" / "run").values()
    assert [(record["n"], record["status"]) for record in records] == [(n, "ok") for n in range(5)]


@pytest.mark.attack("a fleet's worker is killed by -9 in a session: its session is repeated when it is back")
def test_a_killed_worker(lab: Lab) -> None:
    lab.start_worker("machine", TARGET)

    def fault(run: subprocess.Popen[str]) -> None:
        lab.kill("machine")
        lab.start_worker("machine", TARGET)

    code, text = measured_through(lab, fault)
    assert code == 0 and "is back" in text, text
    assert "session 5 of 5" in text and "of 6" not in text
    require_each_once(lab)


@pytest.mark.attack("a fleet's worker is killed and stays away: its trials fail with the reason, in time")
def test_a_worker_that_stays_away(lab: Lab) -> None:
    lab.start_worker("machine", TARGET)
    code, text = measured_through(lab, lambda run: lab.kill("machine"), reconnect_s=2)
    assert code == 5, text
    assert text.count("session 3 of 5") == 2 and "session 4" not in text
    [records] = sessions_of(lab.place.folder / "results" / "run").values()
    assert [record["status"] for record in records if record["status"] == "ok"] == ["ok", "ok"]
    assert "the machine of one was lost" in records[-1]["failure"]["what"]
    whys = [record["failure"]["why"] for record in records if record["failure"]]
    assert whys and not any("AttributeError" in why for why in whys), whys
    assert whys[-1] == "it did not come back in time: the machine of one is not in the fleet"


@pytest.mark.attack("a fleet's machine hangs and Ctrl-C comes before its loss is noticed: the run ends")
def test_ctrl_c_while_a_machine_hangs(lab: Lab) -> None:
    lab.start_worker("machine", TARGET)
    machine = lab.processes["machine"]

    def fault(run: subprocess.Popen[str]) -> None:
        machine.send_signal(signal.SIGSTOP)
        run.send_signal(signal.SIGINT)

    try:
        code, text = measured_through(lab, fault)
    finally:
        machine.send_signal(signal.SIGCONT)
    assert code == 130 and "waiting up to" not in text, text
    [records] = sessions_of(lab.place.folder / "results" / "run").values()
    assert [record["status"] for record in records] == ["ok", "ok"]


@pytest.mark.attack("a fleet's scheduler is killed and starts again: sessions go on, each of them once")
def test_a_scheduler_that_starts_again(lab: Lab) -> None:
    lab.start_worker("machine", TARGET)

    def fault(run: subprocess.Popen[str]) -> None:
        lab.kill("scheduler")
        lab.start_scheduler()

    code, text = measured_through(lab, fault)
    assert code == 0 and "is back" in text, text
    require_each_once(lab)


@pytest.mark.attack("packets between a run and its fleet are dropped: the session in hand is repeated")
def test_a_run_without_network(lab: Lab) -> None:
    proxy = Proxy(lab.port)
    try:
        lab.start_worker("machine", TARGET)

        def fault(run: subprocess.Popen[str]) -> None:
            proxy.drops.set()
            lab.until(lambda: "was lost" in lab.log("run"), "run", 90)
            proxy.drops.clear()

        code, text = measured_through(lab, fault, 180, proxy.port)
    finally:
        proxy.close()
    assert code == 0 and "is back" in text, text
    require_each_once(lab)
