"""The small model at every precision, made once, and the stand-ins for TensorRT that build its engines."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, ModelSource
from tests.backends.jetson import standin
from tests.backends.jetson.models import colours, request_for
from tests.backends.jetson.standin import StandIn
from tests.fakes import agent_backend

PRECISIONS = ("fp32", "fp16", "int8")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, session_cache: Cache) -> ModelSource:
    """A classifier by mean colour, with pictures to calibrate on."""
    return colours(tmp_path_factory.mktemp("own"), session_cache)


@pytest.fixture(scope="session")
def artifacts(source: ModelSource, session_cache: Cache) -> dict[str, Artifact]:
    """It by precision, at a batch of 16."""
    requests = [request_for(source, precision) for precision in PRECISIONS]
    outcomes = agent_backend("jetson").prepare(requests, session_cache, lambda _: None)
    prepared = [outcome for outcome in outcomes if isinstance(outcome, Artifact)]
    assert len(prepared) == len(PRECISIONS), outcomes
    return dict(zip(PRECISIONS, prepared, strict=True))


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], StandIn]:
    """A stand-in by its shape, written once."""
    if why := standin.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("stand-ins")
    return functools.cache(lambda shape: standin.write(folder / shape, shape))
