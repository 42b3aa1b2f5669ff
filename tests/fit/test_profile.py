import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgebench.errors import StoredResultError, UsageError
from edgebench.files import MAX_BYTES
from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirements.profile import (
    Profile,
    load_profile,
    load_profiles,
    parse_profile,
    shipped_profiles,
)

HEAD = 'name = "mine"\n[[requirements]]\nname = "latency"\n'
GOOD = HEAD + "limit = 4.42\n"


def _refused(text, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        load_profile(str(file))
    assert str(file) in caught.value.what
    assert caught.value.fix
    assert caught.value.exit_code == 2
    assert len(str(caught.value).splitlines()) <= 3
    return str(caught.value)


def test_the_three_shipped_profiles():
    names = [profile.name for profile in shipped_profiles()]
    assert names == ["disco-arctic", "disco-greenland", "disco-realtime"]
    assert all(profile.title and profile.description and profile.source for profile in shipped_profiles())


@pytest.mark.parametrize("profile", shipped_profiles(), ids=lambda profile: profile.name)
def test_a_record_gives_the_profile_back(profile):
    record = json.loads(json.dumps(profile.as_record(), allow_nan=False))
    assert Profile.from_record(record) == profile


def test_defaults_follow_the_quantity():
    for name, about in required_metrics().items():
        limit = "[1, 2, 3]" if about.is_size else "0.5"
        text = f'name = "x"\n[[requirements]]\nname = "r"\nquantity = "{name}"\nlimit = {limit}\n'
        requirement = parse_profile(text.encode(), "x.toml").requirements[0]
        assert (requirement.statistic, requirement.unit) == (about.statistics[0], next(iter(about.units)))
        reached = ("accuracy", "accuracy_top5", "accuracy_balanced", "auc", "images_per_s")
        assert requirement.at_least == (name in reached)
        assert requirement.scale == 1.0


def test_a_budget_in_another_unit():
    text = HEAD + 'unit = "ms"\nbudget = { cycle_s = 3, images = 2 }\n'
    assert parse_profile(text.encode(), "x").requirements[0].limit == 1500.0


def test_a_file_of_ones_own(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    profile = load_profile(str(file))
    [latency] = profile.requirements
    assert (profile.name, latency.limit, latency.quantity) == ("mine", 4.42, "image_s")


def test_a_file_without_the_suffix_in_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text(GOOD)
    assert load_profile("mine").name == "mine"


def test_different_profiles_of_one_name_are_refused_and_the_same_one_is_taken_once(tmp_path):
    here, there, again = (str(tmp_path / name) for name in ("a.toml", "b.toml", "c.toml"))
    for file, text in ((here, GOOD), (there, GOOD.replace("4.42", "4.5")), (again, GOOD)):
        Path(file).write_text(text)
    assert len(load_profiles([here, again, here, "disco-realtime"])) == 2
    with pytest.raises(UsageError, match="two different profiles are called 'mine'") as caught:
        load_profiles([here, there])
    assert "a.toml" in caught.value.why and "b.toml" in caught.value.why


def test_only_profiles_of_a_folder_are_offered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "mine.toml").write_text("name = 'mine'\n\n[[requirements]]\nlimit = 1.0\n")
    with pytest.raises(UsageError) as caught:
        load_profile("nothing-like-it")
    assert "mine" in str(caught.value) and "pyproject" not in str(caught.value)


def test_an_unknown_name_gives_close_matches_and_the_list():
    with pytest.raises(UsageError) as caught:
        load_profile("disco-artic")
    assert "did you mean 'disco-arctic'" in caught.value.fix
    assert "disco-greenland" in caught.value.fix


def test_files_that_cannot_be_read(tmp_path):
    for name, why in ((tmp_path / "none.toml", "No such file"), (tmp_path, "it is a folder")):
        with pytest.raises(UsageError, match=why):
            load_profile(str(name))
    with pytest.raises(UsageError):
        load_profile("a\0b.toml")
    with pytest.raises(UsageError):
        load_profile("x" * 5000 + ".toml")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(UsageError, match="it is a pipe"):
        load_profile(str(tmp_path / "pipe.toml"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", "limit is missing"),
        ("limit = -1\n", "-1 is not above 0"),
        ("limit = nan\n", "nan is not a finite number"),
        ('limit = "1e999 d"\n', "inf is not a finite number"),
        ('limit = "4.42"\n', "'4.42' has no unit"),
        ("limit = true\n", "True is not a number"),
        ("limit = [1, 2, 3]\n", "does not fit image_s"),
        ('quantity = "size_mm"\nlimit = 4\n', "does not fit size_mm"),
        ('quantity = "size_mm"\nlimit = [1, 2]\n', "does not fit size_mm"),
        ('quantity = "size_mm"\nlimit = [1, 2, -3]\n', "-3 is not above 0"),
        ('quantity = "imag_s"\nlimit = 4\n', "unknown quantity 'imag_s'"),
        ('statistic = "mean"\nlimit = 4\n', "unknown statistic 'mean'"),
        ('statistic = ["median"]\nlimit = 4\n', "unknown statistic ['median']"),
        ('unit = "h"\nlimit = 4\n', "unknown unit 'h'"),
        ('unit = "W"\nlimit = 4\n', "unknown unit 'W'"),
        ('comparison = "at least"\nlimit = 4\n', "unknown comparison 'at least'"),
        ("averaging_s = 1\nlimit = 4\n", "averaging_s does not belong"),
        ('quantity = "power_peak_w"\naveraging_s = -1\nlimit = 4\n', "averaging_s"),
        ('quantity = "power_peak_w"\nbudget = { cycle_s = 1, images = 1 }\n', "budget does not belong"),
        ("limit = 4\nbudget = { cycle_s = 1, images = 1 }\n", "keep one of the two"),
        ("budget = { cycle_s = 1 }\n", "budget: images is missing"),
        ("budget = { cycle_s = nan, images = 1 }\n", "budget.cycle_s"),
        ("budget = { cycle_s = 1, images = 1" + "0" * 18 + " }\n", "budget.images"),
        ("limit = 1e400\n", "inf is not a finite number"),
        ('quantity = "accuracy"\nlimit = 90\n', "more than every image"),
        ('quantity = "deadline_misses"\nlimit = 5\n', "more than every paced pass"),
        ('quantity = "deadline_misses"\nlimit = 0\n', 'limit = 1 with unit = "%" takes some 380'),
        ('quantity = "failed_sessions"\nlimit = 0\n', "no number of sessions shows a share of none"),
        ('quantity = "failed_sessions"\nlimit = 5\n', "more than every session"),
        ('quantity = "auc"\nlimit = 90\n', "more than every auc\nwrite a share, such as 0.9"),
        ('quantity = "accuracy_drop"\nlimit = 101\n', "more than every image\nwrite points, such as 2.0"),
        ("limt = 4\n", "unknown key 'limt'\ndid you mean 'limit'"),
        (
            'quantity = "accuracy"\nunit = "%"\nlimit = 0.95\n',
            'write limit = 95 with unit = "%", or limit = 0.95',
        ),
        ("limit = 4\ncomparison = 3\n", "unknown comparison 3"),
        ('limit = 4\nwanted = "yes"\n', "wanted: 'yes' is not true or false"),
    ],
)
def test_what_is_wrong_with_a_requirement_is_said_with_its_name(body, expected, tmp_path):
    message = _refused(HEAD + body, tmp_path)
    assert "requirement 'latency'" in message
    assert expected in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml at all", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        ("limit = " + "9" * 5000, "not TOML"),
        ("limit = 1" + "0" * 400, "more than 64 bits"),
        ("x = " + "[" * 20000, "nested too deeply"),
        ("", "name is missing"),
        ('name = "x"\nrequirements = 3\n', "requirements"),
        (
            'name = "../x"\n[[requirements]]\nname = "r"\nlimit = 1\n',
            "is taken\nup to 80 letters",
        ),
        ('name = "x"\n[[requirements]]\nlimit = 0\n', "requirement 'Latency per image': limit 0 is not"),
        (
            GOOD.replace('"latency"', '"<b>"'),
            "name: '<b>' does not have the form that is taken\nup to 64",
        ),
        ('title = "\\u001b[31m"\n' + GOOD, "control characters"),
        (
            GOOD + '[[requirements]]\nname = "latency"\nquantity = "infer_s"\nlimit = 1\n',
            "two requirements are called 'latency'",
        ),
        (
            GOOD + '[[requirements]]\nname = "again"\nlimit = 1\n',
            "'latency' and 'again' both limit the median of image_s",
        ),
        ("extra = 1\n" + GOOD, "unknown key 'extra'"),
        ("#" * (MAX_BYTES + 1), "more than 256 KiB"),
    ],
)
def test_what_is_wrong_with_a_file(text, message, tmp_path):
    assert message in _refused(text, tmp_path)


def test_a_stored_percentage_below_one_is_judged_as_it_was():
    requirement = {"name": "r", "quantity": "accuracy", "unit": "%", "limit": 0.95}
    assert Profile.from_record({"name": "x", "requirements": [requirement]}).requirements[0].limit == 0.95


def _with_a_wish(wish, need="limit = 4.42"):
    text = f'name = "x"\n[[requirements]]\nname = "need"\n{need}\n'
    return parse_profile(f'{text}[[requirements]]\nname = "wish"\nwanted = true\n{wish}\n'.encode(), "x")


@pytest.mark.parametrize(
    ("wish", "need"),
    [
        ('limit = "4.41 s"', "limit = 4.42"),
        ('quantity = "accuracy"\nlimit = "95 %"', 'quantity = "accuracy"\nlimit = 0.94'),
        (
            'quantity = "size_mm"\nlimit = "80 x 70 x 9 mm"',
            'quantity = "size_mm"\nlimit = "10 x 70 x 80 mm"',
        ),
        ('quantity = "power_peak_w"\nlimit = "5 W"', 'quantity = "power_peak_w"\nlimit = 5\naveraging_s = 1'),
    ],
)
def test_a_wish_stands_beside_a_requirement_of_which_it_asks_more(wish, need):
    assert [requirement.wanted for requirement in _with_a_wish(wish, need).requirements] == [False, True]


@pytest.mark.parametrize(
    ("wish", "need"),
    [
        ("limit = 4.42", "limit = 4.42"),
        ('limit = "5000 ms"', "limit = 4.42"),
        ('quantity = "accuracy"\nlimit = "93 %"', 'quantity = "accuracy"\nlimit = 0.94'),
        (
            'quantity = "size_mm"\nlimit = "80 x 70 x 10 mm"',
            'quantity = "size_mm"\nlimit = "1 x 7 x 8 cm"',
        ),
    ],
)
def test_a_wish_for_what_is_required_anyway_is_a_contradiction(wish, need):
    with pytest.raises(UsageError, match="'wish' is wanted, and 'need' requires as much or more"):
        _with_a_wish(wish, need)


def test_two_wishes_on_one_thing_are_a_contradiction():
    with pytest.raises(UsageError, match="'wish' and 'more' both limit the median"):
        _with_a_wish('limit = 4\n[[requirements]]\nname = "more"\nwanted = true\nlimit = 3')


def test_several_statistics_of_a_quantity_are_no_duplicates():
    text = GOOD + '[[requirements]]\nname = "tail"\nstatistic = "p99"\nlimit = 6\n'
    assert len(parse_profile(text.encode(), "x").requirements) == 2


@pytest.mark.parametrize(
    "record", [{}, {"name": "x"}, {"name": "x", "requirements": [{"limit": -1}]}, {"name": 3}]
)
def test_a_stored_profile_that_is_none_is_a_stored_result_error(record):
    with pytest.raises(StoredResultError) as caught:
        Profile.from_record(record)
    assert "--profile" in caught.value.fix


def test_a_record_whose_budget_contradicts_its_limit_is_refused():
    record = load_profile("disco-arctic").as_record()
    record["requirements"][0]["limit"] = 1000.0
    with pytest.raises(StoredResultError, match="keep one of the two"):
        Profile.from_record(record)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("ab.\n{}\u202e", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("ab.\n{}\u202e", max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
_KEYS = ["name", "quantity", "statistic", "limit", "unit", "budget", "averaging_s", "comparison"]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=6))
def test_no_record_gives_anything_but_a_profile_or_the_error(requirement):
    try:
        profile = Profile.from_record({"name": "x", "requirements": [requirement]})
    except StoredResultError:
        return
    assert profile.requirements[0].limit
