from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from edgebench.cache.objects import Cache
from tests import synthetic_results
from tests.backends.replaying import replay

pytestmark = pytest.mark.slow

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-first-look.ipynb"


def execute(result: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("EDGEBENCH_RESULTS", str(result))
    # Nothing of the user's: the kernel is then the interpreter that runs the tests.
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    for kind in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{kind}_DIR", str(folder / "jupyter" / kind.lower()))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import sys; sys.executable"))
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(folder)}}
    )
    done = client.execute()
    assert repr(sys.executable) in said(done)
    return done


def said(notebook: Any) -> str:
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            texts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


def pictures(notebook: Any) -> int:
    return sum(
        "image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())
    )


def test_it_runs_on_a_whole_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = synthetic_results.made_experiment(
        tmp_path,
        variants=synthetic_results.NINE,
        unsupported=[synthetic_results.NINE[0]],
        crashed_once=[synthetic_results.NINE[1]],
    )
    done = execute(result, tmp_path, monkeypatch)
    text = said(done)
    assert "made: 9 trials, 3 sessions of 3 passes" in text
    assert "4 x 5 patches" in text
    assert pictures(done) == 3
    for expected in ("image_s", "accuracy", "patchify_ms", "infer_ms", "cold_load_s", "order"):
        assert expected in text
    assert "jetson-nano (published)" in text


def test_it_runs_on_the_replayed_demo(
    tmp_path: Path, session_cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = replay(
        session_cache, tmp_path, "demo", depth=[0.25], precision=["int8"], name="demo", period=0.5
    )
    done = execute(result.path, tmp_path, monkeypatch)
    text = said(done)
    assert "demo: 1 trials, 3 sessions of 3 passes" in text
    assert "20 x 20 patches" in text
    assert "infer_ms" in text and "lateness" not in text and "due" not in text
    assert pictures(done) == 3


def test_it_runs_on_own_models_whose_figures_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = synthetic_results.made_experiment(
        tmp_path, sessions=1, images=0, not_run=[synthetic_results.QUARTER[0]]
    )
    record = json.loads((result / "experiment.json").read_text())
    for trial in record["trials"]:
        trial |= {"variant": f"tower-{trial['precision']}", "depth_multiplier": None, "class_names": ["cat"]}
    (result / "experiment.json").write_text(json.dumps(record))
    done = execute(result, tmp_path, monkeypatch)
    assert "tower" in said(done)
    assert "3 trials, 1 sessions" in said(done)
    assert pictures(done) == 3


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
