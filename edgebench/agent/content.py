"""Files whose content is what was asked for, by SHA-256: code runs from the very bytes that were hashed."""

import hashlib
import importlib.util
import sys
from types import ModuleType

_READ_BYTES = 1 << 20


class WrongContent(Exception):
    """A file does not hold what the host asked for."""


def sha256_of(path: str) -> str:
    """The hex SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(_READ_BYTES), b""):
            digest.update(piece)
    return digest.hexdigest()


def require_content(path: str, sha256: str) -> None:
    """WrongContent when the file's bytes have another SHA-256."""
    _require(path, sha256_of(path), sha256)


def module_from(path: str, name: str, sha256: str) -> ModuleType:
    """The file as a module of that name, read once; WrongContent, and nothing run, when it is another file.

    What Python compiled of it before is not read: a .pyc carries no hash of its source.
    """
    with open(path, "rb") as file:
        source = file.read()
    _require(path, hashlib.sha256(source).hexdigest(), sha256)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ImportError("{} is not a Python file".format(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def _require(path: str, found: str, sha256: str) -> None:
    if found != sha256:
        raise WrongContent(
            "{} is not the file that was asked for: its SHA-256 begins with {}, not {}".format(
                path, found[:12], sha256[:12]
            )
        )
