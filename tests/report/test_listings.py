from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from edgebench.judge.requirements.profile import Profile, shipped_profiles
from edgebench.judge.requirements.schedule import Schedule
from edgebench.report.listings import devices, models
from edgebench.report.renderers.terminal import make_console


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


def said(function: object, *arguments: object, **options: object) -> str:
    file = io.StringIO()
    function(make_console(file), *arguments, **options)  # type: ignore[operator]
    text = file.getvalue()
    if not options.get("as_json"):
        assert all(
            len(line) <= 80 for line in text.splitlines() if not line.startswith("mobilenet_v1-0.25-int8: ")
        )
    return text


DEVICES = [
    {
        "name": "cpu",
        "description": "this machine, by LiteRT [red]",
        "precisions": ("fp32", "int8"),
        "options": {
            "threads": {"type": "integer", "default": 1, "description": "Threads of the runtime."},
            "kernels": {"enum": ["xnnpack", "reference"], "default": "xnnpack"},
            "delegate": {"type": "string", "default": ""},
        },
        **{"default_batch": 2, "most_batch": 16, "takes_host": True, "takes_port": False},
        "meters": ("ina3221", "tegrastats"),
    }
]


def test_devices_with_what_can_be_set() -> None:
    text = said(devices.devices_listing(DEVICES, {"rapl": "Energy counters of the processor."}).show)
    assert "this machine, by LiteRT [red]" in text
    assert "--set kernels=...: xnnpack, reference (default xnnpack)" in text
    assert "(default )" not in text
    assert "precisions: fp32, int8; batch: 1 to 16 (default 2)" in text and "takes --host\n" in text
    assert "meters: ina3221, else tegrastats, unless --meter names another\n" in text
    assert "rapl: Energy counters of the processor.\n" in text
    read = json.loads(said(devices.devices_listing(DEVICES, {}).show, as_json=True))
    assert read["schema_version"] == 1
    assert read["devices"][0]["options"]["threads"]["default"] == 1
    assert "No device" in said(devices.devices_listing([], {}).show)


def test_findings_with_their_fixes() -> None:
    findings = [
        {"target": "cpu", "level": "ok", "subject": "runtime", "message": "2.1", "fix": ""},
        {
            "target": "cpu",
            "level": "warning",
            "subject": "governor",
            "message": "powersave",
            "fix": "set it " * 20,
        },
    ]
    text = said(devices.print_findings, findings)
    assert "warning  governor: powersave" in text
    assert "fix: set it" in text
    assert json.loads(said(devices.print_findings, findings, as_json=True))["findings"] == findings


def test_profiles_with_their_limits() -> None:
    profiles = shipped_profiles()
    text = said(devices.profiles_listing(profiles).show)
    assert "latency per image ≤ 4.42 s" in text
    assert "size ≤ 10 x 70 x 80 mm" in text
    arctic = next(profile for profile in profiles if profile.name == "disco-arctic")
    text_of_arctic = said(devices.profile_listing(arctic).show)
    assert "schedule: 80 images in a cycle of 5739 s, within its first 353.6 s" in text_of_arctic
    assert "≤ 71.7375 s" in text_of_arctic
    assert (
        json.loads(said(devices.profile_listing(arctic).show, as_json=True))["profile"] == arctic.as_record()
    )
    listed = json.loads(said(devices.profiles_listing(profiles).show, as_json=True))["profiles"]
    assert listed == [profile.as_record() for profile in profiles]


def test_an_uplink_is_shown_where_the_profile_has_it_and_where_a_limit_uses_it() -> None:
    update = {"name": "update", "quantity": "update_s", "limit": "10 min"}
    profile = Profile.model_validate({"name": "x", "uplink_bps": "9.6 kbit/s", "requirements": [update]})
    text = said(devices.profile_listing(profile).show)
    assert "uplink: 9600 bit/s" in text
    assert "update time ≤ 600 s" in text and "an uplink of 9600 bit/s" in text


def test_a_schedule_in_words() -> None:
    stated = Schedule(cycle_s=60.0, images=1, times_s=(3.0,), deadline_s=5.0)
    text = "1 image in a cycle of 60 s, at stated times; each is due 5 s after it came"
    assert devices.schedule_text(stated) == text
    assert devices.schedule_text(Schedule(cycle_s=4.42, images=2)) == "2 images in a cycle of 4.42 s"


def test_variants_with_whole_paths() -> None:
    path = "/home/somebody/.cache/edgebench/objects/" + "ab" * 40 + ".tflite"
    tested = {
        "k": 952,
        "n": 1000,
        "low": 0.937,
        "high": 0.9636,
        "agree_k": 996,
        "agree_n": 1000,
        "overlapping": True,
    }
    rows = [
        {
            "variant": "mobilenet_v1-0.25-int8",
            "parameters": 219829,
            "artifact": {"path": path, "size_bytes": 340_000},
            "evaluation": tested,
        },
        {"variant": "mobilenet_v1-1.0-fp32", "parameters": 3233989, "artifact": None, "evaluation": None},
    ]
    text = said(models.variants_listing(rows).show)
    assert f"mobilenet_v1-0.25-int8: {path}\n" in text
    first = next(line for line in text.splitlines() if line.startswith("mobilenet_v1-0.25-int8 "))
    assert " ".join(first.split()) == "mobilenet_v1-0.25-int8 219,829 340 kB 952/1000 99.6 %"
    second = next(line for line in text.splitlines() if line.startswith("mobilenet_v1-1.0-fp32 "))
    assert second.split()[1:] == ["3,233,989", "-", "-", "-"]
    assert "share pixels" in text
    assert json.loads(said(models.variants_listing(rows).show, as_json=True))["variants"] == rows
    none = said(models.variants_listing([rows[1]]).show)
    assert "None is prepared yet" in none
    refused = said(models.variants_listing([rows[1] | {"reason": "it does not fit"}]).show)
    assert "mobilenet_v1-1.0-fp32: it does not fit" in refused


def test_listing_needs_no_heavy_library() -> None:
    code = (
        "import sys, edgebench.report.listings.devices, edgebench.report.listings.models; "
        "print(sorted({'numpy', 'pandas', 'pydantic', 'matplotlib', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().strip() == "[]"
