"""`pytest --pyargs edgebench.testing`: the contracts, for what the command line names."""

from __future__ import annotations

from edgebench.testing import BackendContract, ProbeContract


class TestBackend(BackendContract):
    """The backend of --edgebench-backend."""


class TestProbe(ProbeContract):
    """The probe of --edgebench-probe."""
