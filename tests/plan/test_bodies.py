"""Mass and size of targets, by the boards that they are assembly of."""

from dataclasses import asdict
from types import SimpleNamespace

import pytest
from pydantic import TypeAdapter

from edgebench.board_catalogue import Board, body_of, known_boards
from edgebench.errors import UsageError
from edgebench.records.target import BOARD_FIGURES, DeclaredBoard, DeclaredBoot, DeclaredPower, Target
from edgebench.run.targets import listed
from edgebench.run.targets_file import DeclaredTarget
from tests.fakes import FakeBackend, make_targets


def board(title, source, mass_g=None, size_mm=None, **fields):
    facts = {"mass_g": mass_g, "size_mm": size_mm}
    facts = {name: {"value": value, "source": source} for name, value in facts.items() if value}
    return Board.model_validate({"title": title, **facts, **fields})


PARTS = {
    "stick": board("Stick", "its data sheet", 20.0, (10.0, 70.0, 30.0)),
    "plate": board("Plate", "its drawing", 100.0, (5.0, 60.0, 90.0)),
    "unweighed": board("Unweighed", "its page", None, (1.0, 2.0, 3.0)),
    "unmeasured": board("Unmeasured", "its page", 3.0),
}


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    return known(monkeypatch)


def known(monkeypatch, **boards):
    """Have these boards known beside those of the catalogue."""
    every = {**known_boards(), **PARTS, **boards}
    monkeypatch.setattr("edgebench.board_catalogue.known_boards", lambda: every)
    return every


def sum_of(*names):
    return SimpleNamespace(**{**dict.fromkeys(BOARD_FIGURES), **body_of(names)})


def test_masses_are_added_and_boxes_are_stacked_flat():
    assembly = sum_of("stick", "plate")
    assert assembly.mass_g == 120.0
    assert assembly.size_mm == (90.0, 60.0, 15.0)
    assert "Stick (20 g, 10 x 70 x 30 mm: its data sheet) + Plate (100 g" in assembly.body
    assert "lying on each other" in assembly.body


def test_one_alone_is_as_its_maker_says():
    assembly = sum_of("stick")
    assert (assembly.mass_g, assembly.size_mm) == (20.0, (70.0, 30.0, 10.0))


def test_what_no_source_gives_leaves_the_sum_out_and_says_so():
    assembly = sum_of("stick", "unweighed")
    assert assembly.mass_g is None and assembly.size_mm is not None
    assert "no mass: no source gives that of Unweighed" in assembly.body
    assembly = sum_of("stick", "unmeasured")
    assert assembly.mass_g == 23.0 and assembly.size_mm is None
    assert "no size: no source gives that of Unmeasured" in assembly.body


def test_boards_of_the_catalogue_are_known():
    assert sum_of("raspberry-pi-4b").mass_g == 46.0
    assert sum_of("coral-m2-bm").mass_g == 5.8


def test_a_name_that_is_none_is_told_with_those_that_are():
    with pytest.raises(UsageError) as caught:
        sum_of("stik")
    assert "did you mean 'stick'" in caught.value.fix
    assert "edgebench boards list" in caught.value.fix


def test_a_targets_own_figures_beat_those_of_its_boards():
    declared = DeclaredTarget(name="one", device="fake", board=("stick", "plate"), mass_g=99.0)
    [target] = make_targets({"fake": FakeBackend()}, (), (), devices=(), declared=(declared,))
    assert (target.mass_g, target.size_mm) == (99.0, (90.0, 60.0, 15.0))
    assert "Plate" in target.body
    assert target.from_boards == ("size_mm",)


def test_powers_of_one_kind_are_added_and_kept_with_their_sources(monkeypatch):
    figures = [power(2.0, "typical", "page 3"), power(4.5, "maximum", "label")]
    known(
        monkeypatch,
        stick=board("Stick", "page", 20.0, (10.0, 70.0, 30.0), power=figures),
        plate=board("Plate", "page", power=power(6.0, "maximum", "drawing")),
    )
    assembly = sum_of("stick", "plate")
    assert assembly.declared_power == (
        DeclaredPower(10.5, "maximum", "Stick: 4.5 W, label + Plate: 6 W, drawing"),
    )
    assert "no typical power: no source gives that of Plate" in assembly.body
    assert "power" not in sum_of("raspberry-pi-4b").body
    [target] = make_targets({"fake": FakeBackend()}, (), (), boards=("stick",))
    assert [power.watts for power in target.declared_power] == [4.5, 2.0]
    assert target.from_boards == ("mass_g", "size_mm", "declared_power")
    [target] = make_targets(
        {"fake": FakeBackend()}, (), (), boards=("stick",), declared_power=("3:maximum:scale",)
    )
    assert [power.watts for power in target.declared_power] == [3.0]
    assert target.from_boards == ("mass_g", "size_mm")


def power(watts, kind, source):
    return {"watts": watts, "kind": kind, "source": source}


def boot(value, kind, source):
    return {"value": value, "kind": kind, "source": source}


def test_parts_boot_as_long_as_their_slowest_machine(monkeypatch):
    host = board("Host", "page", boot_s=boot(25.0, "maximum", "watch"))
    slow = board("Slow", "page", boot_s=boot(30.0, "typical", "video"))
    known(monkeypatch, stick=board("Stick", "page", plugged_in=True), host=host, slow=slow)
    assert sum_of("stick", "host").boot_s == DeclaredBoot(25.0, "maximum", "watch")
    assert sum_of("host", "slow").boot_s == DeclaredBoot(30.0, "typical", "video")


def test_a_boot_that_one_machine_lacks_is_missing_and_said(monkeypatch):
    known(monkeypatch, known=board("Host", "page", boot_s=boot(25.0, "maximum", "watch")))
    assembly = sum_of("known", "plate")
    assert assembly.boot_s is None
    assert "no boot time: no source gives that of Plate" in assembly.body


def test_a_targets_own_boot_beats_its_boards(monkeypatch):
    known(monkeypatch, board=board("B", "page", 1.0, (1, 1, 1), boot_s=boot(25.0, "typical", "page")))
    own = {"board": "board", "boot_s": boot(9.0, "maximum", "watch")}
    declared = DeclaredTarget.model_validate({"name": "one", "device": "fake", **own})
    [target] = make_targets({"fake": FakeBackend()}, (), (), devices=(), declared=(declared,))
    assert target.boot_s == DeclaredBoot(9.0, "maximum", "watch")
    assert target.from_boards == ("mass_g", "size_mm")
    assert TypeAdapter(Target).validate_python(asdict(target)).boot_s == target.boot_s


def test_the_machines_among_the_parts_are_kept_to_be_held_against_what_the_machine_says(monkeypatch):
    known(
        monkeypatch,
        stick=board("Stick", "page", 20.0, plugged_in=True),
        plate=board("Plate", "page", 2.0, models=("Plate One",)),
    )
    [target] = make_targets({"fake": FakeBackend()}, (), (), boards=("stick", "plate"))
    assert target.boards == (DeclaredBoard("Plate", ("Plate One",)),)
    assert target.from_boards == ("mass_g",)


def test_a_declared_target_is_listed_with_what_a_run_takes():
    row = listed(DeclaredTarget(name="pi", device="toy", board=("raspberry-pi-4b",), mass_g=99.0))
    assert (row["mass_g"], row["size_mm"]) == (99.0, (85.0, 56.0, 17.0))
    assert row["from_boards"] == ("size_mm", "declared_power")
    assert [(power["watts"], power["kind"]) for power in row["declared_power"]] == [(3.06, "typical")]
    assert "Raspberry Pi 4 Model B" in row["body"]
    assert listed(DeclaredTarget(name="bare", device="toy"))["mass_g"] is None
    row = listed(DeclaredTarget(name="x", device="toy", board=("rasberry-pi-4b",)))
    assert (row["mass_g"], row["size_mm"], row["device_error"]) == (None, None, "")
    assert "raspberry-pi-4b" in row["body_error"]


@pytest.mark.parametrize("board", [(), ("stick",)])
def test_a_declared_target_of_an_unknown_device_is_listed_with_that(board):
    row = listed(DeclaredTarget(name="x", device="tyo", board=board))
    assert "there is no device 'tyo'" in row["device_error"]
    assert "toy" in row["device_error"]
    assert (row["mass_g"], row["body_error"]) == (None, "")


def test_a_flag_says_it_of_the_devices():
    [target] = make_targets({"fake": FakeBackend()}, (), (), boards=("stick", "plate"))
    assert (target.mass_g, target.size_mm) == (120.0, (90.0, 60.0, 15.0))
    [target] = make_targets({"fake": FakeBackend()}, (), ())
    assert (target.mass_g, target.size_mm, target.body) == (None, None, "")


def test_the_flag_has_no_use_without_a_device():
    declared = DeclaredTarget(name="one", device="fake")
    with pytest.raises(UsageError, match="--board"):
        make_targets({"fake": FakeBackend()}, (), (), devices=(), declared=(declared,), boards=("stick",))


def test_a_file_holds_a_board_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[boards.mine]\ntitle = "Mine"\nmass_g = { value = 12, source = "kitchen scale" }\n')
    assembly = sum_of(str(path), "coral-m2-ae")
    assert assembly.mass_g == pytest.approx(15.1)
    assert "Mine (12 g, size not known: kitchen scale)" in assembly.body
    with pytest.raises(UsageError, match=r"board .*none\.toml cannot be read"):
        sum_of(
            str(tmp_path / "none.toml"),
        )


def test_a_stick_has_no_declared_power_without_its_host(monkeypatch):
    known(
        monkeypatch,
        stick=board("Stick", "page", 20.0, plugged_in=True, power=power(4.5, "maximum", "label")),
        plate=board("Plate", "page", power=power(6.0, "maximum", "drawing")),
    )
    alone = sum_of("stick")
    assert alone.declared_power is None and alone.mass_g == 20.0
    assert "no host is among these" in alone.body
    [whole] = sum_of("stick", "plate").declared_power
    assert whole.watts == 10.5


def test_a_stick_on_its_host():
    assembly = sum_of("coral-usb", "raspberry-pi-4b")
    assert assembly.size_mm == (85.0, 56.0, 25.0)
    assert assembly.mass_g is None  # nobody says what the stick weighs
    card = sum_of("coral-m2-ae", "raspberry-pi-4b")
    assert card.mass_g == pytest.approx(49.1)
    assembly = sum_of("ncs2", "raspberry-pi-3b")
    assert assembly.size_mm == (85.0, 56.0, 31.0)
    assert assembly.mass_g is None
    assert "Intel's product brief" in assembly.body
