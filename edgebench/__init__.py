"""EdgeBench: which edge device, with which model, satisfies the requirements of this task?

Importing this package loads no runtime, starts no process and reads no device. `edgebench.load(path)`
gives a result folder as pandas frames; `edgebench.load("latest")` the newest one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgebench.store.load import Results, load

__version__ = "0.1.0"
__all__ = ["Results", "__version__", "load"]


def __dir__() -> list[str]:
    """The public names, those that are loaded on first use among them."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """`load` and `Results` on first use, so that `import edgebench` stays light."""
    if name in {"load", "Results"}:
        from edgebench.store import load as module

        return getattr(module, name)
    raise AttributeError(f"module 'edgebench' has no attribute {name!r}")
