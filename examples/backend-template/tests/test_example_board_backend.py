"""The device is held to EdgeBench's contract, on this machine."""

from edgebench.testing import BackendContract


class TestExampleBoard(BackendContract):
    """Each test of it says what is wrong and how to mend it."""

    backend = "example-board"
