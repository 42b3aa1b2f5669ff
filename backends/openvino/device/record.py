"""What a session's record has of the compiled model, and its warnings (device side, Python 3.6 syntax)."""

import os
import platform
from collections import Counter
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .library import Library
from .settings import Settings

NO_WORK = ("Const", "Input", "Output")  # layers that compute nothing
MULTIPLY = ("Convolution", "FullyConnected", "MatMul", "Deconvolution")  # nearly all of a network's work
EIGHT_BITS = ("i8", "u8", "int8", "uint8")
NOT_TOLD = "this release or this device does not tell"

ANOTHER_PRECISION = "{} was asked for, and the compiled model computes in {}"
NO_INT8 = "int8 was asked for, and the layers that multiply compute in {}, none of them in 8 bits"
SWITCHES = "OV_"  # of the environment: the library's, for its debugging
MAX_NAME, MAX_NAMES = 60, 5
SWITCHED = "the environment sets {}: OpenVINO may compute otherwise than without"
FROM_CACHE = "the model had been compiled by an earlier session (--set cache): there is no cold load_s"
ANOTHER_SETTING = "{}={} was asked for, and the compiled model has {}"
NOT_CACHED = "{} keeps no compiled models: the cache folder was not used"


def described(
    library: Library, settings: Settings, variant_precision: str, compiled: Any, stick: Dict[str, Any]
) -> Dict[str, Any]:
    """The runtime as the record has it.

    Args:
        library: which release.
        settings: what it was asked for.
        variant_precision: fp32, fp16 or int8.
        compiled: the model, of either API.
        stick: what is known of a stick, if it is one (see stick.py).
    """
    layers = compiled.layers()
    of_model = dict(compiled.facts(), layer_precisions=layer_precisions(layers) or None)
    absent = {name: NOT_TOLD for name, value in of_model.items() if value is None}
    sentences = precision_warnings(settings, variant_precision, of_model["execution_precision"], layers)
    sentences += setting_warnings(settings, of_model["streams"], of_model["threads"])
    sentences += cache_warnings(settings, compiled.is_from_cache) + environment_warnings(os.environ)
    return dict(
        dict(stick, **of_model),
        name="openvino",
        version=library.version,
        api=library.module.__name__,
        python=platform.python_version(),
        device=settings.device,
        requests=settings.requests,
        hint=settings.hint or "none",
        from_cache=compiled.is_from_cache,
        absent=dict(stick.get("absent", {}), **absent),
        warnings=sentences + stick.get("warnings", []),
    )


def layer_precisions(layers: Sequence[Tuple[str, str]]) -> Dict[str, int]:
    """How many layers compute in each precision."""
    return dict(Counter(short(precision) for kind, precision in layers if kind not in NO_WORK))


def precision_warnings(
    settings: Settings,
    variant_precision: str,
    execution_precision: Optional[str],
    layers: Sequence[Tuple[str, str]],
) -> List[str]:
    """Where something else is computed than was asked for."""
    sentences = []
    wanted = settings.precisions[0]
    if wanted and execution_precision not in (None, wanted) and variant_precision != "int8":
        sentences.append(ANOTHER_PRECISION.format(wanted, execution_precision))
    multiplying = [short(precision) for kind, precision in layers if kind in MULTIPLY]
    if variant_precision == "int8" and multiplying and not set(multiplying) & set(EIGHT_BITS):
        sentences.append(NO_INT8.format(" and ".join(sorted(set(multiplying)))))
    return sentences


def setting_warnings(settings: Settings, streams: Optional[int], threads: Optional[int]) -> List[str]:
    """Where a device has other streams or threads than were named; None: it does not tell."""
    pairs = (("streams", settings.streams, streams), ("threads", settings.threads, threads))
    return [
        ANOTHER_SETTING.format(name, wanted, actual)
        for name, wanted, actual in pairs
        if wanted and actual not in (None, wanted)
    ]


def cache_warnings(settings: Settings, from_cache: Optional[bool]) -> List[str]:
    """Where the model was not compiled by this load, or will be again by the next one."""
    if settings.cache and from_cache is None:
        return [NOT_CACHED.format(settings.device)]
    return [FROM_CACHE] if from_cache else []


def environment_warnings(environment: Mapping[str, str]) -> List[str]:
    """Where variables are set that turn the library's own switches, such as OV_CPU_MAX_ISA; by name alone."""
    names = sorted(name[:MAX_NAME] for name in environment if name.startswith(SWITCHES))
    return [SWITCHED.format(", ".join(names[:MAX_NAMES]))] if names else []


def short(precision: str) -> str:
    """`f32` of FP32."""
    lower = precision.lower()
    return lower.replace("fp", "f", 1)
