"""Every column of every frame is described, and nothing is described that no frame has."""

from __future__ import annotations

import pytest

import edgebench
from edgebench.analysis.column_descriptions import FRAMES, columns_of
from edgebench.errors import UsageError
from edgebench.judge.metrics import METRICS
from tests.analysis.columns_page import PAGE, WHAT, description_of, page, types_seen


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    return types_seen(tmp_path_factory.mktemp("columns"))


def test_every_column_of_real_frames_is_described_and_no_other(types: dict[tuple[str, str], str]) -> None:
    described = {(frame, column) for frame in FRAMES for column in columns_of(frame)}
    assert set(types) <= described
    # A metric without any value has no column.
    assert described - set(types) <= {("summaries", metric) for metric in METRICS}


def test_each_description_says_something() -> None:
    for frame in FRAMES:
        for name, text in columns_of(frame).items():
            assert len(text.text) > 3 and text.text.endswith((".", ")", "?")), (frame, name, text.text)
            if name.endswith(("_s", "_w", "_j", "_ms", "_ns", "_hz", "_g", "_mm", "_bytes", "_c")):
                assert text.unit, (frame, name)
    assert set(WHAT) == set(FRAMES)


def test_the_page_is_what_is_generated(types: dict[tuple[str, str], str]) -> None:
    assert PAGE.read_text() == page(types), "renew it: python -m tests.analysis.columns_page"


def test_a_column_that_nobody_described_is_found_missing() -> None:
    assert description_of("summaries", "image_s") == "image_s"
    assert description_of("summaries", "image_s_low") == "<metric>_low"
    assert description_of("summaries", "stages_ms_decode") == "<metric>_<part>"
    assert description_of("passes", "decode_ns") == "<stage>_ns"
    assert description_of("summaries", "novelty") is None and description_of("rails", "novelty_low") is None


def test_python_has_the_reference_too() -> None:
    whole = edgebench.columns()
    assert list(whole["frame"].unique()) == list(FRAMES)
    passes = edgebench.columns("passes").set_index("column")
    assert passes.loc["image_ns", "unit"] == "ns" and "patchify" in str(passes.loc["image_ns", "meaning"])
    with pytest.raises(UsageError, match="no frame 'passses'") as caught:
        edgebench.columns("passses")
    assert "'passes'" in caught.value.fix
