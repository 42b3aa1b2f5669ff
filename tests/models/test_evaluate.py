import json

import pytest

from edgebench.errors import UnsupportedError
from edgebench.prepare import description as module
from edgebench.prepare.cache import Cache
from edgebench.prepare.description import (
    Evaluation,
    evaluate,
    list_prepared,
    list_variants,
    stored_evaluation,
)
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import Variant


@pytest.fixture(scope="module")
def evaluated(prepared_quarter: dict[str, Artifact], session_cache: Cache) -> dict[str, Evaluation]:
    found = evaluate(list(prepared_quarter.values()), session_cache, lambda _: None)
    return {one.variant.rsplit("-", 1)[1]: one for one in found}


@pytest.mark.slow
def test_each_variant_is_right_on_k_of_1000_test_patches(evaluated: dict[str, Evaluation]):
    for one in evaluated.values():
        assert one.n == 1000
        assert 940 <= one.k <= 970
        assert one.low < one.k / one.n < one.high
        assert one.overlapping
        assert "ai-edge-litert" in one.runtime


def test_agreement_is_with_the_fp32_variant(evaluated: dict[str, Evaluation]):
    assert evaluated["fp32"].agree_k is None
    assert evaluated["fp32"].agreement_reason
    assert (evaluated["fp16"].agree_k or 0) >= 995
    assert 970 <= (evaluated["int8"].agree_k or 0) < 1000
    assert evaluated["int8"].agree_n == 1000


def test_it_is_measured_once(
    evaluated: dict[str, Evaluation],
    prepared_quarter: dict[str, Artifact],
    session_cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "run_jobs", lambda *_: pytest.fail("measured again"))
    again = evaluate(list(prepared_quarter.values()), session_cache, lambda _: None)
    assert again == list(evaluated.values())


def test_without_its_sibling_agreement_is_missing_with_the_reason(
    evaluated: dict[str, Evaluation], prepared_quarter: dict[str, Artifact], session_cache: Cache
):
    alone = stored_evaluation(prepared_quarter["int8"], session_cache)
    assert alone is not None
    assert (alone.agree_k, alone.agree_n) == (None, None)
    assert "has not been evaluated" in alone.agreement_reason


def test_the_list_shows_what_there_is(
    evaluated: dict[str, Evaluation], prepared_quarter: dict[str, Artifact], session_cache: Cache
):
    rows = list_variants(session_cache)
    assert [row["variant"] for row in rows] == [
        f"mobilenet_v1-{depth}-{precision}"
        for depth in (0.25, 0.5, 1.0)
        for precision in ("fp32", "fp16", "int8")
    ]
    assert [row["parameters"] for row in rows[::3]] == [219_829, 832_101, 3_233_989]
    assert rows[2]["artifact"]["sha256"] == prepared_quarter["int8"].sha256
    assert rows[2]["evaluation"]["agree_k"] == evaluated["int8"].agree_k
    assert rows[6]["artifact"] is None  # it is compressed
    assert rows[8]["evaluation"] is None
    assert json.loads(json.dumps(rows)) is not None


def test_what_was_prepared_is_listed_with_what_was_not(
    evaluated: dict[str, Evaluation], prepared_quarter: dict[str, Artifact], session_cache: Cache
):
    requests = [PrepareRequest(Variant(0.25, one), 1, {}) for one in ("int8", "int4")]
    rows = list_prepared(
        requests,
        [prepared_quarter["int8"], UnsupportedError("no", why="because")],
        session_cache,
        with_evaluations=True,
        progress=lambda _: None,
    )
    assert rows[0]["evaluation"]["agree_k"] == evaluated["int8"].agree_k
    assert rows[0]["artifact"]["path"] == str(prepared_quarter["int8"].path)
    assert rows[1]["artifact"] is None
    assert rows[1]["reason"] == "no; because"
