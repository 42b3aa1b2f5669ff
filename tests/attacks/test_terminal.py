"""Terminals and outputs that take nothing any more, and names that would steer them."""

import errno
import fcntl
import io
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from rich.console import Console
from typer.core import TyperGroup

import edgebench
from edgebench.cli import main as command
from edgebench.cli import streams
from edgebench.cli import streams as failures
from edgebench.cli.common import complete_results, echo_path, say
from edgebench.report import words
from edgebench.run.measuring.progress import RunState, SessionState, StderrObserver
from tests.walk.conftest import COMMAND, Place, make_place

pytestmark = pytest.mark.slow

STEERING = "a\x1b]0;owned\x07b\x9b31m\u202ec\u2028d\x7f"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(tmp_path) -> Place:
    return make_place(tmp_path)


def command_on(output, *words, folder, program=COMMAND, **more):
    return subprocess.run(
        [*program, *words], stdout=output, stderr=subprocess.PIPE, cwd=folder, text=True, timeout=60, **more
    )


@pytest.mark.parametrize("words", [("profiles", "list"), ("profiles", "list", "--json"), ("--help",)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.attack("show > /dev/full, and any other command: a message and exit code 1, no traceback")
def test_an_output_that_is_full_is_said(tmp_path, words, unbuffered):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        done = command_on(full, *words, folder=tmp_path, env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: the output cannot be written",
        "  why: No space left on device",
        "  fix: send it elsewhere, such as to a file on a disk with room",
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("profiles list", 0),
        ("profiles list --json", 0),
        ("--help", 0),
        ("fit --reference", 3),
        ("show nowhere --json", 1),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.attack("what a command prints has no reader (| head): its own exit code, without a word")
def test_a_reader_that_has_gone_changes_no_exit_code(tmp_path, line, code, unbuffered):
    end, output = os.pipe()
    os.close(end)
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    try:
        done = command_on(output, *line.split(), folder=tmp_path, env=environment)
    finally:
        os.close(output)
    assert done.returncode == code
    assert bool(done.stderr) == (code == 1)


@pytest.mark.attack("messages cannot be written (2> /dev/full): left out, the exit code stays")
def test_messages_that_cannot_be_written_change_no_exit_code(tmp_path):
    with Path("/dev/full").open("w") as full:
        for words, code in ((("profiles", "list"), 0), (("show", "nowhere"), 1), (("run", "--nonsense"), 2)):
            done = subprocess.run(
                [*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=full, cwd=tmp_path, timeout=60
            )
            assert done.returncode == code


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.attack("stdout or stderr is closed before a command begins (>&-): its exit code, no traceback")
def test_an_output_that_was_closed_takes_nothing(tmp_path, closed):
    for line, code in (
        ("profiles list", 0),
        ("run --nonsense --json", 2),
        ("run --device toy --profile nowhere --json", 2),
        ("show nowhere --json", 1),
    ):
        program = f"exec {shlex.join(COMMAND)} {line} {closed}"
        done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60)
        assert done.returncode == code, line
        assert "Traceback" not in done.stderr
        assert ("error" in done.stderr.lower()) == (code > 0 and "2>" not in closed)
        if "--json" in line and closed == "2>&-":
            assert json.loads(done.stdout)["error"]["exit_code"] == code


@pytest.mark.attack("the pipe of a helper or a device breaks: an error message, as for any fault")
def test_a_broken_pipe_that_is_not_stdouts_is_said(monkeypatch, capsys):
    def broken(context):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(TyperGroup, "invoke", lambda group, context: broken(context))
    monkeypatch.setattr(sys, "argv", ["edgebench", "profiles", "list"])
    with pytest.raises(SystemExit) as stop:
        command.main()
    assert stop.value.code == 1
    assert "error: BrokenPipeError: [Errno 32] Broken pipe\n  why: this is a fault" in capsys.readouterr().err


class Refusing(io.StringIO):
    """A stream of a terminal that has gone."""

    def write(self, text):
        raise OSError(errno.EIO, "Input/output error")

    def flush(self):
        raise OSError(errno.EIO, "Input/output error")


def test_a_message_that_is_refused_is_left_out(monkeypatch):
    gone = Refusing()
    monkeypatch.setattr(sys, "stderr", gone)
    monkeypatch.setattr(streams, "abandon", lambda stream: None)
    with streams.watched():
        print("said", file=sys.stderr, flush=True)
        assert not sys.stderr.isatty()
    assert sys.stderr is gone


def test_an_error_of_another_file_is_none_of_the_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Refusing())
    with streams.watched():
        assert "fault of EdgeBench" in failures.as_error(OSError(errno.EIO, "Input/output error")).why
        with pytest.raises(OSError, match="Input/output") as caught:
            print("printed")
        assert failures.as_error(caught.value).what == "the output cannot be written"


class Terminal:
    """A terminal of a run's own, with the run in it."""

    def __init__(self, place, *words, ignoring=()):
        self._ours, theirs = pty.openpty()

        def begin():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            for number in ignoring:
                signal.signal(number, signal.SIG_IGN)

        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=place.folder,
            env=place.environment,
            start_new_session=True,
            preexec_fn=begin,
        )
        os.close(theirs)

    def read_until(self, first, then):
        """Take what is shown, as a terminal does, until `first` and later `then` were shown."""
        deadline = time.monotonic() + 60
        os.set_blocking(self._ours, False)
        text = ""
        while then not in text.partition(first)[2]:
            assert self.process.poll() is None, text
            assert time.monotonic() < deadline, text
            try:
                text += os.read(self._ours, 65536).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.02)

    def close(self):
        os.close(self._ours)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=60)


@pytest.mark.parametrize(
    ("ignoring", "code"),
    [
        pytest.param(
            (),
            129,
            marks=pytest.mark.attack(
                "the terminal of a run closes: it ends as by SIGTERM, its session in hand and report are kept"
            ),
        ),
        pytest.param(
            (signal.SIGHUP,),
            1,
            marks=[
                pytest.mark.attack(
                    "the terminal of a run under nohup closes: it goes on in silence, with its report"
                ),
                pytest.mark.slow,
            ],
        ),
    ],
)
def test_a_terminal_that_closes(place, ignoring, code):
    results = place.folder / "results" / "closed"
    words = place.toy("--name", "closed", "--depth", "0.25", "--precision", "int8", "--set", "delay_us=40000",
                      "--sessions", "2")  # fmt: skip
    terminal = Terminal(place, *words, ignoring=ignoring)
    try:
        terminal.read_until("session 2 of 2", "pass")
        terminal.close()
        assert terminal.process.wait(timeout=90) == code
    finally:
        terminal.end()
    statuses = list(edgebench.load(results).sessions["status"])
    assert (results / "report.html").stat().st_size > 10_000
    assert statuses == ["ok", "ok" if ignoring else "interrupted"]


def observed(terminal, tell):
    file = io.StringIO()
    observer = StderrObserver(Console(file=file, width=200, force_terminal=terminal, no_color=True))
    tell(observer)
    return file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.attack(
    "control characters in names of files, targets and notes: shown as a replacement character"
)
def test_no_name_steers_the_terminal(terminal):
    def tell(observer):
        run, session = RunState(1, 2, 1.0), SessionState("", STEERING, STEERING)
        observer.note(STEERING)
        observer.session_starts(run, session)
        observer.sessions_move(run, [session])
        observer.session_ended(session, None, "crash", 1.0)
        observer.note("[bold]plain[/bold]")

    text = observed(terminal, tell)
    assert "\ufffd]0;owned\ufffdb" in text
    assert "[bold]plain[/bold]" in text
    for char in ("\x1b]", "\x07", "\x9b", "\u202e", "\u2028", "\x7f"):
        assert char not in text


def test_nor_do_messages_paths_and_errors(capsys, tmp_path, monkeypatch):
    say(f"warning: {STEERING}\nforged")
    echo_path(tmp_path / STEERING)
    monkeypatch.setattr(sys, "argv", ["edgebench", "models", "show", f"{STEERING}.tflite"])
    with pytest.raises(SystemExit):
        command.main()
    out, err = capsys.readouterr()
    assert "owned" in out and err.count("owned") >= 2
    assert "\nforged" not in err
    assert not any(char in out + err for char in STEERING if not char.isprintable())


def test_text_is_bounded_and_on_one_line():
    assert words.plain("a\tb\nc") == "a b c"
    assert words.plain("x" * 500, 10) == "x" * 9 + "…"


@pytest.mark.attack("Ctrl-C while Python still loads EdgeBench: exit code 130, no traceback")
def test_ctrl_c_while_it_loads(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    program = [sys.executable, "-c", "from edgebench.cli.main import main; main()"]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = command_on(subprocess.PIPE, "--help", folder=tmp_path, program=program, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_the_shell_completes_from_the_folder_of_the_settings(tmp_path, monkeypatch):
    class Context:
        params = {"output_dir": None}  # noqa: RUF012

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("EDGEBENCH_OUTPUT_DIR", raising=False)
    (tmp_path / "elsewhere" / "mine").mkdir(parents=True)
    (tmp_path / "elsewhere" / "mine" / "experiment.json").write_text("{}")
    (tmp_path / "edgebench.toml").write_text('output_dir = "elsewhere"\n')
    assert complete_results(Context(), "") == ["latest", "mine"]  # type: ignore[arg-type]
    (tmp_path / "edgebench.toml").write_text("output_dir = ")
    assert complete_results(Context(), "") == []  # type: ignore[arg-type]
