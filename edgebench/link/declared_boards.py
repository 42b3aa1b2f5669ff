"""Whether a machine is the board that it was declared to be, by what it calls itself."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import BOARD_FIGURES, BoardFigure, DeclaredBoard


def unconfirmed(boards: Sequence[DeclaredBoard], model: str | None) -> str:
    """That a machine says otherwise, or nothing, of being one of these boards; "" where it is one.

    Args:
        boards: what it was declared to be; "" is returned where there are none.
        model: what its device tree or DMI calls it; None where neither can be read.
    """
    if not boards or (model is not None and any(_is_called(model, board.models) for board in boards)):
        return ""
    declared = f"declared as {' + '.join(board.title for board in boards)}"
    if model is None:
        return f"{declared}, and does not say what it is"
    if not any(board.models for board in boards):
        declared += ", of which no source tells what it calls itself"
    return f"{declared}, and calls itself {model}"


def declared_finding(
    boards: Sequence[DeclaredBoard], model: str | None, figures: Sequence[BoardFigure]
) -> Finding:
    """What doctor says of a target that was declared to be one of these boards, which bring those figures."""
    if doubt := unconfirmed(boards, model):
        return Finding(
            "warning",
            "board",
            f"{doubt}: {' and '.join(BOARD_FIGURES[name] for name in figures)} may be another machine's",
            f"name another board, or write the machine's own {' and '.join(figures)} into the targets file",
        )
    return Finding("ok", "board", f"{model}, as declared")


def _is_called(model: str, names: Sequence[str]) -> bool:
    """Whether a model is one of these names, whatever its revision: `Raspberry Pi 4 Model B Rev 1.4`."""
    name = model.strip().casefold().partition(" rev ")[0]
    return name in {known.casefold() for known in names}
