"""Files that travel to the device: named by their hash, verified as they come, in place only when whole.

Nothing is kept in a folder that another user can write, and no file counts that another user owns or can
write. A file is hashed once a boot: a note next to it has size, times and inode of the verified file,
and in which boot. A file that changed, or that a power cut may have damaged, is hashed again. What a session
loads is hashed where it is loaded (`agent.content`), code each time and data once a connection.
"""

import hashlib
import os
import re
import shutil
import stat
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Tuple

from .bootstrap import make_private, others_write, owner_trusted, require_private
from .frames import Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Files whose content is what was asked for, by SHA-256.


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
    require_digest(path, sha256_of(path), sha256)


def require_digest(path: str, digest: str, sha256: str) -> None:
    """WrongContent when the digest of a file that was read is not the SHA-256 that was asked for."""
    if digest != sha256:
        raise WrongContent(
            "{} is not the file that was asked for: its SHA-256 begins with {}, not {}".format(
                path, digest[:12], sha256[:12]
            )
        )


_HASHED = r"[0-9a-f]{64}(\.[a-z0-9]{1,12})?"
_NAME = re.compile(_HASHED + r"\Z")
_OURS = re.compile(r"(" + _HASHED + r"(\.[0-9]{1,10}\.part|\.ok)?|lock)\Z")
_SCRATCH = re.compile(r"building-[0-9]{1,10}-[0-9]{1,10}\Z")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,12}\Z")
_OWN_SUFFIXES = frozenset({".part", ".ok", ".built"})  # of what lies beside files, and is no content
_BOOT = "/proc/sys/kernel/random/boot_id"

Removed = NamedTuple("Removed", [("files", int), ("size", int), ("left", int)])


class FileStore:
    """A folder of files named `<sha256><suffix>`.

    Args:
        folder: made when the first file comes.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._coming: Optional[_Coming] = None

    def path(self, name: str) -> str:
        """The path for a file of that name; ValueError for anything that is no hash."""
        if not isinstance(name, str) or not _NAME.match(name):
            raise ValueError("not a file name: {!r}".format(name))
        return os.path.join(self._folder, name)

    def have(self, name: str) -> Optional[str]:
        """The path of a file that is here, whole and unchanged; else None.

        UnsafeFolder when another user can write the folder.
        """
        path = self.path(name)
        try:
            require_private(self._folder)
            stamp = _stamp(path)
            if _noted(path) != stamp:
                if sha256_of(path) != name[:64]:
                    return None
                _note(path, stamp)
        except OSError:
            return None
        return path

    def put(self, name: str, offset: int, data: bytes, last: bool) -> str:
        """Add a piece at its offset; the last piece puts the verified whole in place.

        ValueError when the pieces do not follow on one another or the hash is another one, OSError when
        they cannot be written; either leaves nothing behind. UnsafeFolder when another user can write there.
        """
        path = self.path(name)
        if offset == 0:
            self.forget()
            make_private(self._folder)
            require_private(self._folder)
            self._coming = _Coming(path)
        coming = self._coming
        if coming is None or coming.path != path or coming.size != offset:
            raise ValueError("a piece of {} is missing before byte {}".format(name, offset))
        try:
            coming.add(data)
            if last:
                coming.finish(name[:64])
                self._coming = None
        except (OSError, ValueError):
            self.forget()
            raise
        return path

    def adopt(self, path: str, name: str) -> str:
        """Rename a file of that name's content, made on this disk, into place; its path there."""
        place = self.path(name)
        os.chmod(path, 0o600)
        os.replace(path, place)
        _note(place, _stamp(place))
        return place

    def scratch(self, number: int) -> str:
        """A folder in which a process of this agent may make files; nothing in it counts."""
        return os.path.join(self._folder, "building-{}-{}".format(os.getpid(), number))

    def free_bytes(self) -> int:
        """What the user may still write on the disk that holds the folder, or would hold it."""
        folder = os.path.abspath(self._folder)
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        disk = os.statvfs(folder)
        return disk.f_bavail * disk.f_frsize

    def kept_bytes(self) -> int:
        """The size of all files that EdgeBench put here."""
        ours = [name for name in _entry_names(self._folder) if _OURS.match(name)]
        return sum(os.lstat(os.path.join(self._folder, name)).st_size for name in ours)

    def forget(self) -> None:
        """Drop a file that has not come whole."""
        if self._coming is not None:
            self._coming.drop()
            self._coming = None

    def sweep(self) -> None:
        """Remove what broken transfers and builds left; for who holds the board's lock."""
        for name in _entry_names(self._folder):
            path = os.path.join(self._folder, name)
            if name.endswith(".part") and _OURS.match(name):
                _unlink(path)
            elif _SCRATCH.match(name):
                remove_tree(path)

    def clean(self) -> Removed:
        """Remove what EdgeBench put here, and the folder when nothing else is in it."""
        self.forget()
        names = _entry_names(self._folder)
        scratch = [name for name in names if _SCRATCH.match(name)]
        for name in scratch:
            remove_tree(os.path.join(self._folder, name))
        ours = [os.path.join(self._folder, name) for name in names if _OURS.match(name)]
        size = sum(os.lstat(path).st_size for path in ours)
        for path in ours:
            os.unlink(path)
        left = len(names) - len(scratch) - len(ours)
        if not left:
            for folder in (self._folder, os.path.dirname(self._folder)):
                try:
                    os.rmdir(folder)
                except OSError:
                    break
        return Removed(len(ours), size, left)


def name_of(path: str) -> str:
    """What a file of these bytes is called in a FileStore."""
    suffix = os.path.splitext(path)[1].lower()
    return sha256_of(path) + (suffix if _SUFFIX.match(suffix) and suffix not in _OWN_SUFFIXES else "")


class _Coming:
    """A file on its way, hashed as it comes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self._part = "{}.{}.part".format(path, os.getpid())
        self._digest = hashlib.sha256()
        self._file = os.fdopen(_new(self._part), "wb", 0)

    def add(self, data: bytes) -> None:
        view = memoryview(data)
        while view.nbytes:
            written = self._file.write(view)
            view = view[written or 0 :]
        self._digest.update(data)
        self.size += len(data)

    def finish(self, digest: str) -> None:
        self._file.close()
        if self._digest.hexdigest() != digest:
            raise ValueError("{} arrived damaged".format(os.path.basename(self.path)))
        os.replace(self._part, self.path)
        _note(self.path, _stamp(self.path))

    def drop(self) -> None:
        self._file.close()
        _unlink(self._part)


def _stamp(path: str) -> str:
    about = os.lstat(path)
    if not stat.S_ISREG(about.st_mode) or not owner_trusted(about) or others_write(path, about):
        raise FileNotFoundError(path)
    numbers = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
    # Nothing is flushed to the disk here, so what was verified before a power cut is not trusted after it.
    return "{} {}".format(" ".join(str(number) for number in numbers), boot())


def boot() -> str:
    """What the kernel calls itself since it booted: the same for every process of a machine, and no other."""
    try:
        with open(_BOOT) as file:
            return file.read(64).strip()
    except OSError:
        return "unknown"


def _noted(path: str) -> Optional[str]:
    try:
        with open(path + ".ok") as file:
            return file.read(512)
    except (OSError, ValueError):
        return None


def _note(path: str, stamp: str) -> None:
    try:
        with os.fdopen(_new(path + ".ok"), "w") as file:
            file.write(stamp)
    except OSError:
        pass  # it is hashed again the next time


def _new(path: str) -> int:
    """A file of this user alone, whatever lay there, and no file that a link leads to."""
    _unlink(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _entry_names(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def remove_tree(path: str) -> None:
    """Remove a folder and all in it, also where it was closed to its owner; links are not followed."""
    for parent, folders, _files in os.walk(path):
        for name in folders:
            if not os.path.islink(os.path.join(parent, name)):
                try:
                    os.chmod(os.path.join(parent, name), 0o700)
                except OSError:
                    pass  # it has gone meanwhile, or is another user's
    shutil.rmtree(path, ignore_errors=True)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


# Patches and samples of tensors as they lie in their files: golden patches, images.


def samples(path: str, tensors: List[Message]) -> List[Any]:
    """The samples of a .npz as tuples of one array an input; ValueError when they are not its tensors.

    Real numbers are quantised for an input of integers that has a `scale` and a `zero_point`.
    """
    import numpy

    with numpy.load(path) as stored:
        arrays = [
            numpy.ascontiguousarray(quantised(stored[str(place)], tensor))
            for place, tensor in enumerate(tensors)
        ]
    for array, tensor in zip(arrays, tensors):
        if array.dtype.name != tensor["dtype"] or list(array.shape[1:]) != list(tensor["shape"]):
            raise ValueError(
                "samples of {} {} for the input {} {}".format(
                    array.dtype, list(array.shape[1:]), tensor["dtype"], list(tensor["shape"])
                )
            )
    if not arrays or len({len(array) for array in arrays}) != 1 or not len(arrays[0]):
        raise ValueError("the inputs have not as many samples each")
    return list(zip(*arrays))


def quantised(array: "NDArray[Any]", tensor: Message) -> "NDArray[Any]":
    """Real numbers as round(real / scale) + zero_point in an input's integers, clipped; all else as it is."""
    import numpy

    dtype, scale = numpy.dtype(tensor["dtype"]), tensor.get("scale")
    if array.dtype.kind != "f" or dtype.kind not in "iu" or not scale:
        return array
    limits: Any = numpy.iinfo(tensor["dtype"])
    steps = numpy.rint(numpy.divide(array, scale, dtype=numpy.float64)) + (tensor.get("zero_point") or 0)
    integers: "NDArray[Any]" = numpy.clip(steps, limits.min, limits.max).astype(dtype)
    return integers


def patches(path: str, sides: "Tuple[int, int, int]", in_memory: bool) -> "NDArray[np.uint8]":
    """Patches uint8 [n, *sides] of a .npy, with their channels last; ValueError when it holds others."""
    import numpy

    whole = numpy.load(path) if in_memory else numpy.load(path, mmap_mode="r")
    held: "NDArray[np.uint8]" = numpy.asarray(whole)
    if held.dtype != numpy.uint8 or held.ndim != 4 or held.shape[1:] != tuple(sides):
        raise ValueError(
            "{} holds {} {} instead of uint8 [n, {}, {}, {}]".format(path, held.dtype, held.shape, *sides)
        )
    return held
