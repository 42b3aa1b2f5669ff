"""The releases of JetPack that the runner was written for, and what each brings."""

from __future__ import annotations

import re
from typing import NamedTuple


class JetPack(NamedTuple):
    """One release, or a few that bring the same.

    Attributes:
        name: as NVIDIA numbers it.
        l4t: how /etc/nv_tegra_release begins, such as R32.7.
        python: of its Ubuntu, for which alone it has TensorRT.
        tensorrt: empty where no source confirms it.
    """

    name: str
    l4t: str
    python: str
    tensorrt: str


RELEASES = (
    JetPack("4.6", "R32.6", "3.6", "8.0.1"),
    JetPack("4.6.1 to 4.6.6", "R32.7", "3.6", "8.2.1"),
    JetPack("5.1.1", "R35.3", "3.8", "8.5.2"),
    JetPack("5.1.2", "R35.4", "3.8", "8.5.2"),
    JetPack("6.1 or 6.2", "R36.4", "3.10", "10.3"),
    JetPack("7.0 or 7.1", "R38", "3.12", "10.13"),
    JetPack("7.2", "R39.2", "3.12", ""),
)


def release_of(l4t: str) -> JetPack | None:
    """The release of an L4T such as R32.7.1; None for one that is not listed."""
    return next((release for release in RELEASES if re.match(rf"{re.escape(release.l4t)}(\.|$)", l4t)), None)
