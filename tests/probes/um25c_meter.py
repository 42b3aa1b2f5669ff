"""A stand-in for a UM25C behind a pty: it answers the byte F0 with frames, whole, in pieces or spoilt."""

import contextlib
import os
import select
import struct
import threading
import tty

MODELS = {"UM24C": (0x0963, 100, 1000), "UM25C": (0x09C9, 1000, 10000), "UM34C": (0x0D4C, 100, 1000)}


def frame(volts=5.0, amperes=1.0, model="UM25C", watts=None):
    """130 bytes as the meter sends them."""
    word, per_volt, per_ampere = MODELS[model]
    milliwatts = round((volts * amperes if watts is None else watts) * 1000)
    head = struct.pack(
        ">HHHIHH", word, round(volts * per_volt), round(amperes * per_ampere), milliwatts, 25, 77
    )
    groups = b"".join(struct.pack(">II", 10 * group, 50 * group) for group in range(10))
    tail = struct.pack(">HHHIIHIHHIHH", 12, 34, 1, 100, 500, 10, 60, 0, 0, 50, 0, 0xFFF1)
    return (head + struct.pack(">H", 0) + groups + tail).ljust(130, b"\0")


class StandIn:
    """Answers at `path`, a link to its pty, until it is closed.

    Args:
        path: of the link.
        answer: called with the number of the request, from 0; the pieces of the answer.
    """

    def __init__(self, path, answer=lambda n: [frame()]):
        self.path = str(path)
        self._answer = answer
        self.requests = 0
        self._master = self._slave = -1
        self._thread = None
        self.plug_in()

    def plug_in(self):
        """Have it there, as a new device of the same name."""
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        temporary = self.path + ".new"
        os.symlink(os.ttyname(self._slave), temporary)
        os.replace(temporary, self.path)
        self._quit, self._quitter = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def unplug(self):
        """Have it gone: its port hangs up and its name is no more."""
        if self._thread is None:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        os.write(self._quitter, b"x")
        self._thread.join(10)
        self._thread = None
        for descriptor in (self._slave, self._master, self._quit, self._quitter):
            os.close(descriptor)

    def _serve(self):
        while self._quit not in select.select([self._master, self._quit], [], [])[0]:
            for _ in os.read(self._master, 100):
                number, self.requests = self.requests, self.requests + 1
                for piece in self._answer(number):
                    os.write(self._master, piece)
