"""RAPL on made trees: names, power, the wrap, and why there is no meter."""

import json
import math

import pytest

from edgebench.probes import basics, rapl


@pytest.fixture
def tree(tmp_path):
    def add(domain, name, energy=0, wraps_at=1_000_000):
        folder = tmp_path / domain
        folder.mkdir()
        (folder / "name").write_text(name + "\n")
        (folder / "energy_uj").write_text(f"{energy}\n")
        (folder / "max_energy_range_uj").write_text(f"{wraps_at}\n")

    add("intel-rapl:0", "package-0")
    add("intel-rapl:0:0", "core")
    add("intel-rapl:1", "package-1")
    add("intel-rapl:1:0", "core")
    add("intel-rapl-mmio:0", "package-0")
    return tmp_path


def names(probe):
    return [channel["name"] for channel in probe.info["channels"]]


def test_domains_are_named_within_their_package(tree):
    probe = rapl.open_probe(str(tree))
    assert names(probe) == ["package-0", "package-0/core", "package-1", "package-1/core"]
    assert all((channel["quantity"], channel["unit"]) == ("power", "W") for channel in probe.info["channels"])
    assert probe.info["scope"] == "chip"
    json.dumps(probe.info)


def test_an_address_chooses_domains(tree, monkeypatch):
    monkeypatch.setattr(rapl, "TREE", str(tree))
    assert names(rapl.open_probe("package-1")) == ["package-1", "package-1/core"]
    assert len(names(rapl.open_probe(""))) == 4
    with pytest.raises(basics.ProbeMissing) as caught:
        rapl.open_probe("dram")
    assert "package-0" in caught.value.fix


def domain(wraps_at):
    return rapl.Domain("package-0", "", wraps_at)


@pytest.mark.parametrize(
    ("before", "after", "elapsed_ns", "watts"),
    [
        (100, 300_100, 20_000_000, 15.0),
        (0, 0, 20_000_000, 0.0),
        (900_000, 50_000, 10_000_000, 15.0),  # wrapped at a million: 150,000 uJ in 10 ms
        (999_999, 0, 1_000_000, 1e-3),
        (0, 40_000, 20_000, 2000.0),
        (1_000_000, 39_999, 20_000, 1999.95),
    ],
)
def test_power_is_energy_over_time_through_a_wrap(before, after, elapsed_ns, watts):
    found = rapl.power_w([domain(1_000_000)], [before], [after], elapsed_ns)
    assert found["package-0"] == pytest.approx(watts)


@pytest.mark.attack("a RAPL counter is set back: a gap and a rejected reading, never megawatts")
@pytest.mark.parametrize("back_to", [0, 50, 899_000])
def test_a_counter_that_is_set_back_is_a_gap(tree, monkeypatch, back_to):
    clock = iter(range(0, 10**9, 20_000_000))
    monkeypatch.setattr(rapl, "now_ns", lambda: next(clock))
    for folder in ("intel-rapl:0", "intel-rapl:1"):
        (tree / folder / "max_energy_range_uj").write_text("262143328850")
        (tree / folder / "energy_uj").write_text("900000")
    probe = rapl.open_probe(str(tree))
    probe.start()
    (tree / "intel-rapl:0" / "energy_uj").write_text(str(back_to))
    (tree / "intel-rapl:1" / "energy_uj").write_text("1200000")
    _, watts = probe._sample()
    assert math.isnan(watts["package-0"]) and watts["package-1"] == pytest.approx(15.0)
    [rejected] = probe.rejected
    assert "package-0" in rejected and f"900000 to {back_to} uJ" in rejected
    (tree / "intel-rapl:0" / "energy_uj").write_text(str(back_to + 300_000))
    assert probe._sample()[1]["package-0"] == pytest.approx(15.0)


def test_a_probe_samples_what_the_counters_say(tree, monkeypatch):
    clock = {"ns": 0}
    energy = {"uj": 999_000}

    def sleep(seconds):
        clock["ns"] += round(seconds * 1e9)
        energy["uj"] = (energy["uj"] + 2000) % 1_000_000  # 2 mJ an interval
        (tree / "intel-rapl:0" / "energy_uj").write_text(str(energy["uj"]))

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr("time.monotonic", lambda: clock["ns"] / 1e9)
    monkeypatch.setattr(rapl, "now_ns", lambda: clock["ns"])
    (tree / "intel-rapl:0" / "energy_uj").write_text("999000")
    probe = rapl.open_probe(str(tree))
    probe.start()
    chunks = iter(probe)
    stamps, values = next(chunks)
    assert len(stamps) == basics.CHUNK_S * rapl.RATE_HZ
    assert stamps == [20_000_000 * n for n in range(1, 26)]
    assert values["package-0"] == pytest.approx([0.1] * 25)
    assert values["package-1"] == [0.0] * 25

    probe.stop()
    assert [len(stamps) for stamps, _ in chunks] == [1]


def test_a_stop_within_a_chunk_gives_what_there_is(tree, monkeypatch):
    probe = rapl.open_probe(str(tree))
    probe.start()
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            probe.stop()

    monkeypatch.setattr("time.sleep", sleep)
    taken = list(probe)
    assert [len(stamps) for stamps, _ in taken] == [3, 1]
    assert all(len(column) == 3 for column in taken[0][1].values())


def test_no_tree_is_a_missing_meter(tmp_path):
    with pytest.raises(basics.ProbeMissing) as caught:
        rapl.open_probe(str(tmp_path / "powercap"))
    assert not caught.value.denied
    assert "has no intel-rapl" in caught.value.reason
    assert caught.value.fix


def test_a_counter_for_root_only_is_a_denied_meter(tree, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(rapl, "_read_uj", denied)
    with pytest.raises(basics.ProbeDenied) as caught:
        rapl.open_probe(str(tree))
    assert caught.value.denied
    assert "root only" in caught.value.reason
    assert "chmod a+r" in caught.value.fix


def test_a_broken_counter_is_a_missing_meter(tree):
    (tree / "intel-rapl:0" / "energy_uj").write_text("many\n")
    with pytest.raises(basics.ProbeMissing):
        rapl.open_probe(str(tree))
