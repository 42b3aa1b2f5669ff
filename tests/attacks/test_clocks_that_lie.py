"""Devices whose stamps, durations and clocks cannot be: a session of theirs has no figures."""

import math

import pytest

from edgebench.records.session import WarmUp
from tests.attacks.lying_device import WARM_UP, Device, S, altered, failure, lie, measured


@pytest.mark.parametrize("rate", [1.0, 1 + 5e-4, 1 - 1e-3])
def test_a_device_whose_clock_is_slewed_is_believed(host_time, rate):
    passes, facts = measured(Device(host_time, rate))
    assert [one.phase for one in passes] == ["first", "warmup", "steady", "steady", "steady"]
    assert (facts.warmup, facts.warnings) == (WarmUp(WARM_UP, steady=False), ())


def test_a_link_that_stands_still_is_no_lie(host_time):
    def cut(device):
        device.time.now_ns += 40 * S

    passes, facts = measured(Device(host_time, before={"pass": cut, "clock": cut}))
    assert len(passes) == 5
    [warning] = facts.warnings
    assert "stood still for 40 s" in warning


def at(batch, stage, edge, by_ns):
    """A lie about one stamp."""

    def change(reply):
        reply["stamps"][batch, stage, edge] += by_ns

    return change


def moved(by_ns):
    """A lie about all stamps of a run."""

    def change(reply):
        reply["stamps"] += by_ns
        reply["start_ns"] += by_ns
        reply["end_ns"] += by_ns

    return change


def instant(reply):
    reply["end_ns"] = reply["start_ns"]
    reply["stamps"][:] = reply["start_ns"]


def no_inference(reply):
    reply["stamps"][:, 2] = reply["stamps"][:, 1, 1:]


def short_of_batches(reply):
    reply["stamps"] = reply["stamps"][:-1]


@pytest.mark.parametrize(
    ("operation", "change", "words"),
    [
        lie("pass", instant, "measure: it took no time", "a pass that takes no time"),
        lie("pass", altered(end_ns=1), "measure: a pass that began", "a pass that ends before it begins"),
        lie("pass", moved(-60 * S), "it was asked for after", "a pass from before it was asked for"),
        lie("pass", moved(60 * S), "was over before", "a pass that ends after its own reply"),
        lie(
            "pass",
            at(3, 2, 1, 2_300_000_000 * S),
            "a stage of it lies outside",
            "an inference of 73 years in a pass of 0.09 s",
        ),
        lie(
            "pass",
            at(2, 2, 1, -10 * S),
            "ended before it started",
            "a stage that ends before it begins",
        ),
        lie("pass", at(0, 0, 0, -S), "lies outside", "a batch that begins before its pass"),
        lie("pass", no_inference, "its inference took no time", "a pass without any time of inference"),
        lie(
            "pass",
            short_of_batches,
            "stamps of 5 batches, 6 were due",
            "a pass that lacks the stamps of a batch",
        ),
        lie("pass", altered(peak_bytes=0), "peak_bytes", "a worker that reports 0 bytes of memory"),
        lie("pass", altered(peak_bytes=-4096), "peak_bytes", "a worker that reports negative memory"),
        lie(
            "warmup",
            altered(batches=7),
            "of 7 batches, not steady, where",
            "a warm-up whose number of batches is not that of its stamps",
        ),
        lie(
            "warmup", altered(steady=True), "20 batches, steady, where", "a warm-up that calls itself steady"
        ),
        lie(
            "warmup",
            short_of_batches,
            "its stamps are of 19 batches",
            "a warm-up that lacks the stamps of a batch",
        ),
        lie("warmup", at(4, 2, 1, 9 * S), "lies outside", "a batch that outlasts its warm-up"),
        lie(
            "golden",
            altered(first_inference_ns=9 * S),
            "a first inference of 9 s",
            "a first inference of 9 s in 6 ms",
        ),
        lie(
            "golden",
            altered(first_inference_ns=0),
            "first_inference_ns",
            "a first inference that takes no time",
        ),
        lie(
            "golden",
            altered(first_result_ns=9 * S),
            "a first result of 9 s",
            "a first result of 9 s in 6 ms",
        ),
        lie(
            "golden",
            altered(first_result_ns=1),
            "longer than the batch",
            "a first result that took less than its own inference",
        ),
        lie(
            "load",
            altered(ready_s=90.0),
            "a start and a load of 90 s",
            "a start of 90 s of a worker that was started 1 s ago",
        ),
        lie(
            "load", altered(ready_s=0.1), "ready 0.1 s after its start", "a start shorter than the load in it"
        ),
        lie("load", altered(load_s=90.0), "an import and a load of 90.1 s", "a load of 90 s that took 1 s"),
        lie("load", altered(load_s=0.0), "load_s", "a load that takes no time"),
        lie("load", altered(import_s=-1.0), "import_s", "an import that takes negative time"),
        lie("load", altered(import_s=math.nan), "import_s", "an import whose seconds are not a number"),
        lie(
            "load",
            altered(own_time=True),
            "time of its own",
            "stamps of a clock that cannot be checked",
        ),
    ],
)
def test_what_cannot_be_ends_the_session(host_time, operation, change, words):
    assert words in failure(Device(host_time, lies={operation: change}))


def slept(device):
    """The host's clock stood still while the device's went on."""
    if device.asked.count("pass") == 3:
        device.ahead_ns += 600 * S


def suspended(device):
    if device.asked.count("pass") == 3:
        device.ahead_ns -= 600 * S
        device.time.now_ns += 600 * S


def fell(device):
    device.ahead_ns -= 2 * S


def clock(how, words, what):
    return pytest.param(how, words, marks=pytest.mark.attack(f"{what}: the session fails"))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        clock({"rate": 0.1}, "while this machine's went", "a device's clock that runs ten times slow"),
        clock({"rate": 10.0}, "while this machine's went", "a device's clock that runs ten times fast"),
        clock({"rate": 0.0}, "while this machine's went", "a device's clock that stands still"),
        clock({"before": {"pass": fell}}, "its clock fell", "a device's clock that runs back"),
        clock(
            {"before": {"pass": slept}}, "measure: its clock went 600", "a laptop that sleeps during a pass"
        ),
        clock({"before": {"pass": suspended}}, "was suspended", "a device that is suspended during a pass"),
    ],
)
def test_clocks_that_cannot_both_be_right_end_the_session(host_time, how, words):
    assert words in failure(Device(host_time, **how), fix="no clock being set")


@pytest.mark.attack("a device's clock that strays after the last pass: the session fails")
def test_the_last_round_trips_are_judged_too(host_time):
    def strays(device):
        if device.asked.count("pass") == 4 and device.asked[-1] == "clock":
            device.ahead_ns += 600 * S

    device = Device(host_time, before={"clock": strays})
    assert "while this machine's went" in failure(device)
    assert device.asked.count("pass") == 4


@pytest.mark.attack(
    "a device's clock moves with its kernel's ticks, every few ms: its passes count, with a warning"
)
@pytest.mark.parametrize("tick_ms", [4, 5])
def test_a_clock_of_ticks_is_good_for_passes_and_no_single_batch(host_time, tick_ms):
    passes, facts = measured(Device(host_time, tick_ns=tick_ms * 1_000_000))
    assert len(passes) == 5 and all(one.end_ns > one.start_ns for one in passes)
    [warning] = facts.warnings
    assert f"of {tick_ms} ms or more" in warning


@pytest.mark.attack("a clock of ticks and a pass shorter than one: the session fails and says so")
def test_a_pass_shorter_than_a_tick_has_no_figure(host_time):
    assert "no time" in failure(Device(host_time, tick_ns=S), fix="more patches")


@pytest.mark.attack("a clock that was moved for a test: every figure is marked")
def test_a_clock_that_was_moved_for_a_test_is_recorded_and_said(host_time):
    injected = {"offset_ns": 3 * S, "drift_ppm": 40.0}
    _, facts = measured(Device(host_time, lies={"load": altered(test_clock=injected)}))
    assert facts.clock["test_clock"] == injected
    [warning] = facts.warnings
    assert "EDGEBENCH_TEST_CLOCK" in warning and "no figure was measured here" in warning


def test_a_clock_that_is_slewed_by_more_than_ntp_does_comes_with_a_warning(host_time):
    def minutes(device):
        device.time.now_ns += 60 * S

    _, facts = measured(Device(host_time, 1.004, before={"idle": minutes, "scene": minutes}))
    assert any("differ by 0.4" in warning and "being set" in warning for warning in facts.warnings)


def test_of_a_clock_of_the_runners_own_only_the_inside_is_judged(host_time):
    lies = {"load": altered(own_time=True, load_s=90.0), "golden": altered(first_inference_ns=9 * S)}
    passes, facts = measured(
        Device(host_time, lies=lies | {"pass": moved(S), "warmup": moved(S)}), own_clock=True
    )
    assert len(passes) == 5 and facts.clock == {}
    assert facts.cold.first_inference_s == 9.0
    assert "it took no time by its clock" in failure(
        Device(host_time, lies=lies | {"pass": instant}), own_clock=True
    )
    backwards = failure(Device(host_time, lies=lies | {"warmup": moved(-S)}), own_clock=True)
    assert "a warm-up from" in backwards
