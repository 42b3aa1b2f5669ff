"""Which values of a launch are secret, and what of it stays."""

from typing import Any

import pytest

from edgebench.records.target import masked_inputs, masked_launch, secret_values
from edgebench.results.redaction import PrivateNames


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        (["sudo", "-u", "x"], ["sudo", "-u", "..."]),
        (["env", "TOKEN=abc"], ["env", "..."]),
        (["run", "--token", "abc", "--key=k", "fast"], ["run", "--token", "...", "...", "..."]),
        (["nice", "-n", "-5", "taskset", "-c", "0-3"], ["nice", "-n", "-5", "taskset", "-c", "0-3"]),
        (["/usr/bin/nice", "-n5", "chrt", "--fifo", "50"], ["nice", "-n5", "chrt", "--fifo", "50"]),
        (["ionice", "-c2", "numactl", "--cpunodebind=0"], ["ionice", "-c2", "numactl", "--cpunodebind=0"]),
        (["nice", "vault", "--pin", "123456", "-p123456"], ["nice", "...", "--pin", "...", "..."]),
        (["https://ann:hunter2@host/x"], ["..."]),
        ([], []),
    ],
)
def test_launchers_options_and_their_numbers_stay_and_all_else_does_not(prefix, shown):
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
    assert secret_values(launch) == {}
    strange: list[dict[str, Any]] = [{}, {"settings": 3}, {"settings": {"launch": []}}]
    assert [masked_inputs(inputs) for inputs in strange] == strange


def test_a_text_that_repeats_a_value_has_the_name_of_it_instead():
    launch = {
        "env": {"TOKEN": "s3cret-token", "LONGER": "s3cret-token-2", "THREADS": "2", "N": "1234567"},
        "prefix": ["env", "PASS=open sesame", "--key", "0123abcd"],
    }
    names = PrivateNames.of(launches=[launch])
    text = "401 for s3cret-token, s3cret-token-2 and 'open sesame' (0123abcd): 2 threads of 1234567"
    assert names.text(text) == "401 for (TOKEN), (LONGER) and '(prefix)' ((prefix)): 2 threads of 1234567"
    assert names.paths({"a": ["x/s3cret-token/y"]}) == {"a": ["x/(TOKEN)/y"]}


SECRET = "hunter2-Tok3n"


@pytest.mark.attack(
    "a secret in a launch's prefix, attached to an option, in a script, a URL or alone: masked, and taken "
    "out of texts in every part"
)
@pytest.mark.parametrize(
    "words",
    [
        [f"-p{SECRET}"],
        [f"-uann:{SECRET}"],
        [f"-p{SECRET}", "value"],
        [f"--token:{SECRET}"],
        ["-k", f"-{SECRET}"],
        [f"1TOKEN={SECRET}"],
        [f"+token={SECRET}"],
        [f"+{SECRET}"],
        [f"https://ann:{SECRET}@host/x"],
        [SECRET],
        ["sh", "-c", f'TOKEN="{SECRET}" exec "$@"'],
        [f"/run/secrets/{SECRET}/key"],
    ],
    ids=" ".join,
)
def test_a_secret_of_a_prefix_is_shown_nowhere(words):
    launch = {"prefix": ["vault", *words]}
    assert SECRET not in str(masked_launch(launch))
    text = PrivateNames.of(launches=[launch]).text(f"401: {SECRET}!")
    assert SECRET not in text
    assert "(prefix)" in text


def test_a_part_of_a_variable_is_taken_out_of_texts_and_paths_are_whole():
    launch = {
        "env": {"PROXY": f"http://ann:{SECRET}@proxy:8080", "LIBRARIES": "/opt/vendor/lib:/opt/other/lib"}
    }
    names = PrivateNames.of(launches=[launch])
    assert names.text(f"407 for {SECRET}") == "407 for (PROXY)"
    assert names.text("no /opt/vendor/lib/x.so; vendor") == "no (LIBRARIES)/x.so; vendor"


@pytest.mark.attack("a message is cut during a secret of the launch: the part that is left is taken out, too")
def test_a_value_that_is_cut():
    names = PrivateNames.of(launches=[{"env": {"TOKEN": SECRET}}])
    words = " words" * 400
    assert names.text(SECRET[2:] + words) == "(TOKEN)" + words
    assert names.text(f"{words} {SECRET[:-2]}") == f"{words} (TOKEN)"
    assert names.text(f"{words} {SECRET[:5]}") == f"{words} {SECRET[:5]}"
    assert names.text(SECRET[:-2]) == SECRET[:-2]  # nobody cuts a text as short


def test_what_sessions_are_pooled_by_stays_whatever_a_launch_or_a_board_is_called():
    names = PrivateNames.of(["pi@litert"], launches=[{"env": {"BACKEND": "2.3.0-rc1"}}])
    runtime = {"name": "litert", "version": "2.3.0-rc1", "numpy": "2.4.6", "library": "litert 2.3.0-rc1"}
    assert names.runtime(runtime) == {**runtime, "library": "(host) (BACKEND)"}
