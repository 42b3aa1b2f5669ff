"""Checks of passes, windows and samples of a device, and the rows of the stored tables that they become."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from edgebench.errors import SessionError
from edgebench.records.session import Channel, Pass, ProbeChunk, ProbeInfo, Window, probe_name
from edgebench.records.stored import (
    BATCH_COLUMNS,
    PACED_COLUMNS,
    PASS_COLUMNS,
    PREDICTION_COLUMNS,
    PROBE_COLUMNS,
    WINDOW_COLUMNS,
    TableFile,
)
from edgebench.records.values import Scores
from edgebench.results.parquet import COLUMN_TYPES, MOST_NS, write_options
from edgebench.results.rows import union_ns
from edgebench.session_stages import fault_of_stages

# Checks of passes, windows and samples as a session takes them in. All raise SessionError (`protocol_error`).


PHASES = ("first", "warmup", "steady")
OUTSIDE = "outside"
"""The phase of a pass of several workers that lies partly outside the time when all of them ran."""
MOST_INDEX = 2**31 - 1
MOST_INFERENCES = 2**62 - 1
MOST_INSTRUCTIONS = 2**62 - 1
INFER = "infer"
"""The stage whose intervals make `infer_s`."""

COARSE_CLOCK = (
    "a device whose clock moves with its kernel's ticks cannot time it: measure a scene of more patches "
    "(--scene), or give it a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS)"
)
"""Fix for a pass that took no time by its clock."""


def require_valid_pass(pass_: Pass, stages: tuple[str, ...], workers: int) -> None:
    """Refuse a pass with other stages than the session's first, or with stamps that cannot be.

    Args:
        pass_: from the device.
        stages: of the session's first pass.
        workers: number of workers of the session.
    """
    if why := _fault_of_pass(pass_, stages, workers):
        raise _refused("pass", pass_.index, why)
    if why := _timeless(pass_):
        raise _refused("pass", pass_.index, why, COARSE_CLOCK)
    if pass_.scores is not None:
        require_finite_scores(pass_.scores, "measure", f"pass {pass_.index}")


def require_valid_window(window: Window, scene_patches: int, before: Window | None = None) -> None:
    """Refuse a window that took no time, of no patch of the scene, or from before the last one had ended.

    Args:
        window: from the device.
        scene_patches: number of patches of the scene.
        before: the window before it; None for the first.
    """
    if why := _fault_of_window(window, scene_patches, before):
        raise _refused("window", window.index, why)
    if window.scores is not None:
        require_finite_scores(window.scores, "measure", f"window {window.index}")


def require_valid_chunk(chunk: ProbeChunk) -> None:
    """Refuse samples with stamps out of range, or a channel with another number of values."""
    if not are_storable(chunk.stamps_ns):
        raise misfit(chunk, "its time stamps are out of range")
    for name, values in chunk.values.items():
        if len(values) != len(chunk.stamps_ns):
            raise misfit(chunk, f"{len(values)} values of {name!r} for {len(chunk.stamps_ns)} time stamps")


def require_finite_scores(scores: Scores, stage: str, subject: str) -> None:
    """Refuse scores [n, classes] that are not finite numbers.

    Args:
        scores: from the device.
        stage: of the session.
        subject: pass, window or images that were scored, for the message.
    """
    rows = np.isfinite(np.atleast_2d(scores)).all(axis=1)
    if not rows.all():
        raise SessionError(
            f"the device's scores of {subject} are not finite numbers",
            status="protocol_error",
            stage=stage,
            why=f"NaN or infinite scores in {int((~rows).sum())} of {rows.size} rows, first in row "
            f"{int(rows.argmin())}",
            fix="take another precision or runtime: a model at a low precision can overflow; or repair its "
            "runner or firmware",
        )


def misfit(chunk: ProbeChunk, why: str) -> SessionError:
    """Return the error for samples that do not fit their probe."""
    what = f"the probe {chunk.probe} sent samples that do not fit it"
    return SessionError(what, status="protocol_error", stage="measure", why=why)


def are_storable(stamps_ns: ArrayLike) -> bool:
    """Return True if the tables can hold the stamps."""
    try:
        stamps = np.asarray(stamps_ns, dtype=np.int64)
    except OverflowError:
        return False
    return not stamps.size or bool(stamps.min() >= -MOST_NS and stamps.max() <= MOST_NS)


def _refused(what: str, index: object, why: str, fix: str = "") -> SessionError:
    words = f"{what} {index} from the device is invalid"
    return SessionError(words, status="protocol_error", stage="measure", why=why, fix=fix)


def _fault_of_pass(pass_: Pass, stages: tuple[str, ...], workers: int) -> str:
    if not (_is_count(pass_.worker) and pass_.worker < workers):
        numbers = "0" if workers == 1 else f"0 to {workers - 1}"
        return f"it is of worker {pass_.worker!r}, and the session has {numbers}"
    stamps_ns, batch = pass_.stamps_ns, pass_.batch
    if stamps_ns.ndim != 3 or stamps_ns.shape[1:] != (len(stages), 2):
        fault = f"stamps of shape {stamps_ns.shape} for {len(stages)} stages"
    else:
        paced = [ns for ns in (pass_.due_ns, pass_.lateness_ns) if ns is not None]
        in_range = are_storable([pass_.start_ns, pass_.end_ns, pass_.image_ns, *paced]) and are_storable(
            stamps_ns
        )
        reversed_ = pass_.end_ns < pass_.start_ns or (stamps_ns[:, :, 1] < stamps_ns[:, :, 0]).any()
        outside = (stamps_ns < pass_.start_ns).any() or (stamps_ns > pass_.end_ns).any()
        due = None if pass_.scores is None or batch < 1 else -(-len(pass_.scores) // batch)
        fault = _first(
            (reversed_, "the pass, or a stage of it, ended before it started"),
            (not in_range, "its time stamps are out of range"),
            (outside, "a stage of it lies outside the pass"),
            (batch < 1 or due not in (None, len(stamps_ns)), f"{len(stamps_ns)} batches of {batch}"),
        )
    return _first(
        (not 0 <= pass_.index <= MOST_INDEX, "its number is out of range"),
        (pass_.stages != stages, f"stages {pass_.stages} after {stages}"),
        (True, fault_of_stages(stages)),
        (pass_.phase not in (*PHASES, OUTSIDE), f"its phase is {pass_.phase!r}"),
        (True, fault),
    )


def _timeless(pass_: Pass) -> str:
    """Return the reason if a pass, or all of its inference, took no time by its clock; else ""."""
    if pass_.phase == "warmup":
        return ""  # a short one by a coarse clock; it has no estimate
    if not pass_.image_ns:
        return "it took no time by its clock"
    infer_ns = pass_.stamps_ns[:, pass_.stages.index(INFER)] if INFER in pass_.stages else None
    timeless = infer_ns is not None and not (infer_ns[:, 1] > infer_ns[:, 0]).any()
    return "its inference took no time by its clock" if timeless else ""


def _first(*faults: tuple[object, str]) -> str:
    """Return the text of the first fault; "" without one."""
    return next((words for is_found, words in faults if is_found and words), "")


def _fault_of_window(window: Window, scene_patches: int, before: Window | None) -> str:
    for name in ("index", "patch", "inferences", "start_ns", "end_ns"):
        if not _is_whole(getattr(window, name)):
            return f"its {name} is {getattr(window, name)!r}, a whole number was due"
    executed = window.inferences if window.instructions is None else window.instructions
    if not _is_whole(executed):
        return f"its number of instructions is {executed!r}, a whole number was due"
    stamps_ns = [window.start_ns, window.end_ns, window.duration_ns]
    scores: Any = None if window.scores is None else np.asarray(window.scores)
    scored = None if scores is None or before is None or before.scores is None else len(before.scores)
    return _first(
        (window.phase not in PHASES, f"its phase is {window.phase!r}"),
        (not 0 <= window.index <= MOST_INDEX, "its number is out of range"),
        (not 1 <= window.inferences <= MOST_INFERENCES, f"it holds {window.inferences} inferences"),
        (not 0 <= window.patch < scene_patches, f"patch {window.patch} of a scene of {scene_patches}"),
        (window.end_ns < window.start_ns, "it ended before it started"),
        (not are_storable(stamps_ns), "its time stamps are out of range"),
        (window.end_ns == window.start_ns, "its inferences took no time"),
        (before and window.start_ns < before.end_ns, "it started before the last one had ended"),
        (
            not window.inferences <= executed <= MOST_INSTRUCTIONS,
            f"it executed {executed} instructions in {window.inferences} inferences",
        ),
        (
            scores is not None and (scores.ndim != 1 or scores.dtype.kind not in "fiu"),
            f"scores of shape {np.shape(scores)}, one row of numbers was due",
        ),
        (scored not in (None, np.size(scores)), f"{np.size(scores)} scores after {scored}"),
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_count(value: int) -> bool:
    return _is_whole(value) and value >= 0


def pass_rows(passes: Sequence[Pass]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make one row per pass and one row per batch, with the columns of `passes` and `batches`, times in ns.

    The warm-up goes round the scene again and again: its batches are numbered on, and say which patches
    of the scene they held when the size of the scene is known from another pass. `infer_ns` is empty
    if no stage is called infer. Paced passes bring PACED_COLUMNS.

    Args:
        passes: of one session, as `require_valid_pass` lets them in.
    """
    stages = passes[0].stages if passes else ()
    scene_patches = next((len(pass_.scores) for pass_ in passes if pass_.scores is not None), None)
    rows: list[dict[str, Any]] = []
    parts: list[pd.DataFrame] = []
    for pass_ in passes:
        first, patches = _batch_spans(pass_, scene_patches)
        sums = (pass_.stamps_ns[:, :, 1] - pass_.stamps_ns[:, :, 0]).sum(axis=0)
        rows.append(
            {
                "worker": pass_.worker,
                "pass": pass_.index,
                "phase": pass_.phase,
                "start_ns": pass_.start_ns,
                "end_ns": pass_.end_ns,
                "image_ns": pass_.image_ns,
                "infer_ns": union_ns(pass_.stamps_ns[:, stages.index(INFER)]) if INFER in stages else pd.NA,
                "patches": int(patches.sum()),
            }
            | {f"{name}_ns": int(sums[at]) for at, name in enumerate(stages) if name != INFER}
        )
        parts.append(_batches(pass_, first, patches))
    pass_columns = [*PASS_COLUMNS, *(f"{name}_ns" for name in stages if name != INFER)]
    frame = pd.DataFrame(rows, columns=pass_columns)
    if any(pass_.due_ns is not None for pass_ in passes):
        for column in PACED_COLUMNS:
            frame[column] = pd.array([getattr(pass_, column) for pass_ in passes], dtype="Int64")
    if INFER not in stages:
        frame["infer_ns"] = frame["infer_ns"].astype("Int64")
    return frame, concat(parts) if parts else pd.DataFrame(columns=list(BATCH_COLUMNS))


def window_rows(windows: Sequence[Window], worker: int = 0) -> pd.DataFrame:
    """Make one row per window, with the columns of `windows`, times in ns.

    Args:
        windows: of one session, as `require_valid_window` lets them in.
        worker: that they are of.
    """
    frame = pd.DataFrame(
        [
            {
                "worker": worker,
                "window": window.index,
                "phase": window.phase,
                "patch": window.patch,
                "inferences": window.inferences,
                "start_ns": window.start_ns,
                "end_ns": window.end_ns,
                "instructions": pd.NA if window.instructions is None else window.instructions,
            }
            for window in windows
        ],
        columns=list(WINDOW_COLUMNS),
    )
    frame["instructions"] = frame["instructions"].astype("Int64")
    return frame


def prediction_rows(
    set_name: str,
    scores: Scores,
    labels: Sequence[int] | None,
    worker: int = 0,
    patches: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Make one row per patch of `scores` float32 [n, classes]; `predicted` is -1 if a score is no number.

    `patches` are the numbers of the scored patches, and the labels are then of all patches; 0 to n - 1
    if it is None. `label` is -1 if it is unknown. Raises ValueError if labels and scores do not fit.
    """
    n = len(scores)
    if labels is not None and patches is not None:
        labels = [labels[patch] for patch in patches] if max(patches, default=-1) < len(labels) else ()
    if labels is not None and len(labels) != n:
        raise ValueError(f"{len(labels)} labels for {n} scores")
    # A score that is no number says nothing about the class.
    usable = np.isfinite(scores).all(axis=1) & (scores.shape[1] > 0)
    predicted = np.full(n, -1, dtype=np.int16)
    if usable.any():
        predicted[usable] = scores[usable].argmax(axis=1)
    return pd.DataFrame(
        {
            "worker": np.full(n, worker, dtype=np.int16),
            "set": set_name,
            "index": np.asarray(range(n) if patches is None else patches, dtype=np.int32),
            "label": np.full(n, -1, np.int16) if labels is None else np.asarray(labels, dtype=np.int16),
            "predicted": predicted,
            "scores": pd.Series(list(np.asarray(scores, dtype=np.float32)), dtype=object),
        },
        columns=list(PREDICTION_COLUMNS),
    )


def concat(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join rows of the same table, at least one part."""
    return pd.concat(parts, ignore_index=True)


def _batch_spans(pass_: Pass, scene_patches: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first patch and number of patches of each batch, int64 [batches]; padding is not counted."""
    number = np.arange(len(pass_.stamps_ns), dtype=np.int64)
    total = len(pass_.scores) if pass_.scores is not None else scene_patches
    if not total:
        return number * pass_.batch, np.full(len(number), pass_.batch, dtype=np.int64)
    first = number % -(-total // pass_.batch) * pass_.batch
    return first, np.minimum(pass_.batch, total - first)


def _batches(pass_: Pass, first: NDArray[np.int64], patches: NDArray[np.int64]) -> pd.DataFrame:
    n = len(pass_.stamps_ns)
    columns: dict[str, Any] = {
        "worker": np.full(n, pass_.worker, dtype=np.int16),
        "pass": np.full(n, pass_.index, dtype=np.int32),
        "phase": pass_.phase,
        "batch": np.arange(n, dtype=np.int32),
        "first_patch": first,
        "patches": patches,
    }
    for at, name in enumerate(pass_.stages):
        columns[f"{name}_start_ns"] = pass_.stamps_ns[:, at, 0]
        columns[f"{name}_end_ns"] = pass_.stamps_ns[:, at, 1]
    return pd.DataFrame(columns)


# The table `probes` as a Parquet file that grows by row groups. Memory holds one of them.


ROW_GROUP_ROWS = 1 << 20
"""Rows of a row group: 32 MiB in memory. Each of them costs the footer about a kilobyte."""

_WORDS = ("probe", "channel", "quantity", "unit")
_SCHEMA = pa.schema([(name, COLUMN_TYPES[name]) for name in PROBE_COLUMNS])


class ProbeTableWriter:
    """Writer of one row per sample and channel, chunk by chunk; within a chunk channel by channel.

    Used as a context: a file that is not closed by its end is removed.

    Args:
        path: of the file, which is new; OSError where it cannot be written, here and in all that follows.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("xb")
        self._channels = _ChannelWords()
        self._columns: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
        self._waiting_rows = 0
        self._rows = 0
        self._parquet = pq.ParquetWriter(self._file, _SCHEMA, **write_options(PROBE_COLUMNS))

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return self._rows + self._waiting_rows

    def write(self, chunk: ProbeChunk, infos: Sequence[ProbeInfo]) -> None:
        """Append the samples of a chunk, as `require_valid_chunk` lets it in.

        Raises SessionError (`protocol_error`) if none of the `infos` has its probe and channel.
        """
        codes = [self._channels.code(chunk, name, infos) for name in chunk.values]
        t_ns = np.asarray(chunk.stamps_ns, dtype=np.int64)
        for code, values in zip(codes, chunk.values.values(), strict=True):
            self._columns.append((code, t_ns, np.asarray(values, dtype=np.float64)))
            self._waiting_rows += len(t_ns)
            if self._waiting_rows >= ROW_GROUP_ROWS:
                self._flush()

    def close(self, metadata: Mapping[str, str] | None = None) -> TableFile:
        """End the file and flush it to the disk.

        Args:
            metadata: further keys of its footer.
        """
        self._flush()
        if metadata:
            self._parquet.add_key_value_metadata(dict(metadata))
        self._parquet.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        with self._path.open("rb") as file:
            return TableFile(self._path, self._rows, hashlib.file_digest(file, "sha256").hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._parquet.is_open:
            self._parquet.is_open = (
                False  # else it ends the file, which may not be whole, when it is collected
            )
            with contextlib.suppress(OSError):  # a full disk did not take the rest
                self._file.close()
            self._path.unlink(missing_ok=True)

    def _flush(self) -> None:
        if not self._waiting_rows:
            return
        rows, columns = self._waiting_rows, self._columns
        self._waiting_rows, self._columns = 0, []
        codes = np.repeat(
            np.array([code for code, _, _ in columns], np.int32), [len(t_ns) for _, t_ns, _ in columns]
        )
        table = pa.table(
            {
                **self._channels.dictionaries(codes),
                "t_ns": np.concatenate([t_ns for _, t_ns, _ in columns]),
                "value": np.concatenate([values for _, _, values in columns]),
            },
            schema=_SCHEMA,
        )
        self._parquet.write_table(table, row_group_size=ROW_GROUP_ROWS)
        self._rows += rows


class _ChannelWords:
    """Codes of channels: each stands for a probe, channel, quantity and unit."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], int] = {}
        self._words: list[tuple[str, str, str, str]] = []  # by code

    def code(self, chunk: ProbeChunk, channel: str, infos: Sequence[ProbeInfo]) -> int:
        """Return the code of a chunk's channel. Raises SessionError if none of the `infos` has it."""
        key = chunk.probe, channel
        if key not in self._codes:
            announced = _announced(chunk, channel, infos)
            words = (probe_name(chunk.probe), channel, announced.quantity, announced.unit)
            self._codes[key] = len(self._words)
            self._words.append(words)
        return self._codes[key]

    def dictionaries(self, codes: NDArray[np.int32]) -> dict[str, pa.DictionaryArray]:
        """Return the columns of text of rows with these codes."""
        columns = {}
        for name, words in zip(_WORDS, zip(*self._words, strict=True), strict=True):
            distinct = list(dict.fromkeys(words))
            indices = np.array([distinct.index(word) for word in words], np.int32)
            columns[name] = pa.DictionaryArray.from_arrays(indices[codes], pa.array(distinct, pa.string()))
        return columns


def _announced(chunk: ProbeChunk, channel: str, infos: Sequence[ProbeInfo]) -> Channel:
    probe = probe_name(chunk.probe)
    for info in infos:
        if info.name == probe:
            for announced in info.channels:
                if announced.name == channel:
                    return announced
    raise misfit(chunk, f"it has announced no channel {channel!r}")
