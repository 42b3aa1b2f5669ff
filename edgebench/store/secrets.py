"""What a launch keeps apart: the values of its variables and of its prefix's options may be secrets.

Names stay, because they say how a worker was started: of `env` the names of the variables, of the prefix its
commands, its options, and numbers such as those of `nice -n -5` and `taskset -c 0-3`. The value of a
`NAME=value` word, of `--option=value`, and a word right after an option are kept apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MASK = "..."
_SHORTEST = 6
"""Characters of a value that is taken out of texts: a shorter one is part of ordinary words."""

_ASSIGNED = re.compile(r"(?P<name>-*[A-Za-z_][A-Za-z0-9_.-]*)=(?P<value>.*)", re.DOTALL)
_OPTION = re.compile(r"--?[A-Za-z].*", re.DOTALL)
_NUMBERS = re.compile(r"[-+0-9.,:]*")


def masked_launch(launch: Mapping[str, Any]) -> dict[str, Any]:
    """A launch specification as plain data, with `...` for each value that is kept apart."""
    masked = dict(launch)
    if isinstance(env := launch.get("env"), Mapping):
        masked["env"] = {name: MASK if value else value for name, value in env.items()}
    if "prefix" in launch:
        masked["prefix"] = [shown for shown, _, _ in _words(launch["prefix"])]
    return masked


def masked_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a trial, with the launch in their settings masked."""
    settings = inputs.get("settings")
    if not isinstance(settings, Mapping) or not isinstance(launch := settings.get("launch"), Mapping):
        return dict(inputs)
    return {**inputs, "settings": {**settings, "launch": masked_launch(launch)}}


def values_apart(launch: Mapping[str, Any]) -> dict[str, str]:
    """The values that are kept apart, each with the name to write in its place where a text repeats it."""
    env = launch.get("env")
    named = list(env.items()) if isinstance(env, Mapping) else []
    named += [(name, value) for _, name, value in _words(launch.get("prefix")) if value]
    return {
        value: f"({name})"
        for name, value in named
        if isinstance(name, str) and isinstance(value, str) and _tells(value)
    }


def keeps_values(launch: Mapping[str, Any]) -> bool:
    """Whether a launch specification as plain data has a value that is kept apart, however short."""
    env = launch.get("env")
    values = list(env.values()) if isinstance(env, Mapping) else []
    return any(values) or any(value for _, _, value in _words(launch.get("prefix")))


def _tells(value: str) -> bool:
    return len(value) >= _SHORTEST and not _NUMBERS.fullmatch(value)


def _words(prefix: Any) -> Iterator[tuple[str, str, str]]:
    """Each word of a prefix as it is shown; and the name and the value of what is kept apart, or "" twice."""
    option = ""
    for word in prefix if isinstance(prefix, Sequence) and not isinstance(prefix, str) else ():
        text = str(word)
        if assigned := _ASSIGNED.fullmatch(text):
            name = assigned["name"]
            yield f"{name}={MASK}", name.lstrip("-"), assigned["value"]
            option = ""
        elif _OPTION.fullmatch(text):
            yield text, "", ""
            option = text.lstrip("-")
        elif option and not _NUMBERS.fullmatch(text):
            yield MASK, option, text
            option = ""
        else:
            yield text, "", ""
            option = ""
