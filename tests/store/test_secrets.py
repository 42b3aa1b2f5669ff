"""What a launch keeps apart, and what of it stays."""

from typing import Any

import pytest

from edgebench.store.apart import Apart
from edgebench.store.secrets import masked_inputs, masked_launch, values_apart


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        (["sudo", "-u", "x"], ["sudo", "-u", "..."]),
        (["env", "TOKEN=abc"], ["env", "TOKEN=..."]),
        (["env", "EMPTY="], ["env", "EMPTY=..."]),
        (["run", "--token", "abc", "--key=k", "fast"], ["run", "--token", "...", "--key=...", "fast"]),
        (["nice", "-n", "-5", "taskset", "-c", "0-3"], ["nice", "-n", "-5", "taskset", "-c", "0-3"]),
        (["ionice", "-c", "2", "chrt", "--fifo", "50"], ["ionice", "-c", "2", "chrt", "--fifo", "50"]),
        ([], []),
    ],
)
def test_names_and_numbers_of_a_prefix_stay_and_values_do_not(prefix, shown):
    assert masked_launch({"prefix": prefix})["prefix"] == shown
    assert masked_launch({"prefix": shown})["prefix"] == shown


def test_the_variables_names_stay():
    launch = {"python": "py", "env": {"TOKEN": "s3cret", "EMPTY": ""}, "prefix": (), "affinity": (1,)}
    masked = {**launch, "env": {"TOKEN": "...", "EMPTY": ""}, "prefix": []}
    assert masked_launch(launch) == masked
    inputs = {"scene": 1, "settings": {"batch": 1, "launch": launch}}
    assert masked_inputs(inputs) == {"scene": 1, "settings": {"batch": 1, "launch": masked}}


@pytest.mark.parametrize(
    "launch", [{}, {"env": 3, "prefix": "x=y"}, {"env": {"A": 1}, "prefix": [1, None]}, {"prefix": None}]
)
def test_a_record_that_holds_nonsense_is_no_fault(launch):
    masked_launch(launch)
    assert values_apart(launch) == {}
    strange: list[dict[str, Any]] = [{}, {"settings": 3}, {"settings": {"launch": []}}]
    assert [masked_inputs(inputs) for inputs in strange] == strange


def test_a_text_that_repeats_a_value_has_the_name_of_it_instead():
    launch = {
        "env": {"TOKEN": "s3cret-token", "LONGER": "s3cret-token-2", "THREADS": "2", "N": "1234567"},
        "prefix": ["env", "PASS=open sesame", "--key", "0123abcd"],
    }
    apart = Apart.of(launches=[launch])
    text = "401 for s3cret-token, s3cret-token-2 and 'open sesame' (0123abcd): 2 threads of 1234567"
    assert apart.text(text) == "401 for (TOKEN), (LONGER) and '(PASS)' ((key)): 2 threads of 1234567"
    assert apart.paths({"a": ["x/s3cret-token/y"]}) == {"a": ["x/(TOKEN)/y"]}


def test_what_sessions_are_pooled_by_stays_whatever_a_launch_or_a_board_is_called():
    apart = Apart.of(["pi@litert"], launches=[{"env": {"BACKEND": "2.3.0-rc1"}}])
    runtime = {"name": "litert", "version": "2.3.0-rc1", "numpy": "2.4.6", "library": "litert 2.3.0-rc1"}
    assert apart.runtime(runtime) == {**runtime, "library": "(host) (BACKEND)"}
