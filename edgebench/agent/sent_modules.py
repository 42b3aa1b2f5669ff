"""Python files that the host has sent, imported below one package as they lay in folders on the host.

`from .name import ...` finds a file that lay beside the importing one, `from ..name` one in the folder above,
whatever the files are called on the board. Code runs from the very bytes that were hashed.
"""

import hashlib
import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Dict, Optional

from .content import require_digest

INIT = "__init__"

SentFile = Dict[str, str]  # its `path` on this machine and its `sha256`


class SentModules:
    """Finds and loads the modules below one package; for `sys.meta_path`.

    Args:
        package: the name of the package that they are imported below.
        files: each by its dotted path below that package, such as `device.runner` or `meter.__init__`.
    """

    def __init__(self, package: str, files: Dict[str, SentFile]) -> None:
        self._package = package
        self._files = files

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """Of a module that was sent, or of a folder that holds such modules; None for any other."""
        if name != self._package and not name.startswith(self._package + "."):
            return None
        below = name[len(self._package) + 1 :]
        file = self._files.get(below)
        folder = below + "." if below else ""
        is_package = file is None and any(other.startswith(folder) for other in self._files)
        if is_package:
            file = self._files.get(folder + INIT)
        elif file is None:
            return None
        loader: Any = self
        spec = ModuleSpec(name, loader, origin=file["path"] if file else None, is_package=is_package)
        spec.has_location = file is not None
        spec.loader_state = file
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """A plain module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, read once; WrongContent, and nothing run, when it is not the file that was asked for.

        What Python compiled of it before is not read: a .pyc carries no hash of its source.
        """
        spec = module.__spec__
        file: Optional[SentFile] = spec.loader_state if spec else None
        if file is None:  # a folder
            return
        path = file["path"]
        with open(path, "rb") as opened:
            source = opened.read()
        require_digest(path, hashlib.sha256(source).hexdigest(), file["sha256"])
        exec(compile(source, path, "exec"), module.__dict__)


def import_sent(package: str, code: Dict[str, Any]) -> ModuleType:
    """The module that `code` calls its `entry`, imported below a package with all of its `files`."""
    finder: Any = SentModules(package, code["files"])
    sys.meta_path.insert(0, finder)
    entry = ".".join(part for part in [package] + code["entry"].split(".") if part != INIT)
    return importlib.import_module(entry)
