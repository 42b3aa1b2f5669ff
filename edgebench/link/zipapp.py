"""The agent as one file: a zipapp of `edgebench.agent` whose bytes, and so whose hash, are stable."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import edgebench.agent
from edgebench.models.cache import Cache

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


def agent_file(cache: Cache) -> tuple[Path, str]:
    """The zipapp in the cache: its path and SHA-256."""
    return cache.add_bytes(agent_bytes(), ".pyz")
