"""Trial summaries made by hand, for tests of verdicts."""

from dataclasses import replace

import numpy as np

from edgebench.judge.cautions import cautions
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import Accuracy, PowerFigure, TrialSummary
from edgebench.judge.verdict import judge
from edgebench.stats.compare import wilson
from edgebench.stats.intervals import session_interval
from edgebench.stats.power_curve import power_curve

STEADY = ((1.0, 1.01, 0.99), (1.02, 1.0, 1.01), (0.98, 0.99, 1.0))


def summary(image_s=STEADY, *, power=None, accuracy=None, **changes):
    """A done trial of those steady passes; `accuracy` is (k, n)."""
    trial_summary = TrialSummary(
        key="0123456789abcdef",
        target="cpu",
        variant="mobilenet_v1-0.25-int8",
        depth_multiplier=0.25,
        precision="int8",
        batch=1,
        status="done",
        reason="",
        image_s=session_interval(image_s) if image_s else None,
        infer_s=session_interval(image_s) if image_s else None,
        stages_ms={"patchify": 0.1, "infer": 2.0},
        cold={},
        accuracy=None if accuracy is None else _accuracy(*accuracy),
        accuracy_reason="" if accuracy else "no images were given",
        scene_accuracy=None,
        agreement=None,
        power=power,
        power_reason="" if power else "no meter",
        memory_bytes=None,
        artifact_bytes=None,
        mass_g=None,
        size_mm=None,
        image_s_values=image_s,
        infer_s_values=image_s,
    )
    return replace(
        trial_summary, **({"power_curves": tuple(curves(figure) for figure in power or ())} | changes)
    )


def _accuracy(k, n):
    low, high = wilson(k, n)
    return Accuracy(k, n, low, high)


def meter(**changes):
    """A board meter of 1 kHz that saw 3 W on average and 4 W at its highest over 10 s, three times."""
    figure = PowerFigure(
        meter="ina:0",
        channel="in",
        scope="board",
        primary=True,
        rate_hz=1000.0,
        samples=30000,
        mean_w=3.0,
        peak_w=4.0,
        idle_w=1.0,
        energy_j=6.0,
        net_energy_j=4.0,
        window_s=10.0,
        mean_w_sessions=(2.99, 3.0, 3.01),
        energy_j_sessions=(5.9, 6.0, 6.1),
        effective_hz=1000.0,
        longest_gap_s=0.001,
    )
    return replace(figure, **changes)


def curves(power):
    """Of a meter's three sessions the samples: as often as it has them, level but for one of its peak."""
    if power.mean_w is None or not power.effective_hz:
        return ()
    t_ns = np.round(np.arange(0, power.window_s, 1 / power.effective_hz) * 1e9).astype(np.int64)
    watts = np.full(t_ns.size, power.mean_w)
    watts[t_ns.size // 2] = power.peak_w
    return (power_curve(t_ns, watts),) * 3


def sentences(*measured, **more):
    """The cautions of a trial (arguments as of `edgebench.judge.cautions.cautions`) as text."""
    return tuple(caution.sentence() for caution in cautions(*measured, **more))


def profile(**requirement):
    return Profile.from_record({"name": "mine", "requirements": [{"name": "it", **requirement}]})


def verdict(trial, **requirement):
    (judged,) = judge(trial, profile(**requirement))
    assert judged.reason
    return judged
