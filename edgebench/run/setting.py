"""A setting of a run, declared once: its type, words and panel, from which flag, key and variable come.

Imports nothing heavy: the command line's help is made of it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from edgebench.files import expand_home
from edgebench.suggest import short

Panel = Literal[
    "What is measured", "On what device", "For how long", "Pictures and model", "Results and output"
]
Completion = Literal["", "device", "target", "profile", "board", "meter", "port", "option"]


@dataclass(frozen=True)
class Setting:
    """Properties of a setting of the run besides its type and default.

    Attributes:
        panel: of the help in which it stands.
        help: one sentence or two, without the default.
        metavar: what stands for its value; empty for a switch.
        default_text: the default in words; empty where none is worth a word.
        short: its flag of one letter, such as `-d`.
        switch_off: whether a switch has a `--no-` form.
        completion: what the shell completes it with.
        read: turns what a source has (text, or a file's value) into a value of the type; ValueError for what
            cannot be one. Default: `~` is the user's home. None: the value is the board's.
    """

    panel: Panel
    help: str
    metavar: str = ""
    default_text: str = ""
    short: str = ""
    switch_off: bool = False
    completion: Completion = ""
    read: Callable[[Any], Any] | None = expand_home

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the field's type, after `read`; pydantic asks for it where settings are validated."""
        schema = handler(source)
        if self.read is None:
            return schema
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.read, schema)


class SettingBounds:
    """Bounds of a number or a text, for `Annotated`: constraints of `pydantic.Field` by name.

    The names alone: to import what pydantic makes of them would be a tenth of the command line's start.
    """

    def __init__(self, **constraints: float) -> None:
        self._constraints: dict[str, Any] = constraints

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the type with these constraints."""
        from pydantic import Field

        return handler(Annotated[source, Field(**self._constraints)])


@dataclass(frozen=True)
class DeclaredSetting:
    """A setting with its field's name, type and default."""

    name: str
    kind: Any
    default: Any
    declaration: Setting

    @property
    def flag(self) -> str:
        """On the command line."""
        return f"--{self.key.replace('_', '-')}"

    @property
    def key(self) -> str:
        """Key in a file: the name, less what keeps `with_` from being a word of Python."""
        return self.name.rstrip("_")

    @property
    def environment(self) -> str:
        """The environment variable; a list has commas."""
        return environment_name(self.name)

    @property
    def is_list(self) -> bool:
        """Return True if a flag may come several times, a variable has commas, and a file a list."""
        return get_origin(self.kind) is tuple and get_args(self.kind)[-1] is Ellipsis

    @property
    def text(self) -> str:
        """The help, with the default."""
        repeatable = " Repeatable." if self.is_list and "Repeatable" not in self.declaration.help else ""
        words = f"{self.declaration.help}{repeatable}"
        return f"{words} Default: {self.declaration.default_text}" if self.declaration.default_text else words


def environment_name(name: str) -> str:
    """The environment variable of a setting."""
    return f"EDGEBENCH_{name.rstrip('_').upper()}"


def declared_settings(declaration: type) -> Mapping[str, DeclaredSetting]:
    """The settings that a dataclass declares, by name, in its order."""
    hints = get_type_hints(declaration, include_extras=True)
    settings = {}
    for field in dataclasses.fields(declaration):
        kind, *metadata = get_args(hints[field.name])
        [setting] = [item for item in metadata if isinstance(item, Setting)]
        settings[field.name] = DeclaredSetting(field.name, kind, field.default, setting)
    return settings


# How values of settings are read from text, and in which range they lie. Imports nothing heavy.


LARGEST = 1e9
YEAR_S = 31_536_000


def target_ci(value: Any) -> Any:
    """A half-width as a share of the value: `1%` or 0.01; above 0 and below 1."""
    from edgebench.refusals import problem

    number = share(value)
    if isinstance(number, int | float) and not 0 < number < 1:
        fix = "write a share above 0% and below 100%, such as 1% or 0.01"
        raise problem(f"{100 * number:g}% is out of range", fix)
    return number


def max_time_s(value: Any) -> Any:
    """A duration as seconds: `30m`; more than 0, at most a year."""
    from edgebench.refusals import problem

    number = duration_s(value)
    if isinstance(number, int | float) and not 0 < number <= YEAR_S:
        raise problem(
            f"{number:g} s is out of range", "write more than 0, at most 365d, such as 30m or 1h30m"
        )
    return number


def batches(value: Any) -> Any:
    """Batches of 1 or more; the largest is each device's own."""
    from edgebench.refusals import problem

    numbers = [_whole(item) for item in value] if isinstance(value, Sequence) else []
    low = [number for number in numbers if number is not None and number < 1]
    if low:
        raise problem(f"a batch of {low[0]} patches is none", "write 1 or more")
    return value


def input_scale(value: Any) -> Any:
    """One number, or one a channel: `255` or `58.4,57.1,57.4`; above zero."""
    return _numbers(value, float, ",", (1, 3), _ONE_OR_THREE, least=1e-9)


def input_mean(value: Any) -> Any:
    """One number, or one a channel."""
    return _numbers(value, float, ",", (1, 3), _ONE_OR_THREE, least=-LARGEST)


def patch_size(value: Any) -> Any:
    """Width and height in pixels: `224x224`."""
    return _numbers(value, int, "x", (2,), "WIDTHxHEIGHT, such as 224x224", least=1)


_ONE_OR_THREE = "one number, or three with commas between them"


def _whole(item: Any) -> int | None:
    try:
        return int(item)
    except (TypeError, ValueError, OverflowError):
        return None


def _numbers(
    value: Any,
    kind: Callable[[str], float],
    separator: str,
    counts: Sequence[int],
    form: str,
    *,
    least: float,
) -> Any:
    """Text of a flag or the environment as numbers, as a file's list; ValueError where they do not fit."""
    if value is None:
        return None
    if isinstance(value, str):
        items: Sequence[Any] = value.lower().split(separator)
    else:
        items = value if isinstance(value, list | tuple) else (value,)
    try:
        numbers = tuple(kind(str(item).strip()) for item in items)
    except ValueError:
        raise ValueError(f"write {form}") from None
    if len(numbers) not in counts:
        raise ValueError(f"write {form}")
    if not all(math.isfinite(number) and least <= number <= LARGEST for number in numbers):
        raise ValueError(f"a number is out of range ({least:g} to {LARGEST:g})")
    return numbers


# Shares and durations as people write and read them: `1%`, `0.01`, `30m`, `1h30m`, `12:05`.


_SHARE = re.compile(r"(?P<number>[0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*(?P<percent>%?)", re.IGNORECASE)
_PART = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>d|h|min|m|s)", re.IGNORECASE)
_SECONDS = {"d": 86_400.0, "h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0}


def share(value: object) -> object:
    """`1%` and `0.01` as 0.01; anything that is no text is returned as it is.

    Raises ValueError for a text that is neither.
    """
    if not isinstance(value, str):
        return value
    match = _SHARE.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"{short(value)} is no share: write it such as 1% or 0.01")
    number = float(match["number"])
    return number / 100 if match["percent"] else number


def duration_s(value: object) -> object:
    """`30m`, `90s`, `2h`, `1h30m`, `30d` as seconds; a plain number is seconds, as anything that is no text.

    Raises ValueError for a text that is no duration.
    """
    if not isinstance(value, str):
        return value
    text = "".join(value.split())
    try:
        return float(text)
    except ValueError:
        pass
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise ValueError(
            f"{short(value)} is no duration: write it such as 30m, 90s or 1h30m; a plain number is seconds"
        )
    return sum(float(part["number"]) * _SECONDS[part["unit"].lower()] for part in parts)


def clock_text(seconds: float) -> str:
    """Seconds as 0:42, 12:05 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def rough_text(seconds: float) -> str:
    """Seconds in the largest fitting unit: `40 seconds`, `12 minutes`, `2.5 hours`."""
    if seconds < 90:
        whole = max(1, round(seconds))
        return f"{whole} {'second' if whole == 1 else 'seconds'}"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def span_text(least_s: float, most_s: float) -> str:
    """From the least to the most: 0:42, or `0:40 to 2:10`."""
    least, most = clock_text(least_s), clock_text(most_s)
    return least if least == most else f"{least} to {most}"
