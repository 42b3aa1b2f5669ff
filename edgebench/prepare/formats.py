"""The table of model formats: recognising a file's format, and refusing one that a device does not take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import InputError, UnsupportedError
from edgebench.files import reason
from edgebench.records.model import PrepareRequest, SourceKind


class Reader(NamedTuple):
    """What reads the files of a format, in a process of its own."""

    name: str  # of its function in workers/inspecting.py, and of `ModelFacts.format`
    package: str
    extra: str  # of this package, that installs it
    copies: int = 3  # of the file, in the process's memory
    room_mib: int = 256  # memory of the process beside the file
    reserved_gib: int = 4  # address space that its libraries reserve


_BY_LITERT = Reader("tflite", "ai_edge_litert", "cpu", copies=1)
_BY_ONNX = Reader("onnx", "onnx", "onnx")
_BY_OPENVINO = Reader("openvino", "openvino", "openvino", copies=20)
_BY_KERAS = Reader("keras", "tensorflow", "prepare", room_mib=1536, reserved_gib=64)
_BY_TENSORFLOW = _BY_KERAS._replace(name="saved_model")


@dataclass(frozen=True)
class Format:
    """One row of the table."""

    kind: str  # of a source that is such a file; a name of its own where no device takes it
    title: str  # as messages name it
    suffixes: tuple[str, ...] = ()
    folder: str = ""  # name of the file that makes a folder one of this format
    mark: bytes = b""  # that tells the file from others with its suffix
    reader: Reader | None = None
    why: str = ""  # further words of its refusal
    instead: tuple[SourceKind, str] | None = None  # the file to give; `name` and `stem` are the refused one's

    @property
    def is_taken(self) -> bool:
        """Whether any device may take it."""
        return self.kind in get_args(SourceKind)

    def instead_of(self, path: Path) -> str:
        """The file to give in the place of `path`."""
        return self.instead[1].format(name=path.name, stem=path.stem) if self.instead else ""


def _custom_operation(name: str) -> bytes:
    """The name as a flatbuffer holds a string: its length (uint32, little-endian), the text, a zero."""
    return len(name).to_bytes(4, "little") + name.encode() + b"\0"


def _compiled(kind: str, title: str, operation: str, chip: str) -> Format:
    return Format(
        kind,
        f".tflite compiled {title}",
        (".tflite",),
        mark=_custom_operation(operation),
        reader=_BY_LITERT,
        why=f"which {chip} alone runs",
        instead=("tflite", "the .tflite file that it was compiled from"),
    )


def _foreign(kind: str, title: str, suffix: str) -> Format:
    instead: tuple[SourceKind, str] = ("onnx", "the .onnx file that it was made from")
    return Format(kind, title, (suffix,), why="which no device here takes", instead=instead)


FORMATS: tuple[Format, ...] = (
    _compiled("edgetpu", "for the Edge TPU", "edgetpu-custom-op", "an Edge TPU"),
    _compiled("vela", "by Vela for an Ethos-U", "ethos-u", "an Ethos-U"),
    Format("tflite", ".tflite", (".tflite",), reader=_BY_LITERT),
    Format("onnx", ".onnx", (".onnx",), reader=_BY_ONNX),
    Format(
        "openvino",
        "OpenVINO IR (.xml)",
        (".xml",),
        reader=_BY_OPENVINO,
        instead=("onnx", "the .onnx file that it was made from"),
    ),
    Format("keras", ".keras", (".keras",), reader=_BY_KERAS),
    Format("saved_model", "a SavedModel's folder", folder="saved_model.pb", reader=_BY_TENSORFLOW),
    Format("weights", "weights (.npz)", (".npz",)),
    # Formats that are not read.
    Format(
        "tensorrt_engine",
        "a TensorRT engine",
        (".engine", ".plan", ".trt"),
        why="which is of one TensorRT release and GPU",
        instead=("onnx", "the .onnx file that it was built from"),
    ),
    Format(
        "pytorch",
        "PyTorch",
        (".pt", ".pth"),
        why="which may hold code and is not opened",
        instead=("onnx", "its export to ONNX (torch.onnx.export)"),
    ),
    Format(
        "keras_h5",
        "Keras's older .h5",
        (".h5", ".hdf5"),
        why="which may bring code of its own, and Keras 3 reads few of Keras 2",
        instead=(
            "saved_model",
            "the folder that these two commands make of it, if you trust it: pip install tf-keras; "
            'python -c "import tf_keras; tf_keras.models.load_model({name!r}, compile=False)'
            '.export({stem!r})"',
        ),
    ),
    Format(
        "tensorflow_graph",
        "a TensorFlow graph alone",
        (".pb",),
        why="which names neither inputs nor outputs",
        instead=("saved_model", "the folder of a SavedModel, which holds saved_model.pb and its variables"),
    ),
    _foreign("coreml", "Core ML", ".mlmodel"),
    _foreign("hailo", "Hailo's .hef", ".hef"),
    _foreign("snpe", "Qualcomm's .dlc", ".dlc"),
    Format(
        "rknn",
        "Rockchip's .rknn",
        (".rknn",),
        why="which is of one processor and does not tell its input",
        instead=("onnx", "the .onnx file that it was made from"),
    ),
    _foreign("ncnn", "ncnn's .param", ".param"),
    _foreign("mnn", "MNN's .mnn", ".mnn"),
)
"""Of rows with the same suffix the first that fits is the file's."""

_LARGEST_MARKED_BYTES = 1 << 31  # a flatbuffer's offsets reach no further


def is_named_as_model(path: Path) -> bool:
    """Whether a name ends as a model file's does, read or not."""
    return any(path.suffix.lower() in row.suffixes for row in FORMATS)


def model_entry(path: Path) -> Path:
    """The .xml of a folder that holds one OpenVINO IR; any other path as it is."""
    if path.is_dir():
        found = sorted(path.glob("*.xml"))
        pairs = [file for file in found if file.with_suffix(".bin").is_file()]
        for files in (pairs, found):
            if len(files) == 1 and not any(row.folder and (path / row.folder).is_file() for row in FORMATS):
                return files[0]
    return path


def format_of(path: Path) -> Format:
    """The format of a model file or folder; InputError where it is missing or of no known format."""
    path = model_entry(path)
    try:
        size_bytes, is_folder = path.stat().st_size, path.is_dir()
        if is_folder:
            rows = [row for row in FORMATS if row.folder and (path / row.folder).is_file()]
        else:
            rows = [row for row in FORMATS if path.suffix.lower() in row.suffixes]
            marks = [row.mark for row in rows if row.mark]
            mark = _mark_of(path, marks) if marks and path.is_file() and size_bytes else b""
            rows = [row for row in rows if row.mark in (mark, b"")]
    except (OSError, ValueError) as error:
        raise InputError(
            f"there is no model file {path}",
            why=reason(error),
            fix="check the path; `edgebench models list` has the families that go by name",
        ) from error
    if not rows:
        raise InputError(
            f"{path} is {'no SavedModel' if is_folder else 'no model file that is known'}",
            why="the folder has neither saved_model.pb nor one .xml alone"
            if is_folder
            else f"its name ends in {path.suffix!r}",
            fix=f"give {_choice([row.title for row in FORMATS if row.is_taken])}",
        )
    return rows[0]


def _mark_of(path: Path, marks: Sequence[bytes]) -> bytes:
    """The first of the marks that the file holds; b"" without."""
    with path.open("rb") as file:
        last = b""
        while file.tell() < _LARGEST_MARKED_BYTES and (block := file.read(1 << 20)):
            for mark in marks:
                if mark in last + block:
                    return mark
            last = block[-max(map(len, marks)) :]
    return b""


def not_read(path: Path, row: Format) -> InputError:
    """Refusal of a file of a format that no device takes."""
    return InputError(
        f"{path} is not read", why=f"its format is {row.title}, {row.why}", fix=f"give {row.instead_of(path)}"
    )


def refusal(path: Path, kind: str, device: str, taken: Sequence[SourceKind]) -> UnsupportedError | None:
    """Why a device does not take a file, with what to give instead; None where it does.

    Args:
        path: of the file or folder.
        kind: of its format, as `format_of` finds it.
        device: as `--device` names it.
        taken: the formats that the device declares.
    """
    if kind in taken:
        return None
    row = next(row for row in FORMATS if row.kind == kind)
    titles = _choice([other.title for other in FORMATS if other.kind in taken]) or "no model file"
    takers = _takers(kind)
    if row.instead and (row.instead[0] in taken or not takers):
        fix = f"give {row.instead_of(path)}"
        fix += "" if row.instead[0] in taken else f", with --device {_takers(row.instead[0])}"
    else:
        fix = f"give the same model in a format that {device} takes" if taken else "leave --model out"
    return UnsupportedError(
        f"{path.name} is not taken by {device}",
        why=f"its format is {row.title}{row.why and ', '}{row.why}; {device} takes {titles}",
        fix=f"{fix}, or take --device {takers}" if takers else fix,
    )


def refusal_of(backend: Backend, request: PrepareRequest) -> UnsupportedError | None:
    """Why a backend does not take the file of a request; None where it does, or there is no file."""
    source = request.source
    if source.path is None:
        return None
    return refusal(source.path, source.kind, backend.name, backend.formats(request.options))


def _takers(kind: str) -> str:
    """The devices that take a format, with their default options."""
    backends = [registry.backend(name) for name in registry.loadable("edgebench.backends")]
    return _choice(
        [
            backend.name
            for backend in backends
            if not backend.for_tests and kind in backend.formats(backend.options_model().model_dump())
        ]
    )


def _choice(words: Sequence[str]) -> str:
    """The words as a choice: "a, b or c"."""
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
