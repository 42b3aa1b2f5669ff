"""The proofs at their small size, each taken once."""

import functools

import pytest

from proofs.__main__ import PROOFS
from proofs.topic import SMALL


@pytest.fixture(scope="session")
def proved():
    """A function from a topic's name to the topic."""
    return functools.cache(lambda name: PROOFS[name](SMALL))
