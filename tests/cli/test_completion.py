"""What the shell completes where a result is taken."""

import json
import os
from types import SimpleNamespace
from typing import Any

import pytest
from typer.core import TyperArgument, TyperGroup
from typer.main import get_command

from edgebench.cli.common import (
    complete_board,
    complete_device,
    complete_measured_target,
    complete_meter,
    complete_option,
    complete_port,
    complete_results,
)
from edgebench.cli.main import app
from edgebench.results.listing import list_results
from tests.synthetic_results import made_experiment


class Context:
    def __init__(self, output_dir=None):
        self.params = {"output_dir": output_dir}


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two results, the older one last by name, beside a folder that is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EDGEBENCH_OUTPUT_DIR", raising=False)
    for name, at_s in (("b-old", 1_000), ("a-new", 2_000)):
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        (folder / "experiment.json").write_text("{}")
        os.utime(folder / "experiment.json", (at_s, at_s))
    (tmp_path / "results" / "notes").mkdir()
    return tmp_path / "results"


def complete(text, output_dir=None):
    return complete_results(Context(output_dir), text)  # type: ignore[arg-type]


def test_latest_and_names_newest_first(results):
    assert complete("") == ["latest", "a-new", "b-old"]
    assert complete("b") == ["b-old"]
    assert complete("la") == ["latest"]
    assert complete("nix") == []


def test_a_result_of_another_version_is_named_as_one_and_is_not_the_latest(results):
    record = '{\n "schema_version": 1,\n "targets": [{"name": "cpu"}]}'
    (results / "b-old" / "experiment.json").write_text(record)
    text = "records of version 1"
    assert sorted(map(str, complete(""))) == sorted(["latest", "a-new", str(("b-old", text))])
    assert complete_measured_target(Context(), "") == []  # type: ignore[arg-type]
    (results / "a-new" / "experiment.json").write_text(record)
    assert complete("results/l") == complete("l") == []
    assert complete("results/a") == [("results/a-new", text)]


def test_paths_are_completed_as_they_are_typed(results):
    assert complete("results/") == [
        "results/latest",
        "results/a-new",
        "results/b-old",
        "results/notes/",
    ]
    assert complete("results/b") == ["results/b-old"]
    assert complete("./res") == ["./results/"]
    assert complete(f"{results}/a") == [f"{results}/a-new"]


def test_where_results_lie_is_said_by_the_flag_and_the_environment(results, monkeypatch, tmp_path):
    elsewhere = results.rename(tmp_path / "elsewhere")
    assert complete("") == []
    assert complete("a", elsewhere) == ["a-new"]
    monkeypatch.setenv("EDGEBENCH_OUTPUT_DIR", str(elsewhere))
    assert complete("a") == ["a-new"]


def test_names_with_control_characters_are_not_completed(results):
    (results / "evil\x1b]0;x\x07").mkdir()
    (results / "evil\nresult").mkdir()
    (results / "evil\nresult" / "experiment.json").write_text("{}")
    assert complete("e") == []
    assert complete("results/e") == []


@pytest.mark.parametrize("name", ["e$(id)", "e`id`", "e;id", "e|id", "e'", 'e"', "e&", "-e"])
def test_names_that_the_shell_would_act_upon_are_not_completed(results, name):
    (results / name).mkdir()
    (results / name / "experiment.json").write_text(json.dumps({"targets": [{"name": name}]}))
    assert complete(name[0]) == []
    assert complete(f"results/{name[0]}") == []
    assert complete_measured_target(Context(), "") == []  # type: ignore[arg-type]


def test_targets_are_read_from_plain_files_alone(results):
    (results / "a-new" / "experiment.json").write_text('{"targets": [{"name": "cpu"}]}')
    for name in ("pipe", "endless", "nowhere"):
        (results / name).mkdir()
    os.mkfifo(results / "pipe" / "experiment.json")
    (results / "endless" / "experiment.json").symlink_to("/dev/zero")
    (results / "nowhere" / "experiment.json").symlink_to("nothing")
    assert complete_measured_target(Context(), "") == ["cpu"]  # type: ignore[arg-type]


def test_targets_of_a_listed_result_are_those_of_the_index(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))
    record = made_experiment(tmp_path / "lab", targets=("nano",)) / "experiment.json"
    context: Any = Context(str(tmp_path / "lab"))
    assert len(list_results(tmp_path / "lab")[0]) == 1
    before, data = record.stat(), record.read_bytes()
    record.write_bytes(b" " * len(data))
    os.utime(record, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert complete_measured_target(context, "") == ["nano"]  # the record is not opened
    record.write_bytes(data.replace(b'"nano"', b'"orin"'))
    assert complete_measured_target(context, "") == ["orin"]


def test_both_names_of_a_backend_are_completed():
    assert complete_device("nc") == ["ncs2"]
    assert complete_device("openv") == ["openvino"]


def boards(incomplete: str, *devices: str) -> list[str]:
    context: Any = SimpleNamespace(params={"device": list(devices)})
    return complete_board(context, incomplete)


def test_boards_are_those_of_the_devices_that_are_typed():
    assert boards("jetson-orin-n", "jetson") == [
        "jetson-orin-nano",
        "jetson-orin-nano-devkit",
        "jetson-orin-nx",
    ]
    assert boards("jetson", "coral") == []
    assert boards("raspberry-pi-5", "coral") == ["raspberry-pi-5"]
    assert {"coral-usb", "jetson-nano"} <= set(boards(""))
    assert boards("coral", "no-such-device") == []
    assert boards("far=raspberry-pi-4") == ["far=raspberry-pi-4b"]


def test_options_are_those_of_the_devices_that_are_typed():
    cortex_m: Any = SimpleNamespace(params={"device": ["cortex-m", "no-such-device"]})
    assert complete_option(cortex_m, "b") == ["baud=", "benchmark-id=", "board=", "build="]
    assert complete_option(cortex_m, "icount") == ["icount-shift="]
    assert complete_option(cortex_m, "engine=") == ["engine=generated", "engine=tflm"]
    assert complete_option(cortex_m, "flash=t") == ["flash=true"]
    nothing_typed: Any = SimpleNamespace(params={"device": []})
    assert complete_option(nothing_typed, "b") == []


def test_meters_are_completed_and_monitors_are_not():
    assert complete_meter("ina") == ["ina3221"]
    assert complete_meter("telem") == []


def test_ports_are_those_that_there_are(monkeypatch):
    there = ["/dev/ttyACM0 (STM32 STLink, 0483:374b)", "/dev/ttyUSB0 (FT232R, 0403:6001)", "/dev/rfcomm0"]
    monkeypatch.setattr("edgebench.probes.host.serial_port.ports_here", lambda: there)
    assert complete_port("/dev/tty") == ["/dev/ttyACM0", "/dev/ttyUSB0"]
    assert complete_port("COM") == []


@pytest.mark.parametrize("name", ["show", "fit", "mission", "report", "export", "compare"])
def test_every_command_with_results_completes_them(results, name):
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    own: Any = command.commands[name]
    arguments = [param for param in own.load().params if isinstance(param, TyperArgument)]
    taken = [argument for argument in arguments if argument.name in ("results", "baseline", "result")]
    assert taken
    context = own.load().make_context(name, [], resilient_parsing=True)
    for argument in taken:
        assert "latest" in [item.value for item in argument.shell_complete(context, "lat")]
