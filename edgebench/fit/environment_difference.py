"""What differs between two results beside their figures: models, pictures, versions, boards, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgebench.fit.pairing import TrialPair
from edgebench.store.load import StoredResults
from edgebench.store.records import ExperimentRecord, SceneRecord, TrialRecord
from edgebench.store.redaction import exported

_MOMENTARY = frozenset(
    {"memory_available_bytes", "memory_free_bytes", "disk_available_bytes", "disk_kept_bytes", "load_average"}
    | {
        "temperatures_c",
        "clock_now_mhz",
        "cpu_mhz",
        "timer_resolution_ns",
        "lock_folder",
        "private",
        "absent",
    }
)
"""Facts of a moment, which differ between two sessions of one run."""

_OF_NO_FIGURE = frozenset(
    {
        "device",
        "target",
        "targets_file",
        "host",
        "port",
        "output_dir",
        "name",
        "profile",
        "depth",
        "precision",
    }
    | {"batch", "model", "power_mode", "set", "scene", "images", "resume", "strict", "json", "yes"}
)
"""Settings that say what was measured and where it was written: trials, scene and targets tell of that."""

_MOST_DEPTH = 4
_MOST_MODELS = 3
_HASH_CHARACTERS = 12


@dataclass(frozen=True)
class Difference:
    """One fact that the two results do not share.

    Attributes:
        subject: what it is a fact of: `experiment`, `host`, `scene`, `images`, `model`, or a target's name.
        fact: its name.
        a, b: what each says, as text; empty where it says nothing.
    """

    subject: str
    fact: str
    a: str
    b: str


def environment_differences(
    a: StoredResults, b: StoredResults, pairs: Sequence[TrialPair]
) -> tuple[Difference, ...]:
    """What differs between two results, what bears most on figures first.

    Of a board and a runtime what the sessions of the pairs say; what changes from moment to moment, such as
    free memory, is left out, and so is what differs among the sessions of either side.

    Args:
        a: the baseline, read from disk.
        b: the other.
        pairs: the trials that are compared.
    """
    records = exported(a.experiment), exported(b.experiment)
    trials = tuple({trial.key: trial for trial in record.trials} for record in records)
    of_pairs = [(trials[0][pair.a.key], trials[1][pair.b.key]) for pair in pairs]
    targets = dict.fromkeys((mine.target, theirs.target) for mine, theirs in of_pairs)
    differences = [*_models(of_pairs)]
    scenes = [
        tuple(record.scene_of(trial) for record, trial in zip(records, pair, strict=True))
        for pair in of_pairs
    ]
    for mine, theirs in dict.fromkeys((_scene(first), _scene(second)) for first, second in scenes):
        differences += _compared("scene", dict(mine), dict(theirs))
    tested = [
        tuple(_images(record, trial) for record, trial in zip(records, pair, strict=True))
        for pair in of_pairs
    ]
    for mine, theirs in dict.fromkeys(tested):
        differences += _compared("images", dict(mine), dict(theirs))
    for of_a, of_b in targets:
        facts = [
            {**_declared(record, name), **_of_sessions(results, record, name)}
            for results, record, name in zip((a, b), records, (of_a, of_b), strict=True)
        ]
        differences += _compared(of_a if of_a == of_b else f"{of_a} and {of_b}", *facts)
    differences += _compared("experiment", *(_experiment(record) for record in records))
    differences += _compared("host", *(_facts(record.host) for record in records))
    return tuple(dict.fromkeys(differences))


def _compared(subject: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Difference]:
    for fact in dict.fromkeys((*a, *b)):
        mine, theirs = a.get(fact, ""), b.get(fact, "")
        if mine != theirs:
            yield Difference(subject, fact, mine, theirs)


def _models(pairs: Sequence[tuple[TrialRecord, TrialRecord]]) -> list[Difference]:
    """By variant the files that the runtimes load; of many variants how many."""
    differing: dict[str, Difference] = {}
    for a, b in pairs:
        if a.artifact_sha256 != b.artifact_sha256:
            hashes = [(trial.artifact_sha256 or "")[:_HASH_CHARACTERS] for trial in (a, b)]
            differing.setdefault(a.variant, Difference("model", f"file of {a.variant}", *hashes))
    if len(differing) <= _MOST_MODELS:
        return list(differing.values())
    variants = len({a.variant for a, _ in pairs})
    return [Difference("model", "files", "", f"those of {len(differing)} of {variants} variants are others")]


def _scene(scene: SceneRecord) -> tuple[tuple[str, str], ...]:
    return (
        ("name", scene.name),
        ("SHA-256", scene.sha256[:_HASH_CHARACTERS]),
        ("pixels", f"{scene.width} x {scene.height}"),
        ("patches", f"{scene.patches} of {scene.patch_width or scene.patch} x {scene.patch}"),
        ("stride", "" if scene.stride is None else str(scene.stride)),
    )


def _images(record: ExperimentRecord, trial: TrialRecord) -> tuple[tuple[str, str], ...]:
    images = record.images_of(trial)
    if images is None:
        return (("set", "none"),)
    return (
        ("set", images.name),
        ("SHA-256", images.sha256[:_HASH_CHARACTERS]),
        ("number", str(images.n)),
        ("classes", ", ".join(images.class_names)),
    )


def _declared(record: ExperimentRecord, name: str) -> dict[str, str]:
    """What the target was declared to be and how it was launched."""
    target = next((candidate for candidate in record.targets if candidate.name == name), None)
    if target is None:
        return {}
    facts = _facts(
        {
            "device": target.device,
            "power mode": target.power_mode,
            "meters": list(target.meters),
            "option": target.options,
            "launch": target.launch,
        }
    )
    return facts


def _of_sessions(results: StoredResults, record: ExperimentRecord, target: str) -> dict[str, str]:
    """What its finished sessions say of board and runtime; a fact in which they differ is left out."""
    values: dict[str, set[str]] = {}
    for trial in record.trials:
        if trial.target != target:
            continue
        for session in results.session_records(trial.key):
            if session.status == "ok":
                for name, text in (*_facts(session.device).items(), *_runtime(session.runtime).items()):
                    values.setdefault(name, set()).add(text)
    return {name: texts.pop() for name, texts in values.items() if len(texts) == 1}


def _runtime(facts: Mapping[str, Any]) -> dict[str, str]:
    return {f"runtime {name}" if name != "runtime" else name: text for name, text in _facts(facts).items()}


def _experiment(record: ExperimentRecord) -> dict[str, str]:
    settings = {
        name.replace("_", " "): setting.get("value")
        for name, setting in record.config.items()
        if name not in _OF_NO_FIGURE
    }
    return {"EdgeBench": record.edgebench_version, **_facts(settings)}


def _facts(value: Mapping[str, Any], depth: int = 0) -> dict[str, str]:
    """Nested facts as texts by `outer inner`, without those of a moment and those that nobody knows."""
    facts: dict[str, str] = {}
    for name, item in value.items():
        if name in _MOMENTARY or item is None or item == [] or item == ():
            continue
        if isinstance(item, Mapping) and depth < _MOST_DEPTH:
            facts |= {f"{name} {inner}": text for inner, text in _facts(item, depth + 1).items()}
        elif isinstance(item, list | tuple):
            facts[str(name)] = ", ".join(map(str, item))
        else:
            facts[str(name)] = str(item)
    return facts
