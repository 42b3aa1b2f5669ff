"""Columns of a CSV: header, units, numbers and times in the forms that instruments and spreadsheets write.

The first rows fix the sign between cells, the decimal sign and the thousands separator. A number in another
form is no number. Numbers that can be read in two ways are refused; `decimal=` decides.
"""

import csv
import datetime
import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..basics import ADDRESS, ANSWER, NAN, ProbeMissing, one_of

QUANTITIES = {"power": "W", "voltage": "V", "current": "A", "energy": "J"}
ISO = "iso"
EXAMPLE = "csv:power.csv?time=t_s&power=p_mw&scope=usb"
SHOWN = 200
LAST_NS = 1 << 63  # stamps have 64 bits: a time beyond them is invalid
HEADER_LINES = 200  # that may come before the rows
FORMAT_ROWS = 1000  # that fix the form of numbers

PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3}
UNITS = {"time": {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "ks": 1e12, "min": 60e9, "h": 3600e9, ISO: 0.0}}
"""What a number in a unit is multiplied by, for ns, W, V, A and J."""
for _quantity, _units in (("power", "W"), ("voltage", "V"), ("current", "A"), ("energy", "J Ws Wh")):
    UNITS[_quantity] = {
        prefix + unit: scale * (3600.0 if unit == "Wh" else 1.0)
        for unit in _units.split()
        for prefix, scale in PREFIXES.items()
    }
_SPELLINGS = str.maketrans({"\u00b5": "u", "\u03bc": "u", "w": "W", "v": "V", "a": "A"})
_NO_UNITS = ("avg", "max", "mean", "raw", "rms", "utc")
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]\s*\Z")
_LAST_LETTERS = re.compile(r"([^\W\d_]+)\s*\Z")
_CONSTANT = re.compile(r"(\d{1,4}(?:[.,]\d{1,6})?) ?([^\W\d_]{1,2})\Z")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)")

# The last two are runs of spaces, of two or more where names have one.
DELIMITERS = ("\t", ";", ",", "|", " ", "  ")
BLANKS, APOSTROPHES = " \u00a0\u2009\u202f", "'\u2019"

Row = Tuple[int, Dict[str, float]]  # its time in ns, and by quantity its value in W, V, A and J


class BadRow(ValueError):
    """A row that has no time, or not the header's cells."""


class NumberFormat:
    """The form of numbers.

    Args:
        decimal: the sign before the fraction.
        thousands: the signs that may separate groups of three digits; empty for none.
    """

    def __init__(self, decimal: str, thousands: str) -> None:
        self.decimal = decimal
        self._thousands = re.compile("[{}]".format(re.escape(thousands or "_")))
        grouped = r"[1-9]\d{{0,2}}(?:[{}]\d{{3}})+|".format(re.escape(thousands)) if thousands else ""
        form = r"[-+\u2212]?(?:(?:{0}\d+)(?:{1}\d*)?|{1}\d+)(?:[eE][-+]?\d+)?\Z"
        self._form = re.compile(form.format(grouped, re.escape(decimal)), re.ASCII)

    def read(self, text: str) -> Optional[float]:
        """The number; None where the text has another form."""
        if not self._form.match(text):
            return None
        return float(self._thousands.sub("", text).replace(self.decimal, ".").replace("\u2212", "-"))


FORMATS = [
    NumberFormat(decimal, thousands)
    for thousands in ("", ",", ".", BLANKS, APOSTROPHES)
    for decimal in ".,"
    if decimal != thousands
]


def number_format(columns: Sequence[Sequence[str]], delimiter: str, decimal: str = "") -> NumberFormat:
    """The form that fits most of the numbers of some columns.

    Args:
        columns: the cells of each.
        delimiter: the sign between cells; numbers between commas have a decimal point.
        decimal: the decimal sign; empty where it is not stated.

    Raises:
        ProbeMissing: several forms fit, and give different numbers.
    """
    decimal = decimal or ("." if delimiter == "," else "")
    forms = [form for form in FORMATS if decimal in ("", form.decimal)]
    cells = [cell for column in columns for cell in column]
    counts = [sum(form.read(cell) is not None for cell in cells) for form in forms]
    fitting = [form for form, count in zip(forms, counts) if count == max(counts)]
    first = fitting[0]
    doubtful = {cell for form in fitting for cell in cells if form.read(cell) != first.read(cell)}
    # What programs write: a point in all numbers of a column, with three digits behind each.
    unclear = [cell for column in columns if doubtful.intersection(column) for cell in column]
    is_fixed = all("." in cell for cell in unclear if first.read(cell) is not None)
    if doubtful and not (is_fixed and first.decimal == "." and delimiter != ";"):
        raise ProbeMissing(
            "{!r} may have a decimal sign or a thousands separator".format(min(doubtful)),
            "state the decimal sign: add decimal=. or decimal=,",
            ANSWER,
        )
    return first


def cells_of(line: str, delimiter: str) -> List[str]:
    """The cells of a line, stripped; none of a line that is no CSV."""
    if delimiter.isspace() and delimiter != "\t":
        line = re.sub(delimiter + "+", "\t", line.strip())
        delimiter = "\t"
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def names_of(line: str, delimiter: str) -> List[str]:
    """The names of a header's columns, in one spelling."""
    return [spelled(name) for name in cells_of(spelled(line), delimiter)]


def spelled(name: str) -> str:
    """A column's name with one of Unicode's two micro signs, and without a comment's sign before it."""
    return name.replace("\u03bc", "\u00b5").lstrip("\ufeff# ")


def find_header(lines: Sequence[str], options: Dict[str, str]) -> Tuple[int, str, bool]:
    """The place of the header, the sign between cells, and whether all columns are there.

    It is the line that has the names of most mapped columns. A comment is one only directly above data.

    Args:
        lines: the first of the file.
        options: of the address.
    """
    wanted = {spelled(options[name]) for name in ("time",) + tuple(QUANTITIES) if name in options}
    wanted = {name for name in wanted if not _CONSTANT.match(name)}
    best, place, sign = 0, 0, max(DELIMITERS[:4], key=lines[0].count)
    for number, line in enumerate(lines[:HEADER_LINES]):
        if line.startswith("#") and "".join(lines[number + 1 : number + 2]).startswith("#"):
            continue
        for delimiter in DELIMITERS:
            found = len(wanted.intersection(names_of(line, delimiter)))
            if found > best:
                best, place, sign = found, number, delimiter
    return place, sign, best == len(wanted)


class Column(NamedTuple):
    """A column of the file: its place, and what a number in it is multiplied by."""

    at: int
    scale: float


class Columns:
    """How a row is read.

    Attributes:
        quantities: that a row has: those that are mapped, and power where it is voltage times current.
        constant_v: the voltage that the address states; None where a column has it, or nothing does.
        has_units: whether the line below the header has units and no values.

    Args:
        header: the line with the columns' names.
        options: of the address.
        delimiter: the sign between cells; empty for the one that fits the header.
        below: the line below the header.

    Raises:
        ProbeMissing: a column is not there or is there twice, or its unit is not known.
    """

    def __init__(self, header: str, options: Dict[str, str], delimiter: str = "", below: str = "") -> None:
        self._delimiter = delimiter or find_header([header], options)[1]
        names = names_of(header, self._delimiter)
        has_product = {"voltage", "current"} <= set(options)
        has_power = has_product or "power" in options or "energy" in options
        for quantity, is_mapped in (("time", "time" in options), ("power", has_power)):
            if not is_mapped:
                raise ProbeMissing(
                    "no column is named for the {}".format(quantity),
                    "write it like {}; the file has {}".format(EXAMPLE, ", ".join(names)[:SHOWN]),
                    ADDRESS,
                )
        self.constant_v = None if options.get("voltage") in names else constant_v(options.get("voltage", ""))
        mapped = [name for name in QUANTITIES if name in options]
        if self.constant_v is not None:
            mapped.remove("voltage")
        self.quantities = [name for name in QUANTITIES if name in mapped or (name == "power" and has_product)]
        places = {quantity: _place(names, options[quantity]) for quantity in ["time"] + mapped}
        cells = dict(enumerate(cells_of(below, self._delimiter)))
        units = {quantity: cells.get(at, "") for quantity, at in places.items()}
        self.has_units = any(units.values()) and re.search(r"\d", "".join(units.values())) is None
        scales = {
            quantity: _scale(quantity, names[at], units[quantity] if self.has_units else "", options)
            for quantity, at in places.items()
        }
        self._columns = {quantity: Column(places[quantity], scales[quantity]) for quantity in places}
        self._time = self._columns.pop("time")
        self._width = len(names)
        self._decimal = one_of(options, "decimal", ("", ".", ","), "")
        self._format: Optional[NumberFormat] = None

    def learn(self, lines: Sequence[str]) -> None:
        """Fix the form of numbers by the first rows; ProbeMissing where they can be read in two ways."""
        rows = [cells_of(line, self._delimiter) for line in lines[:FORMAT_ROWS]]
        places = [column.at for column in self._columns.values()]
        places += [self._time.at] if self._time.scale else []
        columns = [[row[at] for row in rows if at < len(row) <= self._width] for at in places]
        self._format = number_format(columns, self._delimiter, self._decimal)

    def row(self, line: str) -> Row:
        """Its time and its values, which are not a number where the cell has none; BadRow as that says."""
        if self._format is None:
            self.learn([line])
        cells = cells_of(line, self._delimiter)
        try:
            text = cells[self._time.at]
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
        is_shifted = self._delimiter.startswith(" ") and len(cells) != self._width
        if is_shifted or any(cells[self._width :]):
            # Such as a decimal comma among commas: 5,25 would be 5.
            raise BadRow("{!r} has {} cells, the header {}".format(line[:80], len(cells), self._width))
        values = {}
        for quantity, column in self._columns.items():
            number = self._number(cells[column.at]) if column.at < len(cells) else NAN
            values[quantity] = number * column.scale
        if self.constant_v is not None:
            values["voltage"] = self.constant_v
        if "power" in self.quantities and "power" not in values:
            values["power"] = values["voltage"] * values["current"]
        return t_ns, values

    def _number(self, text: str) -> float:
        """Not a number where the text has another form than the first rows."""
        number = self._format.read(text) if self._format else None
        return NAN if number is None else number


def _place(names: List[str], name: str) -> int:
    if names.count(spelled(name)) != 1:
        raise ProbeMissing(
            "there is no column {!r}, or it is there twice".format(name),
            "the file has {}".format(", ".join(names)[:SHOWN]),
            ADDRESS,
        )
    return names.index(spelled(name))


def constant_v(text: str) -> Optional[float]:
    """The volts of a text such as 3.3V or 3300 mV; None of any other."""
    match = _CONSTANT.match(text)
    scale = UNITS["voltage"].get(match.group(2).translate(_SPELLINGS), 0.0) if match else 0.0
    return (float(match.group(1).replace(",", ".")) * scale or None) if match else None


def _scale(quantity: str, name: str, below: str, options: Dict[str, str]) -> float:
    """What a column's numbers are multiplied by, by the address, its name and the row of units."""
    units = UNITS[quantity]
    stated = options.get(quantity + "_unit", "").translate(_SPELLINGS)
    named = "" if stated == ISO else _named_unit(quantity, name)
    if below and stated != ISO:
        named = _known_unit(quantity, name, re.sub(r"[\s()\[\]]", "", below)) or named
    unit = stated or named
    if unit not in units:
        raise ProbeMissing(
            "the unit of the {} in {!r} is {}".format(quantity, name, unit or "not stated"),
            "add {}_unit={}".format(quantity, ", ".join(units)),
            ADDRESS,
        )
    if named and unit != named:
        raise ProbeMissing(
            "{!r} is in {} by its name and in {} by the address".format(name, named, unit),
            "correct one of them: rename the column or leave its unit out of the address",
            ADDRESS,
        )
    return units[unit]


def _named_unit(quantity: str, name: str) -> str:
    """The unit that ends a column's name; empty without one.

    What is in brackets is a unit, apart from a few words. Other last letters are one if they are known, in
    whatever case: then those that are not exact are refused.
    """
    in_brackets, last = _IN_BRACKETS.search(name), _LAST_LETTERS.search(name)
    text = in_brackets.group(1).strip() if in_brackets else last.group(1) if last else ""
    is_unit = text.translate(_SPELLINGS).lower() in map(str.lower, UNITS[quantity])
    if in_brackets and re.match(r"[^\d\s]{1,5}\Z", text) and text.lower() not in _NO_UNITS:
        is_unit = True
    return _known_unit(quantity, name, text) if is_unit else ""


def _known_unit(quantity: str, name: str, text: str) -> str:
    """The unit in the spelling of UNITS; empty of a text without letters, ProbeMissing of an unknown one."""
    unit = text.translate(_SPELLINGS)
    if re.search(r"[^\W_]|%", unit) and (unit not in UNITS[quantity] or unit == ISO):
        raise ProbeMissing(
            "the unit {!r} of the {} in {!r} is not known".format(text[:SHOWN], quantity, name),
            "have it in one of {}".format(", ".join(UNITS[quantity])),
            ADDRESS,
        )
    return unit if unit in UNITS[quantity] else ""


def _iso_ns(text: str) -> int:
    """Nanoseconds since 1970 of 2026-01-31T12:00:00.250Z; ValueError without a zone."""
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError("it is not like 2026-01-31T12:00:00.25Z, with its zone")
    day, clock, fraction, zone = match.groups()
    text = day + clock + ("+0000" if zone == "Z" else zone.replace(":", ""))
    moment = datetime.datetime.strptime(text, "%Y-%m-%d%H:%M:%S%z")
    return int(moment.timestamp()) * 10**9 + int((fraction or "").ljust(9, "0"))
