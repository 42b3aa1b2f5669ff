"""The conformance kit: one set of tests that every backend and every probe has to pass (a pytest plug-in).

    pytest --pyargs edgebench.testing --edgebench-backend NAME
    pytest --pyargs edgebench.testing --edgebench-probe KIND:ADDRESS

or in tests of one's own:

    from edgebench.testing import BackendContract, ProbeContract

    class TestBoard(BackendContract):
        backend = "my-board"

    class TestMeter(ProbeContract):
        probe = "my-meter"

Nothing is imported before it is asked for: the plug-in is loaded by every pytest of the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgebench.testing.contracts import AgentContract, BackendContract, HostContract
    from edgebench.testing.probe_contract import ProbeContract

__all__ = ["AgentContract", "BackendContract", "HostContract", "ProbeContract"]

_HOME = {
    "AgentContract": "contracts",
    "BackendContract": "contracts",
    "HostContract": "contracts",
    "ProbeContract": "probe_contract",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
