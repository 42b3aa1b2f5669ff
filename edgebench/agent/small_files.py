"""Small files of /proc, /sys and /etc, read below any root and never without bound."""

import os
import re

MAX_TEXT = 4096
MAX_TABLE = 1 << 20


class Absent(Exception):
    """Why a fact cannot be had."""


def text(root: str, path: str, most: int = MAX_TEXT) -> str:
    """The file's text without the zero that ends those of the device tree; OSError when it is not there."""
    with open(os.path.join(root, path), "rb") as file:
        return file.read(most).decode("utf-8", "replace").strip("\0\n ")


def field(root: str, path: str, *names: str) -> str:
    """The value of the first of those names in a file of `name: value` or `name=value` lines."""
    table = text(root, path, MAX_TABLE)
    for name in names:
        match = re.search(r"^{}\s*[:=]\s*(.+)$".format(re.escape(name)), table, re.MULTILINE)
        if match:
            return match.group(1).strip().strip('"')
    raise Absent("/{} has no {}".format(path, " or ".join(names)))
