"""Bad input: one clear message (what, why, the fix) and the right exit code."""

import shutil

import pytest

pytestmark = pytest.mark.slow

PROFILE = (
    'schema_version = 1\nname = "p"\ntitle = "t"\n[[requirements]]\nname = "latency"\n'
    'quantity = "image_s"\nstatistic = "median"\nunit = "s"\n'
)


@pytest.mark.attack(
    "options or files that cannot be are given to a run: a message with its fix, and the exit code"
)
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--device", "cpux"], 2, "cpux"),
        (["--device", "toy", "--depth", "0.3"], 2, "0.3"),
        (["--device", "toy", "--precision", "int4"], 2, "int4"),
        (["--device", "toy", "--profile", "disco-realtme"], 2, "disco-realtime"),
        (["--device", "toy", "--set", "sped=1"], 2, "sped"),
        (["--device", "toy", "--set", "delay_us=fast"], 2, "delay_us"),
        (["--device", "toy", "--meter", "voltmeter"], 2, "voltmeter"),
        (["--device", "toy", "--sessions", "0"], 2, "sessions"),
        (["--device", "toy", "--scene", "none.png"], 1, "none.png"),
        (["--device", "toy", "--scene", "broken.png"], 1, "broken.png"),
        (["--device", "toy", "--scene", "tiny.png"], 1, "tiny.png"),
        (["--device", "toy", "--images", "empty"], 1, "empty"),
        (["--device", "toy", "--images", "broken"], 1, "bad.png"),
        (["--device", "toy", "--name", "../out"], 2, "../out"),
        ([], 2, "--device"),
    ],
)
def test_a_run_that_cannot_be(place, words, code, says):
    from PIL import Image

    (place.folder / "broken.png").write_bytes((place.folder / "scene.png").read_bytes()[:2000])
    Image.new("RGB", (100, 100)).save(place.folder / "tiny.png")
    (place.folder / "empty").mkdir()
    (place.folder / "broken" / "water").mkdir(parents=True)
    (place.folder / "broken" / "water" / "bad.png").write_text("no picture")
    standard = [] if "--scene" in words else ["--scene", "scene.png"]
    standard += [] if "--images" in words else ["--images", "images"]
    done = place.run("run", *standard, *words)
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
    assert "fix:" in done.stderr
    assert not list(place.folder.glob("results/*"))


@pytest.mark.attack("a profile's limit is missing, negative or not a number: a usage error")
@pytest.mark.parametrize("limit", ["", "limit = -1.0\n", 'limit = "4"\n', "limit = nan\n"])
def test_a_profile_without_a_sound_limit(place, limit):
    (place.folder / "p.toml").write_text(PROFILE + limit)
    done = place.run("profiles", "show", "p.toml")
    assert done.returncode == 2
    assert "limit" in done.stderr
    assert "latency" in done.stderr


@pytest.mark.attack("a result folder is torn or foreign: a message with its fix")
@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda folder: (folder / "experiment.json").write_text("{"), "experiment.json"),
        (
            lambda folder: (folder / "experiment.json").write_text('{"schema_version": 99}'),
            "records of version 99",
        ),
        (lambda folder: (folder / "experiment.json").unlink(), "has sessions and no experiment.json"),
    ],
)
def test_a_truncated_or_foreign_result_folder(measured, tmp_path, damage, says):
    place, _ = measured
    folder = tmp_path / "copy"
    shutil.copytree(place.folder / "results" / "first", folder)
    damage(folder)
    done = place.run("show", str(folder))
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.attack("a table of a result is torn: it is named and the rest is shown")
def test_a_truncated_parquet_file_is_named_and_the_rest_is_shown(measured, tmp_path):
    place, _ = measured
    folder = tmp_path / "copy"
    shutil.copytree(place.folder / "results" / "first", folder)
    victim = next(folder.glob("trials/*/sessions/000/passes.parquet"))
    victim.write_bytes(victim.read_bytes()[:100])
    done = place.run("show", str(folder))
    assert "passes.parquet" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_result_yet(place):
    done = place.run("show", "latest")
    assert done.returncode == 1
    assert "edgebench run" in done.stderr


@pytest.mark.attack("the output folder cannot be written: a message before anything is measured")
def test_an_output_folder_that_cannot_be_written(place):
    (place.folder / "file").write_text("")
    done = place.run(*place.toy("--output-dir", "file/results"))
    assert done.returncode == 2
    assert "file is no folder" in done.stderr
    assert "--output-dir" in done.stderr


def test_a_failing_command_shows_its_traceback_only_when_asked(place):
    assert "Traceback" in place.run("show", "nowhere", "--debug").stderr
    assert "Traceback" not in place.run("show", "nowhere").stderr


@pytest.mark.attack("names hold terminal escapes: they do not reach the terminal")
def test_terminal_escapes_in_names_are_not_passed_on(place):
    done = place.run("show", "a\x1b[31mb")
    assert "\x1b" not in done.stderr
