"""What the process of a probe makes of readings that are not readings."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from edgebench.agent import sampler
from edgebench.agent.sampler import MAX_READING, MAX_VERBATIM, Rejections

INFO = {"channels": [{"name": "in", "range": [0.0, 60.0]}, {"name": "temperature"}]}


def told(rejections, probe=None):
    messages: list[Any] = []
    rejections.tell(probe, SimpleNamespace(write=messages.append))
    return messages


def test_a_value_out_of_its_channels_range_is_no_number():
    rejections = Rejections(INFO)
    values = rejections.within_range({"in": [0.0, 60.5, 60.0, -1.0, math.nan], "temperature": [1e9]})
    assert [math.isnan(value) for value in values["in"]] == [False, True, False, True, True]
    assert values["temperature"] == [1e9]
    assert told(rejections) == [{"kind": "rejected", "count": 2, "first": ["in=60.5", "in=-1.0"]}]
    assert told(rejections) == []


def test_what_could_not_be_parsed_is_taken_from_the_probe_and_counted():
    rejections, probe = Rejections(INFO), SimpleNamespace(rejected=["1,2,", "x" * 1000])
    [first] = told(rejections, probe)
    assert (first["count"], first["first"]) == (2, ["1,2,", "x" * MAX_READING])
    assert probe.rejected == []
    probe.rejected += [f"reading {n}" for n in range(100)]
    [second] = told(rejections, probe)
    assert (second["count"], len(second["first"])) == (100, MAX_VERBATIM)


@pytest.mark.attack("a probe names two channels alike: it is refused with the reason, by itself")
def test_channels_that_a_chunk_cannot_have_are_refused():
    with pytest.raises(ValueError, match="several channels named 'a'"):
        sampler._require_channels({"channels": [{"name": name} for name in ("a", "b", "a")]})


def test_a_refusal_without_a_step_has_one():
    assert sampler._missing(RuntimeError("what"))["step"] == "device"
    about = {"denied": True, "reason": "no", "port": "/dev/null"}
    denied = sampler._missing(type("Denied", (Exception,), about)())
    assert denied["step"] == "permission"
    assert denied["reason"].startswith("no (crw")
