"""The device is tried against EdgeBench's contract, on this machine."""

from edgebench.testing import BackendContract


class TestExampleBoard(BackendContract):
    """Each test of it names what is wrong, and the fix."""

    backend = "example-board"
