import pytest

from edgebench.agent.clock import SPAWNED_NS, ns_since_spawn


@pytest.mark.parametrize(
    ("told", "passed_ns"), [("1000", 500), ("1500", None), ("9000", None), ("soon", None), ("", None)]
)
def test_what_has_passed_since_the_agent_started_the_process(told, passed_ns, monkeypatch):
    monkeypatch.setenv(SPAWNED_NS, told)
    assert ns_since_spawn(lambda: 1500) == passed_ns


def test_a_process_that_no_agent_started_does_not_know(monkeypatch):
    monkeypatch.delenv(SPAWNED_NS, raising=False)
    assert ns_since_spawn(lambda: 1500) is None
