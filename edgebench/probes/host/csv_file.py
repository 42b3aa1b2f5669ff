"""CSV: power over time in a file that other software writes, while it writes it, or played again.

The address maps the columns, `csv:FILE?time=t_s&power=p_mw&scope=usb`, and says which clock the times are on:
`clock=epoch` (time since 1970 by this machine's clock, matched as `epoch_clock` says), `clock=monotonic`
(this machine's monotonic clock), or `clock=start`: the file is complete, and its first row is when sampling
begins. What the other software knows of its meter is stated beside it: `rate_hz`, rows a second, and
`averaging_ms`, the time before its stamp that a row is the mean over.
"""

import csv
import datetime
import os
import re
import time
from array import array
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..basics import ADDRESS, ANSWER, NAN, Probe, ProbeDenied, ProbeMissing, Samples, now_ns
from .sampling import one_of, positive, scope_of, split_address

# What the columns of a CSV file mean: which hold time, power, voltage and current, and in which units.
#
# A unit is stated as an option or is the end of the column's name (`p_mw`, `Power (mW)`, `time[ms]`); none
# is
# guessed at.


QUANTITIES = {"power": "W", "voltage": "V", "current": "A"}
PREFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6}
ISO = "iso"
TIME_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, ISO: 0.0}
OPTIONS = ("time", "time_unit", *[name + end for name in QUANTITIES for end in ("", "_unit")])
EXAMPLE = "csv:power.csv?time=t_s&power=p_mw&scope=usb"

MOST = {"voltage": 1000.0, "current": 1000.0}
MOST_W = {"usb": 240.0, "wall": 3000.0}
MOST_OTHER_W = 1000.0
PRODUCT_RATIO = 1.5  # how far power may be off voltage times current
LEAST_PRODUCT_W = 0.01
LAST_NS = 1 << 63  # stamps have 64 bits: a time beyond them is none

_MICRO = re.compile("[\u00b5\u03bc]")
_NAMED_UNIT = re.compile(r"(?:^|[^A-Za-z])([A-Za-z]{1,2})[)\]]?\s*$")

Row = Tuple[int, Dict[str, float]]  # its time in ns, and by quantity its value in W, V and A


class BadRow(ValueError):
    """A row that has no time, or cells that the header has no column for."""


class Column(NamedTuple):
    """A column of the file: its place, and what a number in it is multiplied by."""

    at: int
    scale: float


class Columns:
    """How a row is read.

    Attributes:
        quantities: that a row has: power, with voltage and current where they are mapped.

    Args:
        header: the first line.
        options: of the address, some of OPTIONS.

    Raises:
        ProbeMissing: a column is not there or is there twice, or its unit is not known.
    """

    def __init__(self, header: str, options: Dict[str, str]) -> None:
        self._delimiter = max(",;\t", key=header.count)
        try:
            names = [name.strip() for name in self._cells(header.lstrip("\ufeff"))]
        except ValueError as error:
            raise ProbeMissing(
                "its first line is no header: {}".format(error), "name a CSV file", ANSWER
            ) from None
        self._width = len(names)
        self._time = _column(names, options, "time", TIME_NS)
        self._columns = {
            quantity: _column(
                names, options, quantity, {prefix + unit: scale for prefix, scale in PREFIXES.items()}
            )
            for quantity, unit in QUANTITIES.items()
            if quantity in options
        }
        if "power" not in options and not {"voltage", "current"} <= set(options):
            raise _unmapped("power", names)
        self.quantities = [
            quantity for quantity in QUANTITIES if quantity in self._columns or quantity == "power"
        ]

    def row(self, line: str) -> Row:
        """Its time and its values, which are no number where the cell has none; BadRow as that says."""
        try:
            cells = self._cells(line)
            text = cells[self._time.at].strip()
            if not self._time.scale:
                t_ns = _iso_ns(text)
            elif self._time.scale == 1.0 and text.isdigit():  # a float since 1970 is off by a hundred
                t_ns = int(text)
            else:
                t_ns = round(self._number(text) * self._time.scale)
            if not -LAST_NS < t_ns < LAST_NS:
                raise ValueError("it is beyond 64 bits of nanoseconds")
        except (IndexError, ValueError, OverflowError) as error:
            raise BadRow("{!r} has no time: {}".format(line[:80], str(error)[:80])) from None
        if any(cell.strip() for cell in cells[self._width :]):
            # Such as a decimal comma among commas: 5,25 would be 5.
            raise BadRow("{!r} has {} cells, the header {}".format(line[:80], len(cells), self._width))
        values = {}
        for quantity, column in self._columns.items():
            try:
                values[quantity] = self._number(cells[column.at]) * column.scale
            except (IndexError, ValueError):
                values[quantity] = NAN
        if "power" not in values:
            values["power"] = values["voltage"] * values["current"]
        return t_ns, values

    def require_possible(self, rows: List[Row], scope: str) -> None:
        """ProbeMissing where the values cannot be in the units that they are said to be in."""
        watts = [abs(values["power"]) for _, values in rows if values["power"] == values["power"]]
        most_w = most("power", scope)
        if watts and max(watts) > most_w:
            raise ProbeMissing(
                "the power is up to {:.6g} W, and no meter of scope {} has more than {:g}".format(
                    max(watts), scope, most_w
                ),
                "state the unit that the column is in, such as power_unit=mW, or the scope",
                ANSWER,
            )
        if not {"power", "voltage", "current"} <= set(self._columns):
            return
        products_w = [abs(values["voltage"] * values["current"]) for _, values in rows]
        ratios = sorted(
            abs(values["power"]) / product_w
            for (_, values), product_w in zip(rows, products_w)
            if product_w > LEAST_PRODUCT_W
        )
        if ratios and not 1 / PRODUCT_RATIO <= ratios[len(ratios) // 2] <= PRODUCT_RATIO:
            raise ProbeMissing(
                "the power is {:.3g} times voltage times current: units that cannot be".format(
                    ratios[len(ratios) // 2]
                ),
                "correct power_unit, voltage_unit or current_unit",
                ANSWER,
            )

    def _cells(self, line: str) -> List[str]:
        try:
            return next(csv.reader([line], delimiter=self._delimiter), [])
        except csv.Error as error:
            raise ValueError(str(error)) from None

    def _number(self, text: str) -> float:
        # A decimal comma is no delimiter then.
        return float(text if self._delimiter == "," else text.replace(",", "."))


def most(quantity: str, scope: str) -> float:
    """The highest value that can be, in W, V or A; a power column in another unit is beyond it."""
    return MOST_W.get(scope, MOST_OTHER_W) if quantity == "power" else MOST[quantity]


def _column(names: List[str], options: Dict[str, str], quantity: str, units: Dict[str, float]) -> Column:
    """The column that the address names for a quantity, in one of these units."""
    if quantity not in options:
        raise _unmapped(quantity, names)
    name = options[quantity]
    if names.count(name) > 1:
        raise ProbeMissing(
            "the column {!r} is there twice".format(name), "give each column its own name", ANSWER
        )
    if name not in names:
        raise ProbeMissing(
            "there is no column {!r} for {}".format(name, quantity),
            "the file has {}".format(_listed(names)),
            ADDRESS,
        )
    # The unit that ends a column's name, however its letters are cased.
    ending = _NAMED_UNIT.search(_MICRO.sub("u", name))
    spellings = {unit.lower(): unit for unit in units}
    named = spellings.get(ending.group(1).lower()) if ending else None
    unit = options.get(quantity + "_unit", named)
    if unit is None or unit not in units:
        raise ProbeMissing(
            "the unit of the {} in {!r} is {}".format(quantity, name, unit or "not stated"),
            "add {}_unit={}".format(quantity, ", ".join(units)),
            ADDRESS,
        )
    if named not in (None, unit):
        raise ProbeMissing(
            "{!r} is in {} by its name and in {} by the address".format(name, named, unit),
            "correct one of them: rename the column or leave its unit out of the address",
            ADDRESS,
        )
    return Column(names.index(name), units[unit])


def _unmapped(option: str, names: List[str]) -> ProbeMissing:
    what = "no column is named for the {}".format(option)
    return ProbeMissing(what, "write it like {}; the file has {}".format(EXAMPLE, _listed(names)), ADDRESS)


def _listed(names: List[str]) -> str:
    return ", ".join(name[:40] for name in names[:20]) or "no column"


def _iso_ns(text: str) -> int:
    """Nanoseconds since 1970 of 2026-01-31T12:00:00.250Z; ValueError without a zone."""
    zone = re.search(r"(?:Z|[+-]\d{2}:?\d{2})$", text)
    if zone is None:
        raise ValueError("without a zone, such as Z or +02:00, nobody knows which hour it is")
    offset = "+0000" if zone.group() == "Z" else zone.group().replace(":", "")
    plain = text[: zone.start()].replace(" ", "T") + ("" if "." in text else ".0")
    fraction = plain.partition(".")[2][:6]
    moment = datetime.datetime.strptime(
        plain.partition(".")[0] + "." + fraction + offset, "%Y-%m-%dT%H:%M:%S.%f%z"
    )
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000


# A text file that another program writes: its header, its last lines, and those that are added.


READ_BYTES = 1 << 20
MOST_LINE_BYTES = 1 << 16


class GrowingFile:
    """Complete lines as they come; empty lines and comments are passed over.

    Args:
        path: of the file.

    Raises:
        ProbeMissing: it cannot be read; ProbeDenied where this user may not.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            os.pread(self._descriptor, 0, 0)
        except PermissionError:
            raise ProbeDenied(
                "this user may not read {}".format(path), "sudo chmod a+r {}".format(path), port=path
            ) from None
        except FileNotFoundError:
            raise ProbeMissing(
                "there is no file {}".format(path), "start the recording first", port=path
            ) from None
        except OSError as error:
            raise _unreadable(path, error) from None
        self._at = 0  # up to where it was read
        self._unfinished = b""

    def lines(self) -> List[str]:
        """The lines that were completed since the last time, from at most READ_BYTES.

        Raises:
            ProbeMissing: it was cut short or replaced, or is no text.
        """
        status = os.fstat(self._descriptor)
        self._require_same(status)
        try:
            data = os.pread(self._descriptor, READ_BYTES, self._at)
        except OSError as error:
            raise _unreadable(self._path, error) from None
        self._at += len(data)
        pieces = (self._unfinished + data).split(b"\n")
        if max(map(len, pieces)) > MOST_LINE_BYTES or b"\0" in data:
            raise ProbeMissing(
                "{} is no text in lines".format(self._path), "name a CSV file", ANSWER, self._path
            )
        self._unfinished = pieces.pop()
        texts = [piece.decode("utf-8", "replace").rstrip("\r") for piece in pieces]
        return [text for text in texts if text.strip() and not text.startswith("#")]

    def is_at_end(self) -> bool:
        """Whether all that there is was read."""
        return self._at >= os.fstat(self._descriptor).st_size

    def skip_to_last(self, last_bytes: int) -> None:
        """Pass over all but the last bytes and the line that they begin in."""
        beyond = os.fstat(self._descriptor).st_size - last_bytes
        if beyond > self._at:
            self._at, self._unfinished = beyond, b""
            data = os.pread(self._descriptor, MOST_LINE_BYTES, self._at)
            self._at += data.find(b"\n") + 1

    def close(self) -> None:
        """Let it go; safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _require_same(self, status: os.stat_result) -> None:
        try:
            named = os.stat(self._path)
        except OSError:
            named = None
        if named is None or (named.st_dev, named.st_ino) != (status.st_dev, status.st_ino):
            what = "was removed or replaced"
        elif status.st_size < self._at:
            what = "was cut short"
        else:
            return
        raise ProbeMissing(
            "{} {} while it was read".format(self._path, what), "have its program add to one file"
        )


def _unreadable(path: str, error: OSError) -> ProbeMissing:
    return ProbeMissing(
        "{} cannot be read: {}".format(path, error.strerror), "name a file of samples", port=path
    )


# Times since 1970 on this machine's monotonic clock.
#
# The system clock and the monotonic one are read together, the tightest of a few pairs counts, and anew at
# every use: a system clock that is steered (NTP slews it by 0.05 % at most) is followed, and a row that is
# a
# second old is off by half a millisecond at worst. One that is set, by more than STEP_S, has no match.


PAIRS = 5
STEP_S = 0.1


class EpochClock:
    """The offset from the monotonic clock to the time since 1970, looked at again and again."""

    def __init__(self) -> None:
        self._offset_ns: Optional[int] = None

    def offset_ns(self) -> int:
        """What a monotonic stamp is below the time since 1970, now; ProbeMissing where that was set."""
        offset_ns = epoch_offset_ns()
        before_ns, self._offset_ns = self._offset_ns, offset_ns
        if before_ns is not None and abs(offset_ns - before_ns) > STEP_S * 1e9:
            raise ProbeMissing(
                "this machine's clock was set, by {:+.3g} s".format((offset_ns - before_ns) / 1e9),
                "let it settle (timedatectl, chronyc tracking), and measure again",
            )
        return offset_ns


def epoch_offset_ns() -> int:
    """The time since 1970 less the monotonic clock, of the tightest of a few readings of both."""
    tightest_ns, offset_ns = 1 << 62, 0
    for _ in range(PAIRS):
        before_ns = now_ns()
        exact = getattr(time, "time_ns", None)  # Python 3.7 has it
        epoch_ns = int(exact() if exact else time.time() * 1e9)
        after_ns = now_ns()
        if after_ns - before_ns < tightest_ns:
            tightest_ns, offset_ns = after_ns - before_ns, epoch_ns - (before_ns + after_ns) // 2
    return offset_ns


# What was recorded once, sampled again: its first sample is at the moment at which sampling begins.


MOST_RATE_HZ = 1e5
LOOKED_AT = 10000
NOT_LIVE = {"live samples": "they are played: the figures are those of the recording, not of what runs now"}
FIX_OVER = "record for longer than the sessions take"


class PlayedMeter(Probe):
    """Gives recorded samples at the pace at which they were recorded, each once its moment has come.

    Args:
        info: what it says of itself.
        t_ns: stamps, which rise; only their distances count.
        values: by channel one value a stamp.
    """

    def __init__(self, info: Dict[str, Any], t_ns: Sequence[int], values: Dict[str, Sequence[float]]) -> None:
        super(PlayedMeter, self).__init__(info)
        self._t_ns = t_ns
        self._values = values
        self._next = 0
        self._began_ns = now_ns()

    def start(self) -> None:
        """Its first sample is now."""
        self._began_ns = now_ns()

    def _take(self, samples: Samples, end_s: float) -> None:
        shift_ns = self._began_ns - self._t_ns[0]
        moment_ns = now_ns()
        while self._next < len(self._t_ns) and self._t_ns[self._next] + shift_ns <= moment_ns:
            row = {name: column[self._next] for name, column in self._values.items()}
            samples.add(self._t_ns[self._next] + shift_ns, row)
            self._next += 1
        if self._next == len(self._t_ns):
            length_s = (self._t_ns[-1] - self._t_ns[0]) / 1e9
            raise ProbeMissing("what was recorded is over after {:.6g} s".format(length_s), FIX_OVER)
        due_s = time.monotonic() + (self._t_ns[self._next] + shift_ns - now_ns()) / 1e9
        self._wait(min(due_s, end_s))


def typical_rate_hz(t_ns: Sequence[int]) -> float:
    """Samples a second by the median of their first distances; stamps rise and are two or more."""
    t_ns = t_ns[:LOOKED_AT]
    distances = sorted(after - before for before, after in zip(t_ns, t_ns[1:]))
    return min(MOST_RATE_HZ, 1e9 / distances[len(distances) // 2])


PLACE = "host"
RATE_HZ = None  # the file decides
EPOCH, MONOTONIC, START = "epoch", "monotonic", "start"
CLOCKS = (EPOCH, MONOTONIC, START)
FIRST_ROWS_S = 3.0
POLL_S = 0.05
LAST_BYTES = 1 << 18
MOST_PLAYED_BYTES = 1 << 26
STALE_S = 10.0
AHEAD_S = 0.5
OLDEST_EPOCH_NS = 10**18  # of September 2001: what is less counts from something else
SHOWN = 200
PLANNED_HZ = 45.0  # from about 50 on the shortest idle windows, 2 s, have the 100 samples that they take

FIX_ROW = "correct time or time_unit; a file with decimal commas is delimited by semicolons or tabs"
UNPLANNED = "the address does not state it, and a run takes no longer for so slow a file; add rate_hz={:.3g}"
FIX_CLOCK = "say which clock they are on: clock=epoch, clock=monotonic or clock=start"


class CsvProbe(Probe):
    """The rows that are added to a file while it samples.

    Args:
        info: what it says of itself.
        file: read to its last complete line.
        columns: how a row is read.
        last_ns: the time of the last row that was read.
        clock: which brings times since 1970 to the monotonic clock; None for times that are on it.
    """

    def __init__(
        self,
        info: Dict[str, Any],
        file: GrowingFile,
        columns: Columns,
        last_ns: int,
        clock: Optional[EpochClock],
    ) -> None:
        super(CsvProbe, self).__init__(info)
        self._file = file
        self._columns = columns
        self._last_ns = last_ns
        self._clock = clock

    def _take(self, samples: Samples, end_s: float) -> None:
        offset_ns = self._clock.offset_ns() if self._clock else 0
        for line in self._file.lines():
            try:
                row = self._columns.row(line)
            except BadRow as error:
                self.rejected.append(str(error)[:SHOWN])
                continue
            t_ns, values = row
            _require_later(line, t_ns, self._last_ns)
            self._last_ns = t_ns
            stamp_ns = t_ns - offset_ns
            _require_past(stamp_ns)
            if any(value != value for value in values.values()):
                self.rejected.append("no number: {}".format(line[:SHOWN]))
            samples.add(stamp_ns, values)
        if self._file.is_at_end():
            self._wait(min(time.monotonic() + POLL_S, end_s))

    def _close(self) -> None:
        self._file.close()


def open_probe(address: str) -> Probe:
    """The probe of `csv:FILE?time=COLUMN&power=COLUMN`."""
    path, options = split_address(address, OPTIONS + ("clock", "scope", "rate_hz", "averaging_ms"), EXAMPLE)
    clock = one_of(options, "clock", CLOCKS, EPOCH)
    scope, absent = scope_of(options)
    rate_hz, averaging_ms = positive(options, "rate_hz"), positive(options, "averaging_ms")
    file = GrowingFile(path)
    try:
        first = _first_lines(file)
        columns = Columns(first[0], options)
        info = {
            "kind": "csv",
            "address": address,
            "resolution": "as its columns have it",
            "scope": scope,
            "channels": [_channel(quantity, scope) for quantity in columns.quantities],
            "rate_hz": rate_hz,
            "averaging_ms": averaging_ms,
            "absent": absent,
        }
        if clock == START:
            meter = _played(file, first[1:], columns, info)
        else:
            meter = _followed(file, first[1:], columns, info, clock)
    except BaseException as error:
        file.close()
        if isinstance(error, ProbeMissing):
            error.port = path
        raise
    meter.port = path
    return meter


def _played(file: GrowingFile, lines: List[str], columns: Columns, info: Dict[str, Any]) -> Probe:
    read = len(lines)
    while not file.is_at_end() and read < MOST_PLAYED_BYTES:
        lines += file.lines()
        read = sum(len(line) for line in lines)
    if not file.is_at_end():
        raise ProbeMissing(
            "the file has more than {} MiB".format(MOST_PLAYED_BYTES >> 20), "play a part of it", ANSWER
        )
    file.close()
    rows = _rows(lines, columns)
    if len(rows) < 2:
        raise ProbeMissing(
            "the file has {} rows with a time".format(len(rows)), "name a longer recording", ANSWER
        )
    columns.require_possible(rows, info["scope"])
    t_ns = array("q", [row[0] for row in rows])
    info = dict(
        info, rate_hz=info["rate_hz"] or typical_rate_hz(t_ns), absent=dict(info["absent"], **NOT_LIVE)
    )
    values: Dict[str, Sequence[float]] = {
        name: array("d", [row[1][name] for row in rows]) for name in columns.quantities
    }
    return PlayedMeter(info, t_ns, values)


def _followed(
    file: GrowingFile, lines: List[str], columns: Columns, info: Dict[str, Any], clock: str
) -> Probe:
    """The probe of a file that grows; rows from before are looked at and are no samples."""
    epoch = EpochClock() if clock == EPOCH else None
    file.skip_to_last(LAST_BYTES)
    rows: List[Row] = []
    end_s = time.monotonic() + FIRST_ROWS_S
    while True:
        rows = rows[-1000:] + _rows(lines, columns, rows[-1][0] if rows else None)
        stale_s = STALE_S
        if rows:
            stamp_ns = rows[-1][0] - (epoch.offset_ns() if epoch else 0)
            if epoch and rows[-1][0] < OLDEST_EPOCH_NS:
                raise ProbeMissing(
                    "the times are none since 1970: the last is {:.6g} s".format(rows[-1][0] / 1e9),
                    FIX_CLOCK,
                    ANSWER,
                )
            _require_past(stamp_ns)
            stale_s = (now_ns() - stamp_ns) / 1e9
        if len(rows) > 1 and stale_s < STALE_S:
            break
        if time.monotonic() > end_s:
            raise _not_written(rows, stale_s)
        time.sleep(POLL_S)
        lines = file.lines()
    columns.require_possible(rows, info["scope"])
    if info["rate_hz"] is None:
        rate_hz = typical_rate_hz([row[0] for row in rows])
        info = dict(info, rate_hz=rate_hz)
        if rate_hz < PLANNED_HZ:  # nobody planned for it, as a stated rate: too slow for the shortest windows
            info["absent"] = dict(info["absent"], rate_hz=UNPLANNED.format(rate_hz))
    return CsvProbe(info, file, columns, rows[-1][0], epoch)


def _first_lines(file: GrowingFile) -> List[str]:
    """The header and what came with it."""
    end_s = time.monotonic() + FIRST_ROWS_S
    lines = file.lines()
    while not lines:
        if time.monotonic() > end_s:
            raise ProbeMissing("the file is empty", "start the recording first", ANSWER)
        time.sleep(POLL_S)
        lines = file.lines()
    return lines


def _rows(lines: List[str], columns: Columns, before_ns: Optional[int] = None) -> List[Row]:
    """The rows that are sound; ProbeMissing where the first is not, or their times do not rise."""
    rows: List[Row] = []
    for line in lines:
        try:
            row = columns.row(line)
        except BadRow as error:
            if not rows and before_ns is None:
                raise ProbeMissing(str(error), FIX_ROW, ANSWER) from None
            continue
        if before_ns is not None:
            _require_later(line, row[0], before_ns)
        before_ns = row[0]
        rows.append(row)
    return rows


def _require_later(line: str, t_ns: int, before_ns: int) -> None:
    if t_ns <= before_ns:
        raise ProbeMissing(
            "the times do not rise: {!r} {}".format(
                line[:80],
                "has the time of the row before"
                if t_ns == before_ns
                else "is {:.6g} s before the row before".format((before_ns - t_ns) / 1e9),
            ),
            "sort the rows by their times, and leave one of each; a finer time_unit tells rows apart",
            ANSWER,
        )


def _require_past(stamp_ns: int) -> None:
    ahead_s = (stamp_ns - now_ns()) / 1e9
    if ahead_s > AHEAD_S:
        raise ProbeMissing(
            "the times are {:.6g} s ahead of this machine's clock".format(ahead_s),
            "have them in UTC, in the unit that is stated, by this machine's clock; or " + FIX_CLOCK,
            ANSWER,
        )


def _not_written(rows: List[Row], stale_s: float) -> ProbeMissing:
    if len(rows) < 2:
        return ProbeMissing("the file has {} rows".format(len(rows)), "start the recording first", ANSWER)
    return ProbeMissing(
        "its last row is {:.6g} s old: nothing is written to it now".format(stale_s),
        "start the recording first, and have each row written at once; a file that is complete is played "
        "with clock=start",
        ANSWER,
    )


def _channel(quantity: str, scope: str) -> Dict[str, Any]:
    limit = most(quantity, scope)
    channel = {
        "name": quantity,
        "quantity": quantity,
        "unit": QUANTITIES[quantity],
        "range": [-limit, limit],
    }
    return dict(channel, total=True) if quantity == "power" else channel
