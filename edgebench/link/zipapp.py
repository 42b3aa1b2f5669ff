"""The agent as one file: a zipapp of `edgebench.agent` whose bytes, and so whose hash, are stable."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from pathlib import Path

import edgebench.agent
from edgebench.atomic import write_atomically
from edgebench.cache.objects import Cache, unwritable
from edgebench.errors import UnavailableError

PACKAGE = "edgebench_agent"
_MAIN = f"import sys\n\nfrom {PACKAGE}.main import main\n\nsys.exit(main(sys.argv[1:]))\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def agent_bytes() -> bytes:
    """The zipapp's bytes: the same sources give the same bytes on every machine."""
    folder = Path(edgebench.agent.__file__).parent
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", _EPOCH), _MAIN)
        for source in sorted(folder.glob("*.py")):
            archive.writestr(zipfile.ZipInfo(f"{PACKAGE}/{source.name}", _EPOCH), source.read_bytes())
    return held.getvalue()


def whole_agent(path: Path) -> bytes:
    """The bytes of the zipapp that lies there under its hash; where the file is damaged, it is made again.

    A file that no hash names is taken as it is.

    Raises:
        UnavailableError: the file cannot be made again.
    """
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == path.stem or not re.fullmatch("[0-9a-f]{64}", path.stem):
            return data
    except OSError:
        pass  # it is gone
    data = agent_bytes()
    if hashlib.sha256(data).hexdigest() != path.stem:
        raise UnavailableError(
            f"the agent {path.name} is damaged",
            why="EdgeBench has changed since it was made",
            fix="run again",
        )
    try:
        write_atomically(path, data)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    return data


def agent_file(cache: Cache) -> tuple[Path, str]:
    """The zipapp in the cache: its path and SHA-256."""
    return cache.add_bytes(agent_bytes(), ".pyz")
