"""All that is wrong with a profile at once: every problem with its line, and none where a profile is read."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgebench.errors import UsageError
from edgebench.judge.requirements.profile import line_of, load_profile, problems_of

WRONG = '''schema_version = 2
name = "../bad"
titel = "x"
description = """
[[requirements]]
limit = 3
"""
[schedule]
cycle = "5 g"
images = 0
burts = "3 s"

[[requirements]]
name = "latency"
limt = 3
wanted = "yes"
weight = -1
unit = "h"

[[requirements]]
name = "power"
quantity = "power_peak"
limit = -4
unit = "W"

[[requirements]]
name = "mean"
quantity = "power_peak_w"
limit = "5 g"
statistic = "mean"

[[requirements]]
name = "right"
quantity = "accuracy"
limit = 0.95
unit = "%"

[[requirements]]
name = "mass"
quantity = "mass_g"
limit = 1.0

[[requirements]]
name = "again"
quantity = "mass_g"
limit = 2.0

[[requirements]]
name = "size"
quantity = "size_mm"
limit = [1, 2]
weight = 0
'''


def _problems(folder, text):
    file = folder / "mine.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return problems_of(str(file))


def test_all_problems_at_once_with_their_lines(tmp_path):
    problems = _problems(tmp_path, WRONG)
    assert [(problem.line, problem.what) for problem in problems] == [
        (1, "schema_version: 2 is not known"),
        (2, "name: '../bad' does not have the form that is taken"),
        (3, "unknown key 'titel'"),
        (9, "schedule: g is a mass, and cycle is a time"),
        (10, "schedule.images: 0 is not above 0"),
        (11, "schedule: unknown key 'burts'"),
        (15, "requirement 'latency': unknown key 'limt'"),
        (16, "requirement 'latency': wanted: 'yes' is not true or false"),
        (17, "requirement 'latency': unknown key 'weight'"),
        (18, "requirement 'latency': unknown unit 'h' of image_s"),
        (22, "requirement 'power': unknown quantity 'power_peak'"),
        (29, "requirement 'mean': g is a mass, and power_peak_w is a power"),
        (30, "requirement 'mean': unknown statistic 'mean' of power_peak_w"),
        (
            35,
            "requirement 'right': an accuracy of at least 0.95 %: "
            "at most one image in a hundred would have to be right",
        ),
        (43, "requirement 'again': 'mass' and 'again' both limit the declared of mass_g"),
        (51, "requirement 'size': limit [1, 2] does not fit size_mm"),
        (52, "requirement 'size': unknown key 'weight'"),
    ]
    assert all(problem.fix and problem.file == str(tmp_path / "mine.toml") for problem in problems)


def test_nothing_is_wrong_with_what_is_a_profile():
    assert problems_of("disco-arctic") == []


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('name = "x"\n[[requirements]\n', 2, "is not TOML"),
        ('name = "x"\n', None, "requirements is missing"),
        ('name = "x"\nrequirements = []\n', 2, "requirements"),
        ('name = "x"\nrequirements = [3]\n', None, "requirement number 1: 3 is not a table"),
        ('schedule = 3\nname = "x"\n[[requirements]]\nname = "r"\nlimit = 1\n', 1, "not a table"),
        ('name = "x"\n[[requirements]]\nname = "r"\n', 2, "the limit is missing"),
        ('name = "x"\n[[requirements]]\nname = "r"\nlimit = 1\nwanted = true\n', None, "all requirements"),
        (
            'name = "x"\n[[requirements]]\nname = "wish"\nlimit = 1\nwanted = true\n'
            '[[requirements]]\nname = "need"\nlimit = 1\n',
            6,
            "'wish' is wanted, and 'need' requires",
        ),
        ('name = "x"\nextends = "nix.toml"\n', None, "No such file"),
        (
            'name = "x"\n[[requirements]]\nname = "r"\nlimit = 5e-324\n',
            4,
            "limit: 5e-324 is not at least 1e-18",
        ),
        (
            'name = "x"\n[[requirements]]\nname = "r"\nlimit = 1e300\n',
            4,
            "limit: 1e+300 is not at most 1e+18",
        ),
        (
            'name = "x"\n[schedule]\ncycle = "1 min"\n[[requirements]]\nname = "r"\nlimit = 1\n',
            2,
            "the schedule has no images",
        ),
        (
            'name = "x"\n[[requirements]]\nname = "r"\nlimit = 1\nbudget = { cycle_s = 10.0, images = 5 }\n',
            4,
            "limit 1 and a budget of 2",
        ),
    ],
)
def test_one_problem(text, line, what, tmp_path):
    (problem,) = _problems(tmp_path, text)
    assert problem.line == line
    assert what in problem.what
    assert problem.fix


def test_what_is_inherited_is_wrong_in_its_own_file(tmp_path):
    (tmp_path / "base.toml").write_text('name = "base"\n[[requirements]]\nname = "r"\nlimit = -1\n')
    own = '[[requirements]]\nname = "p"\nquantity = "mass_g"\nlimit = 0\n'
    own_problem, inherited = _problems(tmp_path, f'name = "x"\nextends = "base.toml"\n{own}')
    assert (own_problem.line, own_problem.what) == (6, "requirement 'p': limit 0 is not above 0")
    assert (inherited.file, inherited.line) == (str(tmp_path / "base.toml"), 4)


def test_lines_of_files_written_otherwise():
    text = "a = 1\n  [ schedule ] # when\n'cycle'=\"3 s\"\n[[requirements]]\nx=1\n[[requirements]]\n"
    text += "y = '''\nx=2\n'''\nx=3\n"
    assert line_of(text, "schedule", 0, "cycle") == 3
    assert line_of(text, "requirements", 1, "x") == 10
    assert line_of(text, "requirements", 1, "z") == 6
    assert line_of(text, "requirements", 2, "x") is None
    assert line_of(text, "", 0, "x") is None
    assert line_of("", "", 0, "x") is None


_VALUES = ["1", "-1", "0", "nan", '"5 W"', '"5 g"', '"x"', "true", "[1, 2, 3]", "{ cycle_s = 1, images = 2 }"]
_NAMES = [
    "name",
    "quantity",
    "statistic",
    "limit",
    "unit",
    "budget",
    "averaging_s",
    "weight",
    "wanted",
    "typo",
]
_QUANTITIES = ['"power_peak_w"', '"accuracy"', '"size_mm"', '"W"', '"max"']


@pytest.mark.attack("any keys and values in a profile: the check ends, and says no less than the reader")
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_VALUES + _QUANTITIES), max_size=6),
        max_size=3,
    ),
    st.sampled_from(["", "[schedule]\n", '[schedule]\ncycle = "1 s"\nimages = 0\n']),
)
def test_the_check_finds_something_where_the_reader_does(tmp_path: Path, tables, schedule):
    listed = ["[[requirements]]\n" + "".join(f"{k} = {v}\n" for k, v in table.items()) for table in tables]
    file = tmp_path / "any.toml"
    file.write_text('name = "x"\n' + schedule + "".join(listed))
    problems = problems_of(str(file))
    try:
        load_profile(str(file))
    except UsageError:
        assert problems
    else:
        assert not problems
