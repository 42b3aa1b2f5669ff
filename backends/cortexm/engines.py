"""What a firmware's inferences are done by: sources behind firmware/core/model.h."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgebench.errors import EdgeBenchError, UnsupportedError, not_installed
from edgebench.installed import version_of
from edgebench.link.window_session import size_bytes
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash, obtain
from edgebench.prepare.model_file import inspect_model
from edgebench.prepare.workers.processes import HelperEndedError, HelperError, results_of, run_jobs
from edgebench.records.model import Artifact
from edgebench.records.values import Progress

from .boards import FIRMWARE
from .simulator.engine import INTERPRETER
from .tflm_library import ADAPTER, DEFINES, ROOM, TflmLibrary, run

# A model's operators as TFLM's resolver names them: only those are linked.


_OTHERWISE = {
    "BATCH_MATMUL": "BatchMatMul",
    "CUMSUM": "CumSum",
    "PADV2": "PadV2",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM",
}


def resolver_names(operations: Iterable[str], variant: str) -> tuple[str, ...]:
    """Names of builtin operators, such as `Conv2D` of `CONV_2D`, in order; UnsupportedError for a custom one.

    Whether TFLM has it is known where the firmware is compiled.
    """
    names = []
    for operation in operations:
        if not operation.replace("_", "").isalnum():
            raise UnsupportedError(
                f"{variant} cannot be run by TFLM's builtin operators",
                why=f"it has the operator {operation}",
                fix="take a model without custom operators",
            )
        words = (word if word[:1].isdigit() else word.capitalize() for word in operation.split("_"))
        names.append(_OTHERWISE.get(operation) or "".join(words))
    return tuple(sorted(names))


_GENERATOR = "emx-onnx-cgen"
_KIND = "generated-c"
_FUNCTION = "network"
# Temporaries on the stack, whose depth the compiler computes; weights in the file and so in flash.
_GENERATOR_OPTIONS = (
    *("--model-name", _FUNCTION),
    *("--large-temp-threshold", "0"),
    *("--large-weight-threshold", "0"),
)
_TFLM_STACK_BYTES = 8192
"""Reserved for TFLM, whose depth is not computed: see firmware/README.md for what it was seen to take."""

_TYPES = {"float32": "MODEL_FLOAT32", "int8": "MODEL_INT8", "uint8": "MODEL_UINT8"}


@dataclass(frozen=True)
class Engine:
    """An engine with its model.

    Attributes:
        title: name and version.
        model_id: what the firmware says that it carries: the variant and its file's SHA-256.
        input_bytes: of the input tensor.
        scores: of one inference.
        sources: C and C++ files.
        content: what decides their code in addition to the sources, such as the hash of an included file.
        defines: of the preprocessor.
        library: that is linked.
        includes: folders with the library's headers.
        static_bytes: of its working memory, what is no stack.
        library_stack_bytes: the stack that the library takes, which no call graph has.
    """

    title: str
    model_id: str
    input_bytes: int
    scores: int
    sources: tuple[Path, ...]
    content: str = ""
    defines: Mapping[str, str] = field(default_factory=dict)
    library: Path | None = None
    includes: tuple[Path, ...] = ()
    static_bytes: int = 0
    library_stack_bytes: int = 0

    def all_defines(self) -> dict[str, str]:
        """With those that model.h asks for."""
        return {
            "MODEL_ID": f'"{self.model_id}"',
            "MODEL_INPUT_BYTES": str(self.input_bytes),
            "MODEL_SCORES": str(self.scores),
            **self.defines,
        }


def model_id(artifact: Artifact) -> str:
    """What firmware that carries the artifact answers to `profile`."""
    return f"{artifact.variant}:{artifact.sha256}"


def brightness(input_bytes: int = 3072, scores: int = 5) -> Engine:
    """No network: mean brightnesses, for a board's first light."""
    content = hashlib.sha256(f"{input_bytes} {scores}".encode()).hexdigest()
    source = FIRMWARE / "engines" / "brightness" / "model_brightness.c"
    return Engine("brightness 1", f"brightness:{content}", input_bytes, scores, (source,))


def generated(artifact: Artifact, cache: Cache, progress: Progress) -> Engine:
    """C that emx-onnx-cgen makes of an ONNX file with one input and one row of scores out.

    Raises:
        UnavailableError: the generator is not installed.
        UnsupportedError: the artifact is no such file.
        BuildError: the generator refuses it.
    """
    _require_one_input(artifact, "onnx", "cannot be made C")
    if (version := version_of(_GENERATOR)) is None:
        what = f"{artifact.variant} cannot be made C"
        raise not_installed(what, _GENERATOR, "pip install 'edgebench[cortexm]'")
    title = f"{_GENERATOR} {version}"
    file = _generated_file(artifact, title, cache, progress)
    return Engine(
        title,
        model_id(artifact),
        size_bytes(artifact),
        artifact.scores,
        (FIRMWARE / "engines" / "generated" / "model_generated.c",),
        file.sha256,
        {
            "GENERATED_FILE": f'"{file.path}"',
            "GENERATED_FUNCTION": _FUNCTION,
            "GENERATED_ENGINE": f'"{title}"',
            "GENERATED_TYPE": _TYPES[artifact.input_type],
        },
    )


def _require_one_input(artifact: Artifact, format_: str, refusal: str) -> None:
    """UnsupportedError for an artifact of another format, with several inputs or one of another type."""
    if artifact.format == format_ and len(artifact.tensors) < 2 and artifact.input_type in _TYPES:
        return
    raise UnsupportedError(
        f"{artifact.variant} {refusal}",
        why=f"it is no .{format_} file with one input of {', '.join(_TYPES)}",
        fix="take a model with one such input",
    )


def tflm(artifact: Artifact, library: TflmLibrary | None, progress: Progress) -> Engine:
    """TFLM with a .tflite with one input and one row of scores out.

    Args:
        artifact: what is run; it is in flash as it is.
        library: TFLM, for the board that the firmware is for; None: the memory that the model takes of it is
            set aside, and firmware of that infers nothing.
        progress: called with what is done.

    Raises:
        UnavailableError: what the arena needs cannot be found, because tflite-micro is not installed.
        UnsupportedError: the artifact is no such file, or TFLM cannot run it.
    """
    _require_one_input(artifact, "tflite", "cannot be run by TFLM")
    operators = resolver_names(inspect_model(artifact.path).operations, artifact.variant)
    arena = arena_bytes(artifact, progress)
    title = "TFLM without its own code" if library is None else library.title
    defines = {
        "TFLM_ENGINE": f'"{title}"',
        "TFLM_ARENA_BYTES": str(arena),
        "TFLM_OPERATORS": " ".join(f"OPERATOR({name})" for name in operators),
        **({"TFLM_RESETS": "1"} if artifact.state == "reset" else {}),
        **dict(define.removeprefix("-D").partition("=")[::2] for define in DEFINES),
    }
    return Engine(
        title,
        model_id(artifact),
        size_bytes(artifact),
        artifact.scores,
        (ROOM if library is None else ADAPTER,),
        canonical_hash({"library": library and library.identity, "defines": defines}),
        {**defines, "TFLM_MODEL_FILE": f'"{artifact.path.absolute()}"'},
        None if library is None else library.path,
        () if library is None else library.includes,
        arena,
        _TFLM_STACK_BYTES,
    )


_OPTIMISED_KERNELS_BYTES = 4096
"""What a board's kernels may take beyond the reference ones that are asked here; CMSIS-NN's took 48."""


def arena_bytes(artifact: Artifact, progress: Progress) -> int:
    """Enough for a 32-bit board: what the tflite-micro package takes here, and room for other kernels.

    Pointers are twice as long here, so that it takes a little more than on a board (MobileNet v1 0.25:
    431,296 bytes against 428,292).

    Raises:
        UnavailableError: the package is not installed.
        UnsupportedError: TFLM cannot run the model.
    """
    if version_of("tflite-micro") is None:
        what = "how much memory TFLM needs for the model cannot be found"
        raise not_installed(what, "tflite-micro", "pip install 'edgebench[simulator]'")
    with tempfile.TemporaryDirectory(prefix="edgebench-") as scratch:
        job = {"what": artifact.variant, "do": "start", "model": str(artifact.path)}
        try:
            [result] = results_of(run_jobs(INTERPRETER, [job], Path(scratch), progress, processes=1))
        except HelperEndedError:
            raise
        except HelperError as error:
            what = f"{artifact.variant} cannot be run by TFLM"
            fix = (
                error.fix or "take a model of the operations that TFLM has (its micro_mutable_op_resolver.h)"
            )
            raise UnsupportedError(what, why=error.why, fix=fix) from error
    if result["arena_bytes"] is None:
        raise EdgeBenchError(
            f"how much memory TFLM needs for {artifact.variant} cannot be found",
            why="the tflite-micro package says it in other words",
        )
    return int(result["arena_bytes"]) + _OPTIMISED_KERNELS_BYTES


def _generated_file(artifact: Artifact, title: str, cache: Cache, progress: Progress) -> CachedFile:
    """The C file, from the cache or made."""
    key = canonical_hash({"model": artifact.sha256, "generator": title, "options": list(_GENERATOR_OPTIONS)})

    def generate(output: Path) -> None:
        progress(f"generating C of {artifact.variant}")
        command = [sys.executable, "-m", "emx_onnx_cgen", "compile", "--color", "never"]
        run([*command, *_GENERATOR_OPTIONS, str(artifact.path), str(output)], "the C generator")

    return obtain(cache, _KIND, key, ".c", generate)
