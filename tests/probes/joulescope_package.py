"""A stand-in for the package `joulescope` with the names of its release 1.5: scan, and its devices."""

import threading
import types

SETTINGS = {"reduction_frequency": ["100 Hz", "50 Hz", "20 Hz", "10 Hz", "5 Hz", "2 Hz", "1 Hz"]}


class Device:
    """An instrument that calls back every 10 ms while it is open.

    Args:
        model, serial_number: of its path.
        power: called with the number of the statistic, from 0; W, or None to be silent.
    """

    def __init__(self, model="js220", serial_number="001234", power=lambda n: 5.0):
        self.model = model
        self.serial_number = serial_number
        self.config = None
        self.power = power
        self.refusal = None
        self.mode = None
        self.settings = {}
        self._callbacks = []
        self._end: threading.Event | None = None

    def __str__(self):
        return f"{self.model.upper()}-{self.serial_number}"

    def parameter_set(self, name, value):
        assert value in SETTINGS[name]
        self.settings[name] = value

    def statistics_callback_register(self, cbk, source=None):
        self._callbacks.append(cbk)

    def statistics_callback_unregister(self, cbk, source=None):
        self._callbacks.remove(cbk)

    def open(self, event_callback_fn=None, mode=None, timeout=None):
        if self.refusal is not None:
            raise self.refusal
        assert mode in (None, "defaults", "restore", "raw")
        self.mode = mode
        self._end = end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(end,), daemon=True)
        self._thread.start()

    def close(self, timeout=None):
        if self._end is not None:
            self._end.set()
            self._thread.join(10)
            self._end = None

    def _run(self, end):
        number = 0
        while not end.wait(0.01):
            watts = self.power(number)
            number += 1
            if watts is None:
                continue
            for callback in list(self._callbacks):
                callback(_statistics(watts))


def _statistics(watts):
    def signal(value, units):
        return {"\u00b5": {"value": value, "units": units}, "avg": {"value": value, "units": units}}

    return {
        "time": {"delta": {"value": 0.01, "units": "s"}},
        "signals": {
            "current": signal(watts / 5.0, "A"), "voltage": signal(5.0, "V"), "power": signal(watts, "W"),
        },
        "accumulators": {"energy": {"value": 0.0, "units": "J"}},
    }  # fmt: skip


def package(devices):
    """The module, of which `scan` finds whatever is in the list at that time."""

    def scan(name=None, config=None):
        for device in devices:
            device.config = config
        return list(devices)

    return types.SimpleNamespace(scan=scan)
