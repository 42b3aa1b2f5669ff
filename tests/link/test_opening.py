"""First words from the far end: marked lines among noise, and every way in which none comes."""

import subprocess
import sys
import threading

import pytest

from edgebench import interruption
from edgebench.link import ssh as opening
from edgebench.link.local import not_placed
from edgebench.link.ssh import Opening, OpeningFailed, no_python, not_connected


@pytest.fixture
def saying():
    started = []

    def start(code, timeout_s=20.0, awaited=""):
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return Opening(process, timeout_s, awaited)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_marked_lines_among_noise(saying):
    heard = saying("print('welcome', end=''); print('MARK:one\\nnoise\\nMARK:two', flush=True); input()")
    assert heard.after(b"MARK:") == b"one"
    assert heard.after(b"MARK:") == b"two"


def test_an_end_gives_its_code_and_both_streams(saying):
    with pytest.raises(OpeningFailed) as caught:
        saying("import sys; print('hello'); sys.stderr.write('x' * 200000 + 'why'); sys.exit(9)").after(b"M")
    assert caught.value.code == 9
    assert caught.value.stderr.endswith("why")
    assert len(caught.value.stderr) <= 4000
    assert caught.value.stdout == "hello"


@pytest.mark.attack("a board says nothing after the login: it ends at the deadline")
def test_silence_ends_at_the_deadline(saying):
    with pytest.raises(OpeningFailed) as caught:
        saying("input()", timeout_s=0.2).after(b"M")
    assert caught.value.code is None


def test_a_first_word_that_takes_its_time_is_said_to_be_waited_for(saying, monkeypatch, caplog):
    monkeypatch.setattr(opening, "SAY_AFTER_S", 0.0)
    with pytest.raises(OpeningFailed):
        saying("input()", 0.2, "pi to answer").after(b"M")
    assert [record.getMessage() for record in caplog.records] == ["waiting for pi to answer, 0 s at most"]


def test_a_first_word_that_nobody_is_to_hear_of(saying, monkeypatch, caplog):
    monkeypatch.setattr(opening, "SAY_AFTER_S", 0.0)
    with pytest.raises(OpeningFailed):
        saying("input()", 0.2).after(b"M")
    assert not caplog.records


@pytest.mark.attack("a login script prints without end: it is given up")
def test_endless_noise_is_given_up(saying, monkeypatch):
    monkeypatch.setattr(opening, "MAX_NOISE_BYTES", 5000)
    with pytest.raises(OpeningFailed):
        saying("while True: print('noise')").after(b"M")


def test_ctrl_c_reaches_a_thread_that_waits_for_first_words(saying):
    heard = saying("input()")
    caught = []
    with interruption.Interrupts() as interrupts:

        def wait():
            with interruption.heard_here(interrupts):
                try:
                    heard.after(b"M")
                except KeyboardInterrupt:
                    caught.append("opening")
                try:
                    interruption.pause(30.0)
                except KeyboardInterrupt:
                    caught.append("pause")

        thread = threading.Thread(target=wait)
        thread.start()
        interrupts.pass_on()
        interrupts.pass_on()
        thread.join(20)
    assert caught == ["opening", "pause"]


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        ("ssh: connect to host board port 22: Connection timed out", "cannot be reached"),
        ("ssh: connect to host board port 22: No route to host", "cannot be reached"),
        ("ann@board: Permission denied (publickey,password).", "without a password"),
        ("Received disconnect from board: Too many authentication failures", "without a password"),
        ("No ED25519 host key is known for board and you have requested strict checking.", "is not known"),
        ("Bad owner or permissions on /home/ann/.ssh/config", "configuration"),
        ("something quite new", "cannot be reached"),
        ("", "cannot be reached"),
    ],
)
def test_what_ssh_says_becomes_a_message_with_a_fix(stderr, sentence):
    error = not_connected(OpeningFailed(255, stderr, ""), "ann@board", "ssh ann@board")
    assert sentence in error.what
    assert error.why
    assert "{" not in error.fix and error.fix


def test_what_comes_from_a_board_is_made_printable():
    error = not_connected(OpeningFailed(255, "\x1b[2Jevil\x07 refused", ""), "board", "ssh board")
    assert error.why.isprintable()
    for stderr, stdout in (("\x1b]0;evil\x07", ""), ("", "\x1b]0;evil\x07")):
        error = no_python(OpeningFailed(1, stderr, stdout), "board", "python3", "ssh board")
        assert "evil" in error.why
        assert error.why.isprintable()
    assert not_placed("\x1b[2Jfull", 28, "board").why.isprintable()


def test_an_old_key_of_a_host_without_a_port_is_forgotten_by_name():
    changed = OpeningFailed(255, "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!", "")
    assert "ssh-keygen -R board'" in not_connected(changed, "ann@board", "ssh ann@board").fix


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(28, "is full"), (30, "cannot be written"), (None, "be placed"), ("[", "be placed")],
)
def test_what_cannot_be_written_there(number, sentence):
    assert sentence in not_placed("[Errno] words", number, "board").what
