"""What a pass, a window and a chunk of samples from a device have to be before a session takes them in.

Raises SessionError (`protocol_error`) here everywhere, with what is wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from edgebench.errors import SessionError
from edgebench.stage_names import fault_of_stages
from edgebench.store.table_checks import MOST_NS
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.probe import ProbeChunk

PHASES = ("first", "warmup", "steady")
MOST_INDEX = 2**31 - 1
MOST_INFERENCES = 2**62 - 1
MOST_INSTRUCTIONS = 2**62 - 1


def require_valid_pass(pass_: Pass, stages: tuple[str, ...], workers: int | None = None) -> None:
    """A pass in the stages of the session's others, whose stamps can be.

    Args:
        pass_: from the device.
        stages: of the first pass.
        workers: of the session; None where that is not known.
    """
    if why := _fault_of_pass(pass_, stages, workers):
        raise _refused("pass", pass_.index, why)


def require_valid_window(window: Window, scene_patches: int, before: Window | None = None) -> None:
    """A window of a patch that the scene of `scene_patches` has, which took some time.

    Args:
        window: from the device.
        scene_patches: of the scene.
        before: the window before it, after whose end it begins; None for the first.
    """
    if why := _fault_of_window(window, scene_patches, before):
        raise _refused("window", window.index, why)


def require_valid_chunk(chunk: ProbeChunk) -> None:
    """Samples with stamps that can be, and of each channel as many values.

    Args:
        chunk: of a probe.
    """
    if not are_storable(chunk.stamps_ns):
        raise misfit(chunk, "its time stamps are out of range")
    for name, values in chunk.values.items():
        if len(values) != len(chunk.stamps_ns):
            raise misfit(chunk, f"{len(values)} values of {name!r} for {len(chunk.stamps_ns)} time stamps")


def misfit(chunk: ProbeChunk, why: str) -> SessionError:
    """The error of samples that do not fit their probe."""
    what = f"the probe {chunk.probe} sent samples that do not fit it"
    return SessionError(what, status="protocol_error", stage="measure", why=why)


def are_storable(stamps_ns: ArrayLike) -> bool:
    """Whether the stamps lie within the range that the tables hold."""
    try:
        stamps = np.asarray(stamps_ns, dtype=np.int64)
    except OverflowError:
        return False
    return not stamps.size or bool(stamps.min() >= -MOST_NS and stamps.max() <= MOST_NS)


def _refused(what: str, index: object, why: str) -> SessionError:
    return SessionError(
        f"{what} {index} from the device is invalid", status="protocol_error", stage="measure", why=why
    )


def _fault_of_pass(pass_: Pass, stages: tuple[str, ...], workers: int | None) -> str:
    if workers is not None and not (_is_count(pass_.worker) and pass_.worker < workers):
        numbers = "0" if workers == 1 else f"0 to {workers - 1}"
        return f"it is of worker {pass_.worker!r}, and the session has {numbers}"
    if not 0 <= pass_.index <= MOST_INDEX:
        return "its number is out of range"
    if pass_.stages != stages:
        return f"stages {pass_.stages} after {stages}"
    if fault := fault_of_stages(stages):
        return fault
    if pass_.phase not in PHASES:
        return f"its phase is {pass_.phase!r}"
    if pass_.stamps_ns.ndim != 3 or pass_.stamps_ns.shape[1:] != (len(stages), 2):
        return f"stamps of shape {pass_.stamps_ns.shape} for {len(stages)} stages"
    if pass_.end_ns < pass_.start_ns or (pass_.stamps_ns[:, :, 1] < pass_.stamps_ns[:, :, 0]).any():
        return "the pass, or a stage of it, ended before it started"
    if not (are_storable([pass_.start_ns, pass_.end_ns]) and are_storable(pass_.stamps_ns)):
        return "its time stamps are out of range"
    if pass_.batch < 1 or (
        pass_.scores is not None and len(pass_.stamps_ns) != -(-len(pass_.scores) // pass_.batch)
    ):
        return f"{len(pass_.stamps_ns)} batches of {pass_.batch}"
    return ""


def _fault_of_window(window: Window, scene_patches: int, before: Window | None) -> str:
    for name in ("index", "patch", "inferences", "start_ns", "end_ns"):
        if not _is_whole(getattr(window, name)):
            return f"its {name} is {getattr(window, name)!r}, a whole number was due"
    if window.phase not in PHASES:
        return f"its phase is {window.phase!r}"
    if not 0 <= window.index <= MOST_INDEX:
        return "its number is out of range"
    if not 1 <= window.inferences <= MOST_INFERENCES:
        return f"it holds {window.inferences} inferences"
    if not 0 <= window.patch < scene_patches:
        return f"patch {window.patch} of a scene of {scene_patches}"
    if window.end_ns < window.start_ns:
        return "it ended before it started"
    if not are_storable([window.start_ns, window.end_ns, window.duration_ns]):
        return "its time stamps are out of range"
    if window.end_ns == window.start_ns:
        return "its inferences took no time"
    if before is not None and window.start_ns < before.end_ns:
        return f"it started before window {before.index} had ended"
    return _fault_of_instructions(window) or _fault_of_scores(window, before)


def _fault_of_instructions(window: Window) -> str:
    if window.instructions is None:
        return ""
    if not _is_whole(window.instructions):
        return f"its number of instructions is {window.instructions!r}, a whole number was due"
    if not window.inferences <= window.instructions <= MOST_INSTRUCTIONS:
        return f"it executed {window.instructions} instructions in {window.inferences} inferences"
    return ""


def _fault_of_scores(window: Window, before: Window | None) -> str:
    if window.scores is None:
        return ""
    scores = np.asarray(window.scores)
    if scores.ndim != 1 or scores.dtype.kind not in "fiu":
        return f"scores of shape {scores.shape} and type {scores.dtype}, one row of numbers was due"
    if before is not None and before.scores is not None and len(before.scores) != len(scores):
        return f"{len(scores)} scores after {len(before.scores)}"
    return ""


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_count(value: int) -> bool:
    return _is_whole(value) and value >= 0
