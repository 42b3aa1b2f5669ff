"""The power chip of a Raspberry Pi 5: its documented text, gaps, and why there is no meter."""

import json
import math

import pytest

from edgebench.probes import basics, rpi5
from tests.probes import pi5_board
from tests.probes.pi5_board import CURRENTS_A, TEXT

TOTAL_W = 1.89845442442819  # by decimal arithmetic


@pytest.fixture
def program(tmp_path):
    return pi5_board.vcgencmd(tmp_path)


def first(probe):
    chunks = iter(probe)
    stamps, values = next(chunks)
    probe.stop()
    list(chunks)
    assert len(stamps) == len(values["total"]) > 0
    return {name: column[0] for name, column in values.items()}


def test_the_total_is_the_sum_of_the_rails_with_current_and_voltage(program):
    probe = rpi5.open_probe(str(program))
    names = [channel["name"] for channel in probe.info["channels"]]
    assert names == [*CURRENTS_A, "total"]
    assert [channel["name"] for channel in probe.info["channels"] if channel.get("total")] == ["total"]
    assert (probe.info["scope"], probe.info["rate_hz"]) == ("module", 10.0)
    json.dumps(probe.info)
    sample = first(probe)
    assert sample["VDD_CORE"] == pytest.approx(0.92871990 * 0.72097620, rel=1e-12)
    assert sample["total"] == pytest.approx(TOTAL_W, rel=1e-9)


def test_a_rail_that_is_lost_is_a_gap_and_so_is_the_total(program, tmp_path):
    probe = rpi5.open_probe(str(program))
    (tmp_path / "answer").write_text(TEXT.replace("HDMI_A", "HDMI_?"))
    sample = first(probe)
    assert math.isnan(sample["HDMI"])
    assert math.isnan(sample["total"])
    assert sample["3V3_SYS"] == pytest.approx(0.04684464 * 3.31467300)
    assert "no power of HDMI" in probe.rejected[0]


@pytest.mark.parametrize(
    ("answer", "denied", "words"),
    [
        ('error=1 error_msg="Command not registered"\n', False, "as before the Raspberry Pi 5"),
        ("", False, "nothing"),
        (
            "Can't open device file: /dev/vcio\nTry creating a device file with: sudo mknod\n",
            True,
            "may not ask",
        ),
    ],
)
def test_other_boards_have_none(program, tmp_path, answer, denied, words):
    (tmp_path / "answer").write_text(answer)
    with pytest.raises(basics.ProbeMissing) as caught:
        rpi5.open_probe(str(program))
    assert caught.value.denied is denied
    assert words in caught.value.reason
    assert caught.value.fix


def test_a_machine_without_the_program(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(basics.ProbeMissing, match="there is no program vcgencmd"):
        rpi5.open_probe("")
