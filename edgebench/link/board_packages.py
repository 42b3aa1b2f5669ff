"""The packages that a board's Python needs: whether they are there, and how a missing one gets there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.link.board_facts import BoardFacts
from edgebench.vocabulary.finding import Finding

Version = tuple[int, int]

VENV = "~/edgebench"
"""Where the advice puts a virtual environment on a board."""

# The Pythons for which the package index has wheels, by processor: the first, and the last where none follow.
_WHEELS: Mapping[str, Mapping[str, tuple[Version, Version | None]]] = {
    "ai-edge-litert": {"x86_64": ((3, 9), None), "aarch64": ((3, 9), None)},
    "tflite-runtime": {
        "x86_64": ((3, 7), (3, 11)),
        "aarch64": ((3, 7), (3, 11)),
        "armv7l": ((3, 7), (3, 11)),
    },
    "onnxruntime": {"x86_64": ((3, 6), None), "aarch64": ((3, 6), None)},
    "openvino": {"x86_64": ((3, 6), None), "aarch64": ((3, 8), None)},
}
_NUMPY = {"tflite-runtime": "'numpy<2'"}  # what it was built against
_32_BITS = {"aarch64": "armv7l", "armv8l": "armv7l", "x86_64": "i686"}


def package_finding(known: BoardFacts, names: Sequence[str]) -> Finding:
    """Whether one of these distributions is there; the error says how to install one that has a wheel.

    Args:
        known: of the board.
        names: distributions, the best first.
    """
    for name in names:
        if version := (known.packages or {}).get(name):
            return Finding("ok", name, version)
    python = known.python_executable or "python3"
    message = f"{' or '.join(names)} is not found by {python}: nothing can be measured"
    return Finding("error", names[0], message, _fix(known, names))


def _fix(known: BoardFacts, names: Sequence[str]) -> str:
    listed = [name for name in names if name in _WHEELS]
    processor, version = _processor(known), _version(known)
    if not listed or not processor or version is None:
        return _install(known, (listed or names)[0])
    for name in listed:
        if _has_wheel(name, processor, version):
            return _install(known, name)
    spans = [f"{name} {_span(name, processor)}" for name in listed if processor in _WHEELS[name]]
    text = f"the package index has no wheel of {' or '.join(listed)} for {processor}"
    if not spans:
        return f"{text}: take a board with a 64-bit ARM or x86 system, or build the package there"
    there = f"install such a Python on the board and name it with --python ({', '.join(spans)})"
    return f"{text} and Python {version[0]}.{version[1]}: {there}"


def _install(known: BoardFacts, name: str) -> str:
    """The command, or the two that make a virtual environment where the system's Python takes no packages."""
    python = known.python_executable or "python3"
    wanted = name if name == "numpy" else f"{_NUMPY.get(name, 'numpy')} {name}"
    if known.python_externally_managed is False:
        return f"on the board: {python} -m pip install {wanted}"
    return (
        f"on the board: `{python} -m venv {VENV}` (Debian: sudo apt install python3-venv), then "
        f"`{VENV}/bin/pip install {wanted}`; here add --python '{VENV}/bin/python'"
    )


def _processor(known: BoardFacts) -> str:
    """The processor that the board's Python was built for, as wheels call it."""
    machine = known.machine or ""
    return _32_BITS.get(machine, machine) if known.python_bits == 32 else machine


def _version(known: BoardFacts) -> Version | None:
    numbers = [int(part) for part in (known.python or "").split(".")[:2] if part.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _has_wheel(name: str, processor: str, python: Version) -> bool:
    first, last = _WHEELS[name].get(processor, ((99, 0), None))
    return first <= python and (last is None or python <= last)


def _span(name: str, processor: str) -> str:
    first, last = _WHEELS[name][processor]
    text = f"has one from {first[0]}.{first[1]}"
    return text if last is None else f"{text} to {last[0]}.{last[1]}"
