"""What the fields of a mission are, in the document of a result."""

from __future__ import annotations

from typing import Any

from edgebench.records.described import Described

_NUMBER = {"type": "number"}
_OR_NULL = {"type": ["number", "null"]}


def _field(text: str, source: str, type_: dict[str, Any], unit: str = "") -> dict[str, Any]:
    return Described(text, source, unit).schema(type_)


def _figure(text: str, unit: str = "") -> dict[str, Any]:
    """A figure with its interval over sessions, or null."""
    properties = {
        "value": _field("The mean over the sessions.", "mission", _NUMBER, unit),
        "low": _field("Lower end of its 95 % interval.", "mission", _OR_NULL, unit),
        "high": _field("Upper end of its 95 % interval.", "mission", _OR_NULL, unit),
    }
    shape = {"type": ["object", "null"], "properties": properties, "required": list(properties)}
    return _field(f"{text}; null with its reason under reasons.", "mission", shape, unit)


_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_ENERGY = {
    "active": _figure("Of its images alone", "J"),
    "idle": _figure("Of the whole cycle, when the device stays on between images", "J"),
    "off": _figure("Of the whole cycle, when it is switched off where that saves energy", "J"),
}
_PROPERTIES = {
    "days": _field("How long the mission is; shared among the trial's sessions.", "mission", _NUMBER),
    "seed": _field("Of the draws.", "mission", {"type": "integer"}),
    "trial": _field("Key of the trial.", "experiment.json", {"type": "string"}),
    "target": _field("Its target.", "experiment.json", {"type": "string"}),
    "variant": _field("Its variant.", "experiment.json", {"type": "string"}),
    "mark": _field("What has to stand beside its figures.", "fit", {"type": "string"}),
    "profile": _field("Name of the profile whose schedule it is.", "profile", {"type": "string"}),
    "load": _field("Work that comes a cycle as a share of the cycle.", "mission", _OR_NULL),
    "overloaded": _field(
        "Whether the load is above 1, so that nothing was simulated.",
        "mission",
        {"type": ["boolean", "null"]},
    ),
    "cycles": _field("Cycles that were simulated, over all sessions.", "mission", {"type": "integer"}),
    "duty_cycle": _figure("Share of a cycle in which the device works, at most 1"),
    "storage_bytes": _figure("Of the images of the backlog, as their pixels", "byte"),
    "backlog": _figure("Most images at once that are not done, the mean over cycles"),
    "age_s": _figure("From an image's arrival to its result, the mean", "s"),
    "oldest_s": _figure("The same of the oldest image", "s"),
    "missed": _figure("Share of the images without a result at their deadline"),
    "break_even_s": _figure("The pause from which on switching off saves energy", "s"),
    "energy_j": _field(
        "Energy of a cycle.",
        "mission",
        {"type": "object", "properties": _ENERGY, "required": list(_ENERGY)},
        "J",
    ),
    "reasons": _field("Why a figure is null, by the figure's name.", "mission", _TEXTS),
}
MISSIONS = {
    "missions": _field(
        "Each trial with sessions under each profile's schedule, simulated for a few days; `edgebench "
        "mission` plays longer ones.",
        "mission",
        {
            "type": "array",
            "items": {"type": "object", "properties": _PROPERTIES, "required": list(_PROPERTIES)},
        },
    ),
    "missions_reasons": _field(
        "Why a profile's schedule was not played, by the profile's name.", "mission", _TEXTS
    ),
}
"""The fields of the document of a result that hold missions."""
