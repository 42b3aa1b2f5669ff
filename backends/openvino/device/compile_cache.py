"""The folder in which the library keeps compiled models (device side, Python 3.6 syntax)."""

import os
import stat
import tempfile
from typing import Iterator, Set, Tuple

SUFFIX = ".blob"


class CompileCache:
    """A folder for compiled models, made where it is not there.

    Raises:
        OSError: it cannot be written to, or the library would wait for what is called as a model there.
    """

    def __init__(self, name: str) -> None:
        self.folder = os.path.abspath(os.path.expanduser(name))
        try:
            os.makedirs(self.folder, exist_ok=True)
            # Nothing else tells for sure: the superuser may write where permissions say no, but no one to a
            # file system that is mounted to be read.
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            raise OSError(
                "the cache folder {} cannot be written to: {}; "
                "name another one (--set cache=FOLDER), or none".format(self.folder, error.strerror or error)
            ) from error
        for name, state in self._named_as_models():
            if not stat.S_ISREG(state.st_mode):
                raise OSError(
                    "the cache folder {} cannot be used: {} in it is no plain file; "
                    "remove it, or name another folder (--set cache=FOLDER)".format(self.folder, name)
                )
        self._before = self.models()

    def is_unchanged(self) -> bool:
        """Whether it holds compiled models, and none that was not there before."""
        now = self.models()
        return bool(now) and now <= self._before

    def models(self) -> Set[Tuple[str, int, int]]:
        """The files of the compiled models in it: name, size and last change in ns.

        One that the library could not read is compiled again under the same name.
        """
        return {(name, state.st_size, state.st_mtime_ns) for name, state in self._named_as_models()}

    def _named_as_models(self) -> Iterator[Tuple[str, os.stat_result]]:
        for name in sorted(os.listdir(self.folder)):
            if not name.endswith(SUFFIX):
                continue
            try:
                yield name, os.stat(os.path.join(self.folder, name))
            except OSError:  # another session that shares the folder put a new one in its place
                continue
