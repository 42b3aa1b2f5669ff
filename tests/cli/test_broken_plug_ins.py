"""Plug-ins that cannot be loaded, or take a name of EdgeBench: named on standard error and left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgebench.errors import EXIT_ERROR, EXIT_INTERRUPTED

BROKEN = {
    "raises": 'raise RuntimeError("no bus")',
    "garbled": "def (",
    "leaves": "import sys; sys.exit(0)",
    "missing": "import no_such_module_anywhere",
}
RUN = "from edgebench.cli.main import main; main()"
CLASS = "class Device:\n    def __init__(self):\n        raise OSError('no licence')\n"


def install(folder: Path, package: str, lines: str, name: str = "") -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name or package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(lines)


@pytest.fixture
def plug_ins(tmp_path: Path) -> Path:
    """A folder on Python's path with a package for each way to be broken."""
    folder = tmp_path / "site"
    for name, source in BROKEN.items():
        lines = (
            f"[edgebench.backends]\n{name} = {name}_mod:Device\n[edgebench.probes]\n{name}-m = {name}_mod\n"
        )
        install(folder, f"pkg_{name}", lines)
        (folder / f"{name}_mod.py").write_text(source)
    install(folder, "pkg_made", "[edgebench.backends]\nmade = made_mod:Device\nmalformed = : :\n")
    (folder / "made_mod.py").write_text(CLASS)
    install(folder, "pkg_cpu", "[edgebench.backends]\ncpu = made_mod:Device\n")
    return folder


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *words],
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "300"},
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.attack("plug-ins fail at import in any way: each is named and left out, and devices goes on")
def test_devices_names_each_broken_plug_in_and_lists_the_others(plug_ins: Path) -> None:
    done = call(plug_ins, "devices", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    listed = {row["name"] for row in document["devices"]} | set(document["meters"])
    assert {"cpu", "jetson", "rapl"} <= listed
    for name in BROKEN:
        assert name not in listed and f"{name}-m" not in listed
        assert f"the device '{name}' cannot be loaded" in done.stderr
        assert f"the meter '{name}-m' cannot be loaded" in done.stderr
        assert f"pkg_{name}" in done.stderr
    assert "RuntimeError: no bus" in done.stderr and "OSError: no licence" in done.stderr
    assert "'malformed' cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.attack(
    "a plug-in takes the name of a built-in device: the built-in one stays, which is reported"
)
def test_the_built_in_device_keeps_its_name_in_a_run(plug_ins: Path) -> None:
    done = call(plug_ins, "run", "--device", "cpu", "--quick", "--dry-run", "--depth", "0.25")
    assert done.returncode == 0, done.stderr
    assert "the device 'cpu' of pkg_cpu is left out: edgebench has one of that name" in done.stderr


@pytest.mark.attack("the device that is asked for cannot be loaded: refused with its package and the fix")
@pytest.mark.parametrize("name", BROKEN)
def test_a_run_of_the_broken_device_is_refused(plug_ins: Path, name: str) -> None:
    done = call(plug_ins, "run", "--device", name, "--dry-run")
    assert done.returncode == EXIT_ERROR
    assert f"the device '{name}' cannot be loaded" in done.stderr
    assert f"reinstall or remove the package that brings it: pkg_{name}" in done.stderr


@pytest.mark.attack("a package's entry points cannot be read: it is named, and all others stay")
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[edgebench.backends]\nno equals sign\n"])
def test_broken_metadata_hides_no_other_package(tmp_path: Path, content: bytes) -> None:
    install(tmp_path / "site", "torn", "")
    (tmp_path / "site" / "torn-1.0.dist-info" / "entry_points.txt").write_bytes(content)
    for words in (("devices",), ("--version",)):
        done = call(tmp_path / "site", *words)
        assert done.returncode == 0, done.stderr
        assert "the entry points of torn cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_at_import_is_no_broken_plug_in(tmp_path: Path) -> None:
    install(tmp_path / "site", "held", "[edgebench.backends]\nheld = held_mod:Device\n")
    (tmp_path / "site" / "held_mod.py").write_text("raise KeyboardInterrupt")
    done = call(tmp_path / "site", "devices")
    assert done.returncode == EXIT_INTERRUPTED and "left out" not in done.stderr
