"""Published figures as TOML: what is taken, and what is refused with its place and what to write instead."""

import tempfile
from pathlib import Path

import pytest

from edgebench.errors import UsageError
from edgebench.judge.published import load_references, reference_folder

HEAD = 'title = "t"\n[sources.them]\ntitle = "Them"\n'
TRIAL = '[[trials]]\ntarget = "board"\ndevice = "a board"\nmodel = "net"\nprecision = "int8"\n'
FIGURE = "[[trials.figures]]\n"
PEAK = 'quantity = "power_peak_w"\nsource = "them"\n'
ABOVE = f'{PEAK}above = 5\nwords = "exceeds 5 W"\n'


def parsed(figure, trial=TRIAL, head=HEAD):
    return read_text(f"{head}{trial}{FIGURE}{figure}")


def read_text(text):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mine.toml").write_text(text)
        [reference] = load_references(Path(folder))
    return reference


def estimate_of(text):
    reference = parsed(text)
    (entry,) = reference.trials[0].figures
    return entry.estimate(reference.sources["them"])


def test_what_is_shipped_has_a_source_for_every_figure():
    references = load_references(reference_folder())
    figures = [
        (reference, figure)
        for reference in references
        for trial in reference.trials
        for figure in trial.figures
    ]
    assert len(figures) > 30
    assert all(reference.sources[figure.source].title for reference, figure in figures)


def test_each_form_becomes_a_figure_in_its_base_unit():
    above = estimate_of(f'{PEAK}above = 5000\nunit = "mW"\nwords = "exceeds"')
    assert (above.strict, above.low, above.high, above.value) == (True, 5.0, None, None)
    assert above.notes[0] == '"exceeds" (Them)'
    at_most = estimate_of(f'{PEAK}at_most = 5\nwords = "satisfies"')
    assert (at_most.strict, at_most.low, at_most.high) == (False, None, 5.0)
    picture = estimate_of(f"{PEAK}picture = true")
    assert picture.is_missing and picture.n == 0
    share = estimate_of('quantity = "accuracy"\nsource = "them"\nk = 638\nn = 734\ncovers = "photographs"')
    assert share.value == 638 / 734
    assert share.low is not None and share.high is not None and share.low < 638 / 734 < share.high
    time = estimate_of(
        'quantity = "infer_s"\nsource = "them"\nvalue = 163.78\nunit = "ms"\npatches = 1\ncovers = "it"'
    )
    assert time.value == pytest.approx(65.512) and "times 400" in time.reason


REFUSED = {
    "no source": ('quantity = "power_peak_w"\nabove = 5\nwords = "w"', "source is missing", "source"),
    "a source that is not there": (ABOVE.replace('"them"', '"thme"'), "'thme'", "'them'"),
    "an unknown quantity": (ABOVE.replace("power_peak_w", "power_peek_w"), "'power_peek_w'", "power_peak_w"),
    "mass, which a target declares": (ABOVE.replace("power_peak_w", "mass_g"), "'mass_g'", "known"),
    "a unit of another kind": (f'{ABOVE}unit = "g"', "unknown unit 'g'", "W"),
    "an unknown key": (f"{ABOVE}abvoe = 5", "unknown key 'abvoe'", "'above'"),
    "two forms": (f"{ABOVE}at_most = 6", "above and at_most", "one of"),
    "no form": (PEAK, "neither a number", "picture"),
    "a bound without words": (f"{PEAK}above = 5", "words are missing", "words"),
    "a number without what it covers": (f"{PEAK}value = 5", "covers is missing", "covers"),
    "text for a number": (f'{PEAK}above = "5"\nwords = "w"', "above", "quotes"),
    "a picture that is none": (f"{PEAK}picture = false", "picture", "true"),
    "not a number": (f'{PEAK}above = nan\nwords = "w"', "above", "number"),
    "below zero": (f'{PEAK}above = -5\nwords = "w"', "above", "above 0"),
    "control characters": (f'{PEAK}above = 5\nwords = "\\u001b[2J"', "control characters", "plain text"),
    "more right than all": (
        'quantity = "accuracy"\nsource = "them"\nk = 735\nn = 734\ncovers = "c"', "735 of 734", "k",
    ),
    "k without n": ('quantity = "accuracy"\nsource = "them"\nk = 5\ncovers = "c"', "belong together", "both"),
    "k of n watts": (f'{PEAK}k = 1\nn = 2\ncovers = "c"', "do not belong", "value"),
    "more than every image": (
        'quantity = "accuracy"\nsource = "them"\nvalue = 90\ncovers = "c"', "every image", "%",
    ),
    "patches of a power": (f'{PEAK}value = 5\npatches = 1\ncovers = "c"', "patches", "leave"),
    "more patches than a scene": (
        'quantity = "infer_s"\nsource = "them"\nvalue = 5\npatches = 401\ncovers = "c"', "401", "at most 400",
    ),
    "one quantity twice": (f"{ABOVE}{FIGURE}{ABOVE}", "two figures of power_peak_w", "out"),
    "one trial twice": (f"{ABOVE}{TRIAL}{FIGURE}{ABOVE}", "two trials of net-int8", "out"),
    "a trial without figures": (f"{ABOVE}{TRIAL}", "figures is missing", "figures"),
}  # fmt: skip


@pytest.mark.attack(
    "a file of published figures says what cannot be: it is refused, with its place and the fix"
)
@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_none_is_refused_with_what_to_write(case):
    text, what, fix = REFUSED[case]
    with pytest.raises(UsageError) as caught:
        parsed(text)
    assert "mine.toml" in caught.value.what
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert "\x1b" not in str(caught.value)


def test_numbers_that_a_schedule_makes_cannot_be_published():
    with pytest.raises(UsageError, match="unknown quantity 'load'"):
        parsed(ABOVE.replace("power_peak_w", "load"))


def test_a_newer_layout_and_a_file_without_trials_are_refused():
    for text in ("schema_version = 2\n" + HEAD, HEAD):
        with pytest.raises(UsageError, match=r"mine\.toml"):
            read_text(text)


def test_a_folder_names_the_file_at_fault_and_a_trial_that_two_files_have(tmp_path):
    with pytest.raises(UsageError, match="no published figures"):
        load_references(tmp_path)
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(f"{HEAD}{TRIAL}{FIGURE}{ABOVE}")
    with pytest.raises(UsageError, match="two trials of net-int8"):
        load_references(tmp_path)
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"b\.toml"):
        load_references(tmp_path)
