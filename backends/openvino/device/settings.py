"""What a session asks of the library, in the library's own terms (device side, Python 3.6 syntax)."""

import os
import tempfile
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

# The precision that a variant is computed in where it is float. On its own a plugin may take bf16 for fp32.
PRECISIONS = {"fp32": "f32", "fp16": "f16", "int8": "f32"}

Settings = NamedTuple(
    "Settings",
    [
        ("device", str),
        ("requests", int),
        ("streams", int),  # 0: the device's choice
        ("threads", int),  # 0: the device's choice
        ("hint", str),  # latency, throughput, or nothing
        ("precision", str),  # f32, f16, bf16, or nothing: the device's choice
        ("cache", str),  # a folder, or nothing
        ("input_shapes", List[List[int]]),  # empty: the file says all
    ],
)

Tensor = NamedTuple("Tensor", [("name", str), ("shape", Tuple[int, ...]), ("dtype", str)])


def settings_of(options: Dict[str, Any]) -> Settings:
    """From the backend's options and the variant's precision."""
    requests = int(options["requests"])
    hint = str(options["hint"])
    if hint == "auto":
        hint = "latency" if requests == 1 else "throughput"
    precision = str(options.get("execution_precision", "auto"))
    if precision == "auto":
        precision = PRECISIONS[str(options["precision"])]
    return Settings(
        device=str(options["device"]),
        requests=requests,
        streams=int(options["streams"]),
        threads=int(options.get("threads", 0)),
        hint="" if hint == "none" else hint,
        precision="" if precision == "device" else precision,
        cache=cache_folder(str(options["cache"])),
        input_shapes=[list(shape) for shape in options.get("input_shapes") or []],
    )


def cache_folder(name: str) -> str:
    """The folder for compiled models, made where it is not there; OSError where it cannot be written to."""
    if not name:
        return ""
    folder = os.path.abspath(os.path.expanduser(name))
    try:
        os.makedirs(folder, exist_ok=True)
        # Nothing else tells for sure: the superuser may write where permissions say no, and a full disk.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(
            "the cache folder {} cannot be written to: {}; "
            "name another one (--set cache=FOLDER), or none".format(folder, error.strerror or error)
        ) from error
    return folder


def require_static(name: str, shape: Sequence[Any], is_dynamic: bool) -> None:
    """ValueError for an input that leaves an axis open."""
    if is_dynamic:
        raise ValueError(
            "the input {} has the shape {}: a fixed one is needed; "
            "export the model with a fixed shape".format(name, shape)
        )
