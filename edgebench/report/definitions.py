"""How a report says what its figures are: the metrics, then what they are made with."""

from __future__ import annotations

from edgebench.fit.metrics import METRICS

_DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "median",
        "the mean over the sessions of each session's median over its steady passes: of image_s, of infer_s, "
        "of request_ms and of every stage. What is taken once a session (loading, memory) is the mean over "
        "the sessions. patchify, preprocess and infer sum to nearly image_s where they do not overlap; "
        "medians do not add up exactly. A device's own stage lies within infer.",
    ),
    (
        "interval",
        "95 %, Student's t over the medians of the sessions, as a factor on the value: it never reaches "
        "below zero, and its upper side is the longer one, which is what ± and the half-width give. A "
        "session is a fresh process with the model loaded anew, so the interval covers what differs between "
        "starts, not only between passes; on firmware that stays on its board nothing starts anew, and it "
        "covers what differs between sessions alone. Where "
        "sessions could end their own measuring (--target-ci, --decide) t is taken at 97.5 %, so that it "
        "still covers 95 %.",
    ),
    (
        "accuracy",
        "k right of n labelled images, predicted by the very artifact that was timed, with the Wilson "
        "interval at 95 %. Images are turned upright by their orientation tag and resized to the model's "
        "input on the host, bilinearly and before anything is timed; patches of the scene that have another "
        "size are resized on the device, by the nearest pixel, within the timed patchify.",
    ),
    (
        "scope",
        "what a meter covers: chip, module, board, usb (all that a board or stick draws through its USB "
        "port) or wall (its power supply too). Power and energy are compared within one scope alone.",
    ),
    (
        "verdict",
        "pass when the whole interval meets the limit, fail when the whole interval misses it, inconclusive "
        "when the data cannot tell, unknown when the figure is missing. A margin is what is left to the "
        "limit; it is negative where the limit is missed. A requirement is about image_s unless it names "
        "another metric, and no table mixes image_s with infer_s. What others published is marked so; of it "
        "k of n and a bound in words alone can pass or fail a limit.",
    ),
)


def definitions() -> list[tuple[str, str]]:
    """How the figures of a report are defined: the metrics, then what they are made with."""
    defined = {name for name, _ in _DEFINITIONS}
    metrics = [(metric.name, metric.sentence) for metric in METRICS.values() if metric.name not in defined]
    return [*metrics, *_DEFINITIONS]
