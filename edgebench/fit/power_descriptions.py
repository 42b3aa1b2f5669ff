"""What the fields of a trial's power are."""

from __future__ import annotations

from edgebench.store.described import Described, Descriptions

DESCRIPTIONS: Descriptions = {
    "PowerFigure": {
        "meter": Described("kind:address.", "session.json"),
        "channel": Described("The rail.", "session.json"),
        "scope": Described("What it sees: chip, module, board, usb or wall.", "session.json"),
        "primary": Described("Whether requirements on power are judged by it.", "sessions"),
        "rate_hz": Described("Nominal rate.", "session.json", unit="Hz"),
        "samples": Described("Samples in the windows.", "probes.parquet", shape={"minimum": 0}),
        "mean_w": Described(
            "Mean power within the steady passes, without what lies between them; at a period that of whole "
            "cycles, pauses included. Mean over the sessions.",
            "probes.parquet, passes.parquet",
            unit="W",
        ),
        "peak_w": Described(
            "Largest sample from the first steady pass to the last.", "probes.parquet", unit="W"
        ),
        "idle_w": Described(
            "Mean power of the idle device, before the first pass and after the last; where one of the two "
            "was not sampled, of the other. Mean over the sessions.",
            "probes.parquet",
            unit="W",
        ),
        "energy_j": Described(
            "Energy of an image: that within the steady passes, or at a period within whole cycles, by their "
            "images. It is the mean power times the mean time of an image there, while image_s is a median. "
            "Mean over the sessions.",
            "probes.parquet, passes.parquet",
            unit="J",
        ),
        "net_energy_j": Described(
            "Energy of an image above that of the idle device.", "probes.parquet", unit="J"
        ),
        "reason": Described(
            "Why a figure above is null; that mean and energy hold the pauses between passes, because of a "
            "period or where these are too short for the meter.",
            "sessions",
            always=True,
        ),
        "window_s": Described(
            "Time that the mean is over, of the session with the least.",
            "passes.parquet",
            unit="s",
            always=True,
        ),
        "mean_w_sessions": Described("Mean power by session.", "probes.parquet", unit="W", always=True),
        "energy_j_sessions": Described(
            "Energy of an image by session.", "probes.parquet", unit="J", always=True
        ),
        "uncovered": Described(
            "Which sessions' steady windows its samples do not cover, or in which readings are no number or "
            "out of range, and why: it passes no limit then; else empty.",
            "probes.parquet",
        ),
        "p99_w": Described(
            "99th percentile of all samples from the first steady pass to the last; null below 299.",
            "probes.parquet",
            unit="W",
        ),
        "mean_low_w": Described(
            "Lower end of the 95 % interval of mean_w: the wider of Student's t over the sessions (from "
            "3 on) and of the samples' own spread (from 20 on); null without either.",
            "probes.parquet",
            unit="W",
        ),
        "mean_high_w": Described("Upper end of the interval of mean_w.", "probes.parquet", unit="W"),
        "energy_low_j": Described(
            "Lower end of the interval of energy_j, taken as that of mean_w.", "probes.parquet", unit="J"
        ),
        "energy_high_j": Described("Upper end of the interval of energy_j.", "probes.parquet", unit="J"),
        "net_low_j": Described(
            "Lower end of the interval of net_energy_j, taken likewise with the spread of the idle windows' "
            "samples.",
            "probes.parquet",
            unit="J",
        ),
        "net_high_j": Described("Upper end of the interval of net_energy_j.", "probes.parquet", unit="J"),
        "effective_hz": Described(
            "Samples a second that truly came within the steady window, of the session with the fewest.",
            "probes.parquet",
            unit="Hz",
        ),
        "longest_gap_s": Described(
            "Longest time within a session's steady window without a sample.", "probes.parquet", unit="s"
        ),
        "averaging_ms": Described(
            "Time that a reading is the mean over; of a counter that between two readings; null where it is "
            "not known.",
            "session.json",
            unit="ms",
        ),
        "total": Described("Whether all other rails of its meter are part of it.", "session.json"),
        "rejected": Described(
            "Readings of its meter that could not be parsed or were out of range, over the sessions.",
            "session.json",
            unit="reading",
            shape={"minimum": 0},
        ),
        "idle_drift_w": Described(
            "Idle power after the last pass less that before the first; mean over the sessions that were "
            "sampled in both, null without any.",
            "probes.parquet",
            unit="W",
        ),
    },
}
