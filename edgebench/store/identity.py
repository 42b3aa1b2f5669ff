"""What decides a device's identity: the facts that two sessions must share to be pooled.

=============  ===================================================================================
board, SoC     another board is another device, whatever its address and name
CPU            boards of one name come with different processors, virtual machines above all
architecture   machine and pointer size: a 32-bit Python on a 64-bit board runs other kernels
kernel         its release: scheduler, governor and drivers come with it
L4T            NVIDIA's drivers and TensorRT come with it
usable cores   which, and so how many: on boards with big and little cores both decide
power mode     what nvpmodel has set: clocks and cores
Python         its minor version, for which compiled packages are built
numpy          preprocessing is timed, and numpy carries it out
runtime        its name and version: it carries out what is timed
=============  ===================================================================================

No part of it: free memory, load, uptime, temperatures and the clocks of the moment, which change between two
sessions of one run; names of hosts and users; the operating system's name, Python's patch version and other
packages, which nothing that is timed uses; the bus speed of a USB accelerator, which is another one before
its firmware is loaded. All of these stand in the records, and what harms a measurement is warned of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from edgebench.printable import printable

Identity = Mapping[str, str]
"""Facts by the name that messages give them; a fact that nobody knows is not in it."""

_LONGEST = 200


def identity_of(device: Mapping[str, Any], runtime: Mapping[str, Any]) -> dict[str, str]:
    """The identity in what a session records of its device and its runtime; a device is not trusted.

    Before a session has begun `runtime` is empty: nothing is known of it then.
    """
    machine, bits = _text(device.get("machine")), device.get("python_bits")
    name, version = _text(runtime.get("name")), _text(runtime.get("version"))
    python = re.match(r"\d+\.\d+", _text(device.get("python")))
    facts = {
        "board": _text(device.get("board")),
        "SoC": _text(device.get("soc")),
        "CPU": _text(device.get("cpu")),
        "architecture": f"{machine}, {bits} bits" if machine and _is_number(bits) else machine,
        "kernel": _text(device.get("kernel")),
        "L4T": _text(device.get("l4t")),
        "usable cores": _cores(device.get("usable_cores")),
        "power mode": _mode(device.get("power_mode")),
        "Python": python.group() if python else "",
        "numpy": _text(runtime.get("numpy")),
        "runtime": f"{name} {version}".strip(),
    }
    return {fact: value for fact, value in facts.items() if value}


def differences(before: Identity, now: Identity) -> tuple[str, ...]:
    """What differs, each as `kernel was A and is now B`; a fact that one of them lacks differs in nothing."""
    return tuple(
        f"{fact} was {before[fact]} and is now {value}"
        for fact, value in now.items()
        if fact in before and before[fact] != value
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return printable(value[:_LONGEST]).strip(" \ufffd")  # boards end names with a zero byte


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _cores(value: Any) -> str:
    """Numbers of cores with their runs shortened: `0-3, 6`."""
    if not isinstance(value, Sequence) or not all(_is_number(core) for core in value):
        return ""
    runs: list[tuple[int, int]] = []
    for core in sorted(set(value)):
        if runs and core == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], core
        else:
            runs.append((core, core))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)[:_LONGEST]


def _mode(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ""
    number = value.get("id")
    return _text(value.get("name")) or (str(number) if _is_number(number) else "")
