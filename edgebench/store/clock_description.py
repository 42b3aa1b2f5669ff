"""What the field `clock` of session.json is."""

from __future__ import annotations

from typing import Any

from edgebench.store.described import Described


def _clock_match(description: str) -> dict[str, Any]:
    """The schema of a ClockMatch."""
    return {
        "type": "object",
        "description": description,
        "x-source": "round trips",
        "properties": {
            "offset_ns": {
                "type": "integer",
                "description": "Device clock minus host clock.",
                "x-unit": "ns",
                "x-source": "round trips",
            },
            "bound_ns": {
                "type": "integer",
                "description": "By how much the offset is known.",
                "x-unit": "ns",
                "x-source": "round trips",
                "minimum": 0,
            },
        },
        "required": ["offset_ns", "bound_ns"],
        "additionalProperties": False,
    }


CLOCK = Described(
    "Device clock against host clock: at the session's edges, and over the whole of it.",
    "round trips",
    shape={
        "required": [],
        "properties": {
            "start": _clock_match("At the start."),
            "end": _clock_match("At the end."),
            "fit": {
                "type": "object",
                "description": "A line through all round trips, at the edges and between "
                "passes: device = host + offset_ns + drift_ppm * 1e-6 * (host - "
                "reference_ns). Absent where there were none.",
                "x-source": "round trips",
                "properties": {
                    "reference_ns": {
                        "type": "integer",
                        "description": "Host clock at which offset_ns holds.",
                        "x-unit": "ns",
                        "x-source": "host's monotonic clock",
                    },
                    "offset_ns": {
                        "type": "integer",
                        "description": "Device clock minus host clock at reference_ns.",
                        "x-unit": "ns",
                        "x-source": "round trips",
                    },
                    "drift_ppm": {
                        "type": ["number", "null"],
                        "description": "By how much the device clock runs faster than the "
                        "host's; null where the round trips do not say.",
                        "x-unit": "ppm",
                        "x-source": "round trips",
                    },
                    "drift_bound_ppm": {
                        "type": ["number", "null"],
                        "description": "By how much the drift is known.",
                        "x-unit": "ppm",
                        "x-source": "round trips",
                        "minimum": 0,
                    },
                    "bound_ns": {
                        "type": "integer",
                        "description": "By how much the line is known anywhere between from_ns "
                        "and to_ns, however the delays were split between the "
                        "two ways.",
                        "x-unit": "ns",
                        "x-source": "round trips",
                        "minimum": 0,
                    },
                    "from_ns": {
                        "type": "integer",
                        "description": "Host clock at the first round trip.",
                        "x-unit": "ns",
                        "x-source": "host's monotonic clock",
                    },
                    "to_ns": {
                        "type": "integer",
                        "description": "Host clock at the end of the last round trip.",
                        "x-unit": "ns",
                        "x-source": "host's monotonic clock",
                    },
                    "misfit_ns": {
                        "type": "integer",
                        "description": "By how much no straight line reaches the round trip "
                        "that is farthest off; 0 where the clock ran evenly. It "
                        "is within bound_ns.",
                        "x-unit": "ns",
                        "x-source": "round trips",
                        "minimum": 0,
                    },
                    "n": {
                        "type": "integer",
                        "description": "Round trips.",
                        "x-source": "round trips",
                        "minimum": 1,
                    },
                },
                "required": [
                    "reference_ns",
                    "offset_ns",
                    "drift_ppm",
                    "drift_bound_ppm",
                    "bound_ns",
                    "from_ns",
                    "to_ns",
                    "misfit_ns",
                    "n",
                ],
                "additionalProperties": False,
            },
            "test_clock": {
                "type": "object",
                "description": "By how much a test moved the device's clock "
                "(EDGEBENCH_TEST_CLOCK): no figure was measured. Absent where "
                "none did.",
                "x-source": "worker",
                "properties": {
                    "offset_ns": {
                        "type": "integer",
                        "description": "Added to the clock.",
                        "x-unit": "ns",
                        "x-source": "worker",
                    },
                    "drift_ppm": {
                        "type": "number",
                        "description": "By how much faster the clock ran.",
                        "x-unit": "ppm",
                        "x-source": "worker",
                    },
                },
                "required": ["offset_ns", "drift_ppm"],
                "additionalProperties": False,
            },
        },
    },
)
