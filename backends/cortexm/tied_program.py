"""Runs a program for as long as this process's standard input is open, however whoever holds it ends.

    python -m edgebench.backends.cortexm.tied_program FOLDER DESCRIPTOR PROGRAM [ARGUMENT ...]

What the system does for a child (PR_SET_PDEATHSIG) goes by the thread that started it: a run has several,
this process has one. FOLDER is removed with all that is in it when the program has ended; DESCRIPTOR
is passed on to it.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys

from edgebench.agent.children import end_with_parent


def main(arguments: list[str]) -> int:
    """The program's exit status; of one that was ended here, that of the signal as a negative number."""
    folder, descriptor, *command = arguments
    try:
        running, held_by_program = os.pipe()  # the program never writes: it is readable once that has ended
        program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(int(descriptor), held_by_program),
            preexec_fn=end_with_parent(),  # this process has one thread
        )
        os.close(held_by_program)
        os.close(int(descriptor))
        select.select([sys.stdin.fileno(), running], [], [])
        program.kill()
        return program.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
