"""A user's small .onnx with an open batch, as a source for requests: no TensorFlow is needed for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper

from edgebench.prepare.cache import Cache
from edgebench.records.model import InputChoice, ModelSource, PrepareRequest
from edgebench.records.values import Variant
from edgebench.run.model_choice import resolve_sources, with_golden
from tests.models.crafted import onnx_file
from tests.user_models import CLASSES, SIDE, make_pictures

COLOURS = "colours"


def mean_colour(path: Path, batch: int | str = "n") -> Path:
    """The mean colour decides, through a convolution that leaves the picture as it is."""
    nodes = [
        helper.make_node("Conv", ["x", "same"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "v"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y"], axis=1),
    ]
    eye = np.eye(3, dtype=np.float32)
    constants = {"same": eye[:, :, None, None], "v": eye * 8}
    return onnx_file(path, nodes, {"x": [batch, 3, SIDE, SIDE]}, {"y": [batch, 3]}, constants)


def colours(folder: Path, cache: Cache, *, calibrated: bool = True) -> ModelSource:
    """That model with labels, and with 33 pictures to calibrate on."""
    labels = folder / "labels.txt"
    labels.write_text("\n".join(CLASSES))
    pictures = make_pictures(folder / "calibration", 11, each=11) if calibrated else None
    return source_of(
        mean_colour(folder / f"{COLOURS}.onnx"),
        cache,
        labels=labels,
        calibration=pictures,
        choice=InputChoice(scale=(255.0,)),
    )


def source_of(path: Path, cache: Cache, **more: Any) -> ModelSource:
    (choice,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None, **more)
    return with_golden(choice, cache, None, None).source


def request_for(
    source: ModelSource, precision: str, batch: int = 16, options: Mapping[str, Any] | None = None
) -> PrepareRequest:
    return PrepareRequest(Variant(None, precision, source.name), batch, options or {}, source=source)
