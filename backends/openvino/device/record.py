"""What a session's record has of the compiled model, and its warnings (device side, Python 3.6 syntax)."""

import contextlib
import os
import platform
from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ...device.usb_sticks import usb2_warnings, usb_sticks
from .library import Library, Settings

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
        variant_precision: fp32, fp16, int8 or mixed.
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


# What the board says of Neural Compute Sticks 2 (device side, Python 3.6 syntax), for records and errors.
#
# The stick's boot ROM shows 03e7:2485 on USB 2 at any port. The runtime loads the firmware whenever it
# opens
# the stick, which then shows 03e7:f63b at the port's own speed until the runtime lets go of it.


BOOT_ID, READY_ID = "03e7:2485", "03e7:f63b"
PLUGIN = "MYRIAD"
# The host reads what stands behind this in the words of a failed load.
USB_STATE = "USB shows"


class Stick:
    """What a session's record and its errors contain, where the session is of a stick.

    Args:
        device: OpenVINO's name of it.
        root: the folder that sysfs is found in.
    """

    def __init__(self, device: str, root: str) -> None:
        self._root = root
        self._is_meant = device.startswith(PLUGIN)
        self._before = _sticks(root) if self._is_meant else {}

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """A model is loaded in here: a RuntimeError gets the state of the USB ids behind its words."""
        try:
            yield
        except RuntimeError as error:
            if not self._is_meant:
                raise
            words = _in_words(_sticks(self._root))
            raise RuntimeError("{}; {} {}".format(str(error).strip(), USB_STATE, words)) from error

    def facts(self) -> Dict[str, Any]:
        """For `describe()`, once the model is loaded: bus speed, firmware and what to warn of.

        Returns:
            `usb`: see usb_sticks; `firmware_before`: whether every stick had its firmware before the load;
            `warnings`; `absent`: why something is not known. Nothing where no stick is meant.
        """
        if not self._is_meant:
            return {}
        now, before = _sticks(self._root), self._before["usb"]
        with_firmware = [stick for stick in now["usb"] if stick["firmware"]]
        absent = dict(now["absent"])
        if not before:
            absent["firmware_before"] = "no Neural Compute Stick 2 was seen on USB before the load"
        return {
            "usb": now["usb"],
            "firmware_before": all(stick["firmware"] for stick in before) if before else None,
            "warnings": usb2_warnings(with_firmware, "the Neural Compute Stick 2", "one and a half times"),
            "absent": absent,
        }


def _sticks(root: str) -> Dict[str, Any]:
    absent: Dict[str, str] = {}
    on_usb = usb_sticks(root, BOOT_ID, READY_ID, absent)
    if not on_usb and "usb" not in absent:
        absent["usb"] = "no Neural Compute Stick 2 on USB"
    return {"usb": on_usb, "absent": absent}


def _in_words(seen: Dict[str, Any]) -> str:
    if not seen["usb"]:
        if "is not there" in seen["absent"]["usb"]:
            return "nothing ({})".format(seen["absent"]["usb"])
        return "no stick, neither {} nor {}".format(BOOT_ID, READY_ID)
    return ", ".join(_stick_in_words(stick) for stick in seen["usb"])


def _stick_in_words(stick: Dict[str, Any]) -> str:
    words: List[str] = [stick["id"]]
    words.append("with its firmware" if stick["firmware"] else "before its firmware")
    if stick["speed_mbps"] is not None:
        words.append("at {:g} Mbit/s".format(stick["speed_mbps"]))
    if stick["writable"] is False:
        words.append("which this user may not write to")
    return " ".join(words)
