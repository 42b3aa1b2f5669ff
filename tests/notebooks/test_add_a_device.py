"""Adding a device: begun, found wrong by the kit, repaired, measured; all of it for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgebench.prepare.cache import Cache
from tests.notebooks.execution import execute, outputs, pictures, require_tidy

pytestmark = pytest.mark.slow

NAME = "04-add-a-device.ipynb"


def test_a_device_is_added_and_measured(
    session_cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    # What builds a package is there, and nothing is fetched: pip's own words for `--no-build-isolation`.
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)  # options of these tests, which the kit would take
    executed, values = execute(NAME, tmp_path, tmp_path, monkeypatch, ["summaries", "answers"])
    require_tidy(executed, [tmp_path])
    assert pictures(executed) == 1

    texts = [output["text"] for output in outputs(executed) if output["output_type"] == "stream"]
    faulty = next(text for text in texts if "golden_mismatch" in text)
    assert "mobilenet_v1-0.25-int8" in faulty and "fp32: golden scores" not in faulty
    assert "zero point" in faulty and "1 failed" in faulty
    repaired = next(text for text in texts if "colour-board: the worker's loop costs" in text)
    assert " passed" in repaired and "failed" not in repaired

    rows = {(row["target"], row["precision"]): row for row in values["summaries"]}
    targets = {"colour-board[threads=1]", "colour-board[threads=2]"}
    assert set(rows) == {(target, precision) for target in targets for precision in ("fp32", "int8")}
    for row in rows.values():
        assert row["status"] == "done"
        assert row["image_s_low"] <= row["image_s"] <= row["image_s_high"]
        assert row["accuracy"] > 0.5
    assert len(values["answers"]) == 2 * 200
    assert {row["predicted"] for row in values["answers"]} == {1}
    # Nothing is left behind.
    assert not list(tmp_path.glob("edgebench-notebook-*"))
