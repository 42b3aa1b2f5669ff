"""The trained int8 0.25 as C on this machine, in EdgeBench's firmware at a pty: one session."""

import importlib
import subprocess
from contextlib import closing

import numpy as np
import pytest

from edgebench.installed import version_of
from edgebench.link.window_session import WindowLengths
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Variant
from edgebench.testing.backend_kit import images_of, scene_of
from tests.backends.cortexm.first_light import on_a_pty
from tests.backends.cortexm.host_programs import CORE, FIRMWARE, require_compiler

backend = importlib.import_module("edgebench.backends.cortexm.backend")
engines = importlib.import_module("edgebench.backends.cortexm.engines")

SHORT = WindowLengths(least_s=0.05, aim_s=0.06, most_s=2.0, least_inferences=2, warm_up_s=0.1)
OPTIONS = {"engine": "generated"}


def quiet(_):
    pass


@pytest.fixture(scope="module")
def artifact(session_cache):
    require_compiler()
    if version_of("tensorflow") is None or version_of("emx-onnx-cgen") is None:
        pytest.skip("C is generated with tensorflow and emx-onnx-cgen")
    [artifact] = backend.CortexMBackend().prepare(
        [PrepareRequest(Variant(0.25, "int8"), 1, OPTIONS)], session_cache, quiet
    )
    assert isinstance(artifact, Artifact), artifact
    return artifact


@pytest.fixture
def port(artifact, session_cache, tmp_path):
    engine = engines.generated(artifact, session_cache, quiet)
    binary = tmp_path / "firmware"
    defines = [f"-D{name}={value}" for name, value in engine.all_defines().items()]
    sources = [*engine.sources, *CORE.glob("*.c"), FIRMWARE / "ports" / "host" / "port_host.c"]
    # Where a board's linker knows the depth of the stack a constant stands.
    link = ["-no-pie", "-Wl,--defsym=ENGINE_BYTES=1463600", "-lm", "-o", str(binary)]
    subprocess.run(
        ["cc", "-std=c11", "-O2", "-w", f"-I{CORE}", *defines, *map(str, sources), *link], check=True
    )
    with on_a_pty(binary) as (path, _):
        yield path


@pytest.mark.slow
def test_windows_of_generated_c(artifact, port, session_cache):
    """Golden scores are ONNX Runtime's to the last of three decimals, and a patch's in each window alike."""
    device = backend.CortexMBackend(SHORT).open(Target("m7", "cortex-m", OPTIONS, port=port))
    plan = MeasurePlan(scene_of(artifact, session_cache), 2, warmup_floor=1, patches=2)
    with closing(device), device.session(artifact, SessionSettings(1, OPTIONS, Launch())) as session:
        golden = session.golden()
        windows = list(session.measure(plan))
        again = session.predict(images_of(np.load(artifact.golden.patches)[:1], session_cache))
        facts = session.facts()
    assert np.abs(golden - np.array(artifact.golden.scores)).max() <= 0.0005 + 1e-6
    assert np.array_equal(again[0], golden[0])
    assert [window.phase for window in windows] == ["first", "steady", "steady"]
    assert np.array_equal(windows[0].scores, windows[1].scores)
    assert all(window.inferences >= 2 for window in windows)
    assert facts.runtime["name"] == "emx-onnx-cgen" and facts.runtime["input_type"] == "uint8"
    assert not any("golden" in warning for warning in facts.warnings)
