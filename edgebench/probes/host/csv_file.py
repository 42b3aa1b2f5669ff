"""CSV: power over time in a file that other software writes, while it writes it, or played again.

The address maps the columns, `csv:FILE?time=t_s&power=p_mw&scope=usb`, and names the clock of the times:
`clock=epoch` (time since 1970 by this machine's clock), `clock=monotonic` (its monotonic clock), or
`clock=start`: the file is complete, and its first row is when sampling begins. Further options
describe the meter: `rate_hz`, rows a second, and `averaging_ms`, the time before its stamp that a row is the
mean over. `csv_columns` reads header and rows.

A unit is an option, the end of the column's name (`p_mw`, `Power (mW)`, `time[ms]`) or in a row below the
header; it is never guessed.
"""

import codecs
import os
import re
import statistics
import time
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from .. import basics
from ..basics import ADDRESS, ANSWER, NAN, Probe, ProbeDenied, ProbeMissing, Samples, now_ns
from .csv_columns import EXAMPLE, QUANTITIES, SHOWN, UNITS, BadRow, Columns, Row, find_header
from .sampling import positive

PLACE = "host"
RATE_HZ = None  # the file decides

EPOCH, MONOTONIC, START = "epoch", "monotonic", "start"
OPTIONS = [name + end for name in UNITS for end in ("", "_unit")]
OPTIONS += ["clock", "scope", "rate_hz", "averaging_ms", "decimal"]

MOST = {"voltage": 1000.0, "current": 1000.0}
MOST_W = {"usb": 240.0, "wall": 3000.0}
MOST_OTHER_W = 1000.0
PRODUCT_RATIO = 1.5  # how far power may be off voltage times current
LEAST_PRODUCT_W = 0.01

FIRST_ROWS_S = 3.0
POLL_S = 0.05
LAST_BYTES = 1 << 18
READ_BYTES = 1 << 20
MOST_LINE_BYTES = 1 << 16
STALE_S = 10.0
AHEAD_S = 0.5
OLDEST_EPOCH_NS = 10**18  # of September 2001: what is less counts from something else
PAIRS = 5
STEP_S = 0.1
MOST_RATE_HZ = 1e5
PLANNED_HZ = 45.0  # from about 50 on the shortest idle windows, 2 s, have the 100 samples that they take

NOT_LIVE = {"live samples": "they are played: the figures are those of the recording, not of what runs now"}
STATED_VOLTAGE = "no column has it: the power is the current times the {:g} V that the address states"
UNPLANNED = "the address does not state it, and a run takes no longer for so slow a file; add rate_hz={:.3g}"
FIX_ROW = "correct time or time_unit; a file with decimal commas is delimited by semicolons or tabs"
FIX_CLOCK = "name the clock that they are on: clock=epoch, clock=monotonic or clock=start"


def most(quantity: str, scope: str) -> float:
    """The highest value that can be, in W, V or A; a power column in another unit is beyond it."""
    return MOST_W.get(scope, MOST_OTHER_W) if quantity == "power" else MOST[quantity]


def encoding_of(data: bytes) -> str:
    """The encoding that the first bytes of a text show: UTF-8, UTF-16 in either order, or CP1252."""
    for order, mark in (("le", codecs.BOM_UTF16_LE), ("be", codecs.BOM_UTF16_BE)):
        high = data[1::2] if order == "le" else data[::2]
        if data.startswith(mark) or len(data) // 4 < high.count(0) == data.count(0):
            return "utf-16-" + order
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":  # of a character that is not complete yet
            return "cp1252"
    return "utf-8"


class GrowingFile:
    """Complete lines as they are added; empty lines are passed over.

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
            words = "this user may not read {}".format(path)
            raise ProbeDenied(words, "sudo chmod a+r {}".format(path)) from None
        except FileNotFoundError:
            raise ProbeMissing("there is no file {}".format(path), "start the recording first") from None
        except OSError as error:
            words = "{} cannot be read: {}".format(path, error.strerror)
            raise ProbeMissing(words, "name a file of samples") from None
        self._at = 0  # up to where it was read
        self._decoder: Optional[codecs.IncrementalDecoder] = None
        self._unfinished = ""
        self._is_cut = False  # whether what comes next begins amid a line

    def lines(self) -> List[str]:
        """The lines that were completed since the last time, from at most READ_BYTES.

        Raises:
            ProbeMissing: it was cut short or replaced, or is no text.
        """
        status = os.fstat(self._descriptor)
        try:
            named: Any = os.stat(self._path)
        except OSError:
            named = None
        if named is None or not os.path.samestat(named, status) or status.st_size < self._at:
            raise ProbeMissing(
                "{} was cut short, removed or replaced while it was read".format(self._path),
                "have its program add to one file",
            )
        data = os.pread(self._descriptor, READ_BYTES, self._at)
        self._at += len(data)
        if data and self._decoder is None:
            self._decoder = codecs.getincrementaldecoder(encoding_of(data))("replace")
        pieces = re.split("[\r\n]", self._unfinished + (self._decoder.decode(data) if self._decoder else ""))
        if max(map(len, pieces)) > MOST_LINE_BYTES or any("\0" in piece for piece in pieces):
            raise ProbeMissing("{} is no text in lines".format(self._path), "name a CSV file", ANSWER)
        self._unfinished = pieces.pop()
        if self._is_cut and pieces:
            self._is_cut = False
            del pieces[0]
        return [piece for piece in pieces if piece.strip()]

    def is_at_end(self) -> bool:
        """Whether everything in it was read."""
        return self._at >= os.fstat(self._descriptor).st_size

    def skip_to_last(self, last_bytes: int) -> None:
        """Pass over all but the last bytes and the line that they begin in."""
        beyond = os.fstat(self._descriptor).st_size - last_bytes
        if beyond > self._at and self._decoder is not None:
            self._at, self._unfinished, self._is_cut = beyond // 2 * 2, "", True
            self._decoder.reset()

    def close(self) -> None:
        """Let it go; safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


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


class CsvProbe(Probe):
    """The rows that are added to a file while it samples, or those of a complete one as their moments pass.

    Args:
        info: what it says of itself.
        file: read to its header.
        columns: how a row is read.
        clock: of the times.
    """

    def __init__(self, info: Dict[str, Any], file: GrowingFile, columns: Columns, clock: str) -> None:
        super(CsvProbe, self).__init__(info)
        self._file = file
        self._columns = columns
        self._clock = clock
        self._rows: Deque[Row] = deque()  # that were read and are no samples yet
        self._first_ns: Optional[int] = None
        self._last_ns = 0  # the time of the last row that was read
        self._offset_ns: Optional[int] = None  # from the monotonic clock to the times

    def read_first(self, lines: List[str]) -> None:
        """Take in rows until there are two, which are recent; ProbeMissing where the file has none.

        Rows from before sampling are no samples, but for a file that is played.
        """
        is_played, pending = self._clock == START, lines
        end_s = time.monotonic() + FIRST_ROWS_S
        while True:
            if len(pending) > 1 or time.monotonic() > end_s:
                if not self._rows:
                    self._columns.learn(pending)
                self._read(pending)
                pending = []
            stale_s = 0.0 if is_played else (now_ns() + self._offset() - self._last_ns) / 1e9
            if len(self._rows) > 1 and stale_s < STALE_S:
                break
            if time.monotonic() > end_s:
                what, fix = "the file has {} rows".format(len(self._rows)), "start the recording first"
                if len(self._rows) > 1:
                    what = "its last row is {:.6g} s old: nothing is written to it now".format(stale_s)
                    fix += ", and have each row written at once; play a complete file with clock=start"
                raise ProbeMissing(what, fix, ANSWER)
            time.sleep(POLL_S)
            pending = pending + self._file.lines()
        self._require_possible()
        times = [row[0] for row in self._rows]
        if self.info["rate_hz"] is None:
            period_ns = statistics.median([after - before for before, after in zip(times, times[1:])])
            self.info["rate_hz"] = rate_hz = min(MOST_RATE_HZ, 1e9 / period_ns)
            # Nobody planned for it, as for a stated rate: too slow for the shortest windows.
            if rate_hz < PLANNED_HZ and not is_played:
                self.info["absent"]["rate_hz"] = UNPLANNED.format(rate_hz)
        if is_played:
            self.start()
        else:
            self._rows.clear()
            self.rejected.clear()

    def start(self) -> None:
        """The first sample of a file that is played is now."""
        if self._clock == START and self._first_ns is not None:
            self._offset_ns = self._first_ns - now_ns()

    def _take(self, samples: Samples, end_s: float) -> None:
        offset_ns = self._offset()
        try:
            if not self._rows:
                self._read(self._file.lines())
        finally:  # also what is before a row that ends it
            while self._rows and (self._clock != START or self._rows[0][0] - offset_ns <= now_ns()):
                t_ns, values = self._rows.popleft()
                samples.add(t_ns - offset_ns, values)
        due_s = time.monotonic() + POLL_S
        if self._rows:
            due_s = time.monotonic() + (self._rows[0][0] - offset_ns - now_ns()) / 1e9
        elif not self._file.is_at_end():
            return
        elif self._clock == START:
            length_s = (self._last_ns - (self._first_ns or 0)) / 1e9
            raise ProbeMissing(
                "what was recorded is over after {:.6g} s".format(length_s),
                "record for longer than the sessions take",
            )
        self._wait(min(due_s, end_s))

    def _close(self) -> None:
        self._file.close()

    def _offset(self) -> int:
        """What a stamp on the monotonic clock is below the file's times, now.

        System clock and monotonic clock are read together, the tightest of a few pairs counts, and at every
        use: a system clock that is steered (NTP slews it by 0.05 % at most) is followed, and a row that is a
        second old is off by half a millisecond at worst. ProbeMissing where it was set by more than STEP_S.
        """
        if self._clock == EPOCH:
            before_ns, self._offset_ns = self._offset_ns, epoch_offset_ns()
            if before_ns is not None and abs(self._offset_ns - before_ns) > STEP_S * 1e9:
                raise ProbeMissing(
                    "this machine's clock was set, by {:+.3g} s".format((self._offset_ns - before_ns) / 1e9),
                    "let it settle (timedatectl, chronyc tracking), and measure again",
                )
        return self._offset_ns or 0

    def _read(self, lines: List[str]) -> None:
        """Take in the rows that are sound; ProbeMissing where the first is not, or their times cannot be."""
        clock_ns = None if self._clock == START else now_ns() + self._offset()
        for line in lines:
            if line.startswith("#"):
                continue
            try:
                t_ns, values = self._columns.row(line)
            except BadRow as error:
                if self._first_ns is None:
                    raise ProbeMissing(str(error), FIX_ROW, ANSWER) from None
                self.rejected.append(str(error)[:SHOWN])
                continue
            if self._first_ns is not None and t_ns <= self._last_ns:
                late_s = (self._last_ns - t_ns) / 1e9
                raise ProbeMissing(
                    "the times do not rise: {!r} is {:.6g} s before the row before".format(line[:80], late_s),
                    "sort the rows by their times, and leave one of each; a finer time_unit tells rows apart",
                    ANSWER,
                )
            if self._clock == EPOCH and t_ns < OLDEST_EPOCH_NS:
                what = "the times are not since 1970: {:.6g} s is one of them".format(t_ns / 1e9)
                raise ProbeMissing(what, FIX_CLOCK, ANSWER)
            if clock_ns is not None and t_ns - clock_ns > AHEAD_S * 1e9:
                raise ProbeMissing(
                    "the times are {:.6g} s ahead of this machine's clock".format((t_ns - clock_ns) / 1e9),
                    "have them in UTC, in the unit that is stated, by this machine's clock; or " + FIX_CLOCK,
                    ANSWER,
                )
            if any(value != value for value in values.values()):
                self.rejected.append("no number: {}".format(line[:SHOWN]))
            self._first_ns = t_ns if self._first_ns is None else self._first_ns
            self._last_ns = t_ns
            self._rows.append((t_ns, values))

    def _require_possible(self) -> None:
        """ProbeMissing where the first values cannot be in the units that they are stated in."""
        scope = self.info["scope"]
        rows = [{name: abs(value) for name, value in values.items()} for _, values in self._rows]
        powers = [row.get("power", NAN) for row in rows]
        counts = [(t_ns, values["energy"]) for t_ns, values in self._rows if values.get("energy", NAN) >= 0]
        powers += [
            abs(after[1] - counts[0][1]) * 1e9 / (after[0] - counts[0][0]) for after in counts[1:][-1:]
        ]
        watts = max([power for power in powers if power == power], default=0.0)
        if watts > most("power", scope):
            raise ProbeMissing(
                "the power is up to {:.6g} W, and no meter of scope {} has more than {:g}".format(
                    watts, scope, most("power", scope)
                ),
                "state the unit that the column is in, such as power_unit=mW, or the scope",
                ANSWER,
            )
        if not {"power", "voltage", "current"} <= set(self._columns.quantities):
            return
        pairs = [(row["power"], row["voltage"] * row["current"]) for row in rows]
        ratios = [power_w / product_w for power_w, product_w in pairs if product_w > LEAST_PRODUCT_W]
        ratio = statistics.median_low(ratios) if ratios else 1.0
        if not 1 / PRODUCT_RATIO <= ratio <= PRODUCT_RATIO:
            raise ProbeMissing(
                "the power is {:.3g} times voltage times current: units that cannot be".format(ratio),
                "correct power_unit, voltage_unit or current_unit",
                ANSWER,
            )


def open_probe(address: str) -> CsvProbe:
    """The probe of `csv:FILE?time=COLUMN&power=COLUMN`."""
    path, options = basics.split_options(address, OPTIONS, EXAMPLE)
    if not path:
        raise ProbeMissing("no file is named", "write it like {}".format(EXAMPLE), ADDRESS)
    clock = basics.one_of(options, "clock", (EPOCH, MONOTONIC, START), EPOCH)
    absent = dict(NOT_LIVE) if clock == START else {}
    scope = basics.scope_of(options, absent)
    info: Dict[str, Any] = {
        "kind": "csv",
        "address": address,
        "resolution": "as its columns have it",
        "scope": scope,
        "rate_hz": positive(options, "rate_hz"),
        "averaging_ms": positive(options, "averaging_ms"),
        "absent": absent,
    }
    file = None
    try:
        file = GrowingFile(os.path.expanduser(path))
        columns, rows = _table(file, options)
        if columns.constant_v is not None:
            absent["voltage"] = STATED_VOLTAGE.format(columns.constant_v)
        info["channels"] = [_channel(quantity, scope) for quantity in columns.quantities]
        info["channels"][0]["total"] = True
        probe = CsvProbe(info, file, columns, clock)
        if clock != START:
            file.skip_to_last(LAST_BYTES)
        probe.read_first(rows)
    except BaseException as error:
        if file is not None:
            file.close()
        if isinstance(error, ProbeMissing):
            error.port = path
        raise
    probe.port = path
    return probe


def _table(file: GrowingFile, options: Dict[str, str]) -> Tuple[Columns, List[str]]:
    """How rows are read, and the first of them: what is above the header, and a row of units, are none."""
    end_s = time.monotonic() + FIRST_ROWS_S
    lines = file.lines()
    while True:
        place, delimiter, is_whole = find_header(lines or [""], options)
        rows = [line for line in lines[place + 1 :] if not line.startswith("#")]
        if is_whole and rows:
            break
        if time.monotonic() > end_s:
            if not lines:
                raise ProbeMissing("the file is empty", "start the recording first", ANSWER)
            break
        time.sleep(POLL_S)
        lines += file.lines()
    columns = Columns(lines[place], options, delimiter, "".join(rows[:1]))
    return columns, rows[1:] if columns.has_units else rows


def _channel(quantity: str, scope: str) -> Dict[str, Any]:
    channel = {"name": quantity, "quantity": quantity, "unit": QUANTITIES[quantity]}
    limit = 0.0 if quantity == "energy" else most(quantity, scope)
    return dict(channel, range=[-limit, limit]) if limit else channel
