"""A large experiment on disk, made quickly, for the rows about records: 1,000 trials of 5 sessions."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from edgebench.records.stored import ExperimentRecord, GoldenCheck, SceneRecord, SessionRecord, TrialRecord
from edgebench.records.target import Target
from edgebench.results import layout
from edgebench.results.writing import write_table

TRIALS = 1_000
SESSIONS = 5
PASSES = 2_000
"""10 million rows in 5,000 files."""

_KINDS = 25  # different tables, dealt out in turn: the files need not all be different for their reader


def make_experiment(
    folder: Path, *, trials: int = TRIALS, sessions: int = SESSIONS, passes: int = PASSES
) -> Path:
    """An experiment `folder/large`, as `edgebench run` would have written it, less the flushing; its path."""
    path = folder / "large"
    path.mkdir(parents=True)
    keys = [hashlib.sha256(str(at).encode()).hexdigest()[:16] for at in range(trials)]
    (path / layout.EXPERIMENT_FILE).write_text(_experiment(keys, sessions, passes).model_dump_json(indent=1))
    tables = [_table(folder / f"{kind}.parquet", kind, passes) for kind in range(_KINDS)]
    for at, key in enumerate(keys):
        for n in range(sessions):
            data, digest = tables[(at + n) % _KINDS]
            session = layout.session_folder(path, key, n)
            session.mkdir(parents=True)
            (session / "passes.parquet").write_bytes(data)
            record = _session(key, n) | {"tables": {"passes": digest}}
            (session / layout.SESSION_FILE).write_text(json.dumps(record, indent=1))
    return path


def _table(path: Path, seed: int, passes: int) -> tuple[bytes, str]:
    """The bytes of a passes.parquet, and their SHA-256."""
    rng = np.random.default_rng(seed)
    image_ns = rng.normal(4e8, 4e6, passes).astype(np.int64)
    ends = 10**12 + np.cumsum(image_ns + 10_000)
    frame = pd.DataFrame(
        {
            "worker": np.zeros(passes, np.int16),
            "pass": np.arange(passes, dtype=np.int32),
            "phase": ["first", "warmup", *["steady"] * (passes - 2)],
            "start_ns": ends - image_ns,
            "end_ns": ends,
            "image_ns": image_ns,
            "infer_ns": (image_ns * 0.9).astype(np.int64),
            "patches": np.full(passes, 400, np.int32),
            "patchify_ns": (image_ns * 0.03).astype(np.int64),
            "preprocess_ns": (image_ns * 0.06).astype(np.int64),
        }
    )
    digest = write_table(path, frame, "passes")
    data = path.read_bytes()
    path.unlink()
    return data, digest


def _session(key: str, n: int) -> dict[str, Any]:
    """A record as long as those of real sessions: about 5 kB."""
    channels = [
        {"name": f"cpu{number}_clock", "quantity": "clock frequency", "unit": "MHz"} for number in range(16)
    ]
    record = SessionRecord(
        trial=key,
        n=n,
        round=n,
        status="ok",
        started_utc="2025-03-01T12:00:00Z",
        duration_s=802.5,
        harness_s=0.7,
        golden=GoldenCheck(
            max_abs_diff=0.0005, tolerance=0.001, top1_equal=10, n=10, reference="keras float32"
        ),
        cold={"import_s": 0.11, "load_s": 0.012, "first_inference_s": 0.002, "first_pass_s": 0.5},
        warmup={"batches": 40, "steady": True},
        memory={"after_load_bytes": 60_000_000, "peak_bytes": 131_000_000},
        runtime={"runtime": "ai-edge-litert", "version": "2.3.0", "kernels": "xnnpack", "threads": 1},
        device={
            "platform": "Linux-6.1.0-x86_64-with-glibc2.36",
            "cpu": "A processor",
            "cores": 4,
            "memory_bytes": 8_000_000_000,
            "governor": None,
            "load_average": [0.5, 0.3, 0.5],
            "packages": {"ai-edge-litert": "2.3.0", "numpy": "2.4.6"},
            "absent": {
                f"fact{number}": f"/sys/devices/system/cpu/{number} is not there" for number in range(8)
            },
        },
        clock={
            "start": {"offset_ns": 0, "bound_ns": 40_000},
            "end": {"offset_ns": 120, "bound_ns": 41_000},
            "fit": {"offset_ns": 60, "drift_ppm": 0.5, "bound_ns": 50_000, "n": 40},
        },
        probes=({"kind": "telemetry", "address": "1", "rate_hz": 1.0, "channels": channels},),
        probe_reasons={"": "no meter was asked for"},
        windows_ns={"idle": None, "steady": (10**12, 2 * 10**12)},
        predicted={"scene": 400} | ({"images": 1_000} if n == 0 else {}),
    )
    fields: dict[str, Any] = record.model_dump(mode="json")
    return fields


def _experiment(keys: list[str], sessions: int, passes: int) -> ExperimentRecord:
    return ExperimentRecord(
        id="0" * 32,
        name="large",
        created_utc="2025-03-01T12:00:00Z",
        edgebench_version="0.1.0",
        command=("edgebench", "run"),
        seed=7,
        sessions=sessions,
        passes=passes,
        scene=SceneRecord(
            name="greenland", sha256="cd" * 32, height=4512, width=4512, patch=224, rows=20, columns=20
        ),
        targets=(Target(name="cpu", device="cpu", options={"threads": 1}),),
        trials=tuple(
            TrialRecord(
                key=key,
                target="cpu",
                variant="mobilenet_v1-0.25-int8",
                depth_multiplier=0.25,
                precision="int8",
                batch=at + 1,
                class_names=("water", "ice", "vegetation", "bare", "cloud"),
                artifact_bytes=1_000_000,
                artifact_sha256="ab" * 32,
                inputs={"variant": "mobilenet_v1-0.25-int8", "batch": at + 1, "settings": {"concurrency": 1}},
            )
            for at, key in enumerate(keys)
        ),
    )
