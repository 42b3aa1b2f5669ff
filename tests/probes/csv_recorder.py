"""A stand-in for software that records power into a CSV file while a probe reads it."""

import threading
import time


class Recorder:
    """Adds a row every 10 ms until it is closed.

    Args:
        path: of the file.
        row: called with the number of the row; its line, or None for no row.
        header: the first line.
    """

    def __init__(self, path, row, header="t_s,p_mw"):
        self.path = str(path)
        self._row = row
        self._end = threading.Event()
        with open(self.path, "w") as file:
            file.write(header + "\n")
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def close(self):
        self._end.set()
        self._thread.join(10)

    def _write(self):
        number = 0
        with open(self.path, "a") as file:
            while not self._end.wait(0.01):
                if (line := self._row(number)) is not None:
                    file.write(line + "\n")
                    file.flush()
                number += 1


def five_watts(number):
    """5 W, in mW, at this moment."""
    return f"{time.time():.6f},5000"
