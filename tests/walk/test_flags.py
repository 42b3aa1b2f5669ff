"""Each flag has a scenario that raises it and one that does not, through the real agent, store and fit."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from edgebench.judge.trials import trials_of
from edgebench.stats.warnings import Flag
from tests.backends.replaying import replay
from tests.frozen.replays import HERE

pytestmark = pytest.mark.slow

UNPLAYED = {
    Flag.EXTRAPOLATED,  # no session of the agent is without all its patches
    Flag.UNTIMED_STAGES,  # nor sent patches that were cut before
    Flag.GOLDEN_ABSENT,
    Flag.CHANCE,
    Flag.BELOW_CHANCE,  # of the images and the declared boards, which no scenario has
    Flag.BOARD_UNCONFIRMED,
    Flag.EMULATED,  # no scenario is one of an emulator, nor of a device that builds
    Flag.BUILDS_DIFFER,
    Flag.SEVERAL_WORKERS,  # no run has several
    Flag.IDLE_DRIFT,  # an idle device of a scenario draws the same before and after
    Flag.POWER_CONTRADICTED,  # no scenario declares a power
    Flag.SAID,  # every replay says something
    Flag.METER_ABSENT,  # a scenario has the meter that it is asked for
    Flag.PROBE_LOST,  # a replayed probe gives all that it has
    Flag.READINGS_REJECTED,  # and rejects nothing
    Flag.STAMPS_SHORT,  # its stamps are of a time of its own
}
RAISED: Mapping[str, Mapping[str, Any]] = {
    "few-sessions": {"sessions": 2},
    "skewed": {"sessions": 10},
    "multimodal": {"sessions": 10},
    "resembling": {"sessions": 10},
    "deadlines-missed": {"period": 0.25},
    "thermal-short": {"source": "thermal-suspected", "sessions": 3, "passes": 5},
}
NOT_RAISED: Mapping[str, Mapping[str, Any]] = {
    "few-sessions": {"sessions": 3},
    "skewed": {"sessions": 3},
    "multimodal": {"sessions": 3},
    "resembling": {"sessions": 10},
    "deadlines-missed": {"period": 0.5},
    "thermal-short": {"source": "thermal-suspected-none", "sessions": 3, "passes": 5},
}
MORE: Mapping[str, Flag] = {
    "interference-others": Flag.INTERFERENCE,
    "interference-steal": Flag.INTERFERENCE,
}
NAMES: Mapping[str, Flag] = {
    **{flag.name.lower().replace("_", "-"): flag for flag in Flag if flag not in UNPLAYED},
    **MORE,
}
ALSO = {"multimodal": Flag.SKEWED}  # the smaller group is a tail as well


def says(flag: Flag, sentence: str) -> bool:
    """Whether a sentence is that flag's, whatever its numbers are; warmth is empty without a sensor."""
    pattern = re.escape(flag.value).replace(re.escape("{warmth}"), ".*")
    return re.fullmatch(re.sub(r"\\\{.*?\\\}", ".+", pattern), sentence) is not None


def raised(cache, folder, source, **flags):
    """What is told of the scenario's only trial; one session shows whatever is no matter of sessions."""
    path = str(HERE / "scenarios" / f"{source}.toml")
    [trial] = trials_of(replay(cache, folder, path, **{"sessions": 1, "passes": 10, **flags}))
    few = flags.get("sessions", 1) == 1
    return [
        text
        for text in trial.warnings
        if not text.startswith("replay: ") and not (few and says(Flag.FEW_SESSIONS, text))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_flag_is_raised_and_no_other(session_cache, tmp_path, name):
    said = raised(session_cache, tmp_path, **{"source": name, **RAISED.get(name, {})})
    if name in ALSO:
        said = [one for one in said if not says(ALSO[name], one)]
    assert [says(NAMES[name], one) for one in said] == [True], said


@pytest.mark.parametrize("name", NAMES)
def test_a_flag_is_not_raised_where_it_must_not(session_cache, tmp_path, name):
    assert raised(session_cache, tmp_path, **{"source": f"{name}-none", **NOT_RAISED.get(name, {})}) == []
