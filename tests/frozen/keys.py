"""The keys of trials: stored results are found again by them, so they outlast every change of the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.frozen.console import carry_out

HERE = Path(__file__).parent
SETTINGS = (HERE / "inputs" / "settings.txt").read_text("utf-8").splitlines()
"""Settings of runs, as the command line takes them; of those with several devices each has trials."""


def make_inputs(folder: Path) -> None:
    """A scene, labelled images, a targets file, a model and its inputs, the same in every folder."""
    rng = np.random.default_rng(5)

    def picture(path: Path, height: int, width: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(path)

    picture(folder / "scene.png", 458, 682)
    for label in ("water", "ice", "vegetation", "bare", "cloud"):
        for number in range(2):
            picture(folder / "images" / label / f"{number}.png", 224, 224)
    np.save(folder / "inputs.npy", rng.random((6, 4), np.float32))
    for source in ("inputs/targets.toml", "inputs/relu.onnx", "scenarios/windows.toml"):
        (folder / Path(source).name).write_bytes((HERE / source).read_bytes())


def keys(folder: Path) -> dict[str, Any]:
    """Of each settings the keys of its trials, or the exit code where they are refused."""
    make_inputs(folder)
    commands = [["run", *words.split(), "--dry-run", "--json"] for words in SETTINGS]
    return {
        words: [_trial(trial) for trial in outcome.document.get("trials", [])] or outcome.code
        for words, outcome in zip(SETTINGS, carry_out(folder, commands, pinned=True), strict=True)
    }


def _trial(trial: dict[str, Any]) -> str:
    """Without blanks, so that it counts as no wording."""
    settings = ",".join(f"{name}={value}" for name, value in sorted(trial["settings"].items()))
    words = (trial["key"], trial["target"], trial["variant"], trial["batch"], trial["concurrency"], settings)
    return "|".join(str(word).replace(" ", "_") for word in words)
