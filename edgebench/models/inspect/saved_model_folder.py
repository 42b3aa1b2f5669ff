"""A SavedModel's folder as a model file: whether it is one, its files, its hash."""

from __future__ import annotations

import hashlib
from pathlib import Path

from edgebench.cache.objects import sha256_file
from edgebench.errors import InputError

_MAX_FILES = 10_000


def is_saved_model(path: Path) -> bool:
    """Whether it is a folder as TensorFlow and Keras export it."""
    return (path / "saved_model.pb").is_file()


def folder_files(folder: Path) -> list[Path]:
    """All files below it in order; InputError where there are more than a model has, or a pipe or device."""
    entries = sorted(folder.rglob("*"))
    files = [path for path in entries if path.is_file()]
    others = [path for path in entries if path.exists() and not (path.is_file() or path.is_dir())]
    if others:
        raise InputError(
            f"{folder} holds {others[0].name}, which is no file",
            why="reading a pipe, a socket or a device may never end",
            fix="remove it, or export the model again",
        )
    if len(files) > _MAX_FILES:
        raise InputError(
            f"{folder} holds {len(files)} files", why="a SavedModel has a few", fix="name its folder alone"
        )
    return files


def folder_sha256(folder: Path) -> str:
    """The hex SHA-256 of a folder's files by relative name and content."""
    total = hashlib.sha256()
    for file in folder_files(folder):
        total.update(f"{file.relative_to(folder).as_posix()}\0{sha256_file(file)}\0".encode())
    return total.hexdigest()
