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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgebench.testing.backend_contract import BackendContract
    from edgebench.testing.probe_contract import ProbeContract

__all__ = ["BackendContract", "ProbeContract"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{name.removesuffix('Contract').lower()}_contract"), name)
