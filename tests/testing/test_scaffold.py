"""`edgebench new`: names, what is written, and that nothing is overwritten."""

import re
import tomllib

import pytest

from edgebench.cli.main import main
from edgebench.errors import EXIT_USAGE, NoPermissionError, UsageError
from edgebench.testing.scaffold import FILES, make_package, template_folder


def files_of(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "module", "class_name"),
    [("my-board", "my_board", "MyBoard"), ("gap8", "gap8", "Gap8"), ("a_b-c", "a_b_c", "ABC")],
)
def test_the_name_is_everywhere_and_the_templates_nowhere(tmp_path, name, module, class_name):
    folder = make_package("backend", name, tmp_path)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert folder.name == project["name"] == f"edgebench-{name.replace('_', '-')}"
    [(device, home)] = project["entry-points"]["edgebench.backends"].items()
    assert (device, home) == (name, f"edgebench_{module}.backend:{class_name}Backend")
    assert project["entry-points"]["edgebench.probes"] == {
        f"{name}-meter": f"edgebench_{module}.device.meter"
    }
    assert len(files_of(folder)) == len(FILES)
    for path in folder.rglob("*"):
        assert not re.search("example.?board", path.name, re.IGNORECASE)
        if path.is_file():
            text = path.read_text()
            assert not re.search("example.?board|<!--", text, re.IGNORECASE), path
            if path.suffix == ".py":
                compile(text, str(path), "exec")


def test_a_meter_alone_has_no_device(tmp_path):
    folder = make_package("meter", "my-sensor", tmp_path)
    assert files_of(folder) == {
        "README.md",
        "pyproject.toml",
        "src/edgebench_my_sensor/__init__.py",
        "src/edgebench_my_sensor/device/__init__.py",
        "src/edgebench_my_sensor/device/meter.py",
        "tests/test_my_sensor.py",
    }
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {"edgebench.probes": {"my-sensor": "edgebench_my_sensor.device.meter"}}
    assert "--device" not in (folder / "README.md").read_text()
    assert '"kind": "my-sensor"' in (folder / "src/edgebench_my_sensor/device/meter.py").read_text()


@pytest.mark.parametrize(
    "name", ["", "My-Board", "9lives", "my board", "../up", "my--board", "-x", "x-", "a" * 41, "böard", "x\n"]
)
def test_what_is_no_name_is_refused(tmp_path, name):
    with pytest.raises(UsageError) as caught:
        make_package("backend", name, tmp_path)
    assert "my-board" in caught.value.fix
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "name"), [("backend", "cpu"), ("meter", "rapl")])
def test_a_name_that_is_taken_is_refused(tmp_path, kind, name):
    with pytest.raises(UsageError, match=f"'{name}'"):
        make_package(kind, name, tmp_path)
    make_package("meter" if kind == "backend" else "backend", name, tmp_path)


def test_a_name_with_the_prefix_is_refused(tmp_path):
    with pytest.raises(UsageError, match="edgebench-edgebench-x"):
        make_package("backend", "edgebench-x", tmp_path)


def test_nothing_is_overwritten(tmp_path):
    folder = make_package("backend", "my-board", tmp_path)
    (folder / "README.md").write_text("mine")
    with pytest.raises(UsageError):
        make_package("backend", "my-board", tmp_path)
    assert (folder / "README.md").read_text() == "mine"
    (tmp_path / "edgebench-other").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError):
        make_package("backend", "other", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edgebench-my-board", "edgebench-other"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NoPermissionError) as caught:
        make_package("backend", "my-board", tmp_path / "file" / "below")
    assert "--output" in caught.value.fix


def test_the_template_is_what_is_listed():
    assert files_of(template_folder()) >= set(FILES)


def command(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["edgebench", "new", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


def test_the_command_says_where_it_is_and_what_comes_next(tmp_path, monkeypatch, capsys):
    (tmp_path / "made").mkdir()
    assert not command(monkeypatch, "backend", "my-board", "--output", str(tmp_path / "made"))
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'made' / 'edgebench-my-board'}\n"
    assert "pip install -e" in printed.err and "pytest" in printed.err
    assert "edgebench run --device my-board --quick" in printed.err
    assert command(monkeypatch, "backend", "My", "--output", str(tmp_path)) == EXIT_USAGE
    assert "write it like my-board" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "taught"), [(["backend"], "runner.py"), (["meter"], "meter.py")])
def test_help_teaches(monkeypatch, capsys, words, taught):
    assert not command(monkeypatch, *words, "--help")
    printed = capsys.readouterr().out
    assert taught in printed and "Example: edgebench new" in printed
