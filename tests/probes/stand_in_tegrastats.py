"""Stands for tegrastats: `stand_in_tegrastats.py MODE FILE --interval MS` prints the lines of a file.

Modes: `lines` one an interval; `dies` three of them, then an error; `stalls` one; `floods` as fast as it can;
`endless` no line's end; `nothing`; `deaf` as `lines`, and SIGTERM does not end it; `late` those of the file
at once, then nothing; `then-garbage` the first, then bytes that are no text.
"""

import itertools
import signal
import sys
import time


def main(mode: str, path: str, interval_ms: str) -> int:
    """Print as the mode says; the exit code."""
    out = sys.stdout.buffer
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    if mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "late":
        out.write(b"".join(lines))
        out.flush()
    if mode in ("nothing", "late"):
        time.sleep(600)
    for count, line in enumerate(itertools.cycle(lines)):
        if mode == "dies" and count == 3:
            sys.stderr.write("some words\nError: cannot read the power monitor\n")
            return 3
        if mode == "stalls" and count == 1:
            time.sleep(600)
        if mode == "endless" and count:
            line = b"x" * 20_000
        if mode == "then-garbage" and count:
            line = bytes(range(0x80, 0x100)) + b"\x1b[2J\n"
        out.write(line)
        out.flush()
        if mode not in ("floods", "endless"):
            time.sleep(int(interval_ms) / 1000)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[4]))
    except BrokenPipeError:
        sys.exit(1)
