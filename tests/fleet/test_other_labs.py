"""A scheduler of `LocalCluster`; a machine that reaches its fleet by the documented tunnel of ssh alone."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.labs import Lab, Proxy, lab_of, sessions_of, target
from tests.link import sshd
from tests.walk.conftest import Place

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

CLUSTER = """
import sys, time
from distributed import LocalCluster
here = "127.0.0.1:0"
with LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, host="127.0.0.1", scheduler_port=int(sys.argv[1]),
    dashboard_address=here, worker_dashboard_address=here,
):
    print("ready", flush=True)
    time.sleep(600)
"""


def test_a_run_measures_on_a_machine_that_joined_a_local_cluster(place: Place) -> None:
    lab = Lab(place)
    try:
        lab.start("cluster", [sys.executable, "-c", CLUSTER, str(lab.port)])
        lab.until(lambda: "ready" in lab.log("cluster"), "cluster")
        lab.start_worker("machine", target("one"))
        # The cluster's own worker offers no targets.
        assert [each["targets"][0]["target"] for each in lab.status()] == ["one"]
        require_measured(lab)
        assert lab.listening() == {"127.0.0.1"}
    finally:
        lab.stop()


NETWORK = ["unshare", "--map-root-user", "--net", "sh", "-c"]
UP = "ip link set lo up"

# What ssh talks to sshd by: a socket in the file system, the only thing that both networks share.
WAY = """
import os, socket, sys, threading
way = socket.socket(socket.AF_UNIX)
way.connect(sys.argv[1])
def send():
    while data := os.read(0, 1 << 16):
        way.sendall(data)
    way.shutdown(socket.SHUT_WR)
threading.Thread(target=send, daemon=True).start()
while data := way.recv(1 << 16):
    os.write(1, data)
"""


def require_measured(lab: Lab) -> None:
    done = lab.place.run(*lab.words("-t", "one", "--sessions", "2", "--name", "run"), timeout=120)
    assert done.returncode == 0, done.stderr
    [records] = sessions_of(lab.place.folder / "results" / "run").values()
    assert [record["status"] for record in records] == ["ok", "ok"]


def missing() -> str:
    if why := sshd.missing():
        return why
    if not (shutil.which("unshare") and shutil.which("ip")):
        return "a network of its own takes unshare and ip"
    tried = subprocess.run([*NETWORK, UP], capture_output=True, text=True)
    return tried.stderr


def test_a_run_measures_on_a_machine_behind_a_tunnel(place: Place, tmp_path: Path) -> None:
    if why := missing():
        pytest.skip(why)
    folder = tmp_path / "lab"
    folder.mkdir()
    board = sshd.make_board(folder)
    board.start()
    proxy = Proxy(board.port, folder / "way")
    (folder / "way.py").write_text(WAY)
    way = shlex.join([sys.executable, str(folder / "way.py"), str(folder / "way")])
    try:
        with lab_of(place) as lab:
            worker_port = sshd.free_port()
            user, _, _ = board.address.partition("@")
            tunnel = [
                *("ssh", "-F", str(board.config), "-o", f"ProxyCommand={way}", "-p", str(board.port)),
                *("-fN", "-o", "ExitOnForwardFailure=yes"),
                *("-L", f"{lab.port}:127.0.0.1:{lab.port}", "-R", f"{worker_port}:127.0.0.1:{worker_port}"),
                f"{user}@127.0.0.1",
            ]
            behind = [*NETWORK, f'{UP} && {shlex.join(tunnel)} && exec "$@"', "sh"]
            words = ["--worker-port", str(worker_port)]
            lab.start_worker("machine", target("one"), *words, prefix=behind)
            [machine] = lab.status()
            assert machine["address"] == f"tcp://127.0.0.1:{worker_port}"
            require_measured(lab)
    finally:
        proxy.close()
        board.power_off()
