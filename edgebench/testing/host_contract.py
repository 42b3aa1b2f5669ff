"""What every backend promises on the host, tried through Backend, Device and Session alone."""

from __future__ import annotations

from edgebench.testing.declared_contract import DeclaredContract
from edgebench.testing.preparation_contract import PreparationContract
from edgebench.testing.session_contract import SessionContract


class HostContract(DeclaredContract, PreparationContract, SessionContract):
    """Nothing in here knows an agent: derive from it where the device has none, else from BackendContract."""
