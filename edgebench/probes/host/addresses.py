"""Addresses with options: `FILE?option=value&option=value`, with %xx for any byte."""

from typing import Any, Dict, Sequence, Tuple
from urllib.parse import unquote

from ..basics import ProbeMissing

SCOPES = ("chip", "module", "board", "usb", "wall")
NARROWEST = "chip"


def split_address(address: str, options: Sequence[str], example: str) -> Tuple[str, Dict[str, str]]:
    """As `split_options`, of a file that has to be named."""
    path, values = split_options(address, options, example)
    if not path:
        raise ProbeMissing("no file is named", "write it like {}".format(example))
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
            )
        values[option] = unquote(value)
    return unquote(name), values


def one_of(values: Dict[str, str], option: str, choices: Sequence[str], default: str) -> str:
    """The value of an option; ProbeMissing where it is none of its choices."""
    value = values.get(option, default)
    if value not in choices:
        raise ProbeMissing(
            "{}={} is not known".format(option, value), "choose among {}".format(", ".join(choices))
        )
    return value


def scope_of(values: Dict[str, str]) -> Tuple[str, Dict[str, Any]]:
    """What the meter covers, and what is absent of that: a scope that nobody states is the narrowest."""
    absent = {}
    if "scope" not in values:
        absent["scope"] = "the address does not say what the meter covers: taken for {}; add scope={}".format(
            NARROWEST, "|".join(SCOPES)
        )
    return one_of(values, "scope", SCOPES, NARROWEST), absent
