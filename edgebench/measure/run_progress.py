"""How far a run is: sessions counted over all targets and hosts, and told to whoever watches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import InitVar, dataclass, field

from edgebench.measure.progress import Observer, RunState, SessionState
from edgebench.measure.session_latency import SessionLatency
from edgebench.plan.estimate import Span, longest


@dataclass
class RunProgress:
    """What the lanes of a run say of themselves, put together.

    Args:
        observer: who watches.
        hosts: on which anything is measured.
        sessions: still to be measured.
        at_most: whether a rule may end trials before they have all of them.
        lock: held wherever lanes meet.
        beside_others: whether this machine is measured while it drives other boards: what these do within
            their sessions is then drawn when this machine is between two passes itself.
    """

    observer: Observer
    hosts: InitVar[Iterable[str]]
    sessions: int
    at_most: bool
    lock: AbstractContextManager[object]
    beside_others: bool = False
    _begun: int = field(default=0, init=False)
    _ended: int = field(default=0, init=False)
    _left: dict[str, Span] = field(default_factory=dict, init=False)
    _in_hand: dict[str, SessionState] = field(default_factory=dict, init=False)

    def __post_init__(self, hosts: Iterable[str]) -> None:
        # A host that has not begun yet may take however long.
        self._left = {host: Span(0.0, math.inf) for host in hosts}

    def begins(self, host: str, label: str, left: Span) -> None:
        """A session begins on a host, which has so much before it, this session included."""
        with self.lock:
            self._begun += 1
            session = self._take(SessionState(host, label), left)
            self.observer.session_starts(self._run(), session)

    def moves(self, session: SessionState, left: Callable[[], Span], *, begins: bool) -> None:
        """A session is further; `left` is only asked where somebody looks."""
        if not self.observer.moves(begins=begins):
            return
        with self.lock:
            self._take(session, left())
            if self.beside_others and session.host:
                return
            self.observer.sessions_move(self._run(), list(self._in_hand.values()))

    def ended(
        self, host: str, label: str, latency: SessionLatency | None, status: str, took_s: float
    ) -> None:
        """A session ended; one that never began, because its device was not reached, is told alike."""
        with self.lock:
            if self._in_hand.pop(host, None) is not None:
                self._ended += 1
            self.observer.session_ended(SessionState(host, label), latency, status, took_s)

    def host_ended(self, host: str) -> None:
        """A host has nothing more to do."""
        with self.lock:
            self._left.pop(host, None)
            self._in_hand.pop(host, None)
            self.observer.host_ended(host)

    def add(self, sessions: int) -> None:
        """So many sessions more: one that failed is measured again; fewer where it is negative."""
        with self.lock:
            self.sessions += sessions

    def _take(self, session: SessionState, left: Span) -> SessionState:
        self._in_hand[session.host] = session
        self._left[session.host] = left
        return session

    def _run(self) -> RunState:
        done = self._ended + sum(session.share for session in self._in_hand.values())
        total = max(self.sessions, self._begun, 1)
        left = longest(list(self._left.values()))
        return RunState(self._begun, total, left, min(done / total, 1.0), self.at_most)
