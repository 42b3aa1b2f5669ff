"""What the fields of session.json are."""

from __future__ import annotations

from edgebench.store.clock_description import CLOCK
from edgebench.store.described import Described, Descriptions

DESCRIPTIONS: Descriptions = {
    "BuiltArtifact": {
        "seconds": Described(
            "Time that building took, also where it was found: then when it was built. No part of load_s.",
            "clock of the device",
            unit="second",
        ),
        "sha256": Described("SHA-256 of the file, in hex.", "agent"),
        "bytes": Described("Its size.", "agent", unit="byte"),
        "cached": Described("Whether it lay on the board already.", "agent"),
    },
    "BurstTimes": {
        "from_ns": Described(
            "Since when the device idled before the first.", "device clock", unit="ns, device clock"
        ),
        "bursts_ns": Described(
            "Start and end of each; it idled in between.", "device clock", unit="ns, device clock"
        ),
    },
    "GoldenCheck": {
        "max_abs_diff": Described(
            "Largest difference of a score; 1e9 for a score that is no number.", "device outputs"
        ),
        "tolerance": Described("Largest difference that is accepted.", "the artifact"),
        "top1_equal": Described(
            "Golden patches with the same class as the reference.", "device outputs", shape={"minimum": 0}
        ),
        "n": Described("Golden patches.", "the artifact", shape={"minimum": 0}),
        "reference": Described("What computed the golden scores.", "the artifact"),
    },
    "Failure": {
        "what": Described("What went wrong.", "host"),
        "why": Described("The cause, where known.", "host"),
        "fix": Described("What to do about it, where known. Empty in older results.", "host"),
        "stage": Described("Where: start, load, golden, scene, measure, predict or stop.", "host"),
        "signal": Described("The signal that ended the worker, such as SIGSEGV.", "operating system"),
        "stderr_tail": Described(
            "Last lines of what the worker wrote to stderr; the traceback where the session ended in an "
            "error that EdgeBench does not know.",
            "worker",
        ),
    },
    "SessionRecord": {
        "schema_version": Described(
            "Version of this document's layout; a reader refuses a newer one.", "EdgeBench", always=True
        ),
        "trial": Described("Key of its trial.", "plan"),
        "n": Described("Number of the session within its trial; also its folder's name.", "plan"),
        "round": Described("Round of the experiment in which it ran.", "plan"),
        "status": Described("How it ended.", "host"),
        "started_utc": Described("When it began: ISO 8601, UTC.", "host clock", unit="UTC"),
        "duration_s": Described(
            "Wall time of the whole session, harness included.", "host's monotonic clock", unit="s"
        ),
        "harness_s": Described(
            "Of it, what was neither load, warm-up, measuring, accuracy nor idle windows.",
            "host's monotonic clock",
            unit="s",
        ),
        "failure": Described("Why there is no measurement; null when there is.", "host"),
        "golden": Described(
            "The device's outputs against the artifact's golden scores; null when it did not get so far.",
            "host",
        ),
        "cold": Described(
            "What happens once a session; null where it was not reached.",
            "device clock",
            shape={
                "required": [],
                "properties": {
                    "import_s": {
                        "type": ["number", "null"],
                        "description": "Import of the runtime.",
                        "x-unit": "s",
                        "x-source": "device clock",
                    },
                    "load_s": {
                        "type": ["number", "null"],
                        "description": "Load of the artifact; null where an earlier session had made most of "
                        "it, such as a compiled model in a cache.",
                        "x-unit": "s",
                        "x-source": "device clock",
                    },
                    "first_inference_s": {
                        "type": ["number", "null"],
                        "description": "First inference after the load.",
                        "x-unit": "s",
                        "x-source": "device clock",
                    },
                    "first_pass_s": {
                        "type": ["number", "null"],
                        "description": "First pass over the scene.",
                        "x-unit": "s",
                        "x-source": "device clock",
                    },
                    "start_s": {
                        "type": ["number", "null"],
                        "description": "From just before the worker's process is started to the scores of "
                        "its first batch: start, import, load and that batch, and nothing that the harness "
                        "does in between. Null where an earlier session had made most of the load, and where "
                        "no process is started. Absent in older results.",
                        "x-unit": "s",
                        "x-source": "device clock",
                    },
                },
            },
        ),
        "built": Described(
            "What the device made of the artifact on the board, and loaded; null where it loads the "
            "artifact itself.",
            "agent",
        ),
        "warmup": Described(
            "The adaptive warm-up after the first pass.",
            "worker",
            shape={
                "required": [],
                "properties": {
                    "batches": {
                        "type": ["integer", "null"],
                        "description": "Batches until the times were steady.",
                        "x-source": "worker",
                        "minimum": 0,
                    },
                    "steady": {
                        "type": ["boolean", "null"],
                        "description": "Whether they were, before the cap.",
                        "x-source": "worker",
                    },
                },
            },
        ),
        "memory": Described(
            "Resident memory of the worker process.",
            "operating system of the device",
            shape={
                "required": [],
                "properties": {
                    "after_load_bytes": {
                        "type": ["integer", "null"],
                        "description": "After the artifact was loaded.",
                        "x-unit": "byte",
                        "x-source": "operating system of the device",
                        "minimum": 0,
                    },
                    "peak_bytes": {
                        "type": ["integer", "null"],
                        "description": "Peak up to the last pass.",
                        "x-unit": "byte",
                        "x-source": "operating system of the device",
                        "minimum": 0,
                    },
                },
            },
        ),
        "runtime": Described(
            "What the runner says of its runtime: name, version, threads, kernels.", "runner"
        ),
        "device": Described(
            "The board's facts: model, processor, memory, system, governor and clocks; null where not "
            "to be had.",
            "device",
        ),
        "clock": CLOCK,
        "probes": Described(
            "What was sampled beside the session: kind, address, rate_hz, resolution, scope, channels, "
            "averaging_ms (the time that a reading is the mean over; null where it is not known), "
            "and what was absent, with the reason; place (board or host), and of a probe on the host "
            "clock_bound_ns, by how much its stamps may be off the device's clock (ns), and of a meter there "
            "lag: lag_ms, how much later its stamps are than the load that its readings are of, bound_ms, by "
            "how much that may be off (both ms), whether it was applied, taken off the stamps, and the "
            "reason where none is known; rejected, how "
            "many readings could not be parsed or were out of their channel's range, and "
            "rejected_first, the first of them, verbatim.",
            "probes",
        ),
        "probe_reasons": Described(
            'Why a meter gave nothing, or no more from some moment on, by kind:address; under "" why '
            "there was no meter at all.",
            "probes",
        ),
        "monitor_reasons": Described(
            "Why a monitor, such as telemetry, gave nothing, or no more from some moment on, by "
            "kind:address.",
            "probes",
        ),
        "windows_ns": Described(
            "Start and end of the windows that power is taken over.",
            "device clock",
            shape={
                "required": [],
                "properties": {
                    "idle": {
                        "anyOf": [
                            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                            {"type": "null"},
                        ],
                        "description": "The idle device, before the first pass.",
                        "x-unit": "ns, device clock",
                        "x-source": "device clock",
                    },
                    "steady": {
                        "anyOf": [
                            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                            {"type": "null"},
                        ],
                        "description": "First steady pass to last.",
                        "x-unit": "ns, device clock",
                        "x-source": "device clock",
                    },
                    "idle_after": {
                        "anyOf": [
                            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                            {"type": "null"},
                        ],
                        "description": "The idle device again, after the last steady pass and its pause.",
                        "x-unit": "ns, device clock",
                        "x-source": "device clock",
                    },
                },
            },
        ),
        "load_bursts": Described(
            "When the device ran golden patches in bursts, between its warm-up and its steady passes, by "
            "which the lag of meters on the host is told; null where it ran none.",
            "device clock",
        ),
        "predicted": Described(
            "How many predictions of `scene` and `images` lie beside it.",
            "worker",
            shape={"additionalProperties": {"type": "integer", "minimum": 0}},
        ),
        "tables": Described(
            "SHA-256 of each Parquet file beside it, in hex, by the table's name.",
            "the store",
            shape={"additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
        ),
        "workers": Described("The workers that shared the session; one until devices are shared.", "plan"),
        "measured_patches": Described(
            "How many patches of the scene it measured, as its device says it; null: as many as its "
            "passes or windows hold.",
            "the session",
            unit="patch",
        ),
        "untimed_stages": Described(
            "Stages of an image that its passes do not hold, because the host does them before, such as "
            "patchify; where preprocess is among them, its passes tell of inference alone.",
            "the session",
        ),
        "emulated": Described(
            "Whether no device carried it out: its stamps are then no device's time, and no figure in "
            "seconds is made of them.",
            "the session",
        ),
        "instructions_reason": Described(
            "Of an emulated session, why its windows have no instructions; empty where they have.",
            "the session",
        ),
        "warnings": Described("What a reader should mind, one sentence each.", "host"),
    },
}
