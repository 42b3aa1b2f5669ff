"""Names of hosts and users are taken out of texts, and of nothing else."""

import subprocess
import sys

import pytest

from edgebench.store.redaction import Apart, masked

APART = Apart.of(
    ["alice@board.example.org:2222", None, "no address"],
    {"user": "bob", "node": "Quokka", "home": "/srv/people/bob", "link": "board.example.org"},
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("alice@board.example.org:2222 refuses", "(host) refuses"),
        ("alice@board.example.org: Permission denied (publickey)", "(host): Permission denied (publickey)"),
        ("carol@10.1.2.3: Permission denied (publickey).", "(host): Permission denied (publickey)."),
        (
            "ssh: connect to host 10.1.2.3 port 2222: refused",
            "ssh: connect to host (host) port 2222: refused",
        ),
        ("Could not resolve hostname inner.example: no", "Could not resolve hostname (host): no"),
        ('File "/home/alice/x/run.py", line 3', 'File "~/x/run.py", line 3'),
        ('File "/srv/people/bob/run.py"', 'File "~/run.py"'),
        ("/Users/dora/venv/bin/python", "~/venv/bin/python"),
        ("login alice on board.example.org", "login (user) on (host)"),
        ("Quokka and quokka rebooted", "(host) and (host) rebooted"),
        ("bobsled, alice2, my-alice and Quokkas stay", "bobsled, alice2, my-alice and Quokkas stay"),
    ],
)
def test_a_message_loses_its_names_and_keeps_its_sense(text, plain):
    assert APART.text(text) == plain


def test_nobodys_names_stay():
    apart = Apart.of(["root@localhost"], {"user": "root", "node": "localhost", "home": "/root"})
    assert apart == Apart()
    assert apart.text("sudo needs root on localhost") == "sudo needs root on localhost"


@pytest.mark.parametrize("private", [None, {}, {"user": 3, "node": None}, {"user": "", "home": "relative"}])
def test_private_facts_are_not_trusted(private):
    assert Apart.of([], private) == Apart()
    assert Apart.of([], {"user": "x" * 1000, "node": "(", "home": "/" + "y" * 1000}) == Apart()


def test_a_command_keeps_its_words_and_loses_the_host_and_homes():
    command = (
        "edgebench", "run", "--host", "alice@board.example.org", "--host=bob@x", "--name", "alice",
        "--scene", "/home/alice/scene.png",
    )  # fmt: skip
    assert APART.command(command) == (
        "edgebench", "run", "--host", "...", "--host=...", "--name", "alice", "--scene", "~/scene.png",
    )  # fmt: skip
    assert masked(("run", "--host")) == ("run", "--host")


def test_what_tells_of_hardware_stays():
    apart = Apart.of(["nvidia@nano"], {"user": "nvidia", "node": "nano"})
    facts = {"soc": "nvidia,tegra210", "board": "the nano", "python_executable": "/opt/nvidia/python", "n": 3}
    assert apart.facts(facts) == {**facts, "python_executable": "/opt/(user)/python"}


def test_nested_values_keep_their_shape():
    assert APART.texts({"a": ["alice", 1, None, ("bob",)]}) == {"a": ["(user)", 1, None, ("(user)",)]}


@pytest.mark.parametrize("text", ["x" * 4_000_000, "a@" * 2_000_000, "a." * 2_000_000])
def test_a_word_of_megabytes_is_gone_through_once(text):
    """Gone through once a letter it would take hours; in a process, because nothing interrupts a search."""
    code = "import sys; from tests.store.test_redaction import APART; APART.text(sys.stdin.read())"
    subprocess.run([sys.executable, "-c", code], input=text, text=True, timeout=120, check=True)


def test_a_port_is_taken_out_of_texts_and_commands():
    port = "/dev/serial/by-id/usb-STMicro_0669FF-if02"
    assert Apart.of(ports=[port, None]).text(f"{port} does not answer") == "(port) does not answer"
    assert masked(["--port", port, f"--port={port}"]) == ("--port", "...", "--port=...")
