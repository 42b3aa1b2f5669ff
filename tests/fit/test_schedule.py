"""Schedules: when images come, the limits that follow, and files of times."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from edgebench.errors import UsageError
from edgebench.judge.requirements.profile import Profile, load_profile, parse_profile
from edgebench.judge.requirements.schedule import MAX_BYTES, MAX_TIMES, Schedule, read_times

PROFILE = 'name = "mine"\n[schedule]\n{}\n[[requirements]]\nname = "latency"\n{}\n'


def _schedule(**table):
    return Schedule.model_validate(table)


def _profile(schedule, requirement=""):
    return parse_profile(PROFILE.format(schedule, requirement).encode(), "mine.toml")


def test_images_come_evenly_over_the_cycle():
    schedule = _schedule(cycle="10 s", images=4)
    assert list(schedule.arrivals_s()) == [0.0, 2.5, 5.0, 7.5]
    assert schedule.limit_s == schedule.allowed_s == 2.5


def test_images_come_in_a_burst_at_the_cycle_s_start():
    schedule = _schedule(cycle="95.65 min", images=80, burst="353.6 s")
    times = list(schedule.arrivals_s())
    assert (schedule.cycle_s, len(times), times[0]) == (5739.0, 80, 0.0)
    assert times[1] == pytest.approx(4.42)
    assert times[-1] == pytest.approx(79 * 4.42)


def test_a_burst_of_no_time_is_all_images_at_once():
    assert list(_schedule(cycle_s=10.0, images=3, burst_s=0.0).arrivals_s()) == [0.0] * 3


def test_stated_times_are_counted():
    schedule = _schedule(cycle="1 min", times_s=[0, 1.5, 1.5, 59])
    assert schedule.images == 4
    assert list(schedule.arrivals_s()) == [0.0, 1.5, 1.5, 59.0]
    assert schedule.limit_s == 15.0


@given(st.floats(1e-3, 1e9), st.integers(1, 500), st.floats(0, 1))
def test_all_images_come_within_the_cycle_and_in_order(cycle_s, images, share):
    times = list(Schedule(cycle_s=cycle_s, images=images, burst_s=share * cycle_s).arrivals_s())
    assert len(times) == images
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] < cycle_s


def test_a_record_gives_the_schedule_back():
    for schedule in (
        _schedule(cycle="1 h", images=3, burst="1 min", deadline="2 h"),
        _schedule(cycle="1 h", times_s=[0.0, 2.0]),
    ):
        record = json.loads(json.dumps(schedule.model_dump(mode="json", exclude_none=True)))
        assert Schedule.model_validate(record) == schedule


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({}, "the schedule gives no time"),
        ({"images": 3}, "the schedule gives no time"),
        ({"cycle": "1 s"}, "the schedule has no images"),
        ({"cycle": 5739, "images": 80}, "cycle 5739 is not a number with its unit"),
        ({"cycle": "5 g", "images": 80}, "g is a mass, and cycle is a time"),
        ({"cycle": "1 s", "cycle_s": 1.0, "images": 1}, "cycle and cycle_s say the same twice"),
        ({"cycle": "0 s", "images": 1}, "cycle_s"),
        ({"cycle": "-1 s", "images": 1}, "cycle_s"),
        ({"cycle": "1e999 s", "images": 1}, "cycle_s"),
        ({"cycle": "1e-320 s", "images": 1}, "cycle_s"),
        ({"cycle": "60", "images": 1}, "cycle '60' has no unit"),
        ({"cycle_s": 1e-320, "images": 1}, "cycle_s"),
        ({"cycle_s": True, "images": 1}, "cycle_s"),
        ({"cycle": "1 s", "images": 0}, "images"),
        ({"cycle": "1 s", "images": 1.5}, "images"),
        ({"cycle": "1 s", "images": True}, "images"),
        ({"cycle": "1 s", "images": 1, "deadline": "0 s"}, "deadline_s"),
        ({"cycle": "1 s", "images": 1, "burst": "2 s"}, "longer than the cycle"),
        ({"cycle": "1 s", "images": 1, "brust": "2 s"}, "brust"),
        ({"cycle_s": 9.0, "times_s": []}, "images"),
        ({"cycle_s": 9.0, "times_s": [0.0] * (MAX_TIMES + 1)}, "times_s"),
        ({"cycle_s": 9.0, "times_s": "0, 1"}, "the schedule has no images"),
        ({"cycle_s": 9.0, "times_s": [0.0, float("nan")]}, "times_s"),
        ({"cycle_s": 9.0, "times_s": [-1.0]}, "is before 0 s or not within"),
        ({"cycle_s": 9.0, "times_s": [5.0, 4.0]}, "time 2, 4 s, is before 5 s"),
        ({"cycle_s": 9.0, "times_s": [9.0]}, "not within the cycle of 9 s"),
        ({"cycle_s": 9.0, "times_s": [1.0], "images": 2}, "images = 2 and 1 times"),
        ({"cycle_s": 9.0, "times_s": [1.0], "burst_s": 2.0}, "a burst and stated times"),
    ],
)
def test_what_is_no_schedule(table, expected):
    with pytest.raises(ValidationError) as caught:
        Schedule.model_validate(table)
    fault = caught.value.errors()[0]
    assert expected in f"{fault['loc']} {fault['msg']}"


@pytest.mark.parametrize("schedule", ["schedule = 3", 'schedule = "1 s"', "schedule = []"])
def test_a_schedule_that_is_no_table(schedule):
    text = f'name = "x"\n{schedule}\n[[requirements]]\nname = "r"\nlimit = 1\n'
    with pytest.raises(UsageError, match=r"schedule: .* is not a table"):
        parse_profile(text.encode(), "x")


def test_a_latency_without_a_number_takes_what_the_schedule_allows():
    latency = _profile('cycle = "95.65 min"\nimages = 80').requirements[0]
    assert (latency.limit, latency.unit) == (71.7375, "s")
    assert latency.budget is not None and latency.budget.images == 80
    tail = _profile('cycle = "4 s"\nimages = 2', 'quantity = "infer_s"\nstatistic = "p99"\nunit = "ms"')
    assert tail.requirements[0].limit == 2000.0


def test_a_deadline_that_is_shorter_is_the_limit():
    latency = _profile('cycle = "1 min"\nimages = 2\ndeadline = "5 s"', 'unit = "ms"').requirements[0]
    assert (latency.limit, latency.unit, latency.budget) == (5000.0, "ms", None)
    patient = _profile('cycle = "1 min"\nimages = 2\ndeadline = "5 h"').requirements[0]
    assert patient.limit == 30.0


def test_a_number_of_ones_own_stays():
    profile = _profile('cycle = "1 min"\nimages = 2', 'limit = "4 s"')
    assert (profile.requirements[0].limit, profile.requirements[0].budget) == (4.0, None)


def test_what_is_no_latency_of_an_image_needs_its_number():
    for quantity in ("load_s", "power_peak_w"):
        with pytest.raises(UsageError, match="the limit is missing"):
            _profile('cycle = "1 min"\nimages = 2', f'quantity = "{quantity}"')


def test_a_budget_of_another_schedule_is_a_contradiction():
    with pytest.raises(UsageError, match="has a budget of 3 in 60 s, and the schedule has 2 in 60 s"):
        _profile('cycle = "1 min"\nimages = 2', "budget = { cycle_s = 60.0, images = 3 }")


def test_what_is_wrong_with_the_schedule_comes_before_what_it_leaves_missing():
    with pytest.raises(UsageError, match="schedule: the schedule has no images"):
        _profile('cycle = "1 min"')


def test_a_budget_alone_is_a_schedule_too():
    text = 'name = "x"\n[[requirements]]\nname = "r"\nbudget = { cycle_s = 60.0, images = 3 }\n'
    assert parse_profile(text.encode(), "x").stated_schedule == Schedule(cycle_s=60.0, images=3)
    other = '[[requirements]]\nname = "s"\nquantity = "infer_s"\nbudget = { cycle_s = 60.0, images = 4 }\n'
    assert parse_profile((text + other).encode(), "x").stated_schedule is None
    assert (
        parse_profile(b'name = "x"\n[[requirements]]\nname = "r"\nlimit = 1\n', "x").stated_schedule is None
    )


def test_the_shipped_profiles_have_their_schedules_and_the_limits_they_had():
    schedules = {
        "disco-realtime": Schedule(cycle_s=4.42, images=1),
        "disco-arctic": Schedule(cycle_s=5739.0, images=80, burst_s=353.6),
        "disco-greenland": Schedule(cycle_s=86400.0, images=320),
    }
    for name, schedule in schedules.items():
        profile = load_profile(name)
        assert profile.stated_schedule == profile.schedule == schedule
        budget = {"cycle_s": schedule.cycle_s, "images": schedule.images}
        common = {"comparison": "at most", "wanted": False}
        assert profile.as_record()["requirements"] == [
            common
            | {"name": "latency", "quantity": "image_s", "statistic": "median", "unit": "s"}
            | {"limit": schedule.cycle_s / schedule.images, "budget": budget},
            common
            | {"name": "peak power", "quantity": "power_peak_w", "statistic": "max", "unit": "W"}
            | {"limit": 5.0, "averaging_s": 1.0},
            common
            | {"name": "mass", "quantity": "mass_g", "statistic": "declared", "unit": "g", "limit": 150.0},
            common
            | {"name": "size", "quantity": "size_mm", "statistic": "declared", "unit": "mm"}
            | {"limit": [10.0, 70.0, 80.0]},
        ]


def test_an_inherited_latency_follows_the_schedule_of_the_one_that_inherits_it(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nextends = "disco-realtime"\n[schedule]\ncycle = "1 h"\nimages = 60\n')
    assert load_profile(str(file)).requirements[0].limit == 60.0


def _with_times(folder, csv, schedule='cycle = "1 min"\ntimes = "times.csv"'):
    (folder / "times.csv").write_bytes(csv if isinstance(csv, bytes) else csv.encode())
    (folder / "mine.toml").write_text(PROFILE.format(schedule, ""))
    return load_profile(str(folder / "mine.toml"))


@pytest.mark.parametrize(
    "csv",
    [
        "0\n4.5\n30\n",
        "seconds\n0\n4.5\n\n30",
        "\ufefftime_s\r\n0\r\n4.5\r\n30\r\n",
        'image,time_s\n"a,b",0\nb,4.5\nc,30\n',
    ],
)
def test_times_from_a_file_beside_the_profile(csv, tmp_path):
    profile = _with_times(tmp_path, csv)
    assert profile.schedule is not None
    assert profile.schedule.times_s == (0.0, 4.5, 30.0)
    assert profile.requirements[0].limit == 20.0
    assert Profile.from_record(json.loads(json.dumps(profile.as_record()))) == profile


@pytest.mark.attack("a schedule's file of times that is hostile: refused with its line")
@pytest.mark.parametrize(
    ("csv", "expected"),
    [
        ("", "it has 0 times"),
        ("time_s\n", "it has 0 times"),
        ("0\n" * (MAX_TIMES + 1), f"it has {MAX_TIMES + 1:,} times"),
        (b"0" * (MAX_BYTES + 1), "more than"),
        (b"\xff\xfe0\n", "not UTF-8 text"),
        ("0\n5;6\n", "line 2: '5;6' is not a time in s"),
        ("0\nnan\n", "line 2: 'nan'"),
        ("0\n1e999\n", "line 2: '1e999'"),
        ("0,1\n1,2\n", "line 1: '0,1'"),
        ("name,time_s\na,0\nb\n", "line 3: 'b'"),
        ("0 s\n10\n", "line 1: '0 s' is not a time in s"),
        ("1;5\n2\n", "line 1: '1;5'"),
        ("nan\n2\n", "line 1: 'nan'"),
        ("1e999\n2\n", "line 1: '1e999'"),
        ("0\n1_0\n", "line 2: '1_0'"),
        ('"1\n2', "unexpected end of data"),
        ("30\n4\n", "time 2, 4 s, is before 30 s"),
        ("-1\n", "is before 0 s or not within"),
        ("60\n", "not within the cycle"),
        ('0\n"' + "1" * 200_000 + '"\n', "field larger"),
    ],
)
def test_files_that_give_no_times(csv, expected, tmp_path):
    with pytest.raises(UsageError) as caught:
        _with_times(tmp_path, csv)
    assert expected in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ('"none.csv"', "No such file"),
        ('"."', "it is a folder"),
        ("[0, 1]", "times is not one file"),
        ('"times.csv"\ntimes_s = [0.0]', "times is not one file"),
    ],
)
def test_times_that_name_no_file(times, expected, tmp_path):
    with pytest.raises(UsageError) as caught:
        _with_times(tmp_path, "0\n", f'cycle = "1 min"\ntimes = {times}')
    assert expected in str(caught.value)


def test_times_are_inherited_from_where_their_profile_lies(tmp_path):
    (tmp_path / "base").mkdir()
    _with_times(tmp_path / "base", "0\n1\n")
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nextends = "base/mine.toml"\n')
    assert load_profile(str(file)).requirements[0].limit == 30.0


def test_read_times_of_a_file_alone(tmp_path):
    (tmp_path / "t.csv").write_text("3\n1\n")
    assert read_times(tmp_path / "t.csv") == [3.0, 1.0]  # sorting is the schedule's to ask for
