"""The process of one probe: opens it, and sends what it samples, chunk by chunk, until it is stopped."""

import signal
import sys
from array import array
from typing import Any, Dict, List, Sequence, Tuple

from .clock import injected
from .content import module_from
from .descriptors import take_over_descriptors


def main(arguments: List[str]) -> int:
    """`probe FILE SHA256 ADDRESS`: the module's file, its hash, and what the probe is told to open."""
    path, sha256, address = arguments
    stream = take_over_descriptors()
    try:
        module: Any = module_from(path, "edgebench_probe", sha256)
        probe = module.open_probe(address)
    except Exception as error:
        stream.write(_missing(error))
        return 0
    # A stop is a signal, because the probe sleeps between samples; it takes one last sample and ends.
    signal.signal(signal.SIGTERM, lambda number, frame: probe.stop())
    probe.start()
    stream.write({"kind": "info", "info": probe.info})
    on_clock = injected()
    try:
        for stamps, values in probe:
            if on_clock is not None:
                stamps = [on_clock(stamp) for stamp in stamps]
            stream.write(*_chunk(stamps, values))
    except BrokenPipeError:
        return 1
    except Exception as error:
        stream.write(dict(_missing(error), kind="failed"))
    return 0


def _missing(error: Exception) -> Dict[str, Any]:
    reason = getattr(error, "reason", None) or "{}: {}".format(type(error).__name__, error)
    return {
        "kind": "missing",
        "reason": str(reason)[:2000],
        "fix": str(getattr(error, "fix", ""))[:2000],
        "denied": bool(getattr(error, "denied", False)),
    }


def _chunk(stamps: Sequence[int], values: Dict[str, Sequence[float]]) -> Tuple[Dict[str, Any], bytes]:
    """Stamps int64, then one float64 column a channel in the named order, all little-endian."""
    names = list(values)
    columns: List[array[Any]] = [array("q", stamps)] + [array("d", values[name]) for name in names]
    if sys.byteorder == "big":
        for column in columns:
            column.byteswap()
    message = {"kind": "chunk", "n": len(stamps), "channels": names}
    return message, b"".join(column.tobytes() for column in columns)
