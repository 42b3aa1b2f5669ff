"""Made experiments: plausible results on disk, written through the store, the same for the same arguments.

`made_experiment(folder)` is what tests of fit, report and the store read instead of measuring.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from edgebench.records.session import Channel, MeterResponse, Pass, ProbeChunk, ProbeInfo, Window
from edgebench.records.stored import (
    ExperimentRecord,
    Failure,
    GoldenCheck,
    ImagePathsRecord,
    ImagesRecord,
    SceneRecord,
    SessionRecord,
    SessionTables,
    TrialRecord,
    WorkerPlan,
)
from edgebench.records.target import Target
from edgebench.records.values import Variant
from edgebench.results import tables
from edgebench.results.writing import ExperimentStore
from tests.sample_tables import write_samples

CLASSES = ("water", "ice", "vegetation", "bare", "cloud")
QUARTER = ("mobilenet_v1-0.25-fp32", "mobilenet_v1-0.25-fp16", "mobilenet_v1-0.25-int8")
NINE = tuple(
    f"mobilenet_v1-{depth}-{precision}"
    for depth in (0.25, 0.5, 1.0)
    for precision in ("fp32", "fp16", "int8")
)
LEVELS_S = {  # image_s, roughly as one thread of a laptop has it for 400 patches
    **{"mobilenet_v1-0.25-fp32": 0.29, "mobilenet_v1-0.25-fp16": 0.31, "mobilenet_v1-0.25-int8": 0.20},
    **{"mobilenet_v1-0.5-fp32": 0.66, "mobilenet_v1-0.5-fp16": 0.67, "mobilenet_v1-0.5-int8": 0.42},
    **{"mobilenet_v1-1.0-fp32": 2.41, "mobilenet_v1-1.0-fp16": 2.35, "mobilenet_v1-1.0-int8": 0.88},
}
STAGES = ("patchify", "preprocess", "infer")
SHARES = (0.04, 0.08, 0.86)  # of a patch's time; what is left lies between the stages
HOSTILE = "<script>alert(1)</script> <b>&amp; [red]x[/red] `|' \"\n\u202e"
WINDOW = Window(0, "steady", 1, 50, 1_000_000_000, 2_000_000_000, instructions=50 * 1_234_567)
METER = "rapl:package"
PACKAGE = Channel("package", "power", "W")
MONITOR = ProbeInfo(
    "linux", "", 10.0, "", "host", (Channel("involuntary_switches", "context_switches", "count"),)
)


def key_of(variant: str, target: str = "cpu", batch: int = 1) -> str:
    """The key of a made trial."""
    return hashlib.sha256(f"{target}/{variant}/{batch}".encode()).hexdigest()[:16]


def experiment_id(name: str) -> str:
    """The id of a made experiment."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def write_record(file: Path, document: Mapping[str, Any]) -> None:
    """Write an edited record as by hand: without a checksum, so that it is read unchecked."""
    edited = {name: value for name, value in document.items() if name != "sha256"}
    file.write_text(json.dumps(edited), encoding="utf-8")


def made_experiment(
    folder: Path,
    *,
    name: str = "made",
    variants: Sequence[str] = QUARTER,
    targets: Sequence[str] = ("cpu",),
    batch: int = 1,
    batches: Sequence[int] = (),
    concurrency: int = 1,
    sessions: int = 3,
    passes: int = 3,
    rows: int = 4,
    columns: int = 5,
    seed: int = 7,
    image_s: Mapping[str, float] | None = None,
    session_spread: float = 0.01,
    images: int = 40,
    labelled: bool = True,
    image_paths: Sequence[str] = (),
    image_classes: Sequence[str] = CLASSES,
    power: bool = False,
    rate_hz: float = 50.0,
    disturbed: bool = False,
    failed: Iterable[str] = (),
    crashed_once: Iterable[str] = (),
    failed_late: Iterable[str] = (),
    emulated: Iterable[str] = (),
    not_run: Iterable[str] = (),
    unsupported: Iterable[str] = (),
    profiles: Sequence[Mapping[str, Any]] = (),
    mass_g: float | None = None,
    size_mm: tuple[float, float, float] | None = None,
    period_s: float | None = None,
    hostile: bool = False,
    together: Sequence[Sequence[str]] = (),
    slower: float = 1.8,
) -> Path:
    """An experiment `folder/name`; returns its path.

    Args:
        batch: of all trials, unless `batches` names several: each variant then has a trial of each.
        concurrency: requests in flight: each ends with the one that was submitted so many less one later.
        image_s: seconds a pass by variant, where it should differ from LEVELS_S; the passes of a session
            spread 0.3 % around its level, the sessions `session_spread` around the variant's.
        images: labelled images, predicted in the first ok session of a trial; 0 for none.
        labelled: whether those images have labels.
        image_paths: which files they were; empty where they were none.
        image_classes: their class names, in whatever order; others than CLASSES forbid an accuracy.
        power: probes with a package channel in W over an idle window of 3 s and the steady passes.
        disturbed: a monitor counts 1,000 involuntary context switches a second of the worker.
        failed: variants of which every session crashes.
        crashed_once: variants whose second session crashes and is not repeated.
        failed_late: variants whose second session fails after all its passes, which take half as long.
        emulated: targets whose sessions are emulated: a window of one patch, with its instructions.
        not_run: variants that have no sessions.
        unsupported: variants that the device does not take.
        period_s: seconds between two steady passes (paced mode).
        hostile: markup in every text that comes from outside.
        together: variants of workers that share the first target, each several a trial of its own; the trials
            alone are those of `variants`.
        slower: how many times as long passes together take; the last worker's 10 % more.
    """
    text = HOSTILE if hostile else ""
    failed, crashed_once, not_run, unsupported = map(set, (failed, crashed_once, not_run, unsupported))
    failed_late, emulated, batches = set(failed_late), set(emulated), batches or (batch,)
    classes = tuple(f"{one}{text}" for one in CLASSES)
    image_classes = tuple(f"{one}{text}" for one in image_classes)
    named = {f"{target}{text}": target for target in targets}
    rng = np.random.default_rng(seed)
    scene_labels = rng.integers(0, len(classes), rows * columns)
    image_labels = rng.integers(0, len(image_classes), images)
    trials = tuple(
        TrialRecord(
            key=key_of(variant, named[target], size),
            target=target,
            variant=variant,
            depth_multiplier=Variant.parse(variant).depth_multiplier,
            precision=Variant.parse(variant).precision,
            batch=size,
            status="unsupported" if variant in unsupported else "planned",
            reason=f"it needs 12 MB and the device has 8 MB{text}" if variant in unsupported else "",
            class_names=classes,
            artifact_bytes=None if variant in unsupported else 1_000_000,
            artifact_sha256=None if variant in unsupported else "ab" * 32,
            inputs={"variant": variant, "settings": {"concurrency": concurrency}},
        )
        for target in named
        for size in batches
        for variant in variants
    )
    shared = {_shared_target(workers): workers for workers in together}
    first = next(iter(named)), batches[0]
    alone = {trial.variant: trial for trial in trials if (trial.target, trial.batch) == first}
    trials += tuple(
        alone[workers[0]].model_copy(
            update={
                "key": key_of(workers[0], target, batches[0]),
                "target": target,
                "share": "naive",
                "workers": tuple(_worker_plan(alone[variant]) for variant in workers),
            }
        )
        for target, workers in shared.items()
    )
    record = ExperimentRecord(
        id=experiment_id(name),
        name=name,
        created_utc="2025-03-01T12:00:00Z",
        edgebench_version="0.1.0",
        command=("edgebench", "run", "--device", *targets, text or "--quick"),
        config={"sessions": {"value": sessions, "origin": f"flag{text}"}},
        seed=seed,
        sessions=sessions,
        passes=passes,
        period_s=period_s,
        scene=SceneRecord(
            name=f"greenland{text}",
            sha256="cd" * 32,
            height=rows * 224,
            width=columns * 224,
            patch=224,
            rows=rows,
            columns=columns,
            labels=tuple(int(one) for one in scene_labels),
            class_names=classes,
        ),
        images=ImagesRecord(
            name=f"test{text}",
            sha256="ef" * 32,
            n=images,
            labelled=labelled,
            class_names=image_classes if labelled else (),
            overlapping=True,
        )
        if images
        else None,
        images_reason="" if images else f"no images were given{text}",
        targets=tuple(
            Target(
                name=target,
                device=named[target],
                options={"threads": 1},
                meters=(METER,) if power else (),
                mass_g=mass_g,
                size_mm=size_mm,
            )
            for target in named
        )
        + tuple(
            Target(
                name=target,
                device=targets[0],
                options={"threads": 1},
                meters=(METER,) if power else (),
                settings=_shared_settings(workers),
            )
            for target, workers in shared.items()
        ),
        trials=trials,
        profiles=tuple(dict(profile) for profile in profiles),
        host={"kernel": f"6.1.0{text}", "python": "3.11.2", "cpu_model": f"A processor{text}", "cpus": 2},
        preflight=(
            {"level": "warning", "subject": f"governor{text}", "message": f"unknown{text}", "fix": ""},
        ),
        warnings=(text,) if hostile else (),
    )
    levels = LEVELS_S | dict(image_s or {})
    paths = ImagePathsRecord(sets={"ef" * 32: tuple(image_paths)}) if image_paths else None
    jpeg = _scene_jpeg(scene_labels, rows, columns)
    with ExperimentStore.create(folder, name, record, jpeg, paths) as store:
        for n in range(sessions):
            for at, trial in enumerate(trials):
                if trial.status == "unsupported" or trial.variant in not_run:
                    continue
                made = np.random.default_rng([seed, n, at])
                if trial.variant in failed or (trial.variant in crashed_once and n == 1):
                    store.write_session(_crashed(trial, n, text), SessionTables())
                    continue
                is_late = trial.variant in failed_late and n == 1
                level_s = levels[trial.variant] * (1 + session_spread * made.standard_normal())
                level_s *= 0.5 if is_late else 1.0
                size = (rows * columns, trial.batch, concurrency, made, period_s)
                measured = _passes(level_s, passes, *size)
                last = _scores(trial, scene_labels, seed)
                steady = (measured[2].start_ns, measured[-1].end_ns)
                if trial.workers:
                    longer = [slower] * (len(trial.workers) - 1) + [1.1 * slower]
                    each = [
                        _passes(levels[plan.variant] * times * level_s / levels[trial.variant], passes, *size)
                        for plan, times in zip(trial.workers, longer, strict=True)
                    ]
                    measured, steady = _overlapping(each)
                frames = SessionTables()
                frames.passes, frames.batches = tables.pass_rows(measured)
                parts = [tables.prediction_rows("scene", last, [int(one) for one in scene_labels])]
                predicted = {"scene": rows * columns}
                if images and n == 0:
                    labels = [int(one) for one in image_labels] if labelled else None
                    parts.append(
                        tables.prediction_rows(
                            "images", _scores(trial, image_labels, seed, image_classes, classes), labels
                        )
                    )
                    predicted["images"] = images
                frames.predictions = tables.concat(parts)
                idle = (measured[0].start_ns - 3_000_000_000, measured[0].start_ns) if power else None
                response = MeterResponse(reach_ms=1e3 / rate_hz)
                meter = (
                    ProbeInfo("rapl", "package", rate_hz, "1 uJ", "chip", (PACKAGE,), response=response)
                    if power
                    else None
                )
                infos = [info for info in (meter, MONITOR if disturbed else None) if info]
                session = _measured(
                    trial, n, level_s, text, {"idle": idle, "steady": steady}, infos, predicted
                )
                if trial.workers:
                    session = _of_workers(session, trial)
                if named.get(trial.target) in emulated:
                    frames = SessionTables(windows=tables.window_rows([WINDOW]))
                    session = session.model_copy(
                        update={"emulated": True, "predicted": {}, "cold": {}, "windows_ns": {}}
                    )
                if is_late:
                    lost = Failure(what="the device was lost", stage="predict")
                    session = session.model_copy(update={"status": "lost_connection", "failure": lost})
                with store.scratch() as folder:
                    chunks = [_power(idle, steady, rate_hz, made)] if idle is not None else []
                    chunks += [_switches(steady)] if disturbed else []
                    if chunks:
                        frames.probes = write_samples(folder / "probes.parquet", chunks, infos)
                    store.write_session(session, frames)
    return store.path


def not_easy(folder: Path, name: str = "not-easy", **more: Any) -> Path:
    """A result of all that is not the easy case, but for a second result.

    Two batches, of which the larger one leaves a rest of the scene's 20 patches; two workers that share the
    device; a session of each fp32 trial that fails after its steady passes; images whose folders are in
    another order than the model's classes; an emulated device.
    """
    fp32, int8 = QUARTER[0], QUARTER[2]
    return made_experiment(
        folder,
        name=name,
        variants=(fp32, int8),
        targets=("cpu", "mcu"),
        batches=(1, 7),
        together=[[fp32, int8]],
        failed_late=[fp32],
        emulated=["mcu"],
        image_classes=tuple(reversed(CLASSES)),
        image_paths=[f"{index}.png" for index in range(40)],
        power=True,
        **more,
    )


def _passes(
    pass_s: float,
    steady: int,
    patches: int,
    batch: int,
    concurrency: int,
    rng: np.random.Generator,
    period_s: float | None,
) -> list[Pass]:
    """The first pass (30 % slower), 10 warm-up batches, and the steady passes: back to back or paced."""
    clock_ns = 1_000_000_000_000 + int(rng.integers(0, 10**9))
    batches = -(-patches // batch)
    period_ns = round((period_s or 0) * 1e9)
    found = []
    for index in range(steady + 2):
        phase: Literal["first", "warmup", "steady"] = (
            "first" if index == 0 else "warmup" if index == 1 else "steady"
        )
        count = 10 if phase == "warmup" else batches
        slower = 1.3 if phase == "first" else 1.0
        each_ns = pass_s / batches * slower * (1 + 0.003 * rng.standard_normal()) * 1e9
        # The noise of a batch has mean 1, so that the pass keeps its level.
        lengths = each_ns * (1 + 0.01 * rng.standard_normal(count))
        starts = clock_ns + np.concatenate([[0], np.cumsum(lengths)])
        edges = starts[:-1, None] + lengths[:, None] * np.cumsum([0, *SHARES])
        stamps = np.stack([edges[:, :-1], edges[:, 1:]], axis=2).astype(np.int64)
        later = np.minimum(np.arange(count) + concurrency - 1, count - 1)
        stamps[:, 2, 1] = stamps[later, 2, 1]
        end_ns = int(starts[-1])
        paced = period_ns > 0 and phase == "steady"
        scores = None if phase == "warmup" else np.full((patches, len(CLASSES)), 0.2, np.float32)
        found.append(
            Pass(
                index=index,
                phase=phase,
                start_ns=clock_ns,
                end_ns=end_ns,
                stages=STAGES,
                stamps_ns=stamps,
                scores=scores,
                batch=batch,
                due_ns=clock_ns if paced else None,
                deadline_ns=clock_ns + period_ns if paced else None,
            )
        )
        clock_ns = max(clock_ns + period_ns, end_ns) if paced else end_ns + 1_000_000
    return found


def _shared_settings(workers: Sequence[str]) -> dict[str, Any]:
    """As a run of these workers has them: copies of the first, or the first with another."""
    is_copies = len(set(workers)) == 1
    others = len(workers) if is_copies else workers[1].removeprefix("mobilenet_v1-")
    return {"workers" if is_copies else "with": others, "share": "naive"}


def _shared_target(workers: Sequence[str]) -> str:
    return f"cpu[{','.join(f'{name}={value}' for name, value in _shared_settings(workers).items())}]"


def _worker_plan(alone: TrialRecord) -> WorkerPlan:
    fields = {name: getattr(alone, name) for name in WorkerPlan.model_fields if name != "alone"}
    return WorkerPlan(**fields, alone=alone.key)


def _overlapping(each: Sequence[Sequence[Pass]]) -> tuple[list[Pass], tuple[int, int]]:
    """The passes of workers that start together, each going on until all have theirs, and the common time."""
    begin_ns = max(passes[2].start_ns for passes in each)
    last_ns = max(passes[-1].end_ns - passes[2].start_ns for passes in each)
    moved = []
    for worker, passes in enumerate(each):
        by_ns = begin_ns - passes[2].start_ns
        period_ns = (passes[-1].deadline_ns or passes[-1].end_ns + 1_000_000) - passes[2].start_ns
        steady = passes[2:]
        for again in range(1 + last_ns // period_ns):
            moved += [
                replace(
                    one,
                    index=one.index + again * len(steady),
                    worker=worker,
                    start_ns=one.start_ns + by_ns + again * period_ns,
                    end_ns=one.end_ns + by_ns + again * period_ns,
                    stamps_ns=one.stamps_ns + by_ns + again * period_ns,
                    due_ns=one.due_ns and one.due_ns + by_ns + again * period_ns,
                    deadline_ns=one.deadline_ns and one.deadline_ns + by_ns + again * period_ns,
                )
                for one in (steady if again else passes)
            ]
    lasts = [[one.end_ns for one in moved if one.worker == worker][-1] for worker in range(len(each))]
    common = (begin_ns, min(lasts))
    found = [
        replace(one, phase="outside", due_ns=None, deadline_ns=None)
        if one.phase == "steady" and one.end_ns > common[1]
        else one
        for one in moved
    ]
    return found, common


def _of_workers(session: SessionRecord, trial: TrialRecord) -> SessionRecord:
    """The record of several workers, each with its own figures; the session has none."""
    workers: tuple[dict[str, Any], ...] = tuple(
        {
            "worker": number,
            "variant": plan.variant,
            "artifact_sha256": plan.artifact_sha256,
            "cores": [],
            "cold": session.cold,
            "warmup": session.warmup,
            "memory": session.memory,
            "golden": session.golden.model_dump() if session.golden else None,
        }
        for number, plan in enumerate(trial.workers)
    )
    return session.model_copy(update={"workers": workers, "cold": {}, "memory": {}, "warmup": {}})


def _scores(
    trial: TrialRecord,
    labels: np.ndarray,
    seed: int,
    labelled_as: Sequence[str] = CLASSES,
    classes: Sequence[str] = CLASSES,
) -> np.ndarray:
    """Softmax scores: one set of logits a depth, right on about 9 of 10, and a little noise a precision."""
    if set(labelled_as) <= set(classes):
        labels = np.array([classes.index(name) for name in labelled_as])[labels]
    base = np.random.default_rng([seed, int((trial.depth_multiplier or 1) * 100), len(labels)])
    logits = base.normal(0, 1, (len(labels), len(CLASSES)))
    right = labels % len(CLASSES)
    logits[np.arange(len(labels)), right] += base.normal(3.2, 1, len(labels))
    noise = {"fp32": 0.0, "fp16": 0.005, "int8": 0.3}.get(trial.precision, 0.1)
    logits += np.random.default_rng([seed, 1, len(labels)]).normal(0, 1, logits.shape) * noise
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def _power(
    idle: tuple[int, int], steady: tuple[int, int], rate_hz: float, rng: np.random.Generator
) -> ProbeChunk:
    """1.5 W while idle, 3.2 W from the first pass on, with 2 % noise; sampled a little beyond both ends."""
    step_ns = int(1e9 / rate_hz)
    stamps = np.arange(idle[0] - 2 * step_ns, steady[1] + 3 * step_ns, step_ns, dtype=np.int64)
    level = np.where(stamps < idle[1], 1.5, 3.2)
    return ProbeChunk(METER, stamps, {"package": level * (1 + 0.02 * rng.standard_normal(len(stamps)))})


def _switches(steady: tuple[int, int]) -> ProbeChunk:
    stamps = np.linspace(steady[0], steady[1], 12).astype(np.int64)
    return ProbeChunk("linux:", stamps, {"involuntary_switches": (stamps - stamps[0]) / 1e6})


def _measured(
    trial: TrialRecord,
    n: int,
    level_s: float,
    text: str,
    windows_ns: dict[str, tuple[int, int] | None],
    infos: Sequence[ProbeInfo],
    predicted: dict[str, int],
) -> SessionRecord:
    return SessionRecord(
        trial=trial.key,
        n=n,
        round=n,
        status="ok",
        started_utc=f"2025-03-01T12:{n:02}:00Z",
        duration_s=level_s * 6 + 0.5,
        harness_s=0.4,
        golden=GoldenCheck(
            max_abs_diff=0.0005, tolerance=0.001, top1_equal=5, n=5, reference=f"keras float32{text}"
        ),
        cold={
            "import_s": 0.11,
            "load_s": 0.012,
            "first_inference_s": level_s / 250,
            "first_pass_s": 1.3 * level_s,
            "start_s": 0.4 + 0.01 * n,
        },
        warmup={"batches": 10, "steady": True},
        memory={"after_load_bytes": 60_000_000 + n, "peak_bytes": 131_000_000 + n},
        runtime={"runtime": f"ai-edge-litert{text}", "version": "2.1.0", "kernels": "xnnpack", "threads": 1},
        device={"cpu_model": f"A processor{text}", "kernel": f"6.1.0{text}", "governor": None},
        clock={
            "start": {"offset_ns": 0, "bound_ns": 40_000},
            "end": {"offset_ns": 120, "bound_ns": 41_000},
        },
        probes=tuple(map(asdict, infos)),
        probe_reasons={} if any(PACKAGE in info.channels for info in infos) else {"": f"no meter{text}"},
        windows_ns=windows_ns,
        predicted=predicted,
        warnings=(text,) if text else (),
    )


def _crashed(trial: TrialRecord, n: int, text: str) -> SessionRecord:
    return SessionRecord(
        trial=trial.key,
        n=n,
        round=n,
        status="crash",
        started_utc=f"2025-03-01T12:{n:02}:00Z",
        duration_s=0.7,
        failure=Failure(
            what=f"the worker ended by SIGSEGV{text}",
            stage="load",
            signal="SIGSEGV",
            stderr_tail=f"Segmentation fault{text}",
        ),
    )


def _scene_jpeg(labels: np.ndarray, rows: int, columns: int) -> bytes:
    colours = np.array(
        [(20, 40, 90), (235, 240, 245), (60, 110, 50), (150, 120, 80), (200, 200, 205)], dtype=np.uint8
    )
    pixels = colours[labels % 5].reshape(rows, columns, 3).repeat(24, axis=0).repeat(24, axis=1)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=85)
    return file.getvalue()
