"""Devices whose load bursts cannot be: a session of theirs has no figures."""

import pytest

from tests.attacks.lying_device import BURSTS, Device, S, altered, failure, lie, measured


def burst_moved(number, edge, by_ns):
    """A lie about when a burst began or ended."""

    def change(reply):
        bursts = [list(burst) for burst in reply["bursts"]]
        bursts[number][edge] += by_ns
        reply["bursts"] = bursts

    return change


@pytest.mark.parametrize(
    ("operation", "change", "words"),
    [
        lie(
            "burst", altered(start_ns=0), "load bursts from 0", "load bursts from before they were asked for"
        ),
        lie("burst", burst_moved(2, 1, S), "was over before", "a load burst that ends after its own reply"),
        lie("burst", burst_moved(0, 1, -S // 2), "a load burst of 0.5", "a load burst that is too short"),
        lie("burst", burst_moved(1, 0, -S), "a pause of 0.1", "a pause between bursts that is too short"),
        lie("burst", lambda reply: reply["bursts"].pop(), "2 load bursts, 3 were due", "a burst too few"),
        lie("burst", altered(bursts=[]), "an answer that is no Bursts", "no load burst at all"),
        lie("burst", altered(bursts=[[1, -5]] * 3), "an answer that is no Bursts", "bursts before the boot"),
    ],
)
def test_load_bursts_that_cannot_be_end_the_session(host_time, operation, change, words):
    assert words in failure(Device(host_time, lies={operation: change}), bursts=BURSTS)


def test_load_bursts_come_between_the_warm_up_and_the_steady_passes(host_time):
    device = Device(host_time)
    passes, facts = measured(device, bursts=BURSTS)
    asked = [operation for operation in device.asked if operation in ("pass", "warmup", "burst")]
    assert asked == ["pass", "warmup", "burst", "pass", "pass", "pass"]
    assert passes[1].end_ns < facts.load_bursts.from_ns
    assert facts.load_bursts.bursts_ns[-1][1] < passes[2].start_ns
    assert facts.load_bursts.total_s == pytest.approx(5.3, rel=1e-4)
    device = Device(host_time)
    assert measured(device)[1].load_bursts is None
    assert "burst" not in device.asked
    device = Device(host_time, lies={"load": altered(own_time=True)})
    assert measured(device, own_clock=True, bursts=BURSTS)[1].load_bursts is None
    assert "burst" not in device.asked
