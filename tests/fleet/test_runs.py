"""Runs on the machines of a fleet: results as local runs have them, turns, artifacts once, what is open."""

import itertools
import json
import shutil
import subprocess
import sys

import pytest

import edgebench
from tests.fleet.labs import QUICK, Lab, sessions_of, target
from tests.walk.conftest import COMMAND

pytestmark = pytest.mark.slow


def run(lab: Lab, *words: str) -> None:
    done = lab.place.run(*lab.words(*words), timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_run_on_two_machines_has_the_keys_of_a_local_one(lab: Lab) -> None:
    run(lab, "-t", "one", "-t", "far", "--sessions", "3", "--name", "fleet")
    results = lab.place.folder / "results"
    # The local run reads the same declarations, each machine's own.
    file = lab.place.folder / "both.toml"
    file.write_text("".join((lab.place.folder / f"{name}.toml").read_text() for name in ("first", "second")))
    words = ["run", *QUICK, "--targets-file", str(file), "-t", "one", "-t", "far"]
    dry = lab.place.run(*words, "--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    sessions = sessions_of(results / "fleet")
    assert {trial["key"] for trial in json.loads(dry.stdout)["trials"]} == set(sessions)
    assert [[record["status"] for record in records] for records in sessions.values()] == [["ok"] * 3] * 2
    loaded = edgebench.load(results / "fleet")
    assert not loaded.warnings
    checks = loaded.experiment.preflight
    assert checks and all("when its machine joined the fleet, 20" in check["message"] for check in checks)
    assert len(loaded.passes) == 2 * 3 * 4  # each with its first pass and the warm-up
    # Neither the machine's nor the scheduler's address is in what is shown.
    report = (results / "fleet" / "report.html").read_text()
    assert "8786" not in report and str(lab.port) not in report


def test_replay_through_a_fleet_gives_the_same_figures(lab: Lab) -> None:
    lab.start_worker("replays", '[[targets]]\nname = "again"\ndevice = "replay"\n')
    words = ["-t", "again", "--sessions", "2", "-q"]
    fleet = lab.place.run("run", "--scheduler", lab.address, *words, "--name", "by-fleet", timeout=300)
    file = ["--targets-file", str(lab.place.folder / "replays.toml")]
    local = lab.place.run("run", *file, *words, "--name", "by-itself", timeout=300)
    assert (fleet.returncode, local.returncode) == (0, 0), fleet.stderr + local.stderr
    results = lab.place.folder / "results"
    tables = [
        {
            str(path.relative_to(results / name)): path.read_bytes()
            for path in (results / name).rglob("sessions/*/*.parquet")
        }
        for name in ("by-fleet", "by-itself")
    ]
    assert tables[0] and tables[0] == tables[1]


def test_two_runs_at_once_take_turns(lab: Lab) -> None:
    names = ("left", "right")
    runs = [
        lab.place.start(*lab.words("-t", "one", "-t", "far", "--sessions", "3", "--name", name))
        for name in names
    ]
    waited = False
    while any(each.poll() is None for each in runs):
        waited = waited or any(machine["waiting"] for machine in lab.status())
    assert [(each.communicate(timeout=60), each.returncode)[1] for each in runs] == [0, 0]
    for name in names:
        sessions = sessions_of(lab.place.folder / "results" / name)
        assert [[record["n"] for record in records] for records in sessions.values()] == [[0, 1, 2]] * 2
    # On one machine no session of a run lies within one of the other: their passes do not overlap.
    passes = [edgebench.load(lab.place.folder / "results" / name).passes for name in names]
    for key in set(passes[0]["trial"].astype(str)):
        spans = sorted(
            span
            for table in passes
            for span in table[table["trial"].astype(str) == key]
            .groupby("session")
            .agg({"start_ns": "min", "end_ns": "max"})
            .itertuples(index=False, name=None)
        )
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert waited


def test_files_reach_a_machine_once(lab: Lab) -> None:
    run(lab, "-t", "twin", "--sessions", "1", "--name", "sent")
    objects = lab.place.folder / "third-cache" / "objects"
    times = {path: path.stat().st_mtime_ns for path in objects.rglob("*") if path.is_file()}
    assert len(times) >= 4  # artifact, golden patches, scene, images
    run(lab, "-t", "twin", "--sessions", "1", "--name", "sent-again")
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_a_stopped_run_resumes_and_ctrl_c_keeps_its_session(lab: Lab) -> None:
    words = lab.words("-t", "two", "--sessions", "6", "--name", "stopped")
    words.remove("-q")
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=lab.place.folder,
        env=lab.place.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("session 3"):
            break
    process.send_signal(2)
    process.communicate(timeout=60)
    assert process.returncode == 130
    folder = lab.place.folder / "results" / "stopped"
    [before] = sessions_of(folder).values()
    assert [record["status"] for record in before[:2]] == ["ok", "ok"] and len(before) <= 4
    run(lab, "-t", "two", "--sessions", "6", "--name", "stopped", "--resume")
    [after] = sessions_of(folder).values()
    assert after[: len(before)] == before
    assert sum(record["status"] == "ok" for record in after) == 6
    assert len({record["n"] for record in after}) == len(after)


@pytest.mark.attack("what a fleet's processes listen on is looked at: loopback alone, Dask's HTTP server too")
def test_nothing_listens_on_another_interface(lab: Lab) -> None:
    assert lab.listening() == {"127.0.0.1"}


@pytest.mark.attack("a target is named that no machine offers, or two: refused with those that are offered")
def test_what_is_not_offered_is_refused(lab: Lab) -> None:
    unknown = lab.place.run(*lab.words("-t", "on"))
    assert unknown.returncode == 2
    assert "offers the target 'on'" in unknown.stderr and "one, twin, two" in unknown.stderr
    bare = lab.place.run(*lab.words("-t", "bare"))
    assert bare.returncode == 1
    assert "bare cannot be measured on its machine" in bare.stderr
    lab.start_worker("again", target("twin"))
    two = lab.place.run(*lab.words("-t", "twin"))
    lab.kill("again")
    assert two.returncode == 2 and "2 machines offer the target 'twin'" in two.stderr


def test_status_names_machines_and_targets(lab: Lab) -> None:
    offered = {
        tuple(each["target"] for each in machine["targets"])
        for machine in lab.status()
        if machine["versions"]
    }
    assert {("one", "two"), ("far",), ("bare", "twin")} <= offered
    shown = lab.place.run("fleet", "status", lab.address)
    assert shown.returncode == 0 and "far (toy)" in shown.stdout and "measures: nothing" in shown.stdout


OTHER = """
import asyncio, json, sys
from distributed import Worker
from edgebench.fleet.scheduler import own_versions
texts = {
    "new": json.dumps({"future": 1, "versions": own_versions() | {"EdgeBench": "9.9"}, "tables": 5}),
    "odd": json.dumps({"versions": own_versions(), "tables": [{"name": 5}]}),
}
async def stay(name):
    said = lambda worker: texts[name]
    options = {"host": "127.0.0.1", "dashboard": False, "startup_information": {"edgebench": said}}
    async with Worker(sys.argv[1], dashboard_address="127.0.0.1:0", **options) as worker:
        print("joined", flush=True)
        await worker.finished()
async def both():
    await asyncio.gather(stay("new"), stay("odd"))
asyncio.run(both())
"""


@pytest.mark.attack(
    "a fleet has workers of another version or with odd messages: left out and named, all else goes on"
)
def test_what_is_not_understood_is_left_out(lab: Lab) -> None:
    lab.start("others", [sys.executable, "-c", OTHER, lab.address])
    lab.until(lambda: lab.log("others").count("joined") == 2, "others")
    try:
        shown = lab.place.run("fleet", "status", lab.address).stdout
        assert f"left out: it has EdgeBench 9.9, and here it is {edgebench.__version__}" in shown
        assert "left out: what it announces is not understood: its targets file" in shown
        nobody = lab.place.run(*lab.words("-t", "nobody")).stderr
        assert nobody.count("left out") == 2 and nobody.count("twin") == 1
        run(lab, "-t", "one", "--sessions", "1", "--name", "beside-others")
    finally:
        lab.kill("others")


def test_time_and_rules_behave_as_locally(lab: Lab) -> None:
    run(lab, "-t", "one", "--max-time", "0.001", "--name", "no-time")
    assert not any(sessions_of(lab.place.folder / "results" / "no-time").values())
    run(lab, "-t", "one", "--target-ci", "90%", "--sessions", "9", "--name", "ruled")
    [records] = sessions_of(lab.place.folder / "results" / "ruled").values()
    assert 3 <= len(records) <= 9
    shutil.rmtree(lab.place.folder / "results" / "ruled")


def test_decide_ends_a_trial_at_the_least_sessions(lab: Lab) -> None:
    limit = '[[requirements]]\nname = "image_s"\nquantity = "image_s"\nlimit = 1000.0\n'
    file = lab.place.folder / "mine.toml"
    file.write_text(f'schema_version = 1\nname = "mine"\ntitle = "made"\n{limit}')
    run(lab, "-t", "one", "--decide", "--profile", str(file), "--sessions", "9", "--name", "decided")
    folder = lab.place.folder / "results" / "decided"
    [(key, records)] = sessions_of(folder).items()
    assert [record["status"] for record in records] == ["ok"] * 3
    record = json.loads((folder / "run.json").read_text())
    assert (record["ended"], record["settled"]) == ("complete", [key])
