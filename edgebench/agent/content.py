"""Files whose content is what was asked for, by SHA-256."""

import hashlib

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
