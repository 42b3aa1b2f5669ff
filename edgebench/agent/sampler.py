"""The process of one probe: opens it, and sends what it samples, chunk by chunk, until it is stopped."""

import json
import signal
import sys
from array import array
from typing import Any, Dict, List, Sequence, Tuple

from .clock import injected
from .descriptors import take_over_descriptors
from .sent_modules import import_sent

PROBE = "edgebench_probe"


def main(arguments: List[str]) -> int:
    """`probe CODE ADDRESS`: the probe's files as JSON, as `import_sent` takes them, and what it opens."""
    code, address = arguments
    stream = take_over_descriptors()
    try:
        module: Any = import_sent(PROBE, json.loads(code))
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
