"""Files for the Edge TPU, whichever device asks for them."""

from __future__ import annotations

import pytest

from edgebench.errors import InputError, UnavailableError
from edgebench.prepare.edgetpu import EdgeTpuChain, compiler_finding
from edgebench.records.model import PrepareRequest
from edgebench.records.values import Variant
from tests.backends.coral import edgetpu_compiler

REQUEST = PrepareRequest(Variant(0.25, "int8"), 1, {})


def test_the_device_decides_no_file():
    first = EdgeTpuChain("coral", takes_uncompiled=True)
    second = EdgeTpuChain("coral-micro", takes_uncompiled=False)
    assert first.recipe(REQUEST) == second.recipe(REQUEST)
    assert first.recipe(REQUEST).kind == "coral"


@pytest.mark.parametrize("takes_uncompiled", [True, False])
def test_a_device_without_the_option_is_not_told_of_it(
    monkeypatch, session_cache, tmp_path, takes_uncompiled
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError) as caught:
        EdgeTpuChain("any", takes_uncompiled=takes_uncompiled).prepare([REQUEST], session_cache, print)
    assert ("allow-cpu" in caught.value.fix) is takes_uncompiled


@pytest.mark.parametrize(("allow_cpu", "level"), [(False, "warning"), (True, "ok")])
def test_a_missing_compiler_is_warned_of_where_it_is_missed(monkeypatch, tmp_path, allow_cpu, level):
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = compiler_finding({"allow_cpu": allow_cpu})
    assert finding.level == level and "on PATH" in finding.message
    assert bool(finding.fix) is (level == "warning")


def test_a_file_of_another_model_is_refused_in_the_devices_name(session_cache, tmp_path):
    from ai_edge_litert import schema_py_generated as schema

    from tests.models.crafted import Lite, tflite

    tensors = [
        Lite((1, 224, 224, 3), schema.TensorType.INT8, scale=1 / 127.5),
        Lite((1, 7), schema.TensorType.INT8, scale=1 / 256),
    ]
    other = tflite(tmp_path / "other.tflite", tensors, [(edgetpu_compiler.CUSTOM_OP, [0], [1])], [0], [1])
    request = PrepareRequest(REQUEST.variant, 1, {"artifact": str(other)})
    with pytest.raises(InputError) as caught:
        EdgeTpuChain("coral-micro", takes_uncompiled=False).prepare([request], session_cache, print)
    assert "models prepare --device coral-micro" in caught.value.fix
