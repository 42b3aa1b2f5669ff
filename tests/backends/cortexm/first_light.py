"""EdgeBench's firmware as a program of this machine, and the backend with an artifact that it carries.

Its engine needs no network: each score is the mean brightness of a fifth of the picture.
"""

import contextlib
import importlib
import io
import subprocess

import numpy as np

from edgebench.errors import UnsupportedError
from edgebench.link.window_session import WindowLengths
from edgebench.records.model import Artifact, Golden, InputSpec
from edgebench.records.values import Variant
from tests.backends.cortexm.host_programs import ANSWER_S, CORE, FIRMWARE, require_compiler

backend = importlib.import_module("edgebench.backends.cortexm.backend")
engines = importlib.import_module("edgebench.backends.cortexm.engines")

SIDE = 20  # 240 bytes a fifth
CLASSES = ("first", "second", "third", "fourth", "fifth")
VARIANT = Variant(0.25, "int8")
SHORT = WindowLengths(least_s=0.002, aim_s=0.0025, most_s=1.0, warm_up_s=0.5)
MODEL = b"mean brightness of each fifth"


def scores_of(patch):
    """As the engine computes them, with three decimals."""
    levels = np.asarray(patch).reshape(5, -1).astype(int).sum(1) // (SIDE * SIDE * 3 // 5)
    return tuple(round(float(level) / 255, 3) for level in levels)


def golden_patches():
    """uint8 [3, SIDE, SIDE, 3], each with another brightest fifth."""
    patches = np.full((3, SIDE, SIDE, 3), 40, np.uint8)
    for index in range(3):
        patches[index, 4 * index : 4 * index + 4] = 200 + index
    return patches


class FirstLightBackend(backend.CortexMBackend):  # type: ignore[name-defined, misc]
    """The device with windows of milliseconds; its artifact is what the program carries."""

    for_tests = True

    def __init__(self, lengths=SHORT):
        super().__init__(lengths)

    def prepare_inputs(self, request):
        if request.variant.precision != "int8" or request.batch != 1:
            raise UnsupportedError("it takes int8, one patch at a time")
        return {"recipe": "first-light", "variant": request.variant.name}

    def missing(self, request):
        return None

    def offers(self, options):
        return (VARIANT,)

    def prepare(self, requests, cache, progress):
        return [self._prepared(request, cache) for request in requests]

    def _prepared(self, request, cache):
        try:
            self.prepare_inputs(request)
        except UnsupportedError as error:
            return error
        return first_light_artifact(cache, request.variant)


def first_light_artifact(cache, variant=VARIANT):
    path, sha256 = cache.add_bytes(MODEL, ".txt")
    held = io.BytesIO()
    np.save(held, golden_patches())
    golden, golden_sha256 = cache.add_bytes(held.getvalue(), ".npy")
    return Artifact(
        variant=variant.name,
        batch=1,
        format="brightness",
        path=path,
        sha256=sha256,
        size_bytes=len(MODEL),
        input=InputSpec(dtype="uint8", height=SIDE, width=SIDE, scale=1 / 127.5, zero_point=127),
        class_names=CLASSES,
        golden=Golden(
            patches=golden,
            patches_sha256=golden_sha256,
            scores=tuple(scores_of(patch) for patch in golden_patches()),
            reference="brightness",
            tolerance=0.001,
        ),
        provenance={},
    )


def compile_first_light(folder, model_id):
    """The program; optimised, and without the sanitizers, because it is timed."""
    require_compiler()
    binary = folder / "first-light"
    defines = {
        "MODEL_ID": f'"{model_id}"',
        "MODEL_SCORES": "5",
        "MODEL_INPUT_BYTES": str(SIDE * SIDE * 3),
        "PROTOCOL_ENERGY_MODE": "0",
    }
    sources = [
        *CORE.glob("*.c"),
        FIRMWARE / "engines" / "brightness" / "model_brightness.c",
        FIRMWARE / "ports" / "host" / "port_host.c",
    ]
    flags = ["-std=c11", "-O1", f"-I{CORE}", *(f"-D{name}={value}" for name, value in defines.items())]
    subprocess.run(["cc", *flags, *map(str, sources), "-o", str(binary)], check=True)
    return binary


@contextlib.contextmanager
def on_a_pty(binary, *arguments):
    """The path of the pty that a program answers at, and its process."""
    process = subprocess.Popen([str(binary), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.wait(ANSWER_S)
        process.stdout.close()
