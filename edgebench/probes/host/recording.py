"""A recording: the Parquet file of `edgebench meters record`, played again at the pace of its samples.

Its first sample is when sampling begins, wherever and whenever it was recorded. Its figures are those of the
recording and say nothing about what runs beside it: for trying reports, limits and other software without a
meter.
"""

import json
import os
from array import array
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..basics import ADDRESS, ANSWER, PACKAGE, ProbeDenied, ProbeMissing
from .addresses import SCOPES, scope_of, split_address
from .playback import NOT_LIVE, PlayedMeter, typical_rate_hz

PLACE = "host"
RATE_HZ = None  # the file decides
EXAMPLE = "recording:power.parquet?scope=module"
OPTIONS = ("meter", "scope")
COLUMNS = ("probe", "channel", "quantity", "unit", "t_ns", "value")
METERED = {"power": "W", "energy": "J"}
MOST_ROWS = 10000000
PROBE_KEY = b"edgebench.probe"  # of the file's metadata
MOST_AVERAGING_MS = 1e9
FIX_FILE = "name a file that `edgebench meters record METER -o FILE` wrote"


def open_probe(address: str) -> PlayedMeter:
    """The probe of `recording:FILE`, or `recording:FILE?meter=KIND:ADDRESS` of a file with several."""
    path, options = split_address(address, OPTIONS, EXAMPLE)
    frame, announced = _frame(path)
    frame = _of_meter(frame, options.get("meter"))
    recorded = str(frame["probe"].iloc[0])
    if "{}:{}".format(announced.get("kind"), announced.get("address")) != recorded:
        announced = {}  # of another meter of the file, or of one without a word on it
    if announced.get("scope") in SCOPES:
        options = dict({"scope": announced["scope"]}, **options)
    scope, absent = scope_of(options)
    stamps, columns = _side_by_side(frame)
    if len(stamps) < 2:
        raise ProbeMissing("{} has {} samples".format(path, len(stamps)), "record for longer", ANSWER, path)
    info = {
        "kind": "recording",
        "address": address,
        "rate_hz": typical_rate_hz(stamps),
        "resolution": "as {} has it; played, not live".format(recorded[:100]),
        "scope": scope,
        "averaging_ms": _positive(announced.get("averaging_ms")),
        "channels": _channels(frame, announced),
        "absent": dict(absent, **NOT_LIVE),
    }
    meter = PlayedMeter(info, stamps, columns)
    meter.port = path
    return meter


def _frame(path: str) -> Tuple[Any, Dict[str, Any]]:
    """The rows of the file as a pandas.DataFrame with COLUMNS, and what its meter said of itself."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ProbeMissing("pyarrow is not installed here", "pip install pyarrow", PACKAGE) from None
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
            raise ProbeMissing("{} is no plain file".format(path), FIX_FILE, ANSWER, path)
        file = pyarrow.parquet.ParquetFile(path)
        missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
        if missing:
            raise ProbeMissing("{} has no column {}".format(path, ", ".join(missing)), FIX_FILE, ANSWER, path)
        if file.metadata.num_rows > MOST_ROWS:
            raise ProbeMissing(
                "{} has more than {} rows".format(path, MOST_ROWS), "play a shorter recording", ANSWER, path
            )
        announced = _announced(file.metadata.metadata or {})
        table = file.read(columns=list(COLUMNS))
        for name in COLUMNS:
            _require_column(path, name, table.column(name))
        texts = [name for name in COLUMNS if name not in ("t_ns", "value")]
        return table.to_pandas(categories=texts), announced  # a Python text for each row would take seconds
    except PermissionError:
        raise ProbeDenied(
            "this user may not read {}".format(path), "sudo chmod a+r {}".format(path), port=path
        ) from None
    except FileNotFoundError:
        raise ProbeMissing("there is no file {}".format(path), FIX_FILE, port=path) from None
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        words = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ProbeMissing(
            "{} cannot be read as a recording: {}".format(path, words), FIX_FILE, ANSWER, path
        ) from None


def _require_column(path: str, name: str, column: Any) -> None:
    """ProbeMissing where a pyarrow.ChunkedArray is none of a recording's: of another type, or with nulls."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if name == "t_ns":
        fits = types.is_integer(kind)
    elif name == "value":
        fits = types.is_floating(kind) or types.is_integer(kind)
    else:
        fits = types.is_string(kind) or types.is_large_string(kind)
    if not fits:
        raise ProbeMissing("{} has {} as {}".format(path, name, str(kind)[:80]), FIX_FILE, ANSWER, path)
    if column.null_count and name != "value":
        raise ProbeMissing(
            "{} has {} rows without {}".format(path, column.null_count, name), FIX_FILE, ANSWER, path
        )


def _announced(metadata: Dict[bytes, bytes]) -> Dict[str, Any]:
    """What the recorded meter said of itself; nothing in older recordings."""
    try:
        announced = json.loads(metadata.get(PROBE_KEY, b"{}").decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return announced if isinstance(announced, dict) else {}


def _positive(value: Any) -> Optional[float]:
    """A number above 0; None for anything else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < MOST_AVERAGING_MS else None


def _of_meter(frame: Any, meter: Optional[str]) -> Any:
    """The rows of one meter: of that which is named, or of the only one that there is."""
    probes = frame["probe"]
    metered = sorted(probes[frame["quantity"].isin(list(METERED))].unique())
    if not metered:
        raise ProbeMissing("the file has no power and no energy", FIX_FILE, ANSWER)
    if meter is None and len(metered) > 1:
        raise ProbeMissing(
            "the file has several meters: {}".format(", ".join(metered)[:500]),
            "name one, such as recording:FILE?meter={}".format(metered[0]),
            ADDRESS,
        )
    chosen = metered[0] if meter is None else meter
    if chosen not in metered:
        raise ProbeMissing(
            "the file has no meter {!r}".format(chosen), "it has {}".format(", ".join(metered)[:500]), ADDRESS
        )
    return frame[probes == chosen]


def _channels(frame: Any, announced: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The channels as they were announced; a power rail that is the only one is the headline."""
    listed = announced.get("channels")
    totals = [
        channel.get("name")
        for channel in (listed if isinstance(listed, list) else [])
        if isinstance(channel, dict) and channel.get("total") is True
    ]
    channels: List[Dict[str, Any]] = []
    for name, rows in frame.groupby("channel", sort=False, observed=True):
        quantity, unit = str(rows["quantity"].iloc[0]), str(rows["unit"].iloc[0])
        if METERED.get(quantity, unit) != unit:
            raise ProbeMissing("{} is {} in {}".format(name, quantity, unit), FIX_FILE, ANSWER)
        channels.append({"name": str(name), "quantity": quantity, "unit": unit})
        if name in totals:
            channels[-1]["total"] = True
    powers = [channel for channel in channels if channel["quantity"] == "power"]
    if len(powers) == 1:
        powers[0]["total"] = True
    return channels


def _side_by_side(frame: Any) -> Tuple["array[int]", Dict[str, Sequence[float]]]:
    """Stamps that rise, and by channel one value for each, no number where it has none."""
    try:
        wide = frame.assign(channel=frame["channel"].cat.remove_unused_categories()).pivot(
            index="t_ns", columns="channel", values="value"
        )
    except ValueError:
        raise ProbeMissing(
            "a channel of the recording has two values at one time", FIX_FILE, ANSWER
        ) from None
    wide = wide.sort_index()
    columns: Dict[str, Sequence[float]] = {}
    for name in wide.columns:
        columns[str(name)] = array("d", wide[name].to_numpy("float64").tobytes())
    return array("q", wide.index.to_numpy("int64").tobytes()), columns
