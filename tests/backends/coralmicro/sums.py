"""The backend with an artifact of 8 x 8 pixels, whose scores a played board makes up (SumEngine)."""

import importlib
import io
from dataclasses import replace

import numpy as np

from edgebench.errors import UnsupportedError
from edgebench.prepare.chain import Recipe
from edgebench.records.model import Artifact, Golden, InputSpec
from edgebench.records.values import Pictures, Variant
from edgebench.testing.backend_kit import images_of, scene_of
from tests.backends.coralmicro.played_engines import SumEngine

backend = importlib.import_module("edgebench.backends.coralmicro.backend")

SIDE = 8  # more than the border of the kit's scene
CLASSES = ("first", "second", "third", "fourth", "fifth")
VARIANT = Variant(0.25, "int8")
MODEL = b"sums of all pixels" * 100
OTHER_MODEL = b"another file of the same sums" * 100


def engine_of(content):
    """The engine of a played board for such patches."""
    return SumEngine(content, SIDE * SIDE * 3)


def golden_patches():
    """uint8 [5, SIDE, SIDE, 3]."""
    return np.random.default_rng(3).integers(0, 256, (5, SIDE, SIDE, 3)).astype(np.uint8)


def scores_of(patch):
    """As the firmware computes them, of pixel - 128."""
    sums = engine_of(MODEL).infer(patch.reshape(-1).astype(np.int64) - 128)
    return tuple(float(score) for score in (sums.astype(np.float64) + 128) / 256)


def artifact_of(cache, variant=VARIANT, model=MODEL):
    path, sha256 = cache.add_bytes(model, ".tflite")
    held = io.BytesIO()
    np.save(held, golden_patches())
    golden, golden_sha256 = cache.add_bytes(held.getvalue(), ".npy")
    return Artifact(
        variant=variant.name,
        batch=1,
        format="edgetpu",
        path=path,
        sha256=sha256,
        size_bytes=len(model),
        input=InputSpec(dtype="int8", height=SIDE, width=SIDE, scale=1 / 127.5, zero_point=-1),
        class_names=CLASSES,
        golden=Golden(
            patches=golden,
            patches_sha256=golden_sha256,
            scores=tuple(scores_of(patch) for patch in golden_patches()),
            reference="sums",
            tolerance=0.001,
        ),
        provenance={"operations": {"edgetpu": 1, "cpu": {}}},
    )


class SumChain:
    """Gives that artifact, and another file of the same scores at depth 0.5."""

    def recipe(self, request):
        if request.variant.precision != "int8" or request.batch != 1:
            raise UnsupportedError("it takes int8, one patch at a time")
        return Recipe("sums", {"recipe": "sums", "variant": request.variant.name}, ".tflite")

    def missing(self, request):
        return None

    def prepare(self, requests, cache, progress):
        return [self._prepared(request, cache) for request in requests]

    def _prepared(self, request, cache):
        try:
            self.recipe(request)
        except UnsupportedError as error:
            return error
        model = MODEL if request.variant == VARIANT else OTHER_MODEL
        return artifact_of(cache, request.variant, model)


class SumBackend(backend.CoralMicroBackend):  # type: ignore[name-defined, misc]
    """The device with those artifacts."""

    name = "sums"
    for_tests = True
    chain = SumChain()

    def offers(self, options):
        return (VARIANT, Variant(0.5, "int8"))


class SumBackendWithPictures(SumBackend):
    """The same with a scene of twelve patches and five labelled images, for whole runs."""

    def pictures(self, options, cache):
        artifact = artifact_of(cache)
        labels = tuple(int(np.argmax(scores_of(patch))) for patch in golden_patches())
        images = replace(images_of(golden_patches(), cache), labels=labels, class_names=CLASSES)
        return Pictures(scene_of(artifact, cache), images)
