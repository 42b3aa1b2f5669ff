"""Zip archives from outside, judged by their directory before anything in them is unpacked.

A file of 2 MB can unfold to gigabytes. What the directory says of a member's size is what zipfile unpacks of
it at most.
"""

from __future__ import annotations

from zipfile import ZipFile

MOST_MEMBERS = 10_000
MOST_JSON_BYTES = 64 << 20
"""Of a description in JSON: that of a model with thousands of layers has some MB."""


class TooLarge(ValueError):
    """An archive that unfolds to more than it may; says to how much."""


def require_bounded(archive: ZipFile, most_bytes: int, *, most_members: int = MOST_MEMBERS) -> None:
    """TooLarge where an archive's members are too many, or unfold to more than `most_bytes` together."""
    members = archive.infolist()
    if len(members) > most_members:
        raise TooLarge(f"it holds {len(members)} files, and {most_members} are the most that are read")
    for member in members:
        if member.filename.endswith(".json") and member.file_size > MOST_JSON_BYTES:
            raise TooLarge(
                f"its description unfolds to {member.file_size >> 20} MiB, and {MOST_JSON_BYTES >> 20} MiB "
                "are the most that is read"
            )
    unfolded = sum(member.file_size for member in members)
    if unfolded > most_bytes:
        raise TooLarge(f"it unfolds to {unfolded >> 20} MiB, and {most_bytes >> 20} MiB are the most")
