"""The kit can fail: probes with one fault each are caught by the test that is there for it."""

from __future__ import annotations

import pytest

from tests.testing import faulty
from tests.testing.complaints import probe_complaint as complaint

CHANNEL = '[{"name": "made_up", "quantity": "power", "unit": "W"}]'
FIX = "self.fix = fix"
TWICE = "yield [one for one in stamps for _ in range(2)], {'made_up': 2 * watts}"


@pytest.mark.parametrize(
    ("test", "old", "new", "words"),
    [
        ("test_it_is_a_probe_module", 'PLACE = "board"', 'PLACE = "wall"', "PLACE is 'wall'"),
        ("test_it_is_a_probe_module", 'PLACE = "board"', 'PLACE = "board"\nMONITOR = 1', "MONITOR is 1"),
        ("test_it_is_a_probe_module", "RATE_HZ", "HZ", "RATE_HZ is 'missing'"),
        ("test_it_is_a_probe_module", "RATE_HZ = 20.0", "RATE_HZ = 0", "RATE_HZ is 0"),
        (
            "test_it_is_a_probe_module",
            "def open_probe(address: str)",
            "def open_probe()",
            "no open_probe(address)",
        ),
        ("test_it_is_python_3_6", "import time", "import time\n\nassert (n := 1)", "is not valid Python 3.6"),
        (
            "test_it_imports_the_standard_library_alone",
            "import time",
            "import time\n\nimport numpy",
            ": numpy",
        ),
        ("test_hardware_that_is_missing_is_said", "address or STAT", "STAT", "and open_probe opened it"),
        ("test_hardware_that_is_missing_is_said", FIX, "pass", "without a fix"),
        ("test_what_it_says_of_itself", CHANNEL, CHANNEL.replace('"W"', '"mW"'), "made_up is power in mW"),
        (
            "test_what_it_says_of_itself",
            CHANNEL,
            CHANNEL.replace("power", "load"),
            "no channel is power or energy",
        ),
        ("test_what_it_says_of_itself", '"scope": "chip"', '"scope": "rail"', "the scope is 'rail'"),
        (
            "test_what_it_says_of_itself",
            'PLACE = "board"',
            'PLACE = "board"\nMONITOR = True',
            "leave MONITOR out",
        ),
        ("test_what_it_says_of_itself", CHANNEL, f"2 * {CHANNEL}", "two channels share a name"),
        (
            "test_what_it_says_of_itself",
            CHANNEL,
            CHANNEL.replace("}", ', "range": [9.0, 1.0]}'),
            "made_up has the range (9.0, 1.0)",
        ),
        (
            "test_what_it_says_of_itself",
            CHANNEL,
            "[dict(name=name, quantity='power', unit='W', total=True) for name in ('a', 'b')]",
            "several channels of one quantity are total",
        ),
        ("test_what_it_says_of_itself", '"rate_hz": RATE_HZ', '"rate_hz": 1e9', "rate_hz is"),
        ("test_what_it_says_of_itself", '"rate_hz": RATE_HZ', '"rate_hz": 10.0', "and rate_hz is 10.0"),
        (
            "test_samples",
            "int(time.monotonic() * 1e9)",
            "int(time.time() * 1e9)",
            "not of the monotonic clock",
        ),
        ("test_samples", 'yield stamps, {"made_up": watts}', TWICE, "do not rise"),
        (
            "test_samples",
            'yield stamps, {"made_up": watts}',
            "yield stamps, {}",
            "a chunk has the channels []",
        ),
        ("test_samples", "time.sleep(1 /", "time.sleep(3 /", "samples a second came and 20 are stated"),
        ("test_samples", '{"made_up": watts}', '{"made_up": watts[1:]}', "it sent no frames"),
        (
            "test_samples",
            "yield stamps,",
            "print(1 / 0)\n            yield stamps,",
            "it failed while it sampled",
        ),
    ],
)
def test_each_fault_is_caught(edgebench_cache, tmp_path, test, old, new, words):
    sound = faulty.meter(tmp_path)
    assert not complaint(test, sound, edgebench_cache)
    text = complaint(test, faulty.meter(tmp_path, (old, new)), edgebench_cache)
    assert words in text
    assert "fix: " in text


def test_a_probe_that_never_stops(edgebench_cache, tmp_path):
    deaf = faulty.meter(tmp_path, ("self._running = False", "pass"))
    text = complaint("test_it_ends_when_it_is_told", deaf, edgebench_cache, stop_s=0.5)
    assert "it still ran 0.5 s after stop()" in text


def test_hardware_that_is_missing_is_a_reason_and_not_a_failure(edgebench_cache, tmp_path):
    absent = faulty.meter(tmp_path, ('STAT = "/proc/stat"', 'STAT = "/no/such/stat"'))
    with pytest.raises(pytest.skip.Exception, match=r"No such file.*leave the address out"):
        complaint("test_samples", absent, edgebench_cache)
    assert "--edgebench-require-device" in complaint(
        "test_samples", absent, edgebench_cache, require_device=True
    )
