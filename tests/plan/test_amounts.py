"""Shares and durations as people write and read them."""

import pytest

from edgebench.run.setting import (
    clock_text,
    duration_s,
    rough_text,
    share,
    span_text,
)
from edgebench.texts import duration_text, share_text


@pytest.mark.parametrize(
    ("text", "value"),
    [("1%", 0.01), ("1 %", 0.01), ("0.5%", 0.005), ("0.01", 0.01), (".02", 0.02), (0.03, 0.03)],
)
def test_shares(text, value):
    assert share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "%", "one", "1%%", "-1%", "1,5%", "nan", "inf"])
def test_what_is_no_share(text):
    with pytest.raises(ValueError, match="such as 1%"):
        share(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("30 min", 1800),
        ("90s", 90),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h 30m 5s", 5405),
        ("1.5h", 5400),
        ("45", 45),
        (" 45 ", 45),
        (12, 12),
    ],
)
def test_durations(text, seconds):
    assert duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "m", "30x", "30mm", "m30", "1h-30m", "half an hour", "1h 30"])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="such as 30m"):
        duration_s(text)


def test_the_same_in_words():
    assert [share_text(share) for share in (0.01, 0.0025, 0.125)] == ["1 %", "0.25 %", "12.5 %"]
    seconds = (1800, 90, 7200, 5400, 45, 0.5, 60)
    words = ["30 min", "90 s", "2 h", "1 h 30 min", "45 s", "0.5 s", "1 min"]
    assert [duration_text(duration_s) for duration_s in seconds] == words


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (42.4, "0:42"), (725, "12:05"), (3723, "1:02:03"), (-1, "0:00")]
)
def test_clock_text(seconds, text):
    assert clock_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 second"),
        (89.4, "89 seconds"),
        (130.0, "2 minutes"),
        (5399.0, "90 minutes"),
        (9000.0, "2.5 hours"),
    ],
)
def test_rough_text(seconds, text):
    assert rough_text(seconds) == text


@pytest.mark.parametrize(("least_s", "most_s", "text"), [(42.0, 42.4, "0:42"), (40.0, 130.0, "0:40 to 2:10")])
def test_from_the_least_to_the_most(least_s, most_s, text):
    assert span_text(least_s, most_s) == text
