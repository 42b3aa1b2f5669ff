"""A vendor's library, asked what it is in a process of its own: none lives in the harness's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from edgebench.errors import UnavailableError

ASK_S = 120.0

Answer = TypeVar("Answer", bound=BaseModel)


def ask_library(
    name: str, program: Path, answer: type[Answer], python: str, env: Mapping[str, str]
) -> Answer:
    """What the program's last line says, which is JSON.

    Args:
        name: of the library, for messages.
        program: a file of Python.
        answer: what the line holds.
        python: what runs it.
        env: set beside this process's own environment.

    Raises:
        UnavailableError: that Python cannot be run, or gives no such line.
    """
    try:
        asked = subprocess.run(
            [python, str(program)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=ASK_S,
            check=False,
            env={**os.environ, **env},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{python} cannot be run", why=str(error), fix="name another Python") from None
    try:
        return answer.model_validate_json(asked.stdout.strip().splitlines()[-1])
    except (IndexError, ValidationError):
        last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UnavailableError(
            f"{name} cannot be asked by {python}", why=last, fix=f"try `{python} {program}`"
        ) from None
