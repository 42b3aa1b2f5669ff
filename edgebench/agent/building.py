"""Building on the board: a runner makes the file that it loads, once, and it is kept by what decides it.

A build is made in a scratch folder of its own, checked, hashed and moved into the board's folder under its
hash, like any file that travels there; a small file `<key>.built` says which build it is. Both appear by a
rename, so that a build which fails, is ended or runs out of disk leaves nothing that counts.
"""

import errno
import hashlib
import importlib
import json
import os
import stat
import sys
import threading
import time
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Dict, NamedTuple, Optional

from .bootstrap import make_private, require_private
from .clock import Clock
from .files import FileStore, name_of, remove_tree, require_content, require_digest
from .frames import Message

CALIBRATION = "calibration"
"""The companion, its suffix aside, that `build` is given as its calibration."""

FORMAT = 1
REPORT_EVERY_S = 0.2
MOST_TEXT = 200
_NOTE_BYTES = 4096

Tell = Callable[[Message], None]

Built = NamedTuple(
    "Built", [("path", str), ("sha256", str), ("size", int), ("seconds", float), ("cached", bool)]
)
"""A file that was built here: its path, name and size, and how long building took (also of a kept one)."""


class BuildFailed(Exception):
    """A runner's `build` returned something else than a file of its folder."""


class DiskFull(Exception):
    """The disk took no more while a build was written."""

    session_status = "disk_full"


class BuildProgress:
    """What a runner's `build` calls as `progress(done, total, text)`, from any thread.

    `done` steps of `total` (0 where that is unknown). A note goes out for what is further than before,
    a few times a second at most, whatever the runner does: saying the same again is no progress.

    Args:
        tell: sends a note.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._done = 0
        self._reported_at = float("-inf")
        self._over = False

    def __call__(self, done: int, total: int = 0, text: str = "") -> None:
        """Take in how far the build is; ValueError for what is no count."""
        done, total = int(done), int(total)
        if done < 0 or total < 0 or (total and done > total):
            raise ValueError(
                "progress({}, {}): the steps that are done have to be 0 to the total".format(done, total)
            )
        with self._lock:
            now = time.monotonic()
            if self._over or done <= self._done or now - self._reported_at < REPORT_EVERY_S:
                return
            self._done, self._reported_at = done, now
            self._tell({"progress": done, "total": total, "text": str(text)[:MOST_TEXT]})

    def end(self) -> None:
        """Nothing is sent any more: a thread of the runner's may outlive the build."""
        with self._lock:
            self._over = True


def build(runner: ModuleType, request: Message, scratch: str, tell: Tell, clock: Clock) -> Built:
    """The build that a request asks for: a kept one, or else a new one.

    Args:
        runner: with `build`, `build_version` and perhaps BUILD_OPTIONS, as runner_contract.py has them.
        request: `source` and `companions` as files with path and SHA-256, the runner's `code`, and `options`.
        scratch: a folder that is made for this build in the board's folder, and removed after it.
        tell: sends a note of progress.
        clock: of this board.

    Raises:
        WrongContent: a file is another one than the host asked for.
        BuildFailed: `build` gave nothing, or nothing that may be kept.
        DiskFull: the disk took no more.
        UnsafeFolder: another user can write the board's folder.
    """
    functions: Any = runner
    for name in ("build", "build_version"):
        if not hasattr(runner, name):
            words = "the backend says that its device builds, but its runner has no function {}"
            raise BuildFailed(words.format(name))
    version = functions.build_version()
    if not isinstance(version, str) or not version.strip():
        raise BuildFailed("build_version() gave {!r} instead of the runtime and its version".format(version))
    source, companions = request["source"], request.get("companions") or {}
    for file in [source] + list(companions.values()):
        require_content(file["path"], file["sha256"])
    folder = os.path.dirname(scratch)
    store = FileStore(folder)
    names: Any = getattr(runner, "BUILD_OPTIONS", request["options"])  # the others decide nothing
    chosen = {name: value for name, value in request["options"].items() if name in names}
    key = build_key(dict(request, options=chosen), version)
    kept = _stored_build(store, key)
    if kept is not None:
        return kept
    progress = BuildProgress(tell)
    calibration = next(
        (file["path"] for name, file in companions.items() if os.path.splitext(name)[0] == CALIBRATION), None
    )
    options = dict(chosen, **companion_option(companions))
    try:
        make_private(folder)
        require_private(folder)
        remove_tree(scratch)
        os.mkdir(scratch, 0o700)
        began = clock()
        result = functions.build(source["path"], calibration, scratch, options, progress)
        seconds = (clock() - began) / 1e9
        path = _require_result(result, scratch)
        return _store_build(store, key, path, seconds, scratch)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("the disk of {} is full: {}".format(folder, error)) from error
        raise
    finally:
        progress.end()
        remove_tree(scratch)


def build_key(request: Message, version: str) -> str:
    """The hex SHA-256 of all that decides a build: files, options, and the runtime as the runner names it."""
    companions = request.get("companions") or {}
    decides = {
        "format": FORMAT,
        "code": {module: file["sha256"] for module, file in request["code"]["files"].items()},
        "source": request["source"]["sha256"],
        "companions": {name: file["sha256"] for name, file in companions.items()},
        "options": request["options"],
        "version": version,
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode("utf-8")).hexdigest()


def companion_option(companions: Dict[str, Message]) -> Dict[str, Dict[str, str]]:
    """The path of each of an artifact's companions by name, as a part of a runner's options."""
    if not companions:
        return {}
    return {"companions": {name: file["path"] for name, file in companions.items()}}


def _require_result(result: Any, scratch: str) -> str:
    """The path of the file that was built; BuildFailed for anything but a file in the scratch folder."""
    try:
        path = os.path.abspath(os.fsdecode(result))
    except TypeError:
        raise BuildFailed("build() gave {!r} instead of the path of a file".format(result)) from None
    within = os.path.join(os.path.realpath(scratch), "")
    if not os.path.join(os.path.realpath(os.path.dirname(path)), "").startswith(within):
        raise BuildFailed("build() gave {}, which is not in its cache_dir".format(path))
    try:
        about = os.lstat(path)
    except OSError:
        raise BuildFailed("build() gave {}, and there is no such file".format(path)) from None
    for fault, is_found in (
        ("a folder", stat.S_ISDIR(about.st_mode)),
        (
            "a link or no plain file: copy its content",
            not stat.S_ISREG(about.st_mode) or about.st_nlink > 1,
        ),
        ("empty", not about.st_size),
    ):
        if is_found:
            raise BuildFailed("build() gave {}, which is {}".format(path, fault))
    return path


def _store_build(store: FileStore, key: str, path: str, seconds: float, scratch: str) -> Built:
    """Move a build into the board's folder; the note that names it comes last."""
    size = os.path.getsize(path)
    name = name_of(path)
    note = os.path.join(scratch, "{}.built".format(key))
    with open(note, "w") as file:
        json.dump({"name": name, "size": size, "seconds": seconds}, file)
    # From here on nothing needs room on the disk.
    place = store.adopt(path, name)
    os.replace(note, store.path("{}.built".format(key)))
    return Built(place, name[:64], size, seconds, cached=False)


def _stored_build(store: FileStore, key: str) -> Optional[Built]:
    """A kept build, whole and unchanged; None without one."""
    try:
        with open(store.path("{}.built".format(key))) as file:
            note = json.loads(file.read(_NOTE_BYTES))
        path = store.have(note["name"])
        size, seconds = int(note["size"]), float(note["seconds"])
        name: str = note["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if path is None else Built(path, name[:64], size, seconds, cached=True)


# Python files that the host has sent, imported below one package as they lay in folders on the host.
#
# `from .name import ...` finds a file that lay beside the importing one, `from ..name` one in the folder
# above,
# whatever the files are called on the board. Code runs from the very bytes that were hashed.


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
        """The spec of a module that was sent, or of a folder of such modules; None for any other."""
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
