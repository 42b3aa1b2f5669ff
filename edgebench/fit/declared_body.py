"""What is declared of a target's boards, and whether the machine that was measured bears it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.link.board_facts import BoardFacts
from edgebench.link.declared_boards import unconfirmed
from edgebench.stats.warnings import Caution, Flag
from edgebench.store.records import SessionRecord, TargetRecord
from edgebench.vocabulary.target import BOARD_FIGURES, DeclaredBoard

WITHOUT_HOST = "its boards are sticks or cards alone, and the host that they are plugged into is not counted"


def board_caution(doubts: Mapping[str, str]) -> Caution | None:
    """The warning of a trial with those doubts; None where there are none."""
    if not doubts:
        return None
    figures = " and ".join(BOARD_FIGURES[name] for name in doubts)
    return Caution(Flag.BOARD_UNCONFIRMED, what=f"{figures}; {next(iter(doubts.values()))}")


def board_doubts(target: TargetRecord | None, records: Sequence[SessionRecord]) -> dict[str, str]:
    """By declared figure (`BoardFigure`): why it may be another machine's, or a part's alone.

    Empty where nothing speaks against it.

    Args:
        target: as it was declared; its own figures are not doubted, those of its boards are.
        records: of finished sessions, which say what the machine calls itself.
    """
    if target is None or not records:
        return {}
    if target.from_boards and not target.boards:
        return dict.fromkeys(target.from_boards, WITHOUT_HOST)
    boards = [DeclaredBoard(board.title, board.models) for board in target.boards]
    models = dict.fromkeys(BoardFacts.of(record.device).board for record in records)
    doubt = next((doubt for model in models if (doubt := unconfirmed(boards, model))), "")
    return dict.fromkeys(target.from_boards, f"the machine was {doubt}") if doubt else {}
