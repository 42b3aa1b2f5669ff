"""The whole contract of a backend: the host's half, and the device's where it has an agent."""

from __future__ import annotations

from edgebench.testing.agent_contract import AgentContract
from edgebench.testing.host_contract import HostContract


class BackendContract(HostContract, AgentContract):
    """Derive from it, name the backend, and pytest holds it to the contract.

    The attributes are HostContract's:

        class TestBoard(BackendContract):
            backend = "my-board"
            options = {"threads": 1}
            skips = {"test_batch_edges": "the engine takes one patch a call"}
    """
