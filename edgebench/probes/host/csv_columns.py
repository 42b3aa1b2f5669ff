"""What the columns of a CSV file mean: which hold time, power, voltage and current, and in which units.

A unit is stated as an option or is the end of the column's name (`p_mw`, `Power (mW)`, `time[ms]`); none is
guessed at.
"""

import csv
import datetime
import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from ..basics import ADDRESS, ANSWER, ProbeMissing
from .sampling import NAN

QUANTITIES = {"power": "W", "voltage": "V", "current": "A"}
PREFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6}
TIME_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
ISO = "iso"
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
        self._time, self._is_iso = _time_column(names, options)
        self._columns = {
            quantity: Column(
                _place(names, options[quantity], quantity), _scale(options[quantity], quantity, options)
            )
            for quantity in QUANTITIES
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
            t_ns = _iso_ns(text) if self._is_iso else _whole_ns(self._number(text), text, self._time.scale)
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


def _time_column(names: List[str], options: Dict[str, str]) -> Tuple[Column, bool]:
    if "time" not in options:
        raise _unmapped("time", names)
    at = _place(names, options["time"], "time")
    unit = options.get("time_unit")
    named = _named_unit(options["time"], TIME_NS)
    if unit is None:
        unit = named
    if unit is None or (unit not in TIME_NS and unit != ISO):
        raise ProbeMissing(
            "the unit of the times in {!r} is {}".format(options["time"], unit or "not stated"),
            "add time_unit=s, ms, us, ns or iso",
            ADDRESS,
        )
    if named is not None and unit != named:
        raise _contradiction(options["time"], named, unit)
    return Column(at, TIME_NS.get(unit, 0.0)), unit == ISO


def _scale(name: str, quantity: str, options: Dict[str, str]) -> float:
    units = {prefix + QUANTITIES[quantity]: scale for prefix, scale in PREFIXES.items()}
    unit, named = options.get(quantity + "_unit"), _named_unit(name, units)
    if unit is None:
        unit = named
    if unit not in units:
        raise ProbeMissing(
            "the unit of the {} in {!r} is {}".format(quantity, name, unit or "not stated"),
            "add {}_unit={}".format(quantity, ", ".join(units)),
            ADDRESS,
        )
    if named is not None and unit != named:
        raise _contradiction(name, named, unit)
    return units[unit]


def _named_unit(name: str, units: Dict[str, float]) -> Optional[str]:
    """The unit that ends a column's name, however its letters are cased."""
    ending = _NAMED_UNIT.search(_MICRO.sub("u", name))
    spellings = {unit.lower(): unit for unit in units}
    return spellings.get(ending.group(1).lower()) if ending else None


def _place(names: List[str], name: str, option: str) -> int:
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        raise ProbeMissing(
            "the column {!r} is there twice".format(name), "give each column its own name", ANSWER
        )
    raise ProbeMissing(
        "there is no column {!r} for {}".format(name, option),
        "the file has {}".format(_listed(names)),
        ADDRESS,
    )


def _unmapped(option: str, names: List[str]) -> ProbeMissing:
    what = "no column is named for the {}".format(option)
    return ProbeMissing(what, "write it like {}; the file has {}".format(EXAMPLE, _listed(names)), ADDRESS)


def _contradiction(name: str, named: str, unit: str) -> ProbeMissing:
    return ProbeMissing(
        "{!r} is in {} by its name and in {} by the address".format(name, named, unit),
        "correct one of them: rename the column or leave its unit out of the address",
        ADDRESS,
    )


def _listed(names: List[str]) -> str:
    return ", ".join(name[:40] for name in names[:20]) or "no column"


def _whole_ns(value: float, text: str, scale: float) -> int:
    # A float of nanoseconds since 1970 is off by a hundred of them.
    return int(text) if scale == 1.0 and text.isdigit() else round(value * scale)


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
