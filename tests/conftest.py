"""What several packages' tests share: a cache for the session, and three artifacts prepared in it."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from edgebench.agent.bootstrap import ENVIRONMENT as BOARD_DIR
from edgebench.agent.lock import ENVIRONMENT as BOARD_LOCK
from edgebench.installed import version_of
from edgebench.prepare.cache import Cache
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import PRECISIONS, Variant
from tests.attacks.summary import pytest_terminal_summary as pytest_terminal_summary
from tests.attacks.table import ROOT, attacks_of
from tests.user_models import make_models

COLLECTED = pytest.StashKey[Counter[str]]()
"""The number of attacks by module, where all tests were collected."""

# No test asserts how long something takes, and every run tries the same examples.
settings.register_profile(
    "edgebench", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("edgebench")


@pytest.hookimpl(tryfirst=True)  # before -m and -k leave any out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if {ROOT, ROOT / "tests"} & {(config.invocation_params.dir / one).resolve() for one in config.args}:
        config.stash[COLLECTED] = attacks_of(items)


@pytest.fixture(scope="session", autouse=True)
def signals_are_heard() -> Iterator[None]:
    """Under nohup, or in the background of a script, the tests would hand on that signals are ignored."""
    handlers: dict[int, Any] = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def own_board_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The agents of these tests keep their files, and their board's lock, to themselves."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in (BOARD_DIR, BOARD_LOCK):
            patch.setenv(variable, str(tmp_path_factory.mktemp("board")))
        yield


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """A cache of this test session alone; what is in it is shared, so tests do not damage it."""
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def prepared_quarter(session_cache: Cache) -> dict[str, Artifact]:
    """Depth multiplier 0.25 as fp32, fp16 and int8, batch 1, by precision; as they come with the package."""
    requests = [PrepareRequest(Variant(0.25, precision), 1, {}) for precision in PRECISIONS]
    outcomes = TfliteChain().prepare(requests, session_cache, lambda _: None)
    artifacts = [outcome for outcome in outcomes if isinstance(outcome, Artifact)]
    assert len(artifacts) == len(PRECISIONS), outcomes
    return dict(zip(PRECISIONS, artifacts, strict=True))


@pytest.fixture(scope="session")
def onnx_quarter(session_cache: Cache) -> dict[str, Artifact]:
    """Depth multiplier 0.25 as ONNX, batch 1, by precision; really converted."""
    if version_of("tensorflow") is None:
        pytest.skip("conversion takes tensorflow")
    requests = [PrepareRequest(Variant(0.25, precision), 1, {}) for precision in PRECISIONS]
    outcomes = OnnxChain(lambda _: OnnxForm()).prepare(requests, session_cache, lambda _: None)
    artifacts = [outcome for outcome in outcomes if isinstance(outcome, Artifact)]
    assert len(artifacts) == len(PRECISIONS), outcomes
    return dict(zip(PRECISIONS, artifacts, strict=True))


@pytest.fixture(scope="session")
def user_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small models of a user's (see tests/user_models.py)."""
    if version_of("tensorflow") is None:
        pytest.skip("the models are made with tensorflow")
    return make_models(tmp_path_factory.mktemp("own-models"))
