"""Trials made by hand, for tests of verdicts."""

from dataclasses import replace
from typing import Any

import numpy as np

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.sessions import over_medians, over_values
from edgebench.judge.trial import Estimate, EstimateKey, Rail, SceneOfTrial, Trial
from edgebench.judge.verdicts.verdict import Verdict, judge_all
from edgebench.stats.compare import wilson
from edgebench.stats.power_curve import power_curve

STEADY = ((1.0, 1.01, 0.99), (1.02, 1.0, 1.01), (0.98, 0.99, 1.0))


POWER = (("power_mean_w", "median"), ("power_peak_w", "max"), ("energy_j", "median"))


def trial(image_s=STEADY, *, power=(), accuracy=None, estimates=None, values=None, **changes):
    """A done trial of those steady passes; `accuracy` is (k, n), `power` what `meter` gives.

    `estimates` are by metric, or by key; `values` by metric are values by session of a metric at its median.
    """
    found, kept = {}, {}
    for name in ("image_s", "infer_s"):
        found[EstimateKey(name, "median")] = (
            over_values(image_s, "passes", "median") if image_s else Estimate(reason="no steady pass")
        )
        if image_s:
            kept[EstimateKey(name, "median")] = image_s
    if accuracy is None:
        found[EstimateKey("accuracy", "share")] = Estimate(reason="no images were given")
    else:
        k, n = accuracy
        low, high = wilson(k, n)
        found[EstimateKey("accuracy", "share")] = Estimate(
            k / n, low, high, n=n, final=True, notes=(f"{k} of {n}",)
        )
    for metric, statistic in () if power else POWER:
        found[EstimateKey(metric, statistic)] = Estimate(reason="no meter")
    for rail, of_rail in power:
        found.update(
            {EstimateKey(name, statistic, rail=rail.name): each for (name, statistic), each in of_rail}
        )
    for name, by_session in (values or {}).items():
        found[EstimateKey(name, "median")] = over_values(by_session, "sessions", "median")
        kept[EstimateKey(name, "median")] = by_session
    ticks = changes.get("ticks", {})
    found = {key: estimate.widened(ticks.get(key.metric, 0.0)) for key, estimate in found.items()}
    for key, estimate in (estimates or {}).items():
        found[key if isinstance(key, EstimateKey) else _key(key)] = estimate
    fields: dict[str, Any] = {
        "key": "0123456789abcdef",
        "target": "cpu",
        "variant": "mobilenet_v1-0.25-int8",
        "depth_multiplier": 0.25,
        "precision": "int8",
        "batch": 1,
        "estimates": found,
        "values": kept,
        "rails": tuple(rail for rail, _ in power),
        "scene": SceneOfTrial(text="arctic, 4512 x 4512 pixels, 400 patches of 224 x 224", patches=400),
    }
    return Trial(**(fields | changes))


def _key(name):
    from edgebench.judge.metrics import METRICS

    return METRICS[name].key()


def meter(
    *, peak_w=4.0, mean_w=(2.99, 3.0, 3.01), energy_j=(5.9, 6.0, 6.1), idle_w=1.0, name="ina:0 in", **changes
):
    """A board meter of 1 kHz with 3 W on average and 4 W at its highest over 10 s, three times."""
    rail = replace(
        Rail(
            name,
            name.partition(" ")[0],
            name.partition(" ")[2],
            "board",
            rate_hz=1000.0,
            effective_hz=1000.0,
            longest_gap_s=0.001,
            window_s=10.0,
            samples=30000,
        ),
        **changes,
    )
    basis: dict[str, Any] = {"basis": rail.scope}
    if not mean_w:
        return rail, [(key, Estimate(reason=rail.reason, **basis)) for key in POWER]
    if "curves" not in changes:
        rail = replace(rail, curves=curves(rail, float(np.mean(mean_w)), peak_w))
    return rail, (
        (("power_mean_w", "median"), over_medians(mean_w, **basis)),
        (("power_peak_w", "max"), Estimate(peak_w, peak_w, peak_w, n=rail.samples, **basis)),
        (("power_idle_w", "median"), Estimate(idle_w, **basis)),
        (("energy_j", "median"), over_medians(energy_j, **basis)),
        (("net_energy_j", "median"), Estimate(4.0, **basis)),
    )


def curves(rail, mean_w, peak_w):
    """Samples of a meter's three sessions: as often as it has them, level but for one of its peak."""
    if not rail.effective_hz:
        return ()
    t_ns = np.round(np.arange(0, rail.window_s, 1 / rail.effective_hz) * 1e9).astype(np.int64)
    watts = np.full(t_ns.size, mean_w)
    watts[t_ns.size // 2] = peak_w
    return (power_curve(t_ns, watts),) * 3


def profile(**requirement):
    return Profile.from_record({"name": "mine", "requirements": [{"name": "it", **requirement}]})


def judge(judged: Trial, profile: Profile) -> list[Verdict]:
    """Verdicts of one trial on one profile."""
    return judge_all([judged], [profile])


def verdict(judged, **requirement):
    (found,) = judge(judged, profile(**requirement))
    assert found.reason
    return found


def profile_of(*requirements, name="mine"):
    """A profile of requirements r0, r1, ..."""
    named = [{"name": f"r{at}", **requirement} for at, requirement in enumerate(requirements)]
    return Profile.from_record({"name": name, "requirements": named})


def keyed(letter, seconds=1.0, **changes):
    """A trial of steady passes that take so long, with a key of one letter."""
    sessions = tuple(tuple(seconds * value for value in session) for session in STEADY)
    return trial(sessions, **{"key": letter * 16, **changes})


def exact(value, **fields):
    """A declared or recorded number."""
    return Estimate.exact(float(value), **fields)


def size(*sides):
    """Estimates of a body's sides."""
    stages = zip(("longest", "middle", "shortest"), sorted(sides, reverse=True), strict=True)
    return {EstimateKey("size_mm", "declared", stage=stage): exact(side) for stage, side in stages}


def declared(kind, number):
    """A declared maximum, or a typical number."""
    is_maximum = kind == "maximum"
    basis: Any = f"declared {kind}"
    return Estimate(
        number,
        low=None if is_maximum else number,
        high=number if is_maximum else None,
        basis=basis,
        reason="it can pass this limit, never fail it" if is_maximum else "it can never pass this limit",
        final=True,
    )


def rails_trial(rails, **changes):
    """A done trial with the rails that `power_of_sessions` gives."""
    power = [
        (
            found.rail,
            [
                ((name, STATISTICS.get(name, "median")), estimate)
                for name, estimate in found.estimates.items()
            ],
        )
        for found in rails
    ]
    return trial(power=power, **changes)


STATISTICS = {"power_peak_w": "max", "power_p99_w": "p99"}


def sentences(*measured, **more):
    """Cautions of a trial (arguments as of `edgebench.judge.cautions.cautions`) as text."""
    from edgebench.judge.cautions import cautions

    return tuple(caution.sentence() for caution in cautions(*measured, **more))


def metered(rails):
    """A done trial with these rails, as `edgebench.judge.power.rails.power_of_sessions` gives them."""
    from edgebench.judge.metrics import METRICS
    from edgebench.judge.power.limits import objection_to

    power = []
    for found in rails:
        named = {
            (name, METRICS[name].statistics[0]): replace(estimate, objection=objection_to(found.rail, name))
            for name, estimate in found.estimates.items()
        }
        power.append((found.rail, tuple(named.items())))
    return trial(power=tuple(power))
