"""Folders as they are judged, and counts of verdicts for lists of results."""

import pytest

from edgebench.errors import UsageError
from edgebench.judge.judged import chosen_trials, judge_folder, schedule_of, verdict_counts
from edgebench.judge.requirements.profile import load_profiles
from edgebench.judge.verdicts.verdict import judge_all, overall
from edgebench.results.load import load
from tests.judge.trials import keyed, profile_of
from tests.synthetic_results import QUARTER, made_experiment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_experiment(tmp_path_factory.mktemp("judged"), variants=QUARTER[:1], sessions=3)


def test_a_folder_is_judged_by_the_profiles_given_or_those_of_its_run(folder):
    profile = profile_of({"limit": 1e6})
    judged = judge_folder(folder, [profile])
    assert [verdict.word for verdict in judged.verdicts] == ["pass"] * len(judged.trials)
    assert judged.profiles == (profile,) and not judged.notes
    assert judge_folder(folder).verdicts == []


def test_a_declared_number_takes_the_place_of_that_of_the_run(folder):
    profile = profile_of({"quantity": "mass_g", "limit": 100.0})
    declared = judge_folder(folder, [profile], declared_conditions=["mass_g:50:scale"])
    assert {verdict.word for verdict in declared.verdicts} == {"pass"}
    assert all(verdict.estimate.value == 50 for verdict in declared.verdicts)


def test_each_trial_counts_once_for_each_profile_by_its_worst_verdict(folder):
    profiles = load_profiles(["disco-realtime", "disco-arctic"])
    records = tuple(profile.as_record() for profile in profiles)
    experiment = load(folder).experiment
    trials = [keyed("a"), keyed("b", status="failed")]
    counts = verdict_counts(trials, experiment.model_copy(update={"profiles": records}))
    assert list(counts) == ["disco-realtime", "disco-arctic"]
    words = [whole.verdict for whole in overall(judge_all(trials, profiles[:1]))]
    assert counts["disco-realtime"] == {word: words.count(word) for word in words}
    assert sum(counts["disco-arctic"].values()) == 2
    assert verdict_counts(trials, experiment.model_copy(update={"profiles": ()})) == {}


def test_trials_are_chosen_by_name_variant_or_the_beginning_of_their_key():
    trials = [keyed("a"), keyed("b", variant="other")]
    for chosen in ("aaaa", "mine", "mobilenet_v1-0.25-int8"):
        assert chosen_trials(trials, chosen, {"a" * 16: ("mine",)}) == trials[:1]
    assert chosen_trials(trials, "", {}) == trials
    with pytest.raises(UsageError, match="there is no trial 'nobody'"):
        chosen_trials(trials, "nobody", {})
    with pytest.raises(UsageError, match="says no time at which images come"):
        schedule_of(profile_of({"limit": 1.0}))
