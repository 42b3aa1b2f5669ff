"""A tegrastats that dies, stalls, floods or prints what no board does, and what is left of it."""

import contextlib
import subprocess
import sys

import psutil
import pytest

from edgebench.probes import basics
from edgebench.probes.jetson import tegrastats
from edgebench.probes.jetson import tegrastats as tegrastats_process
from edgebench.probes.jetson.tegrastats import UnknownForm, parse
from tests.probes import jetson_board as board


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """The stand-in takes long to start where everything else runs too."""
    monkeypatch.setattr(tegrastats, "FIRST_LINE_S", 60.0)
    monkeypatch.setattr(tegrastats_process, "STALL_S", 60.0)


def program(folder, mode, line=board.ORIN_NANO):
    return board.tegrastats(folder, line, mode=mode)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Whatever a test starts ends with its probe; other tests may have children too, such as an sshd."""
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.parametrize(
    ("mode", "line", "why"),
    [
        pytest.param(
            "nothing",
            board.NANO,
            "printed nothing",
            marks=pytest.mark.attack("tegrastats prints nothing: there is no meter, and the reason"),
        ),
        pytest.param(
            "lines",
            "what is this",
            "known form; the first was 'what is this'",
            marks=pytest.mark.attack("tegrastats is not tegrastats: there is no meter, and its first line"),
        ),
    ],
)
def test_a_program_without_a_line_is_no_meter(tmp_path, monkeypatch, mode, line, why):
    if mode == "nothing":
        monkeypatch.setattr(tegrastats, "FIRST_LINE_S", 0.5)
    with pytest.raises(basics.ProbeMissing, match=why):
        tegrastats.open_probe(program(tmp_path, mode, line))


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        pytest.param(
            "dies",
            "exit code 3: Error: cannot read the power monitor",
            marks=pytest.mark.attack("tegrastats dies during a session: the probe ends with its last words"),
        ),
        pytest.param(
            "stalls",
            "printed nothing for 0.5 s",
            marks=pytest.mark.attack("tegrastats stalls during a session: the probe ends with the reason"),
        ),
        pytest.param(
            "floods",
            "within a second",
            marks=pytest.mark.attack("tegrastats prints without a pause: the probe ends, memory is bounded"),
        ),
        pytest.param(
            "endless",
            "without the end of a line",
            marks=pytest.mark.attack("tegrastats prints a line without an end: the probe ends"),
        ),
    ],
)
def test_one_that_goes_wrong_ends_the_probe(tmp_path, monkeypatch, mode, why):
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        probe = tegrastats.open_probe(program(tmp_path, mode))
        if mode == "stalls":
            monkeypatch.setattr(tegrastats_process, "STALL_S", 0.5)
        for _ in probe:
            pass
    assert caught.value.fix


@pytest.mark.attack("tegrastats prints bytes that are no text: each line is a rejected reading, verbatim")
def test_garbage_is_rejected(tmp_path):
    probe = tegrastats.open_probe(program(tmp_path, "then-garbage"))
    for _, values in probe:
        probe.stop()
        assert set(values["VDD_IN"]) <= {6.626}
    assert probe.rejected
    assert all("\\x80" in line for line in probe.rejected)


@pytest.mark.attack("tegrastats names a rail as another channel: its lines are rejected, there is no meter")
@pytest.mark.parametrize("rail", ["gpu_clock", "gpu_load", "total"])
def test_a_rail_with_the_name_of_another_channel_is_no_rail(rail):
    with pytest.raises(UnknownForm, match=f"named {rail}"):
        parse(f"{board.AGX_ORIN} {rail} 5mW/5mW")


@pytest.mark.attack("tegrastats prints a burst of lines at once: each is a sample, and their stamps rise")
def test_a_burst_of_lines_has_stamps_that_rise(tmp_path):
    path = board.tegrastats(tmp_path, *[board.ORIN_NANO] * 50, mode="late")
    process = tegrastats_process.TegrastatsProcess(path, 50)
    lines = process.lines(5.0)
    while len(lines) < 50:
        lines += process.lines(5.0)
    process.close()
    stamps = [stamp for stamp, _ in lines]
    assert stamps == sorted(set(stamps))


@pytest.mark.attack("tegrastats ignores SIGTERM: it is ended with the probe, and where that is killed")
def test_the_program_ends_with_the_probe_however_that_ends(tmp_path):
    path = program(tmp_path, "deaf")
    code = (
        "from edgebench.probes.jetson.tegrastats import open_probe\n"
        f"probe = open_probe({path!r})\n"
        "print(probe._process._process.pid, flush=True)\n"
        "for chunk in probe: pass\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as sampler:
        try:
            assert sampler.stdout is not None
            pid = int(sampler.stdout.readline())
            program_process = psutil.Process(pid)
        finally:
            sampler.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        assert psutil.wait_procs([program_process], timeout=10)[1] == []
    probe = tegrastats.open_probe(path)
    for _ in probe:
        probe.stop()
