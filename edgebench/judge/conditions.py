"""What trials were measured under: model, pictures, target, board, runtime, settings and host, as texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from edgebench.records.stored import ExperimentRecord, ImagesRecord, SceneRecord, TrialRecord
from edgebench.results.load import StoredResults

Conditions = Mapping[tuple[str, str], str]
"""By subject (a target, `scene`, `images`, `experiment` or `host`) and fact: what it is."""

_MOMENTARY = frozenset(
    {"memory_available_bytes", "memory_free_bytes", "disk_available_bytes", "disk_kept_bytes", "load_average",
     "temperatures_c", "clock_now_mhz", "cpu_mhz", "timer_resolution_ns", "lock_folder", "private", "absent"}
)  # fmt: skip
"""Facts of a moment, which differ between two sessions of one run."""

_OF_NO_FIGURE = frozenset(
    {"device", "target", "targets_file", "host", "port", "output_dir", "name", "profile", "depth",
     "precision", "batch", "model", "power_mode", "set", "scene", "images", "resume", "strict", "json", "yes"}
)  # fmt: skip
"""Settings that say what was measured and where it was written: trials, scene and targets show that."""

_MOST_DEPTH = 4
_HASH = re.compile("[0-9a-f]{64}")
_HASH_CHARACTERS = 12
_LONGEST = 200


def conditions_of(results: StoredResults, record: ExperimentRecord, targets: Mapping[str, str]) -> Conditions:
    """What the results say of some trials, what bears most on figures first.

    A fact in which the trials or their sessions differ is left out, as is what changes from moment to moment.

    Args:
        results: which hold the trials.
        record: their experiment, as an export may show it.
        targets: by key of a trial, what to call its target.
    """
    trials = [trial for trial in record.trials if trial.key in targets]
    declared = {
        target.name: {
            "device": target.device,
            "power mode": target.power_mode,
            "meters": target.meters,
            "option": target.options,
            "launch": asdict(target.launch),
        }
        for target in record.targets
    }
    settings = {
        name.replace("_", " "): setting.get("value")
        for name, setting in record.config.items()
        if name not in _OF_NO_FIGURE
    }
    stated: list[tuple[str, Mapping[str, Any]]] = [
        *((targets[trial.key], {_file_of(trial): trial.artifact_sha256}) for trial in trials),
        *(("scene", _scene(record.scene_of(trial))) for trial in trials),
        *(("images", _images(record.images_of(trial))) for trial in trials),
        *((targets[trial.key], declared.get(trial.target, {})) for trial in trials),
        *(
            (targets[trial.key], {**session.device, "runtime": session.runtime})
            for trial in trials
            for session in results.session_records(trial.key)
            if session.status == "ok"
        ),
        ("experiment", {"EdgeBench": record.edgebench_version, **settings}),
        ("host", record.host),
    ]
    texts: dict[tuple[str, str], set[str]] = {}
    for subject, facts in stated:
        for fact, text in _texts(facts).items():
            texts.setdefault((subject, fact), set()).add(text)
    return {place: several.pop() for place, several in texts.items() if len(several) == 1}


def _file_of(trial: TrialRecord) -> str:
    return f"file of {trial.variant}" + (f" at batch {trial.batch}" if trial.batch > 1 else "")


def _scene(scene: SceneRecord) -> dict[str, Any]:
    return {
        "name": scene.name,
        "SHA-256": scene.sha256,
        "pixels": f"{scene.width} x {scene.height}",
        "patches": f"{scene.patches} of {scene.patch_width or scene.patch} x {scene.patch}",
        "stride": scene.stride,
    }


def _images(images: ImagesRecord | None) -> dict[str, Any]:
    if images is None:
        return {"set": "none"}
    return {
        "set": images.name,
        "SHA-256": images.sha256,
        "number": images.n,
        "classes": images.class_names,
    }


def _texts(facts: Mapping[str, Any], depth: int = 0) -> dict[str, str]:
    """Nested facts as texts by `outer inner`, without those of a moment and those that are unknown."""
    texts: dict[str, str] = {}
    for name, fact in facts.items():
        if name in _MOMENTARY or fact in (None, "", [], ()):
            continue
        if isinstance(fact, Mapping) and depth < _MOST_DEPTH:
            texts |= {f"{name} {inner}": text for inner, text in _texts(fact, depth + 1).items()}
        else:
            text = ", ".join(map(str, fact)) if isinstance(fact, list | tuple) else str(fact)
            texts[str(name)] = text[:_HASH_CHARACTERS] if _HASH.fullmatch(text) else text[:_LONGEST]
    return texts
