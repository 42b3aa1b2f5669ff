"""What decides an artifact stays what it was: trial keys and the cache's recipes are hashes of it.

`recipe_keys.json` has, for every backend, model, precision and batch, the hash of `prepare_inputs`, or the
refusal, which stands in a trial's key as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgebench import installed, registry
from edgebench.errors import UnsupportedError
from edgebench.prepare.cache import canonical_hash
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import (
    FixedInput,
    InputChoice,
    ModelSource,
    PictureInput,
    PrepareRequest,
    Samples,
    SourceKind,
    TensorFacts,
    UserModel,
)
from edgebench.records.values import ImageSet, Variant

KEYS = Path(__file__).with_name("recipe_keys.json")
NOWHERE = Path("/nowhere")
CALIBRATION = ImageSet("flowers", NOWHERE / "images.npy", "c" * 64, 9, None, ("a", "b", "c"))
GOLDEN = Samples(NOWHERE / "golden.npy", "d" * 64, 5, "5 calibration images")


def picture_model(precision: str, batch: int | None = None, dtype: str = "float32") -> UserModel:
    """A model of 32 x 48 pictures; `batch` is None where the file leaves it open."""
    return UserModel(
        precision,
        (FixedInput("x", dtype, (batch or 1, 32, 48, 3)),),
        batch is None,
        batch is None,
        PictureInput("NHWC", 32, 48, (255.0,), (0.0,), "the user"),
        (TensorFacts("y", "float32", (batch, 3)),),
        ((batch, 32, 48, 3),),
    )


def tensor_model() -> UserModel:
    """A model of two inputs that are no picture."""
    inputs = (FixedInput("a", "float32", (1, 6)), FixedInput("b", "int64", (1, 2, 4)))
    why = "it has 2 inputs, so it is timed with other inputs than pictures"
    outputs = (TensorFacts("y", "float32", (1, 3)),)
    return UserModel("fp32", inputs, False, False, None, outputs, accuracy_reason=why)


def file_source(kind: SourceKind, model: UserModel, **more: Any) -> ModelSource:
    source = ModelSource(f"{kind}-aaaaaaaa", "keras", NOWHERE / kind, "a" * 64, model=model, golden=GOLDEN)
    return replace(source, kind=kind, **more)


def sources() -> Iterator[tuple[str, ModelSource, tuple[float | None, ...]]]:
    """Every kind of model, under a label, with its widths."""
    yield "mobilenet_v1", ModelSource(), (0.25, 0.5, 1.0)
    yield "mobilenet_v2", ModelSource("mobilenet_v2"), (0.35, 1.0)
    yield "mobilenet_v2 calibrated", ModelSource("mobilenet_v2", calibration=CALIBRATION), (1.0,)
    yield "resnet50", ModelSource("resnet50"), (None,)
    weights = ModelSource(
        "trained-bbbbbbbb", "weights", NOWHERE / "w.npz", "b" * 64, class_names=("a", "b", "c"),
        golden=GOLDEN, family="mobilenet_v1", width=0.5,
    )  # fmt: skip
    yield "weights", weights, (0.5,)
    yield "weights calibrated", replace(weights, calibration=CALIBRATION), (0.5,)
    kinds: tuple[SourceKind, ...] = ("tflite", "onnx", "keras", "saved_model")
    for kind in kinds:
        plain = file_source(kind, picture_model("fp32"))
        yield kind, plain, (None,)
        told = replace(plain, input=InputChoice(scale=(255.0,)), class_names=("a", "b", "c"))
        yield f"{kind} calibrated", replace(told, calibration=CALIBRATION), (None,)
        yield f"{kind} at 4", file_source(kind, picture_model("fp32", 4), calibration=CALIBRATION), (None,)
        yield f"{kind} tensors", file_source(kind, tensor_model(), inputs=GOLDEN), (None,)
    for kind in kinds[:2]:
        for precision, dtype in (
            ("int8", "int8"),
            ("int8", "uint8"),
            ("fp16", "float16"),
            ("mixed", "float32"),
        ):
            model = picture_model(precision, dtype=dtype)
            yield f"{kind} {precision} {dtype}", file_source(kind, model), (None,)


def outcomes() -> dict[str, dict[str, str]]:
    """By format and model, then by variant and batch: the hash, or the refusal."""
    nchw = OnnxForm(layout="NCHW", int8="qoperator", activations="uint8", exclude=("Softmax",))
    formats = {
        "tflite": lambda request: TfliteChain().recipe(request).inputs,
        "onnx": lambda request: OnnxChain(lambda _: OnnxForm()).recipe(request).inputs,
        "onnx qoperator": lambda request: OnnxChain(lambda _: nchw).recipe(request).inputs,
        "coral": registry.backend("coral").prepare_inputs,
        "coral allow_cpu": lambda request: registry.backend("coral").prepare_inputs(
            replace(request, options={"allow_cpu": True})
        ),
    }
    held: dict[str, dict[str, str]] = {}
    for name, prepare_inputs in formats.items():
        for label, source, widths in sources():
            rows = held.setdefault(f"{name}: {label}", {})
            for width in widths:
                for precision in ("fp32", "fp16", "int8", "mixed"):
                    for batch in (1, 4):
                        variant = Variant(width, precision, source.name)
                        request = PrepareRequest(variant, batch, {}, source=source)
                        try:
                            outcome = canonical_hash(prepare_inputs(request))[:12]
                        except UnsupportedError as error:
                            outcome = f"refused {canonical_hash({'text': str(error)})[:12]}"
                        rows[f"{variant.name} x{batch}"] = outcome
    return held


def test_every_recipe_and_refusal_is_the_one_that_was_held(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(installed, "version", lambda name: f"1.2.{len(name)}")
    monkeypatch.setenv("PATH", "")  # there is no compiler for the Edge TPU
    assert outcomes() == json.loads(KEYS.read_text())
