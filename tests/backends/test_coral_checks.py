"""What doctor says of an Edge TPU, by boards' facts that were made up, and of this machine."""

import importlib
from typing import Any

import pytest

from edgebench import registry
from edgebench.link.agent_backend import AgentBackend
from edgebench.records.target import Launch, Target
from edgebench.records.values import Finding

checks: Any = importlib.import_module(registry.backend("coral").__module__.rpartition(".")[0] + ".checks")

STICK = {"id": "18d1:9302", "name": "Coral USB Accelerator", "speed_mbps": 5000.0, "writable": True}
LIBRARY = {"libedgetpu.so.1": "/usr/lib/aarch64-linux-gnu/libedgetpu.so.1"}


def target(python: str | None = None, host: str | None = None, **options: Any) -> Target:
    return Target("coral", "coral", options, Launch(python=python), host=host)


def by_subject(facts: dict[str, Any], **options: Any) -> dict[str, Finding]:
    findings = checks.edgetpu_findings(facts, target(**options))
    assert all(finding.level == "ok" or finding.fix for finding in findings)
    return {finding.subject: finding for finding in findings}


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_a_board_with_all_that_it_needs():
    findings = by_subject({"usb_accelerators": [STICK], "libraries": LIBRARY})
    assert [findings[name].level for name in ("libedgetpu", "edge tpu")] == ["ok", "ok"]
    assert findings["libedgetpu"].message == LIBRARY["libedgetpu.so.1"]
    assert "with its firmware" in findings["edge tpu"].message


def test_a_board_with_nothing():
    findings = by_subject({})
    assert (findings["libedgetpu"].level, findings["edge tpu"].level) == ("error", "error")
    assert "libedgetpu1-std" in findings["libedgetpu"].fix
    assert "gasket" in findings["edge tpu"].fix


def test_on_the_processor_nothing_of_it_is_needed():
    findings = by_subject({}, allow_cpu=True)
    compiler = findings.pop(next(subject for subject in findings if "compiler" in subject))
    assert compiler.level == "ok"
    assert {finding.level for finding in findings.values()} == {"warning"}


def test_a_stick_without_its_firmware_says_who_loads_it():
    findings = by_subject({"usb_accelerators": [{**STICK, "id": "1a6e:089a"}]})
    assert findings["edge tpu"].level == "ok"
    assert "before its firmware" in findings["edge tpu"].message


def test_another_accelerator_is_no_edge_tpu():
    findings = by_subject(
        {"usb_accelerators": [{**STICK, "id": "03e7:2485", "name": "Neural Compute Stick 2"}]}
    )
    assert findings["edge tpu"].level == "error"


def test_permissions_are_told_with_their_group():
    findings = by_subject({"usb_accelerators": [{**STICK, "writable": False}]})
    assert findings["edge tpu"].level == "error"
    assert "plugdev" in findings["edge tpu"].fix and "udev" in findings["edge tpu"].fix
    findings = by_subject(
        {"pcie_accelerators": [{"name": "apex_0", "temperature_c": 48.0, "writable": False}]}
    )
    assert findings["edge tpu"].level == "error"
    assert "group apex" in findings["edge tpu"].fix


def test_a_card_tells_its_temperature():
    findings = by_subject({"pcie_accelerators": [{"name": "apex_0", "temperature_c": 47.8}]})
    assert findings["edge tpu"] == Finding("ok", "edge tpu", "apex_0 on PCIe, 48 °C")


def test_facts_that_are_none_are_as_none(monkeypatch):
    findings = by_subject({"usb_accelerators": "many", "pcie_accelerators": [3], "libraries": ["x"]})
    assert (findings["libedgetpu"].level, findings["edge tpu"].level) == ("error", "error")


def test_a_delegate_that_was_named_by_its_path(tmp_path):
    library = tmp_path / "libedgetpu.so.1"
    assert by_subject({}, delegate=str(library))["libedgetpu"].level == "error"
    library.touch()
    assert by_subject({}, delegate=str(library))["libedgetpu"].level == "ok"
    there = checks.edgetpu_findings({}, target(host="user@board", delegate="/opt/libedgetpu.so.1"))
    assert "when a session starts" in next(
        finding.message for finding in there if finding.subject == "libedgetpu"
    )


def test_another_name_of_the_delegate_is_the_loaders_to_find():
    assert by_subject({"libraries": LIBRARY}, delegate="libother.so")["libedgetpu"].level == "warning"


def test_a_given_artifact_needs_no_compiler():
    assert by_subject({}, artifact="/somewhere/m_edgetpu.tflite")["compiler"].level == "ok"
    assert by_subject({})["compiler"].level == "warning"


def python_with(folder, **packages):
    """A folder for PYTHONPATH that has these packages, by name with their `__init__`."""
    for name, text in packages.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(text)
    return str(folder)


@pytest.fixture
def runtime(monkeypatch, tmp_path):
    """The finding on the runtime, with these packages before all others."""

    def of(**packages: str) -> Finding:
        monkeypatch.setenv("PYTHONPATH", python_with(tmp_path, **packages))
        [runtime_finding] = [
            finding for finding in registry.backend("coral").check(target()) if finding.subject == "runtime"
        ]
        assert isinstance(runtime_finding, Finding)
        return runtime_finding

    return of


def test_the_runtime_is_found_where_the_worker_runs(runtime):
    findings = runtime(tflite_runtime="__version__ = '2.11.0'")
    assert findings.level == "ok"
    assert findings.message.startswith("tflite-runtime 2.11.0")


def test_a_runtime_that_googles_library_does_not_fit_is_a_warning(runtime):
    findings = runtime(tflite_runtime="__version__ = '2.14.0'")
    assert (findings.level, "tflite-runtime==2.11.0" in findings.fix) == ("warning", True)


@pytest.mark.parametrize(
    ("packages", "options", "warned"),
    [
        ({"tflite-runtime": "2.14.0"}, {}, True),
        ({"ai-edge-litert": "2.3.0"}, {}, True),
        ({"tflite-runtime": "2.11.0", "ai-edge-litert": "2.3.0"}, {}, False),
        ({"tflite-runtime": "2.5.0.post1"}, {}, False),
        ({"tflite-runtime": "version not told"}, {}, False),
        ({"tflite-runtime": "2.14.0"}, {"delegate": "/opt/libedgetpu.so.1"}, False),
        ({"tflite-runtime": "2.14.0"}, {"allow_cpu": True}, False),
        ({}, {}, False),
    ],
)
def test_targets_check_warns_of_a_boards_runtime_that_does_not_fit(packages, options, warned):
    backend = registry.backend("coral")
    assert isinstance(backend, AgentBackend)
    findings = backend.board_check({"packages": packages}, target(host="pi", **options))
    runtimes = [finding for finding in findings if finding.subject == "runtime"]
    assert [finding.level for finding in runtimes] == ["warning"] * warned
    assert all(
        "libedgetpu 16.0 works with TFLite up to about 2.11" in finding.message for finding in runtimes
    )


def test_no_runtime_at_all(runtime):
    gone = "raise ImportError('gone')"
    findings = runtime(tflite_runtime=gone, ai_edge_litert=gone)
    assert findings.level == "error"
    assert "tflite-runtime==2.11.0" in findings.fix


def test_a_python_that_is_not_there():
    findings = registry.backend("coral").check(target(python="/no/such/python"))
    assert next(finding for finding in findings if finding.subject == "runtime").level == "error"
