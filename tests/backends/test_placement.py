"""Placement of operations: what is a warning, and what is refused."""

import importlib
from typing import Any

import pytest

placement: Any = importlib.import_module("edgebench.backends.device.placement")


def warnings(npu, processor, **allowed):
    return placement.processor_warnings(
        {"NPU": npu, "processor": processor}, "processor", "do this", **allowed
    )


def test_operations_on_the_processor_are_counted():
    assert warnings(152, 0) == []
    assert warnings(140, 12) == ["12 of 152 operations on the processor"]
    assert warnings(1, 1) == ["1 of 2 operations on the processor"]


@pytest.mark.parametrize(
    ("npu", "processor", "allowed"),
    [(0, 3, {}), (0, 3, {"allow_cpu": True}), (1, 2, {}), (1, 2, {"allow_none": True})],
)
def test_a_model_that_the_processor_carries_out_is_refused_with_the_fix(npu, processor, allowed):
    with pytest.raises(RuntimeError, match=rf"{processor} of 3 operations .*; do this"):
        warnings(npu, processor, **allowed)


def test_the_processor_may_be_allowed():
    assert warnings(1, 2, allow_cpu=True) == ["2 of 3 operations on the processor"]
    assert warnings(0, 2, allow_cpu=True, allow_none=True) == ["2 of 2 operations on the processor"]
