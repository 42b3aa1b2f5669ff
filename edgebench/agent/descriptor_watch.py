"""What the supervisor sleeps on: the descriptors of the host and of its children, and what each one calls."""

import selectors
from typing import Callable, Dict, NamedTuple, Optional

from .children import Child
from .frames import Frame

Hear = Callable[[Frame], None]

_Watched = NamedTuple("_Watched", [("handle", Callable[[], None]), ("holdable", bool)])


class DescriptorWatch:
    """Calls whoever watches a descriptor when it can be read from, or written to."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._held_back: Dict[int, _Watched] = {}  # the frames of children that are not read for now

    def read(self, descriptor: int, handle: Callable[[], None]) -> None:
        """Call `handle` whenever the descriptor has something to read, or its end."""
        self._selector.register(descriptor, selectors.EVENT_READ, _Watched(handle, holdable=False))

    def write(self, descriptor: int, flush: Callable[[], bool]) -> None:
        """Write what is taken in now, and what `flush` says is left when there is room."""
        if not flush():
            self.ignore(descriptor)
        elif descriptor not in self._selector.get_map():
            again = _Watched(lambda: self.write(descriptor, flush), holdable=False)
            self._selector.register(descriptor, selectors.EVENT_WRITE, again)

    def add_child(self, child: Child, hear: Hear) -> None:
        """Read a child's pipes from now on: `hear` is called with each of its frames."""
        frames = _Watched(lambda: self._read_frames(child, hear), holdable=True)
        self._selector.register(child.stdout, selectors.EVENT_READ, frames)
        self.read(child.stderr, lambda: self._read_tail(child))

    def close_child(self, child: Child) -> None:
        """End a child and whatever is in its group, and watch it no more."""
        for descriptor in (child.stdout, child.stderr, child.outgoing.descriptor):
            self.ignore(descriptor)
        child.close()

    def ignore(self, descriptor: int) -> None:
        """Watch a descriptor no more, if it was watched."""
        self._held_back.pop(descriptor, None)
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def hold_back(self, holding: bool) -> None:
        """Read the children's frames no more for now, or again."""
        if holding:
            for key in list(self._selector.get_map().values()):
                if key.data.holdable:
                    self._held_back[key.fd] = key.data
                    self._selector.unregister(key.fd)
        else:
            while self._held_back:
                descriptor, watched = self._held_back.popitem()
                self._selector.register(descriptor, selectors.EVENT_READ, watched)

    def wait(self, timeout_s: Optional[float]) -> None:
        """Sleep until something is ready, and handle all that is."""
        for key, _events in self._selector.select(timeout_s):
            if self._selector.get_map().get(key.fd) is key:  # else what came before it has ended its child
                key.data.handle()

    def _read_tail(self, child: Child) -> None:
        if not child.read_tail():
            self.ignore(child.stderr)

    def _read_frames(self, child: Child, hear: Hear) -> None:
        arrived = child.read_frames()
        if arrived is None or not child.pass_on(arrived, hear):
            self.ignore(child.stdout)
