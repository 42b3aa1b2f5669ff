"""What an installed EdgeBench contains, and what the project pins."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())
TOOL = SETUP["tool"]["setuptools"]


def folder_of(package):
    own = {"edgebench.backends": ROOT / "backends"}
    for name, folder in own.items():
        if package == name or package.startswith(f"{name}."):
            return folder.joinpath(*package.removeprefix(name).split("."))
    return ROOT.joinpath(*package.split("."))


def test_every_package_is_installed():
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("edgebench/**/__init__.py")}
    found |= {
        ".".join(("edgebench", *path.parent.relative_to(ROOT).parts))
        for path in ROOT.glob("backends/**/__init__.py")
    }
    assert found == set(TOOL["packages"])


def test_every_data_file_is_installed():
    missing = []
    for package in TOOL["packages"]:
        folder = folder_of(package)
        patterns = TOOL["package-data"].get(package, [])
        for path in folder.rglob("*"):
            if not path.is_file() or path.suffix in {".py", ".pyc"}:
                continue
            if any((parent / "__init__.py").exists() and parent != folder for parent in owners(path, folder)):
                continue  # another package's
            if not any(fnmatch(str(path.relative_to(folder)), pattern) for pattern in patterns):
                missing.append(str(path.relative_to(ROOT)))
    readmes = {path for path in missing if re.fullmatch(r"backends/\w+/README\.md", path)}
    assert set(missing) <= readmes


def owners(path, folder):
    return [parent for parent in path.parents if parent.is_relative_to(folder)]


def test_pins_are_plain_lines():
    lines = (ROOT / "constraints.txt").read_text().split()
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line) for line in lines)


@pytest.mark.parametrize("extra", ["cpu", "prepare", "onnx", "openvino", "tensorrt", "notebook", "dev"])
def test_extras_exist(extra):
    assert SETUP["project"]["optional-dependencies"][extra]


def test_pycoral_is_no_dependency():
    extras = SETUP["project"]["optional-dependencies"].values()
    everything = SETUP["project"]["dependencies"] + [line for extra in extras for line in extra]
    assert not [line for line in everything if line.startswith("pycoral")]


def test_the_repository_stays_small():
    tracked = [path for part in ("edgebench", "backends", "results/reference", "docs", "notebooks")
               for path in (ROOT / part).rglob("*") if path.is_file()]  # fmt: skip
    assert sum(path.stat().st_size for path in tracked) < 40_000_000
