"""Stages of an image that a device's passes do not hold, because the host does them beforehand; in words."""

from __future__ import annotations

from collections.abc import Sequence

_BESIDES = frozenset({"patchify"})
"""What an image's time may lack and still be told as image_s, with the omission said."""

_DONE_BEFORE = {"patchify": "cut", "preprocess": "prepared"}


def times_images(untimed: Sequence[str]) -> bool:
    """Whether passes without these stages are told as `image_s`; else they tell of the runtime alone."""
    return set(untimed) <= _BESIDES


def omission(untimed: Sequence[str]) -> str:
    """What an `image_s` without these stages lacks, and why; empty where it lacks nothing."""
    return f"image_s without {_sentence(untimed)}" if untimed else ""


def inference_alone(untimed: Sequence[str]) -> str:
    """Why there is no `image_s` of passes without these stages."""
    return f"the device times inference alone, without {_sentence(untimed)}"


def mark(untimed: Sequence[str]) -> str:
    """What stands beside the figures of passes without these stages."""
    return f"without {_listed(untimed)}" if untimed and times_images(untimed) else ""


def _sentence(untimed: Sequence[str]) -> str:
    done = [_DONE_BEFORE.get(stage, f"through {stage}") for stage in untimed]
    sent = "patches" if times_images(untimed) else "inputs"
    return f"{_listed(untimed)}: the device is sent {sent} that were {_listed(done)} on the host"


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
