"""Telemetry beside a session: samples from a process of its own, and never a meter."""

from dataclasses import replace

import numpy as np
import pytest

from edgebench.records.target import Launch
from tests.link.old_python import python36
from tests.link.test_session_probes import tree

RATE = "telemetry:10"


def measured(rig, device, monitors=(RATE,), **settings):
    with_monitors = replace(rig.settings(delay_us=10_000, **settings), monitors=monitors)
    with device.session(rig.artifact(), with_monitors) as session:
        list(session.measure(rig.plan(passes=3, warmup_cap=0)))
        return session.facts(), list(session.probe_chunks())


@pytest.mark.parametrize("old", [False, True])
def test_samples_cover_the_session_and_are_no_meter(rig, old):
    python, why = python36() if old else (None, "")
    if old and python is None:
        pytest.skip(why)
    device = rig.device(python=python)
    try:
        facts, chunks = measured(rig, device, idle_s=60.0)
    finally:
        device.close()
    [info] = facts.probes
    assert (info.kind, info.address, info.rate_hz, info.scope) == ("telemetry", "10", 10.0, "")
    assert not info.is_meter
    assert facts.windows_ns.idle is None  # nobody watches the idle device's power
    assert facts.probe_reasons == {"": "no meter"}
    assert facts.monitor_reasons == {}
    names = {channel.name for channel in info.channels}
    assert {"load_1min", "memory_available", "voluntary_switches", "involuntary_switches"} <= names
    assert all(reason for reason in info.absent.values())
    stamps = np.concatenate([chunk.stamps_ns for chunk in chunks])
    steady = facts.windows_ns.steady
    assert stamps[0] < steady[0] < steady[1] < stamps[-1]  # the last one is taken when it is stopped
    switches = np.concatenate([chunk.values["voluntary_switches"] for chunk in chunks])
    # Every batch of this runner sleeps once.
    assert switches[-1] >= 12 * 3
    assert (np.diff(switches) >= 0).all()


def test_a_prefix_that_stays_in_front_does_not_hide_the_worker(rig, device, tmp_path):
    front = tmp_path / "front"
    front.write_text('#!/bin/sh\n"$@"\nexit $?\n')
    front.chmod(0o755)
    launch = Launch(prefix=(str(front),))
    _, chunks = measured(rig, device, launch=launch)
    assert chunks[-1].values["voluntary_switches"][-1] >= 12 * 3


def test_beside_a_meter_each_keeps_its_own_reasons(rig, device, tmp_path):
    meter = f"rapl:{tree(tmp_path / 'powercap', {'intel-rapl:0': 1000})}"
    facts, chunks = measured(rig, device, ("telemetry:no",), meters=(meter,), idle_s=0.05)
    assert {chunk.probe for chunk in chunks} == {meter}
    assert facts.windows_ns.idle is not None
    assert facts.probe_reasons == {}
    assert "'no' is no rate" in facts.monitor_reasons["telemetry:no"]


def test_without_monitors_there_is_none(rig, device):
    facts, chunks = measured(rig, device, ())
    assert (facts.probes, chunks, facts.monitor_reasons) == ((), [], {})
