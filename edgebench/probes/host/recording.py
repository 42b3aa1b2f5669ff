"""A recording: the Parquet file of `edgebench meters record`, played again at the pace of its samples.

Its first sample is when sampling begins, wherever and whenever it was recorded. Its figures are those of the
recording and say nothing about what runs beside it: for trying reports, limits and other software without a
meter.
"""

from array import array
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..basics import ProbeDenied, ProbeMissing
from .addresses import scope_of, split_address
from .playback import NOT_LIVE, PlayedMeter, typical_rate_hz

PLACE = "host"
RATE_HZ = None  # the file decides
EXAMPLE = "recording:power.parquet?scope=module"
OPTIONS = ("meter", "scope")
COLUMNS = ("probe", "channel", "quantity", "unit", "t_ns", "value")
METERED = {"power": "W", "energy": "J"}
MOST_ROWS = 10000000
FIX_FILE = "name a file that `edgebench meters record METER -o FILE` wrote"


def open_probe(address: str) -> PlayedMeter:
    """The probe of `recording:FILE`, or `recording:FILE?meter=KIND:ADDRESS` of a file with several."""
    path, options = split_address(address, OPTIONS, EXAMPLE)
    scope, absent = scope_of(options)
    frame = _of_meter(_frame(path), options.get("meter"))
    stamps, columns = _side_by_side(frame)
    if len(stamps) < 2:
        raise ProbeMissing("{} has {} samples".format(path, len(stamps)), "record for longer")
    info = {
        "kind": "recording",
        "address": address,
        "rate_hz": typical_rate_hz(stamps),
        "resolution": "as {} has it; played, not live".format(str(frame["probe"].iloc[0])[:100]),
        "scope": scope,
        "channels": _channels(frame),
        "absent": dict(absent, **NOT_LIVE),
    }
    return PlayedMeter(info, stamps, columns)


def _frame(path: str) -> Any:
    """The rows of the file as a pandas.DataFrame with COLUMNS."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ProbeMissing("pyarrow is not installed here", "pip install pyarrow") from None
    try:
        file = pyarrow.parquet.ParquetFile(path)
        missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
        if missing:
            raise ProbeMissing("{} has no column {}".format(path, ", ".join(missing)), FIX_FILE)
        if file.metadata.num_rows > MOST_ROWS:
            raise ProbeMissing("{} has more than {} rows".format(path, MOST_ROWS), "play a shorter recording")
        return file.read(columns=list(COLUMNS)).to_pandas()
    except PermissionError:
        raise ProbeDenied("this user may not read {}".format(path), "chmod a+r {}".format(path)) from None
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        words = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ProbeMissing("{} cannot be read as a recording: {}".format(path, words), FIX_FILE) from None


def _of_meter(frame: Any, meter: Optional[str]) -> Any:
    """The rows of one meter: of that which is named, or of the only one that there is."""
    probes = frame["probe"].astype(str)
    metered = sorted(set(probes[frame["quantity"].astype(str).isin(list(METERED))]))
    if not metered:
        raise ProbeMissing("the file has no power and no energy", FIX_FILE)
    if meter is None and len(metered) > 1:
        raise ProbeMissing(
            "the file has several meters: {}".format(", ".join(metered)[:500]),
            "name one, such as recording:FILE?meter={}".format(metered[0]),
        )
    chosen = metered[0] if meter is None else meter
    if chosen not in metered:
        raise ProbeMissing(
            "the file has no meter {!r}".format(chosen), "it has {}".format(", ".join(metered)[:500])
        )
    return frame[probes == chosen]


def _channels(frame: Any) -> List[Dict[str, Any]]:
    """The channels as they were announced; a power rail that is the only one is the headline."""
    channels: List[Dict[str, Any]] = []
    for name, rows in frame.groupby(frame["channel"].astype(str), sort=False):
        quantity, unit = str(rows["quantity"].iloc[0]), str(rows["unit"].iloc[0])
        if METERED.get(quantity, unit) != unit:
            raise ProbeMissing("{} is {} in {}".format(name, quantity, unit), FIX_FILE)
        channels.append({"name": str(name), "quantity": quantity, "unit": unit})
    powers = [channel for channel in channels if channel["quantity"] == "power"]
    if len(powers) == 1:
        powers[0]["total"] = True
    return channels


def _side_by_side(frame: Any) -> Tuple["array[int]", Dict[str, Sequence[float]]]:
    """Stamps that rise, and by channel one value for each, no number where it has none."""
    try:
        wide = frame.assign(channel=frame["channel"].astype(str)).pivot(
            index="t_ns", columns="channel", values="value"
        )
    except ValueError:
        raise ProbeMissing("a channel of the recording has two values at one time", FIX_FILE) from None
    wide = wide.sort_index()
    columns: Dict[str, Sequence[float]] = {}
    for name in wide.columns:
        columns[str(name)] = array("d", wide[name].to_numpy("float64").tobytes())
    return array("q", wide.index.to_numpy("int64").tobytes()), columns
