"""What a session asks of the library, in the library's own terms (device side, Python 3.6 syntax)."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

# What float operations are computed in, best first; nothing: the device's choice. Left to itself a plugin may
# take bf16 for fp32; one without 16-bit arithmetic may refuse f16, and one with nothing else f32.
PRECISIONS = {"fp32": ["f32"], "fp16": ["f16", "f32"], "int8": ["f32", ""]}
ONLY_PRECISION = {"MYRIAD": "f16"}  # of devices that have no choice, and take no word on it

Settings = NamedTuple(
    "Settings",
    [
        ("device", str),
        ("requests", int),
        ("streams", int),  # 0: the device's choice
        ("threads", int),  # 0: the library's choice
        ("hint", str),  # latency, throughput, or nothing
        ("precisions", List[str]),  # to be tried in turn: f32, f16, bf16, or nothing, the device's choice
        ("cache", str),  # a folder, or nothing
        ("input_shapes", List[List[int]]),  # empty: the file says all
    ],
)

Tensor = NamedTuple(
    "Tensor",
    [
        ("name", str),
        ("shape", Tuple[int, ...]),
        ("dtype", str),
        ("quantisation", Optional[Tuple[float, int]]),  # scale and zero point of an output of integers
    ],
)


def settings_of(options: Dict[str, Any]) -> Settings:
    """From the backend's options and the variant's precision."""
    requests = int(options["requests"])
    hint = str(options["hint"])
    if hint == "auto":
        hint = "latency" if requests == 1 else "throughput"
    precision = str(options.get("execution_precision", "auto"))
    named = [""] if precision == "device" else [precision]
    return Settings(
        device=str(options["device"]),
        requests=requests,
        streams=int(options["streams"]),
        threads=int(options.get("threads", 0)),
        hint="" if hint == "none" else hint,
        precisions=PRECISIONS[str(options["precision"])] if precision == "auto" else named,
        cache=str(options["cache"]),
        input_shapes=[list(shape) for shape in options.get("input_shapes") or []],
    )


def require_static(kind: str, name: str, shape: Any, is_dynamic: bool) -> None:
    """ValueError for an input or output (`kind`) that leaves an axis open."""
    if is_dynamic:
        text = "the {} {} has an open shape, {}: export the model with a fixed one"
        raise ValueError(text.format(kind, name, shape))


def family_of(device: str) -> str:
    """`GPU` of `GPU.1`."""
    return device.split(".")[0]


def in_one_line(error: BaseException, skipped: Sequence[str] = ("Exception from ", "Check '")) -> str:
    """The library's words without the lines that say where in its source they were thrown."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith(tuple(skipped))]
    return " ".join(kept or lines)
