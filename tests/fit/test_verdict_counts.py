"""How many trials got which verdict of their run's profiles."""

from dataclasses import replace

from edgebench.judge.judged import verdict_counts
from edgebench.judge.profile import load_profiles
from edgebench.judge.verdict import judge_all, overall


def test_each_trial_counts_once_for_each_profile_by_its_worst_verdict(made):
    _, (experiment, summaries) = made
    profiles = load_profiles(["disco-realtime", "disco-arctic"])
    record = experiment.model_copy(update={"profiles": tuple(profile.as_record() for profile in profiles)})
    slow = replace(summaries[1], status="failed", image_s=None, image_s_values=())
    counts = verdict_counts([summaries[0], slow], record)
    assert list(counts) == ["disco-realtime", "disco-arctic"]
    words = [whole.verdict for whole in overall(judge_all([summaries[0], slow], profiles[:1]))]
    assert counts["disco-realtime"] == {word: words.count(word) for word in words}
    assert sum(counts["disco-arctic"].values()) == 2


def test_without_profiles_there_are_no_verdicts(made):
    _, (experiment, summaries) = made
    assert verdict_counts(summaries, experiment) == {}
