"""Profiles as a user of Python names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from edgebench.errors import UsageError
from edgebench.fit.profile import Profile, load_profiles

Profiles = str | Path | Profile | Iterable[str | Path | Profile]
"""A shipped profile's name, the path of a profile's file, a Profile, or several of these."""


def named_profiles(profiles: Profiles) -> tuple[Profile, ...]:
    """Those profiles; UsageError for one that cannot be read."""
    return load_profiles([profiles] if isinstance(profiles, str | Path | Profile) else list(profiles))


def chosen_profiles(
    profiles: Profiles | None, of_run: Sequence[Profile], purpose: str
) -> tuple[Profile, ...]:
    """Those that are named, else those of the run; UsageError where there is none, or it cannot be read."""
    chosen = tuple(of_run) if profiles is None else named_profiles(profiles)
    if not chosen:
        raise UsageError(
            f"there is no profile to {purpose}",
            why="the result was run without a profile and none is named",
            fix='name one, such as "disco-realtime"; `edgebench profiles list` names them',
        )
    return chosen
