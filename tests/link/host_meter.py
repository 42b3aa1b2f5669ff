"""A meter that samples on the host: a package with an entry point of its own, in a folder of a test's.

`benchtop:` gives the seconds of its own clock as watts; `benchtop:beside:WORD` 5 W while the process that has
WORD in its environment runs or is ready to, else 2 W, with stamps that are LAG_NS late.
"""

import sys

from edgebench import registry

KIND = "benchtop"
LAG_NS = 300_000_000
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


def state_beside(word):
    # The path of the state of the process that was started with that word; None before it was.
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/{}/environ".format(pid), "rb") as environment:
                if b"=" + word.encode() + b"\\0" in environment.read():
                    return "/proc/{}/stat".format(pid)
        except OSError:
            pass
    return None


def watts_by(state):
    try:
        with open(state) as file:
            return 5.0 if file.read().rpartition(")")[2].split()[0] == "R" else 2.0
    except OSError:
        return 2.0


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
            self.info["scope"] = 5

    def start(self):
        pass

    def stop(self):
        self.running = False

    def __iter__(self):
        if self.address.startswith("beside:"):
            yield from self.beside(self.address[len("beside:"):])
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

    def beside(self, word):
        state = None
        while self.running:
            stamps, watts = [], []
            while self.running and len(stamps) < RATE_HZ / 10:
                time.sleep(1 / RATE_HZ)
                now_ns = time.monotonic_ns()
                state = state or state_beside(word)
                stamps.append(now_ns + LAG_NS)
                watts.append(watts_by(state) if state else 2.0)
            yield stamps, {"in": watts}
"""


def install(folder, monkeypatch):
    """Have the meter found by its entry point while the test lasts; the name to ask for it by."""
    package = folder / "benchtop_meter"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(INIT)
    (package / "meter.py").write_text(f"LAG_NS = {LAG_NS}\n{METER}")
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
