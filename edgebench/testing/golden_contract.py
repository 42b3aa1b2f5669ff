"""What is asked first of a device: the golden scores, and their shape."""

from __future__ import annotations

from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.problems import problems


class GoldenContract:
    """The last of a contract's bases, because pytest tries the tests of the last base first.

    Where a device computes something else than its artifact, every other test of its sessions would fail
    with words about locks, padding or stamps: they ask `BackendKit.require_golden` and skip instead.
    """

    def test_golden_scores(self, edgebench_backend: BackendKit) -> None:
        """Each variant computes what its artifact says, before anything is timed."""
        with problems() as faults:
            for fault, mend in edgebench_backend.golden_faults:
                faults.add(fault, mend)
