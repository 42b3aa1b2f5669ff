"""Addresses with options: `FILE?option=value&option=value`, with %xx for any byte."""

from typing import Any, Dict, Optional, Sequence, Tuple
from urllib.parse import unquote

from ..basics import ADDRESS, ProbeMissing

SCOPES = ("chip", "module", "board", "usb", "wall")
NARROWEST = "chip"


def split_address(address: str, options: Sequence[str], example: str) -> Tuple[str, Dict[str, str]]:
    """As `split_options`, of a file that has to be named."""
    path, values = split_options(address, options, example)
    if not path:
        raise ProbeMissing("no file is named", "write it like {}".format(example), ADDRESS)
    return path, values


def split_options(address: str, options: Sequence[str], example: str) -> Tuple[str, Dict[str, str]]:
    """What is before the question mark, perhaps nothing, and the options.

    Args:
        address: as it was given.
        options: those that there are.
        example: how one is written.

    Raises:
        ProbeMissing: an option is unknown, empty or given twice.
    """
    name, _, text = address.partition("?")
    values: Dict[str, str] = {}
    for part in text.split("&") if text else ():
        option, _, value = part.partition("=")
        if option not in options or not value or option in values:
            wrong = "is no option" if option not in options else "is empty or given twice"
            raise ProbeMissing(
                "{!r} {}".format(option, wrong),
                "the options are {}; write them like {}".format(", ".join(options), example),
                ADDRESS,
            )
        values[option] = unquote(value)
    return unquote(name), values


def one_of(values: Dict[str, str], option: str, choices: Sequence[str], default: str) -> str:
    """The value of an option; ProbeMissing where it is none of its choices."""
    value = values.get(option, default)
    if value not in choices:
        raise ProbeMissing(
            "{}={} is not known".format(option, value), "choose among {}".format(", ".join(choices)), ADDRESS
        )
    return value


def positive(values: Dict[str, str], option: str) -> Optional[float]:
    """The number of an option; None where it is not stated, ProbeMissing where it is none above 0."""
    if option not in values:
        return None
    try:
        number = float(values[option])
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ProbeMissing(
            "{}={} is no number above 0".format(option, values[option]),
            "write it like {}=20".format(option),
            ADDRESS,
        )
    return number


def stated_rate_hz(address: str) -> Optional[float]:
    """The `rate_hz` among the options of an address; None where there is none that could be."""
    options = dict(part.partition("=")[::2] for part in address.partition("?")[2].split("&"))
    try:
        return positive({name: unquote(value) for name, value in options.items()}, "rate_hz")
    except ProbeMissing:
        return None


def scope_of(values: Dict[str, str]) -> Tuple[str, Dict[str, Any]]:
    """What the meter covers, and what is absent of that: a scope that nobody states is the narrowest."""
    absent = {}
    if "scope" not in values:
        absent["scope"] = "the address does not say what the meter covers: taken for {}; add scope={}".format(
            NARROWEST, "|".join(SCOPES)
        )
    return one_of(values, "scope", SCOPES, NARROWEST), absent
