"""Boards that are named when a result is judged: whose they are, what they bring, and what is said of it."""

import json
from dataclasses import replace

import pytest

from edgebench.errors import UsageError
from edgebench.judge.judged import judge_folder, with_boards
from edgebench.judge.verdicts.next_steps import settling_steps
from edgebench.records.target import DeclaredPower
from edgebench.results.load import load
from tests.judge.trials import profile
from tests.synthetic_results import QUARTER, made_experiment, write_record

PI = "raspberry-pi-4b"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result whose target was measured without board, mass and size."""
    return made_experiment(tmp_path_factory.mktemp("boards"))


@pytest.fixture
def record(folder):
    return load(folder).experiment


def only(record):
    [target] = record.targets
    return target


def changed(record, **update):
    return record.model_copy(update={"targets": (replace(only(record), **update),)})


def test_a_target_without_a_board_takes_what_its_boards_bring(record):
    judged, [note] = with_boards(record, ["coral-m2-ae", PI])
    target = only(judged)
    assert target.mass_g == pytest.approx(49.1)
    assert target.size_mm == (85.0, 56.0, 19.3)
    assert target.declared_power == ()  # no source gives the card's
    assert target.from_boards == ("mass_g", "size_mm")
    assert [(board.title, board.models) for board in target.boards] == [
        ("Raspberry Pi 4 Model B", ("Raspberry Pi 4 Model B",))
    ]
    assert note.startswith(f"{target.name}: mass and size of Coral M.2 Accelerator A+E key (3.1 g")
    assert "no typical power: no source gives that of Coral M.2 Accelerator A+E key" in note
    assert only(record).mass_g is None  # as it was


def test_rated_power_comes_with_its_kind_and_source(record):
    target = only(with_boards(record, [PI])[0])
    [power] = target.declared_power
    assert (power.watts, power.kind) == (3.06, "typical") and "bare board" in power.source
    assert target.from_boards == ("mass_g", "size_mm", "declared_power")


def test_own_figures_of_a_target_beat_its_boards(record):
    label = DeclaredPower(9.0, "maximum", "label")
    mine = changed(record, mass_g=99.0, declared_power=(label,))
    target = only(with_boards(mine, [PI])[0])
    assert (target.mass_g, target.size_mm, target.declared_power) == (99.0, (85.0, 56.0, 17.0), (label,))
    assert target.from_boards == ("size_mm",)


def test_boards_of_the_run_make_way_and_it_is_said(record):
    before = only(with_boards(record, [PI])[0])
    ran_with = record.model_copy(update={"targets": (before,)})
    judged, notes = with_boards(ran_with, ["raspberry-pi-3b"])
    target = only(judged)
    assert (target.mass_g, target.boards[0].title) == (45.0, "Raspberry Pi 3 Model B")
    assert len(notes) == 2
    assert "in place of what it ran with, Raspberry Pi 4 Model B" in notes[1]


def test_a_sweep_is_named_at_once_and_its_notes_stand_together(record):
    one = only(record)
    swept = tuple(replace(one, name=f"cpu[threads={n}]", settings={"threads": n}) for n in (1, 2))
    other = replace(one, name="stick")
    several = record.model_copy(update={"targets": (*swept, other)})
    judged, notes = with_boards(several, [f"cpu={PI}", "stick=coral-m2-ae"])
    assert [target.mass_g for target in judged.targets] == [46.0, 46.0, 3.1]
    assert [note.partition(": ")[0] for note in notes] == ["cpu[threads=1], cpu[threads=2]", "stick"]
    judged, _ = with_boards(several, ["cpu[threads=2]=raspberry-pi-3b", f"cpu={PI}"])
    assert [target.mass_g for target in judged.targets] == [46.0, 45.0, None]
    with pytest.raises(UsageError) as caught:
        with_boards(several, [PI])
    assert "does not say of which target" in caught.value.what
    assert caught.value.fix == f"write cpu={PI}"


def test_a_device_whose_package_is_not_installed_takes_the_catalogues_boards(record):
    gone = changed(record, device="a-package-of-others")
    assert only(with_boards(gone, [PI])[0]).mass_g == 46.0


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("rasberry-pi-4b", "there is no board 'rasberry-pi-4b'", "did you mean 'raspberry-pi-4b'"),
        ("nix=ncs2", "there is no target 'nix'", "known:"),
        ("ncs2=", "names no board", "--board nano="),
        ("", "names no board", "--board nano="),
        ("none-there.toml", "cannot be read", "name a board"),
    ],
)
def test_what_is_no_board_of_a_target_is_refused(record, text, what, fix):
    with pytest.raises(UsageError) as caught:
        with_boards(record, [text])
    assert what in caught.value.what
    assert fix in caught.value.fix


def test_the_summaries_doubt_a_board_that_the_machine_does_not_confirm_as_in_a_run(folder):
    judged = judge_folder(folder, boards=[PI])
    assert judged.notes
    for trial in judged.trials:
        assert trial.estimate("mass_g").value == 46.0
        assert "the machine was declared as Raspberry Pi 4 Model B" in trial.doubts["mass_g"]
    assert [trial.key for trial in judged.trials] == [trial.key for trial in judge_folder(folder).trials]
    [declared, *_] = judge_folder(folder, None, ["4:maximum:label"], [PI]).trials
    assert [estimate.value for _, estimate in declared.estimates_of("declared_power")] == [4.0]
    assert "declared_power" not in declared.doubts


LIMITS = {"image_s": 1e3, "power_mean_w": 100.0, "energy_j": 1e3, "mass_g": 50.0, "size_mm": (90, 60, 20)}
X86 = {"machine": "x86_64", "cpu": "AMD EPYC"}


def words_of(folder, facts, boards, **limits):
    """The verdict and its reason by quantity, of a result whose machine says this of itself."""
    for file in folder.glob("trials/*/sessions/*/session.json"):
        write_record(file, {**json.loads(file.read_text()), "device": facts})
    profiles = [profile(quantity=name, limit=limit) for name, limit in (limits or LIMITS).items()]
    judged = judge_folder(folder, profiles, boards=boards)
    return {verdict.requirement.quantity: (verdict.word, verdict.reason) for verdict in judged.verdicts}


@pytest.fixture
def metered(tmp_path):
    return made_experiment(tmp_path, variants=QUARTER[:1], power=True)


def test_times_and_power_of_another_machine_are_not_judged_as_the_declared_boards(metered):
    words = words_of(metered, X86, [PI])
    for quantity in ("image_s", "power_mean_w", "energy_j"):
        assert words[quantity][0] == "unknown"
        assert "AMD EPYC, x86_64" in words[quantity][1] and "Raspberry Pi 4 Model B" in words[quantity][1]
    assert words["mass_g"][0] == words["size_mm"][0] == "pass"


@pytest.mark.parametrize(
    ("facts", "boards"),
    [
        (X86, []),
        (X86, ["coral-usb"]),
        (X86, ["jetson-orin-nx"]),
        ({}, [PI]),
        ({"machine": "aarch64", "board": "Raspberry Pi 4 Model B Rev 1.4"}, [PI]),
    ],
)
def test_sticks_modules_and_what_is_not_contradicted_are_judged_by_their_times(metered, facts, boards):
    assert words_of(metered, facts, boards, image_s=1e3)["image_s"][0] == "pass"


def test_a_replay_is_judged_whatever_machine_plays_it(metered):
    record = json.loads((metered / "experiment.json").read_text())
    record["targets"][0]["device"] = "replay"
    write_record((metered / "experiment.json"), record)
    assert words_of(metered, X86, [PI], image_s=1e3)["image_s"][0] == "pass"


def test_what_would_settle_it_is_the_declared_board(metered):
    words_of(metered, X86, [])
    limit = [profile(quantity="image_s", limit=1e3)]
    judged = judge_folder(metered, limit, boards=[PI])
    [verdict] = judged.verdicts
    [step] = settling_steps(judged.trials[0], verdict)
    assert "declared board" in step.reason
