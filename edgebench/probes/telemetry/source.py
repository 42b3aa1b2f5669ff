"""A source of telemetry: channels that are read together, on small files that stay open."""

import glob
import os
import re
from typing import Callable, List, NamedTuple, Optional

MAX_FILES = 16
NAN = float("nan")

Channel = NamedTuple("Channel", [("name", str), ("quantity", str), ("unit", str)])


class Source(NamedTuple):
    """Channels that are read together; `left_out` says what else was there and is not read, and why."""

    channels: List[Channel]
    read: Callable[[], List[float]]
    left_out: str = ""


Find = Callable[[str, Optional[int]], Source]
"""Looks for a source below a root folder, for a worker's process; Absent where there is none."""


class Absent(Exception):
    """Why a source is not there."""


def channels_of(quantity: str, unit: str, *names: str) -> List[Channel]:
    """Channels of one quantity."""
    return [Channel(name, quantity, unit) for name in names]


class OpenFile:
    """A small file that is opened once and read again and again."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self.text()

    def text(self) -> str:
        """What it holds now, up to 4096 bytes."""
        return os.pread(self._descriptor, 4096, 0).decode("ascii", "replace")

    def number(self) -> float:
        """Its only number, or no number where it cannot be had now."""
        return number_or_nan(lambda: float(self.text()))


def open_numbers(paths: List[str], why: str = "there is none") -> List[OpenFile]:
    """Those files that can be read as a number; Absent with the reason, `why` of no files, where none can."""
    files = []
    for path in paths[:MAX_FILES]:
        try:
            file = OpenFile(path)
            float(file.text())
            files.append(file)
        except (OSError, ValueError) as error:
            why = str(error)
    if not files:
        raise Absent(why)
    return files


def files_left_out(files: List[OpenFile], *kinds: List[str]) -> str:
    """Why fewer files are read than there are of each kind; nothing where all are."""
    there, tried = sum(map(len, kinds)), sum(min(len(paths), MAX_FILES) for paths in kinds)
    most = "{} of {} are read (at most {})".format(len(files), there, MAX_FILES) if tried < there else ""
    mute = "{} of {} cannot be read".format(tried - len(files), there) if len(files) < tried else ""
    return "; ".join(filter(None, (most, mute)))


def number_or_nan(read: Callable[[], float]) -> float:
    """What is read, or no number where that fails."""
    try:
        return read()
    except (OSError, ValueError):
        return NAN


def readable_numbers(files: List[OpenFile]) -> List[float]:
    """The numbers of those files that can be read now."""
    return [value for value in (file.number() for file in files) if value == value]


def stripped_text(path: str) -> str:
    """The start of a file, stripped."""
    with open(path, "rb") as file:
        return file.read(4096).decode("ascii", "replace").strip()


def trailing_number(path: str) -> int:
    """The number that a folder's name ends with; -1 where it ends with none."""
    match = re.search(r"(\d+)$", path)
    return int(match.group(1)) if match else -1


def numbered_folders(folder: str, pattern: str) -> List[str]:
    """The folders of a pattern by their numbers: policy10 comes after policy9."""
    return sorted(glob.glob(os.path.join(folder, pattern)), key=trailing_number)
