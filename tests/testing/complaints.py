"""What one test of a contract says of a plug-in."""

from __future__ import annotations

from typing import Any

import pytest

from edgebench.testing import BackendContract, ProbeContract


def kit_of(contract: Any, cache, option=lambda name: None, **members: Any) -> Any:
    """What a class derived from a contract shares among its tests, with these attributes."""
    tried = type("Tried", (contract,), members)
    return contract.kit_type(tried, cache, option)


def backend_kit(backend, cache, **members: Any) -> Any:
    return kit_of(BackendContract, cache, backend=backend, **members)


def judge(test: str, kit: Any) -> None:
    getattr(kit.contract(), test)(kit, lambda name, value: None)


def complaint(test, backend, cache, **members):
    """What one test of the contract says of a backend; nothing where it is content."""
    kit = backend_kit(backend, cache, **{"batch": 3, **members})
    if test != "test_golden_scores":
        kit.golden_problems = []  # looked at once a class, and of no interest to the other tests
    try:
        judge(test, kit)
    except pytest.fail.Exception as failure:
        return str(failure)
    finally:
        kit.close()
    return ""


def probe_complaint(test, module, cache, *, require_device=False, **members):
    """The same of a probe's module."""
    members = {"missing_address": "/no/such/place", "window_s": 0.3, **members}
    required = {"edgebench_require_device": require_device}
    kit = kit_of(ProbeContract, cache, required.get, probe=module, **members)
    try:
        judge(test, kit)
    except pytest.fail.Exception as failure:
        return str(failure)
    return ""
