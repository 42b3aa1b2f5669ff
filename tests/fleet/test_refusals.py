"""Schedulers that are none, are not protected or have other versions, and flags that exclude each other."""

import asyncio
import contextlib
import socket
import threading

import pytest

from edgebench.errors import EdgeBenchError, SessionError, UnavailableError, UsageError
from edgebench.fleet.machine import MACHINES, Machine
from edgebench.fleet.scheduler import ask, is_loopback, own_versions, require_safe, require_versions
from tests.walk.conftest import Place

pytest.importorskip("distributed")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tls://[::1]:8786"])
def test_loopback_needs_no_more(address: str) -> None:
    assert is_loopback(address)
    require_safe(address, insecure=False)


@pytest.mark.attack(
    "a scheduler on another machine is named without TLS: refused, unless --insecure is given"
)
@pytest.mark.parametrize("address", ["tcp://lab:8786", "tcp://192.0.2.1:1", "tcp://127.0.0.1.example.org:1"])
def test_another_machine_needs_tls(address: str) -> None:
    with pytest.raises(UsageError, match="not protected"):
        require_safe(address, insecure=False)
    require_safe(address, insecure=True)
    require_safe(address.replace("tcp", "tls"), insecure=False)


@pytest.mark.parametrize(
    "address",
    ["lab", "127.0.0.1:8786", "http://127.0.0.1:1", "inproc://1", "tcp://a:b", "tcp://a:0", "tcp://a:65536"],
)
def test_other_addresses_are_none(address: str) -> None:
    with pytest.raises(UsageError, match="no address of a scheduler"):
        require_safe(address, insecure=True)


def test_another_version_is_refused_with_both() -> None:
    require_versions(own_versions(), "the scheduler")
    for name, own in own_versions().items():
        with pytest.raises(UnavailableError, match=rf"the scheduler has {name} 0\.1, and here it is {own}"):
            require_versions(own_versions() | {name: "0.1"}, "the scheduler")
    with pytest.raises(UnavailableError, match=r"EdgeBench \(none\)"):
        require_versions(own_versions() | {"EdgeBench": ""}, "the scheduler")


def why_none(port: int) -> str:
    with pytest.raises(UnavailableError, match="no Dask scheduler answers") as caught:
        ask(f"tcp://127.0.0.1:{port}", insecure=False)
    return caught.value.why


@pytest.mark.attack(
    "a fleet's scheduler is not there, or answers in no words of Dask: refused with the reason"
)
def test_what_is_no_scheduler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def talk() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    client.close()

        threading.Thread(target=talk, daemon=True).start()
        assert why_none(port) == "it is no Dask scheduler, or wants TLS"
        server.shutdown(socket.SHUT_RDWR)
    assert "Connection refused" in why_none(port)
    monkeypatch.setattr("edgebench.fleet.scheduler.ANSWER_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert why_none(silent.getsockname()[1]) == "no answer within 1 s"


FILE = ["--targets-file", "nowhere.toml"]


@pytest.mark.parametrize("words", [["--device", "cpu"], ["--host", "u@b"], ["--port", "/dev/tty"], FILE])
def test_what_is_of_this_machine_is_refused(place: Place, words: list[str]) -> None:
    done = place.run("run", "--scheduler", "tcp://127.0.0.1:1", "-t", "one", *words)
    assert done.returncode == 2
    assert f"--scheduler and {words[0]} exclude each other" in done.stderr


def test_a_run_without_targets_and_a_machine_without_any_are_refused(place: Place) -> None:
    assert "no target was named" in place.run("run", "--scheduler", "tcp://127.0.0.1:1").stderr
    done = place.run("fleet", "worker", "tcp://127.0.0.1:1")
    assert done.returncode == 2 and "no targets to offer" in done.stderr


def test_a_slow_end_of_a_machine_keeps_no_one_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = threading.Event()
    before = Machine("run", "somebody")
    with monkeypatch.context() as patched:
        patched.setattr(Machine, "close", lambda self: ends.wait(5))
        again = Machine("run", "somebody")

        async def begun() -> None:
            await again.begin("close_device")
            assert not (await again.hear(0)).ended  # as the earlier one goes on
            ends.set()
            while not (await again.hear(0)).ended:
                pass

        asyncio.run(begun())
    for machine in (before, again):
        machine.close()
    assert "run" not in MACHINES


def test_errors_come_through_pickle_as_they_are() -> None:
    import pickle

    for error in (
        UsageError("what", why="why", fix="fix"),
        SessionError("what", status="crash", stage="load", signal="SIGSEGV", stderr_tail="tail"),
    ):
        again: EdgeBenchError = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and vars(again) == vars(error) and str(again) == str(error)
