"""Archives of models and weights that are small and unfold to gigabytes, or to thousands of files."""

import resource
import zipfile

import pytest

from edgebench.errors import InputError
from edgebench.files import MOST_JSON_BYTES, MOST_MEMBERS, TooLarge, require_bounded
from edgebench.prepare.families import read_weights
from edgebench.prepare.workers import inspecting
from edgebench.prepare.workers.keras import require_archive
from edgebench.prepare.workers.tflite_file import Malformed

ZEROS = bytes(1 << 20)


def archive_of(path, members):
    """An archive with members of so many MiB of zeros each."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, count in members.items():
            with archive.open(name, "w") as member:
                for _ in range(count):
                    member.write(ZEROS)
    return path


@pytest.mark.attack(
    "the description in a .keras file unfolds to more than any has: the file is refused unread"
)
def test_a_description_that_unfolds(tmp_path):
    path = archive_of(tmp_path / "bomb.keras", {"config.json": 1 + (MOST_JSON_BYTES >> 20)})
    assert path.stat().st_size < MOST_JSON_BYTES / 100
    with pytest.raises(Malformed, match="its description unfolds to 65 MiB"):
        require_archive(path)


@pytest.mark.attack("the weights of a .keras file unfold to many times its size: the file is refused unread")
def test_weights_that_unfold(tmp_path):
    path = archive_of(tmp_path / "bomb.keras", {"config.json": 1, "model.weights.h5": 200})
    with pytest.raises(Malformed, match="it unfolds to 201 MiB"):
        require_archive(path)


@pytest.mark.attack("a file of weights unfolds to more than it may: it is refused unread")
def test_a_weights_file_that_unfolds(tmp_path):
    path = archive_of(tmp_path / "bomb.npz", {"conv1/kernel.npy": 257})
    with pytest.raises(InputError) as caught:
        read_weights(path)
    assert "it unfolds to 257 MiB" in f"{caught.value.what} {caught.value.why}"


@pytest.mark.attack("an archive holds more files than any model: it is refused unread")
def test_an_archive_of_many_files(tmp_path):
    path = archive_of(tmp_path / "many.npz", {f"{number}.npy": 0 for number in range(MOST_MEMBERS + 1)})
    with zipfile.ZipFile(path) as archive, pytest.raises(TooLarge, match="it holds 10001 files"):
        require_bounded(archive, 1 << 30)


@pytest.mark.parametrize("hard, limit", [(resource.RLIM_INFINITY, 5000), (9000, 5000), (3000, 3000)])
def test_a_limit_that_is_lower_already_stays(monkeypatch, hard, limit):
    given = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (hard, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: given.append(limits))
    inspecting._limit(resource.RLIMIT_AS, 5000)
    assert given == [(limit, limit)]
