"""What the fields of a figure over sessions, images or requests are."""

from __future__ import annotations

from edgebench.store.described import Described, Descriptions

DESCRIPTIONS: Descriptions = {
    "Interval": {
        "median": Described("Mean over sessions of each session's median.", "passes.parquet", unit="s"),
        "low": Described(
            "Lower end, never below zero: the value over exp(t s / (value sqrt K)), with Student's t of "
            "K - 1 degrees of freedom and the standard deviation s of the session medians; null when "
            "the sessions are too few.",
            "passes.parquet",
            unit="s",
        ),
        "high": Described(
            "Upper end: the value times that factor; null when the sessions are too few.",
            "passes.parquet",
            unit="s",
        ),
        "sessions": Described("Sessions that it rests on.", "passes.parquet", shape={"minimum": 0}),
        "n": Described(
            "Values over all of them: steady passes or windows; of what a session has once, the sessions.",
            "passes.parquet",
            shape={"minimum": 0},
        ),
    },
    "RequestLatency": {
        "median": Described("Mean over sessions of each session's median.", "batches.parquet", unit="ms"),
        "p99": Described(
            "99th percentile of all requests of the steady passes; null where they are too few.",
            "batches.parquet",
            unit="ms",
        ),
        "n": Described("Requests of the steady passes.", "batches.parquet", shape={"minimum": 0}),
        "reason": Described("Why p99 is null; empty when it is not.", "batches.parquet", always=True),
    },
    "Accuracy": {
        "k": Described("Right ones.", "predictions.parquet", shape={"minimum": 0}),
        "n": Described("Images with a label.", "predictions.parquet", shape={"minimum": 0}),
        "low": Described("Lower end of the Wilson interval at 95 %.", "predictions.parquet"),
        "high": Described("Upper end of the Wilson interval.", "predictions.parquet"),
        "confusion": Described(
            "Counts as [label][predicted].",
            "predictions.parquet",
            always=True,
            shape={"items": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
        ),
        "class_names": Described("The classes in the order of the counts.", "the artifact", always=True),
        "overlapping": Described(
            "Whether crops share pixels, which makes the interval a little too narrow.",
            "experiment.json",
            always=True,
        ),
    },
    "Agreement": {
        "k": Described("Same class.", "predictions.parquet", shape={"minimum": 0}),
        "n": Described("Images compared.", "predictions.parquet", shape={"minimum": 0}),
        "only_this_right": Described(
            "Right here and wrong in fp32.", "predictions.parquet", shape={"minimum": 0}
        ),
        "only_fp32_right": Described(
            "Wrong here and right in fp32.", "predictions.parquet", shape={"minimum": 0}
        ),
        "mcnemar_p": Described("p of McNemar's exact test; null without labels.", "predictions.parquet"),
    },
    "AccuracyDrop": {
        "points": Described(
            "Points below fp32; below 0 where it is right more often.", "predictions.parquet"
        ),
        "low": Described("Lower end of the paired interval at 95 %.", "predictions.parquet"),
        "high": Described("Upper end of the paired interval.", "predictions.parquet"),
        "n": Described("Labelled images of both.", "predictions.parquet", shape={"minimum": 0}),
        "only_this_right": Described(
            "Right here and wrong in fp32.", "predictions.parquet", shape={"minimum": 0}
        ),
        "only_fp32_right": Described(
            "Wrong here and right in fp32.", "predictions.parquet", shape={"minimum": 0}
        ),
    },
    "FailedSessions": {
        "k": Described("Sessions that failed.", "session.json", shape={"minimum": 0}),
        "n": Described(
            "Sessions that ended well or failed; interrupted ones are not counted.",
            "session.json",
            shape={"minimum": 0},
        ),
        "low": Described("Lower end of the Wilson interval at 95 %.", "session.json"),
        "high": Described("Upper end of the Wilson interval.", "session.json"),
    },
}
