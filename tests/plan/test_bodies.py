"""Mass and size of targets, by the boards that they are assembly of."""

from dataclasses import asdict, replace

import pytest
from pydantic import TypeAdapter

from edgebench import registry
from edgebench.errors import UsageError
from edgebench.records.target import Body, DeclaredBoard, DeclaredBoot, DeclaredPower, Target
from edgebench.run.boards import assemble, known_bodies
from edgebench.run.targets import listed, make_targets
from edgebench.run.targets_file import DeclaredTarget
from tests.fakes import FakeBackend

PARTS = {
    "stick": Body("Stick", 20.0, (10.0, 70.0, 30.0), "its data sheet"),
    "plate": Body("Plate", 100.0, (5.0, 60.0, 90.0), "its drawing"),
    "unweighed": Body("Unweighed", None, (1.0, 2.0, 3.0), "its page"),
    "unmeasured": Body("Unmeasured", 3.0, None, "its page"),
}


class Backend(FakeBackend):
    def bodies(self):
        return PARTS


def test_masses_are_added_and_boxes_are_stacked_flat():
    assembly = assemble(("stick", "plate"), Backend())
    assert assembly.mass_g == 120.0
    assert assembly.size_mm == (90.0, 60.0, 15.0)
    assert "Stick (20 g, 10 x 70 x 30 mm: its data sheet) + Plate (100 g" in assembly.sources
    assert "lying on each other" in assembly.sources


def test_one_alone_is_as_its_maker_says():
    assembly = assemble(("stick",), Backend())
    assert (assembly.mass_g, assembly.size_mm) == (20.0, (70.0, 30.0, 10.0))


def test_what_no_source_gives_leaves_the_sum_out_and_says_so():
    assembly = assemble(("stick", "unweighed"), Backend())
    assert assembly.mass_g is None and assembly.size_mm is not None
    assert "no mass: no source gives that of Unweighed" in assembly.sources
    assembly = assemble(("stick", "unmeasured"), Backend())
    assert assembly.mass_g == 23.0 and assembly.size_mm is None
    assert "no size: no source gives that of Unmeasured" in assembly.sources


@pytest.mark.parametrize("backend", [FakeBackend(), None])
def test_boards_of_the_catalogue_are_known_to_every_backend_and_without_one(backend):
    assert assemble(("raspberry-pi-4b",), backend).mass_g == 46.0
    assert assemble(("coral-m2-bm",), backend).mass_g == 5.8


def test_a_backends_own_board_goes_before_the_catalogues():
    backend = Backend()
    backend.bodies = lambda: {"raspberry-pi-4b": PARTS["plate"]}  # type: ignore[method-assign]
    assert assemble(("raspberry-pi-4b",), backend).mass_g == 100.0


def test_a_name_that_is_none_is_told_with_those_that_are():
    with pytest.raises(UsageError) as caught:
        assemble(("stik",), Backend())
    assert "did you mean 'stick'" in caught.value.fix
    assert "edgebench boards list" in caught.value.fix


def test_a_targets_own_figures_beat_those_of_its_boards():
    declared = DeclaredTarget(name="one", device="fake", board=("stick", "plate"), mass_g=99.0)
    [target] = make_targets({"fake": Backend()}, (), (), devices=(), declared=(declared,))
    assert (target.mass_g, target.size_mm) == (99.0, (90.0, 60.0, 15.0))
    assert "Plate" in target.body
    assert target.from_boards == ("size_mm",)


def test_powers_of_one_kind_are_added_and_kept_with_their_sources():
    stick = replace(
        PARTS["stick"],
        power=(DeclaredPower(2.0, "typical", "page 3"), DeclaredPower(4.5, "maximum", "label")),
    )
    plate = replace(PARTS["plate"], power=(DeclaredPower(6.0, "maximum", "drawing"),))
    backend = Backend()
    backend.bodies = lambda: {"stick": stick, "plate": plate}  # type: ignore[method-assign]
    assembly = assemble(("stick", "plate"), backend)
    assert assembly.power == (DeclaredPower(10.5, "maximum", "Stick: 4.5 W, label + Plate: 6 W, drawing"),)
    assert "no typical power: no source gives that of Plate" in assembly.sources
    assert "power" not in assemble(("raspberry-pi-4b",), backend).sources
    [target] = make_targets({"fake": backend}, (), (), boards=("stick",))
    assert [power.watts for power in target.declared_power] == [4.5, 2.0]
    assert target.from_boards == ("mass_g", "size_mm", "declared_power")
    [target] = make_targets({"fake": backend}, (), (), boards=("stick",), declared_power=("3:maximum:scale",))
    assert [power.watts for power in target.declared_power] == [3.0]
    assert target.from_boards == ("mass_g", "size_mm")


def bodies(**named):
    backend = Backend()
    backend.bodies = lambda: named  # type: ignore[method-assign]
    return backend


def test_parts_boot_as_long_as_their_slowest_machine():
    stick = replace(PARTS["stick"], plugged_in=True)
    host = replace(PARTS["plate"], boot_s=25.0, boot_kind="maximum", sources={"boot_s": "watch"})
    assembly = assemble(("stick", "host"), bodies(stick=stick, host=host))
    assert assembly.boot_s == DeclaredBoot(25.0, "maximum", "watch")
    slow = replace(host, boot_s=30.0, boot_kind="typical", sources={"boot_s": "video"})
    both = assemble(("host", "slow"), bodies(host=host, slow=slow))
    assert both.boot_s == DeclaredBoot(30.0, "typical", "video")


def test_a_boot_that_one_machine_lacks_is_missing_and_said():
    known, silent = replace(PARTS["plate"], boot_s=25.0), PARTS["plate"]
    assembly = assemble(("known", "silent"), bodies(known=known, silent=silent))
    assert assembly.boot_s is None
    assert "no boot time: no source gives that of Plate" in assembly.sources


def test_a_targets_own_boot_beats_its_boards():
    board = replace(PARTS["plate"], boot_s=25.0)
    declared = DeclaredTarget.model_validate(
        {
            "name": "one",
            "device": "fake",
            "board": "board",
            "boot_s": {"value": 9.0, "kind": "maximum", "source": "watch"},
        }
    )
    [target] = make_targets({"fake": bodies(board=board)}, (), (), devices=(), declared=(declared,))
    assert target.boot_s == DeclaredBoot(9.0, "maximum", "watch")
    assert target.from_boards == ("mass_g", "size_mm")
    assert TypeAdapter(Target).validate_python(asdict(target)).boot_s == target.boot_s


def test_the_machines_among_the_parts_are_kept_to_be_held_against_what_the_machine_says():
    known = replace(PARTS["plate"], models=("Plate One",))
    boards = {"stick": replace(PARTS["stick"], plugged_in=True), "plate": known}
    backend = Backend()
    backend.bodies = lambda: boards  # type: ignore[method-assign]
    [target] = make_targets({"fake": backend}, (), (), boards=("stick", "plate"))
    assert target.boards == (DeclaredBoard("Plate", ("Plate One",)),)
    assert target.from_boards == ("mass_g", "size_mm")


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
    [target] = make_targets({"fake": Backend()}, (), (), boards=("stick", "plate"))
    assert (target.mass_g, target.size_mm) == (120.0, (90.0, 60.0, 15.0))
    [target] = make_targets({"fake": Backend()}, (), ())
    assert (target.mass_g, target.size_mm, target.body) == (None, None, "")


def test_the_flag_has_no_use_without_a_device():
    declared = DeclaredTarget(name="one", device="fake")
    with pytest.raises(UsageError, match="--board"):
        make_targets({"fake": Backend()}, (), (), devices=(), declared=(declared,), boards=("stick",))


def test_every_body_that_a_backend_brings_names_its_source():
    for body in known_bodies().values():
        assert body.title and (body.source or body.note)
        assert body.mass_g is None or body.mass_g > 0
        assert body.size_mm is None or all(side > 0 for side in body.size_mm)


def test_a_file_holds_a_board_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[boards.mine]\ntitle = "Mine"\nmass_g = { value = 12, source = "kitchen scale" }\n')
    assembly = assemble((str(path), "coral-m2-ae"), FakeBackend())
    assert assembly.mass_g == pytest.approx(15.1)
    assert "Mine (12 g, size not known: kitchen scale)" in assembly.sources
    with pytest.raises(UsageError, match=r"board .*none\.toml cannot be read"):
        assemble((str(tmp_path / "none.toml"),), FakeBackend())


def test_a_stick_has_no_declared_power_without_its_host():
    power = (DeclaredPower(4.5, "maximum", "label"),)
    boards = {
        "stick": replace(PARTS["stick"], plugged_in=True, power=power),
        "plate": replace(PARTS["plate"], power=(DeclaredPower(6.0, "maximum", "drawing"),)),
    }
    backend = Backend()
    backend.bodies = lambda: boards  # type: ignore[method-assign]
    alone = assemble(("stick",), backend)
    assert alone.power == () and alone.mass_g == 20.0
    assert "no host is among these" in alone.sources
    [whole] = assemble(("stick", "plate"), backend).power
    assert whole.watts == 10.5


def test_a_stick_on_its_host():
    assembly = assemble(("coral-usb", "raspberry-pi-4b"), registry.backend("coral"))
    assert assembly.size_mm == (85.0, 56.0, 25.0)
    assert assembly.mass_g is None  # nobody says what the stick weighs
    card = assemble(("coral-m2-ae", "raspberry-pi-4b"), registry.backend("coral"))
    assert card.mass_g == pytest.approx(49.1)
    assembly = assemble(("ncs2", "raspberry-pi-3b"), registry.backend("ncs2"))
    assert assembly.size_mm == (85.0, 56.0, 31.0)
    assert assembly.mass_g is None
    assert "Intel's product brief" in assembly.sources
