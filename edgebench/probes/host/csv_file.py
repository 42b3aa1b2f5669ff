"""CSV: power over time in a file that other software writes, while it writes it, or played again.

The address maps the columns, `csv:FILE?time=t_s&power=p_mw&scope=usb`, and says which clock the times are on:
`clock=epoch` (time since 1970 by this machine's clock, matched as `epoch_clock` says), `clock=monotonic`
(this machine's monotonic clock), or `clock=start`: the file is complete, and its first row is when sampling
begins. What the other software knows of its meter is stated beside it: `rate_hz`, rows a second, and
`averaging_ms`, the time before its stamp that a row is the mean over.
"""

import time
from array import array
from typing import Any, Dict, List, Optional, Sequence

from ..basics import ANSWER, ProbeMissing, now_ns
from .addresses import one_of, positive, scope_of, split_address
from .csv_columns import EXAMPLE, OPTIONS, QUANTITIES, BadRow, Columns, Row, most
from .epoch_clock import EpochClock
from .growing_file import GrowingFile
from .playback import NOT_LIVE, PlayedMeter, typical_rate_hz
from .sampling import HostMeter, Samples

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
FIX_CLOCK = "say which clock they are on: clock=epoch, clock=monotonic or clock=start"


class CsvProbe(HostMeter):
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


def open_probe(address: str) -> HostMeter:
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
    except ProbeMissing as error:
        file.close()
        error.port = path
        raise
    except BaseException:
        file.close()
        raise
    meter.port = path
    return meter


def _played(file: GrowingFile, lines: List[str], columns: Columns, info: Dict[str, Any]) -> HostMeter:
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
) -> HostMeter:
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
        info = _with_typical_rate(info, typical_rate_hz([row[0] for row in rows]))
    return CsvProbe(info, file, columns, rows[-1][0], epoch)


def _with_typical_rate(info: Dict[str, Any], rate_hz: float) -> Dict[str, Any]:
    """The rate as the rows come; that nobody planned for it where it is too slow for the shortest windows."""
    if rate_hz >= PLANNED_HZ:
        return dict(info, rate_hz=rate_hz)
    absent = "the address does not state it, and a run takes no longer for so slow a file; add rate_hz={:.3g}"
    return dict(info, rate_hz=rate_hz, absent=dict(info["absent"], rate_hz=absent.format(rate_hz)))


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
