"""Why a worker died by a signal in libedgetpu, and how a board gets a runtime that fits it."""

from __future__ import annotations

import re

from edgebench.errors import SessionError

SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
STAGES = ("load", "golden")  # a delegate that does not fit dies when it is loaded or at the first inference
# What the runner writes to stderr before and after.
LOADING = re.compile(
    r"^edgebench: loading the delegate (?P<delegate>.{1,300}) under (?P<runtime>.{1,120}), "
    r"Python (?P<python>[0-9][0-9A-Za-z.+]{0,20})$",
    re.MULTILINE,
)
READY = "edgebench: the delegate is ready"

NEWEST_THAT_FITS = (2, 11)
PAIRS = (
    "Google's libedgetpu 16.0 works with TFLite up to about 2.11 (tflite-runtime 2.11.0 on Python 3.7 to "
    "3.9, or Google's pycoral 2.0 with its own tflite-runtime 2.5); newer runtimes need a libedgetpu that "
    "was built against the same TFLite"
)
ENVIRONMENT = (
    "python3.9 -m venv ~/coral && ~/coral/bin/pip install 'tflite-runtime==2.11.0' 'numpy<2'",
    "--python /home/USER/coral/bin/python",
)
"""What makes the pinned environment on a board, and the option that names its Python."""

HOW = (
    f"on the board, with its Python 3.7, 3.8 or 3.9: `{ENVIRONMENT[0]}`, then add {ENVIRONMENT[1]}; or "
    "install the libedgetpu that was built for the runtime that is there"
)


def misfit(name: str, version: str) -> str:
    """What is to be said of a runtime that Google's libedgetpu most likely does not fit; nothing of others.

    A tflite-runtime that does not tell its version is one of the others.
    """
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if name == "tflite-runtime" and (len(numbers) < 2 or numbers <= NEWEST_THAT_FITS):
        return ""
    return f"{name} {version}, and {PAIRS}"


def explain(error: SessionError) -> SessionError | None:
    """The crash as what it most likely is; None for any other failure."""
    begun = list(LOADING.finditer(error.stderr_tail))
    if error.signal not in SIGNALS or error.stage not in STAGES or not begun:
        return None
    last = begun[-1]
    ready = READY in error.stderr_tail[last.end() :]
    if error.stage == "load" and ready:
        return None
    doing = "at its first inference" if ready else "while it was loaded"
    return SessionError(
        f"the Edge TPU's delegate crashed {doing}",
        status=error.status,
        stage=error.stage,
        signal=error.signal,
        stderr_tail=error.stderr_tail,
        why=f"{error.signal} in {last['delegate']} under {last['runtime']}, Python {last['python']}: most "
        f"likely it was built against another TFLite; {PAIRS}",
        fix=HOW,
    )
