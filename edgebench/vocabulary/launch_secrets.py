"""What of a launch is secret: the values of its variables, and of its prefix what is not known as plain.

Of `env` the names stay. Of the prefix these words stay: the first one's base name, the names of well-known
launchers (`nice`, `taskset`, `env`, ...), options that are one letter or `--name` alone, and the numbers and
lists of cores of a scheduler's command (`nice -n -5`, `taskset -c 0-3`). Every other word may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MASK = "..."
SHORTEST = 6
"""Characters of a value that is taken out of texts: a shorter one is part of ordinary words."""

_SCHEDULERS = frozenset({"nice", "renice", "taskset", "chrt", "ionice", "numactl", "timeout", "prlimit"})
_LAUNCHERS = _SCHEDULERS | {"sudo", "doas", "env", "time", "nohup", "setsid", "stdbuf", "systemd-run"}
_COMMAND = re.compile(r"[A-Za-z0-9_./+-]+")
_OPTION = re.compile(r"-[A-Za-z]|--[a-z]+(-[a-z]+)*|--")
_NUMBERS = re.compile(r"[-+0-9.,:]*")
_SCHEDULING = re.compile(r"(-[A-Za-z]|--[a-z-]+=)?[-+0-9.,:]+")
_ATTACHED = re.compile(r"-[A-Za-z](.+)", re.DOTALL)  # -pSECRET
# A path is one value of a variable, and may be one of many words in a prefix.
_SEPARATORS = r"\s=:@\"'`;,&|()<>?#"
_IN_VARIABLES = re.compile(f"[{_SEPARATORS}]+")
_IN_PREFIX = re.compile(f"[{_SEPARATORS}/]+")


def masked_launch(launch: Mapping[str, Any]) -> dict[str, Any]:
    """A launch specification as plain data, with `...` for each secret value."""
    masked = dict(launch)
    if isinstance(env := launch.get("env"), Mapping):
        masked["env"] = {name: MASK if value else value for name, value in env.items()}
    if "prefix" in launch:
        masked["prefix"] = [masked_word for masked_word, _ in _words(launch["prefix"])]
    return masked


def masked_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a trial, with the launch in their settings masked."""
    settings = inputs.get("settings")
    if not isinstance(settings, Mapping) or not isinstance(launch := settings.get("launch"), Mapping):
        return dict(inputs)
    return {**inputs, "settings": {**settings, "launch": masked_launch(launch)}}


def secret_values(launch: Mapping[str, Any]) -> dict[str, str]:
    """The secret values, whole and in parts, each with what to write in its place in a text.

    That is the variable's name, or `(prefix)`.
    """
    values: dict[str, str] = {}
    for _, word in _words(launch.get("prefix")):
        attached = _ATTACHED.fullmatch(word)
        assigned = word.partition("=")[2]  # whole, too: it may be of several short words
        for part in (word, assigned, *_IN_PREFIX.split(word), attached[1] if attached else ""):
            values |= dict.fromkeys((part, part.lstrip("-+")), "(prefix)")
    env = launch.get("env")
    for name, value in env.items() if isinstance(env, Mapping) else ():
        if isinstance(name, str) and isinstance(value, str):
            parts = (value, *_IN_VARIABLES.split(value))
            values |= {part: f"({name})" for part in parts if not _NUMBERS.fullmatch(part)}
    return {value: name for value, name in values.items() if len(value) >= SHORTEST}


def has_secrets(launch: Mapping[str, Any]) -> bool:
    """Whether a launch specification as plain data has a secret value, however short."""
    env = launch.get("env")
    values = list(env.values()) if isinstance(env, Mapping) else []
    return any(values) or any(word for _, word in _words(launch.get("prefix")))


def _words(prefix: Any) -> Iterator[tuple[str, str]]:
    """Each word of a prefix as it is shown, and what of it is secret, or ""."""
    command = ""  # the launcher whose options these are; nobody knows those of another program
    for place, word in enumerate(
        prefix if isinstance(prefix, Sequence) and not isinstance(prefix, str) else ()
    ):
        text = str(word)
        base = text.rpartition("/")[2]
        if place == 0 and base and _COMMAND.fullmatch(text):
            command = base
            yield base, ""
        elif text in _LAUNCHERS:
            command = text
            yield text, ""
        elif _OPTION.fullmatch(text) or (command in _SCHEDULERS and _SCHEDULING.fullmatch(text)):
            yield text, ""
        else:
            # What follows belongs to a program that is not known, unless it is an option's value.
            command = ""
            yield MASK, "" if text == MASK else text
