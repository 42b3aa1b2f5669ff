"""What the targets of a stored result are made of, as said when they are judged and not when they ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError
from edgebench.plan.board_declarations import declared_boards
from edgebench.plan.targets import body_of
from edgebench.store.records import BoardRecord, ExperimentRecord, TargetRecord
from edgebench.store.revisions import planned_name, swept_name
from edgebench.vocabulary.target import BOARD_FIGURES, BoardFigure

FIGURES: tuple[BoardFigure, ...] = get_args(BoardFigure)


def with_boards(record: ExperimentRecord, texts: Sequence[str]) -> tuple[ExperimentRecord, tuple[str, ...]]:
    """The record whose targets are made of these boards, and what is to be said of it.

    As in a run, a target's own figures beat those of its boards. Boards that it ran with are boards no more:
    these take their place, which is said.

    Args:
        record: as it was stored; it is left as it is.
        texts: `[TARGET=]NAME`, one for each board.

    Raises:
        UsageError: as `plan.board_declarations.declared_boards`, and for a board that there is not.
    """
    boards = declared_boards(texts, target_aliases(record))
    targets = tuple(
        _made_of(target, boards[target.name]) if target.name in boards else target
        for target in record.targets
    )
    pairs = [
        (before, after) for before, after in zip(record.targets, targets, strict=True) if after.name in boards
    ]
    return record.model_copy(update={"targets": targets}), _notes(pairs)


def target_aliases(record: ExperimentRecord) -> dict[str, tuple[str, ...]]:
    """The names that each target answers to; a revision to its target's too."""
    return {target.name: _aliases(target) for target in record.targets}


def _made_of(target: TargetRecord, names: Sequence[str]) -> TargetRecord:
    came = set(target.from_boards)
    own = {str(name): getattr(target, name) for name in FIGURES if name not in came}
    body: dict[str, Any] = {**dict.fromkeys(FIGURES), "declared_power": ()}
    body |= body_of(names, _backend(target.device), own)
    boards = tuple(BoardRecord(title=board.title, models=board.models) for board in body["boards"])
    return target.model_copy(update={**body, "boards": boards})


def _notes(pairs: Sequence[tuple[TargetRecord, TargetRecord]]) -> tuple[str, ...]:
    """What each target takes of its boards and from where; the targets of a sweep together."""
    names: dict[str, list[str]] = {}
    for before, after in pairs:
        taken = " and ".join(BOARD_FIGURES[name] for name in after.from_boards) or "no figure"
        texts = [f"{taken} of {after.body}"]
        if before.body:
            texts.append(
                f"in place of what it ran with, {_titles(before)}; the result's folder is left as it is"
            )
        for text in texts:
            names.setdefault(text, []).append(after.name)
    return tuple(f"{', '.join(targets)}: {text}" for text, targets in names.items())


def _backend(device: str) -> Backend | None:
    """The device's, for boards of its own; None where its package is not installed here."""
    try:
        return registry.backend(device)
    except EdgeBenchError:
        return None


def _titles(target: TargetRecord) -> str:
    return " + ".join(board.title for board in target.boards) or "its boards"


def _aliases(target: TargetRecord) -> tuple[str, ...]:
    return target.name, planned_name(target), swept_name(target)
