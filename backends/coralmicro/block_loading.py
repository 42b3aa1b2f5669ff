"""Bringing a block of bytes onto a board: by its hash, in pieces, and only what is not there."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from .answers import MOST_PIECE_BYTES, Block, HeldAnswer
from .faults import (
    BAD_PARAMS,
    BadAnswer,
    BoardRestarted,
    HalfAnswer,
    HashDiffers,
    MicroFault,
    NothingLoaded,
    Refused,
    ResetAmidCall,
    Stalled,
)
from .rpc_call import RpcClient

MOST_ASKS = 3
"""Of one call whose answer was lost; each of them can be asked again without harm."""
MOST_ROUNDS = 2
"""Of a block: one whose hash differs is sent again once."""

LoadProgress = Callable[[int, int], None]
"""Called with the bytes that are there and the bytes in all."""


class Loaded(NamedTuple):
    """A block that is on the board.

    Attributes:
        sha256: of it.
        sent_bytes: by the round that succeeded; 0 where all of it was there.
        rounds: 1 unless its hash differed at first.
    """

    sha256: str
    sent_bytes: int
    rounds: int


class _SentInVain(Exception):
    """All of a block came, and what is there has another hash: the fault to end with."""

    def __init__(self, fault: MicroFault) -> None:
        super().__init__(fault.what)
        self.fault = fault


class BlockLoading:
    """One block on its way to a board.

    Args:
        client: of the board.
        piece_bytes: most of one piece, as the board says.
        block: which.
        data: at least one byte.
        table: of a model, what each pixel's value becomes in its input: 256 bytes, or 768 for R, G and B.
    """

    def __init__(
        self, client: RpcClient, piece_bytes: int, block: Block, data: bytes, table: bytes | None
    ) -> None:
        if not data:
            raise ValueError(f"the block {block} is empty")
        if (block == "model") != (table is not None) or len(table or bytes(256)) not in (256, 768):
            raise ValueError("a model, and nothing else, comes with a table of 256 or 768 bytes")
        self._client = client
        self._piece_bytes = min(piece_bytes, MOST_PIECE_BYTES)
        self._block = block
        self._data = data
        self._table = table
        self._sha256 = hashlib.sha256(data).hexdigest()

    def load(self, progress: LoadProgress) -> Loaded:
        """Send what is not there.

        Raises:
            HashDiffers: twice.
            ModelRefused, TooLarge: the board does not take it.
            BoardRestarted: the board lost what it had acknowledged.
            MicroFault: a call's, after MOST_ASKS where its answer was lost.
        """
        for round_number in range(1, MOST_ROUNDS + 1):
            try:
                sent_bytes = self._send(progress)
            except _SentInVain as vain:
                fault = vain.fault
                continue
            return Loaded(self._sha256, sent_bytes, round_number)
        raise fault

    def _send(self, progress: LoadProgress) -> int:
        size = len(self._data)
        first = held = self._begin()
        progress(held, size)
        while held < size:
            held = self._send_piece(held)
            progress(held, size)
        return size - first

    def _begin(self) -> int:
        """How much is there."""
        params: dict[str, Any] = {"block": self._block, "sha256": self._sha256, "size": len(self._data)}
        if self._table is not None:
            params["table"] = base64.b64encode(self._table).decode()
        held = self._ask(params, 0.0)
        if held > len(self._data):
            raise BadAnswer("load", f"held: {held:,} bytes of a {self._block} of {len(self._data):,}")
        return held

    def _send_piece(self, offset: int) -> int:
        """How much is there with the piece from `offset` on."""
        piece = self._data[offset : offset + self._piece_bytes]
        end = offset + len(piece)
        is_last = end == len(self._data)
        params = {
            "block": self._block,
            "sha256": self._sha256,
            "offset": offset,
            "data": base64.b64encode(piece).decode(),
        }
        more_s = self._client.limits.build_s if is_last and self._block == "model" else 0.0
        self._asks = 0
        try:
            held = self._ask(params, more_s)
        except HashDiffers as fault:
            raise _SentInVain(fault) from None
        except Refused as fault:
            if not isinstance(fault, NothingLoaded) and fault.code != BAD_PARAMS:
                raise
            # The lost answer to the last piece can have been that the hash differs.
            is_repeat_of_last = is_last and self._asks > 1
            raise self._why_refused(fault, offset, is_repeat_of_last) from fault
        if held != end:
            raise BadAnswer("load", f"held: {held:,} bytes behind a piece that ends at {end:,}")
        return held

    def _why_refused(self, fault: Refused, offset: int, is_repeat_of_last: bool) -> Exception:
        """What the refusal of a piece means that follows on what was acknowledged."""
        held = self._begin()
        if held >= offset:
            return fault
        if is_repeat_of_last:
            return _SentInVain(fault)
        return BoardRestarted(
            f"it has {held:,} bytes of the {self._block}, and had acknowledged {offset:,}: "
            "or another program loads it, too"
        )

    def _ask(self, params: dict[str, Any], more_s: float) -> int:
        """A call of `load`, again where its answer was lost."""
        for self._asks in range(1, MOST_ASKS + 1):
            try:
                return self._client.call("load", params, HeldAnswer, more_s=more_s).answer.held
            except (Stalled, ResetAmidCall, HalfAnswer) as lost:
                fault = lost
        raise fault
