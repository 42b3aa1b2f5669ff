"""Labels files: names of classes from outside."""

from pathlib import Path

import pytest

from edgebench.errors import InputError
from edgebench.prepare.labels import read_labels


def test_names_in_order(tmp_path: Path):
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeffcat\r\ndog \r\n".encode())
    assert read_labels(path) == ("cat", "dog")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "0 labels"),
        (b"cat\n\ndog\n", "line 2"),
        (b"0 cat\n1: dog\n0 cow\n", "line 3.*\n.*line 1"),
        (b"c\x1bt\n", "line 1"),
        (b"x" * 300, "line 1"),
        (b"\xff\xfe\x00", "cannot be read as labels"),
        ("cat\ncaf\u00e9\n".encode("latin-1"), "line 2 is not UTF-8 text"),
    ],
)
def test_what_is_no_labels_file(tmp_path: Path, content: bytes, says: str):
    path = tmp_path / "labels.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_labels(path)
    import re

    assert re.search(says, str(caught.value))


def test_no_file(tmp_path: Path):
    with pytest.raises(InputError, match=r"none\.txt"):
        read_labels(tmp_path / "none.txt")
