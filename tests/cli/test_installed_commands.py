"""Command groups of installed packages: listed without being imported, imported when they are called."""

import sys

import pytest
from typer.testing import CliRunner

from edgebench.cli import installed_commands
from edgebench.cli.main import app
from edgebench.errors import UnavailableError

MODULE = '''"""Count birds [bold]at[/bold] sea.

More of it.
"""

import typer

app = typer.Typer(no_args_is_help=True)


@app.command()
def count(birds: int = 3) -> None:
    """Count."""
    print(birds * 2)


@app.command()
def name(bird: str = typer.Option("", autocompletion=lambda incomplete: ["gannet", "gull"])) -> None:
    """Name."""
'''


class Packages:
    """A folder on Python's path that packages are installed into."""

    def __init__(self, folder):
        self._folder = folder

    def install(self, package, lines, **modules):
        info = self._folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(f"[other]\nx = y\n\n[edgebench.commands]\n{lines}\n")
        for name, source in modules.items():
            (self._folder / f"{name}.py").write_text(source)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield Packages(tmp_path)
    for name in [name for name in sys.modules if name.startswith("birds_")]:
        del sys.modules[name]


def call(*words, **environment):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "80", "NO_COLOR": "1", **environment})


def complete(line):
    environment = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - (not line.endswith(" ")))}
    return (
        CliRunner()
        .invoke(app, prog_name="edgebench", env={"_EDGEBENCH_COMPLETE": "complete_bash", **environment})
        .stdout.split()
    )


def test_a_group_is_listed_without_being_imported_and_called(packages):
    packages.install("birds", "birds = birds_app:app", birds_app=MODULE)
    shown = call("--help").stdout
    assert "birds" in shown and "Count birds [bold]at[/bold] sea." in shown
    assert call("profiles", "list").exit_code == 0
    assert complete("edgebench bi") == ["birds"]
    assert "birds_app" not in sys.modules
    done = call("birds", "count", "--birds", "4")
    assert (done.exit_code, done.stdout) == (0, "8\n"), done.exception
    assert "Count." in call("birds", "--help").stdout
    assert complete("edgebench birds na") == ["name"]
    assert complete("edgebench birds name --bird g") == ["gannet", "gull"]


def test_a_mistyped_name_is_told_which_it_could_be(packages):
    packages.install("birds", "birds = birds_app:app", birds_app=MODULE)
    done = call("brids")
    assert done.exit_code == 2 and "'birds'" in done.stderr


@pytest.mark.parametrize(
    ("value", "source"),
    [
        pytest.param("birds_app:app", "raise OSError('no wings')", id="raises"),
        pytest.param("birds_app:app", "raise SystemExit(7)", id="exits"),
        pytest.param("birds_app:app", "app = 3", id="no-group"),
        pytest.param("birds_app:missing", MODULE, id="no-such-attribute"),
        pytest.param("birds_gone:app", "", id="no-such-module"),
        pytest.param("birds_app", "", id="no-attribute"),
        pytest.param("birds_app:app", "def (", id="no-python"),
    ],
)
@pytest.mark.attack("a package brings a broken command: a named error for that command, all others work")
def test_a_broken_package_fails_alone(packages, value, source):
    packages.install("seabirds", f"birds = {value}", birds_app=source)
    for words in (["--help"], ["profiles", "list"]):
        assert call(*words).exit_code == 0
    assert complete("edgebench birds c") == []
    done = call("birds", "count")
    assert isinstance(done.exception, UnavailableError), done.exception
    assert "'birds'" in done.exception.what and done.exception.why
    assert "seabirds" in done.exception.fix


@pytest.mark.attack("a package names its command like one of EdgeBench's: EdgeBench's own is carried out")
def test_own_names_cannot_be_taken(packages):
    packages.install("birds", "profiles = birds_app:app\nrun = birds_app:app", birds_app=MODULE)
    assert "disco" in call("profiles", "list").stdout
    assert "--device" in call("run", "--help").stdout
    assert "Count birds" not in call("--help").stdout
    assert "birds_app" not in sys.modules


@pytest.mark.attack("a package's metadata and help steer the terminal: shown without, the command refused")
def test_metadata_does_not_steer_the_terminal(packages):
    steering = "\x1b]0;owned\x07\u202e"
    source = f'"""Birds {steering} [link=file:///etc]fly[/link]."""\n' + MODULE
    packages.install("birds", f"bi{steering}rds = birds_app:app\ngulls = birds_app:app", birds_app=source)
    shown = call("--help").stdout
    assert "gulls" in shown and "[link=file:///etc]fly[/link]" in shown and "cannot be used" in shown
    assert not set(shown) & set("\x1b\x07\u202e")
    done = call(f"bi{steering}rds")
    assert isinstance(done.exception, UnavailableError)
    assert "birds_app" not in sys.modules


def test_two_packages_of_one_name_are_refused(packages):
    packages.install("birds", "birds = birds_app:app", birds_app=MODULE)
    packages.install("gulls", "birds = gulls_app:app")
    error = call("birds", "count").exception
    assert isinstance(error, UnavailableError)
    assert "birds" in error.fix and "gulls" in error.fix


def test_a_package_that_is_there_twice_is_the_first_on_the_path(packages, tmp_path, monkeypatch):
    packages.install("birds", "old = birds_app:app")
    newer = tmp_path / "newer"
    newer.mkdir()
    monkeypatch.syspath_prepend(newer)
    Packages(newer).install("birds", "new = birds_app:app")
    names = {point.name for point in installed_commands.entry_points() if point.package == "birds"}
    assert names == {"new"}


@pytest.mark.parametrize("text", [b"[edgebench.commands]\n\xff = a:b", b"[edgebench.commands\n\n=\n = \n[x]"])
def test_metadata_that_cannot_be_read_brings_nothing(packages, tmp_path, text):
    packages.install("birds", "")
    (tmp_path / "birds-1.0.dist-info" / "entry_points.txt").write_bytes(text)
    assert call("--help").exit_code == 0
    assert call("birds").exit_code == 2
