"""How deep the stack of compiled code gets, from the call graph that GCC writes with -fcallgraph-info=su."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"')
_FRAME = re.compile(r"\\n(\d+) bytes \(([a-z,]+)\)")
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


def stack_bytes(call_graph: str, function: str) -> int:
    """The deepest stack of a call of `function`, in bytes, of the functions whose code is in the graph.

    Functions of libraries have no size there: the caller allows for them.

    Raises:
        ValueError: the function is not there, calls itself, or has a frame whose size no compiler can know.
    """
    frames, calls = _parse(call_graph)
    if function not in frames:
        raise ValueError(f"{function} is not in the call graph")

    def deepest(name: str, callers: tuple[str, ...]) -> int:
        if name in callers:
            raise ValueError(f"{name} calls itself")
        below = (deepest(callee, (*callers, name)) for callee in calls.get(name, ()))
        return frames.get(name, 0) + max(below, default=0)

    return deepest(function, ())


def all_frames_bytes(call_graph: str) -> int:
    """The sum of all frames: no stack is deeper where none calls itself. ValueError as `stack_bytes`."""
    return sum(_parse(call_graph)[0].values())


def _parse(call_graph: str) -> tuple[Mapping[str, int], Mapping[str, Sequence[str]]]:
    """Frames in bytes by function, and whom each calls."""
    frames: dict[str, int] = {}
    calls: dict[str, list[str]] = {}
    for line in call_graph.splitlines():
        if node := _NODE.match(line):
            name, label = node.groups()
            frame = _FRAME.search(label)
            if frame and frame[2] == "dynamic":
                raise ValueError(f"the stack of {name} is not bounded")
            if frame:
                frames[name] = int(frame[1])
        elif edge := _EDGE.match(line):
            calls.setdefault(edge[1], []).append(edge[2])
    return frames, calls
