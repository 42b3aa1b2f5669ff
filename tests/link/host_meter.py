"""A meter that samples on the host: a package with an entry point of its own, in a folder of a test's."""

import sys

from edgebench import registry

KIND = "benchtop"
INIT = '''"""A made-up meter on this machine: its watts are the seconds of its own clock."""

PLACE = "host"


def open_probe(address):
    from .meter import Meter

    return Meter(address)
'''
METER = """
import os
import time

RATE_HZ = 100.0


class Missing(Exception):
    reason, fix, denied = "no meter is plugged in", "plug it in", False


class Meter:
    def __init__(self, address):
        if address == "none":
            raise Missing()
        while address.startswith("after:") and not os.path.exists(address[len("after:"):]):
            time.sleep(0.01)
        self.address = address
        self.running = True
        self.rejected = []
        self.info = {
            "kind": "benchtop", "address": address, "rate_hz": RATE_HZ, "resolution": "made up",
            "scope": "board", "channels": [
                {"name": "in", "quantity": "power", "unit": "W", "total": True, "range": [0, 1e12]},
            ],
        }
        if address == "garbled":
            self.info["scope"] = "x" * 1000

    def start(self):
        pass

    def stop(self):
        self.running = False

    def __iter__(self):
        while self.running:
            stamps = []
            while self.running and len(stamps) < RATE_HZ / 10:
                time.sleep(1 / RATE_HZ)
                stamps.append(time.monotonic_ns())
            watts = [stamp / 1e9 for stamp in stamps]
            if self.address == "of another clock":
                stamps = [time.time_ns() for _ in stamps]
            if self.address == "out of range":
                stamps[-1] = 2**63 - 1
            if self.address == "unannounced":
                yield stamps, {"out": watts}
            if self.address == "without a channel":
                yield stamps, {}
            if self.address == "noisy":
                self.rejected.append("watts: \x1b[1m?")
                watts[0] = -1.0
            yield stamps, {"in": watts}
            if self.address == "dies":
                os.abort()
"""


def install(folder, monkeypatch):
    """Have the meter found by its entry point while the test lasts; the name to ask for it by."""
    package = folder / "benchtop_meter"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(INIT)
    (package / "meter.py").write_text(METER)
    about = folder / "benchtop_meter-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: benchtop-meter\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[edgebench.probes]\n{KIND} = benchtop_meter\n")
    monkeypatch.syspath_prepend(str(folder))
    registry._points.cache_clear()
    return KIND


def uninstall():
    """Forget it again."""
    registry._points.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchtop_meter"]:
        del sys.modules[name]
