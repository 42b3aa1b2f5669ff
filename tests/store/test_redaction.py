"""Names of hosts and users are taken out of texts, and of nothing else."""

import subprocess
import sys
from dataclasses import asdict
from typing import Any

import pytest
from pydantic import TypeAdapter

from edgebench.records.stored import SessionRecord
from edgebench.records.target import Launch, Target
from edgebench.records.values import Finding
from edgebench.results.redaction import PrivateNames, exported_target, masked, written

NAMES = PrivateNames.of(
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
    assert NAMES.text(text) == plain


def test_nobodys_names_stay():
    names = PrivateNames.of(["root@localhost"], {"user": "root", "node": "localhost", "home": "/root"})
    assert names == PrivateNames()
    assert names.text("sudo needs root on localhost") == "sudo needs root on localhost"


@pytest.mark.parametrize("private", [None, {}, {"user": 3, "node": None}, {"user": "", "home": "relative"}])
def test_private_facts_are_not_trusted(private):
    assert PrivateNames.of([], private) == PrivateNames()
    assert PrivateNames.of([], {"user": "x" * 1000, "node": "(", "home": "/" + "y" * 1000}) == PrivateNames()


def test_a_command_keeps_its_words_and_loses_the_host_and_homes():
    command = (
        "edgebench", "run", "--host", "alice@board.example.org", "--host=bob@x", "--name", "alice",
        "--scene", "/home/alice/scene.png",
    )  # fmt: skip
    assert NAMES.command(command) == (
        "edgebench", "run", "--host", "...", "--host=...", "--name", "alice", "--scene", "~/scene.png",
    )  # fmt: skip
    assert masked(("run", "--host")) == ("run", "--host")


def test_what_tells_of_hardware_stays():
    names = PrivateNames.of(["nvidia@nano"], {"user": "nvidia", "node": "nano"})
    facts = {"soc": "nvidia,tegra210", "board": "the nano", "python_executable": "/opt/nvidia/python", "n": 3}
    assert names.facts(facts) == {**facts, "python_executable": "/opt/(user)/python"}


def test_nested_values_keep_their_shape():
    assert NAMES.texts({"a": ["alice", 1, None, ("bob",)]}) == {"a": ["(user)", 1, None, ("(user)",)]}


@pytest.mark.parametrize("text", ["x" * 4_000_000, "a@" * 2_000_000, "a." * 2_000_000])
def test_a_word_of_megabytes_is_gone_through_once(text):
    """Gone through once a letter it would take hours; in a process, because nothing interrupts a search."""
    code = "import sys; from tests.store.test_redaction import NAMES; NAMES.text(sys.stdin.read())"
    subprocess.run([sys.executable, "-c", code], input=text, text=True, timeout=120, check=True)


def test_a_port_is_taken_out_of_texts_and_commands():
    port = "/dev/serial/by-id/usb-STMicro_0669FF-if02"
    assert PrivateNames.of(ports=[port, None]).text(f"{port} does not answer") == "(port) does not answer"
    assert masked(["--port", port, f"--port={port}"]) == ("--port", "...", "--port=...")


def test_an_option_that_is_a_place_is_taken_out_as_a_host_is():
    options = {"address": "10.0.7.7:81", "threads": 2}
    names = PrivateNames.of_targets([Target("t", "toy", options, places=("address",))])
    assert (
        names.text("http://10.0.7.7:81/jsonrpc does not answer") == "http://(host):81/jsonrpc does not answer"
    )
    command = ("run", "--set", "address=10.0.7.7:81", "--set=address=10.0.7.7", "--set", "threads=2")
    masked_command = ("run", "--set", "address=...", "--set=address=...", "--set", "threads=2")
    assert names.command(command) == masked_command
    assert PrivateNames.of_targets([Target("t", "toy", options, places=("address",))], places=False) == (
        PrivateNames()
    )


DECLARED: dict[str, Any] = {"host": "ann@pi.example", "port": "/dev/ttyUSB-4711"}


def test_a_target_and_its_record_declare_the_same_names():
    target = Target("t", "toy", launch=Launch(env={"TOKEN": "s3cret-token"}), **DECLARED)
    record = TypeAdapter(Target).validate_python(asdict(target))
    names = PrivateNames.of_targets([target])
    assert names == PrivateNames.of_targets([record])
    text = "ann@pi.example, s3cret-token, /dev/ttyUSB-4711"
    assert names.text(text) == "(host), (TOKEN), (port)"
    of_launches = PrivateNames.of_targets([target], places=False)
    assert of_launches.text(text) == "ann@pi.example, (TOKEN), /dev/ttyUSB-4711"
    assert of_launches | PrivateNames.of(["ann@pi.example"], ports=[DECLARED["port"]]) == names
    finding = written(Finding("error", "link", "pi.example is away", "ask ann"), names)
    assert finding == Finding("error", "link", "(host) is away", "ask (user)")


def test_swept_settings_name_no_user():
    target = Target(name="fake[kernels=x~1]", device="fake", settings={"kernels": "/home/alice/x", "n": 1})
    assert exported_target(target).settings == {"kernels": "~/x", "n": 1}


def test_a_short_port_is_part_of_ordinary_words():
    names = PrivateNames.of(ports=["1", "COM3", "/dev/ttyACM0"])
    assert names.text("11 readings of /dev/ttyACM0 came late") == "11 readings of (port) came late"


@pytest.mark.attack("a meter's readings and reasons name a host, a user or a port: the record does not")
def test_what_a_probe_says_names_nobody():
    names = PrivateNames.of(
        ["alice@nano.local"], {"home": "/home/alice"}, ports=["/dev/serial/by-id/usb-4711"]
    )
    info = {
        "kind": "benchtop",
        "address": "nano",
        "channels": [{"name": "alice", "quantity": "power", "unit": "W"}],
        "resolution": "as /home/alice/meter.ini says",
        "absent": {"volts": "/dev/serial/by-id/usb-4711 is in use"},
        "rejected": 1,
        "rejected_first": ("login on nano.local as alice",),
    }
    record = SessionRecord(
        trial="0" * 16, n=0, round=0, status="ok", started_utc="2026-01-01T00:00:00Z", duration_s=1.0,
        probes=(info,),
    )  # fmt: skip
    [probe] = written(record, names).probes
    assert probe["resolution"] == "as ~/meter.ini says"
    assert probe["absent"] == {"volts": "(port) is in use"}
    assert probe["rejected_first"] == ("login on (host) as (user)",)
    # By these its samples are found.
    assert {name: probe[name] for name in ("kind", "address", "channels", "rejected")} == {
        name: info[name] for name in ("kind", "address", "channels", "rejected")
    }
