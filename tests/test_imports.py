"""What may import what: nothing heavy at start, no runtime in the harness, no backend twice."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from edgebench.judge.requirements.profile import shipped_profiles
from tests.synthetic_results import made_experiment

ROOT = Path(__file__).parents[1]
HEAVY = {
    "tensorflow", "numpy", "pandas", "pyarrow", "matplotlib", "scipy", "pydantic", "ai_edge_litert", "PIL",
    "importlib.metadata",
}  # fmt: skip
RUNTIMES = (
    "tensorflow",
    "ai_edge_litert",
    "tflite_runtime",
    "openvino",
    "tensorrt",
    "pycoral",
    "onnxruntime",
    "rknn",
    "rknnlite",
    "dask",
    "distributed",
)


def modules_after(code):
    script = f"import sys, json\n{code}\nsys.stderr.write('@@' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.rpartition("@@")[2]))


def test_importing_edgebench_is_light():
    before = modules_after("")
    assert not (modules_after("import edgebench") - before) & HEAVY


def test_help_loads_nothing_heavy_and_scans_no_entry_points():
    code = (
        "sys.argv = ['edgebench', '--help']\n"
        "from edgebench.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code"
    )
    before = modules_after("")
    assert not (modules_after(code) - before) & HEAVY


def test_judging_a_result_waits_for_no_pandas(tmp_path):
    result = made_experiment(tmp_path, profiles=[profile.as_record() for profile in shipped_profiles()])
    code = (
        f"sys.argv = ['edgebench', 'fit', {str(result)!r}]\n"
        "from edgebench.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code"
    )
    assert not modules_after(code) & {"pandas", "matplotlib", "scipy.stats", "scipy.optimize", "scipy.fft"}


def test_looking_for_devices_loads_no_runtime():
    code = (
        "from edgebench import registry\n"
        "for name in registry.names('edgebench.backends'): registry.backend(name)\n"
        "for name in registry.names('edgebench.probes'): registry.probe_module(name)"
    )
    assert not modules_after(code) & set(RUNTIMES)


@pytest.mark.parametrize("folder", ["edgebench", "backends", "tests", "benchmarks"])
def test_nothing_imports_the_backends_folder_by_its_own_name(folder):
    pattern = re.compile(r"^\s*(?:import backends\b|from backends\b)", re.MULTILINE)
    found = [str(path) for path in (ROOT / folder).rglob("*.py") if pattern.search(path.read_text())]
    assert not found


def test_the_harness_names_no_backend():
    pattern = re.compile(r"edgebench\.backends\.\w+|from edgebench\.backends import")
    found = [str(path) for path in (ROOT / "edgebench").rglob("*.py") if pattern.search(path.read_text())]
    assert not found


def test_runtimes_are_imported_only_in_processes_of_their_own():
    pattern = re.compile(rf"^(?:import|from) ({'|'.join(RUNTIMES)})\b", re.MULTILINE)
    allowed = {"convert.py", "training.py"}
    found = [
        str(path)
        for path in (ROOT / "edgebench").rglob("*.py")
        if pattern.search(path.read_text()) and path.name not in allowed
    ]
    assert not found
