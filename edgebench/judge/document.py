"""Documents of trials and verdicts: entries of `--json` and trial.json, and trials read back from these."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from edgebench.judge.metrics import METRICS
from edgebench.judge.table import Keyed, column_of, estimates_with, key_of, part_of
from edgebench.judge.trial import Estimate, EstimateKey, Trial
from edgebench.judge.verdicts.verdict import NextStep, Verdict
from edgebench.records.described import Unwritten

Document = dict[str, Any]
"""Plain data that JSON can carry."""
Bound = Literal["above", "at least", "below", "at most", ""]
_WRITTEN = [field.name for field in dataclasses.fields(Trial) if field.repr and field.name != "cautions"]
"""Fields of a trial in its document; those without a repr are internal."""


def plain(value: Any) -> Any:
    """Value as JSON can carry it: numbers that are not finite become null, numpy's become Python's.

    A dataclass gives the fields that its `repr` has; the others are internal.
    """
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # a numpy scalar or array, without importing numpy for it
        return plain(value.tolist())
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


# Trials.


def estimate_document(estimate: Estimate, unit: str) -> Document:
    """Estimate in its base unit."""
    return {
        "value": plain(estimate.value),
        "low": plain(estimate.low),
        "high": plain(estimate.high),
        "unit": unit,
        "n": estimate.n,
        "session_values": plain(estimate.sessions),
        "basis": estimate.basis,
        "reason": estimate.reason,
        "objection": estimate.objection,
        "notes": list(estimate.notes),
    }


def _estimates(keyed: Keyed) -> Document:
    """Documents of estimates by column; the first of a column represents it."""
    documents: Document = {}
    for key, estimate in keyed:
        if (name := column_of(key)) not in documents:
            documents[name] = estimate_document(estimate, METRICS[key.metric].unit)
    return documents


def trial_document(trial: Trial, verdicts: Sequence[Verdict] = ()) -> Document:
    """Entry of a trial: its fields, its estimates by metric, and those of its rails and workers.

    trial.json is this entry without verdicts. With verdicts it also has the estimates that their requirements
    ask for, such as `image_s_p99`.
    """
    keyed = estimates_with(trial, verdicts)
    parts = {
        "estimates": _estimates((key, estimate) for key, estimate in keyed if key.worker is None),
        "rails": [{**plain(rail), "estimates": _estimates(part_of(keyed, rail))} for rail in trial.rails],
        "workers": [
            {**plain(worker), "estimates": _estimates(part_of(keyed, worker))} for worker in trial.workers
        ],
        "warnings": list(trial.warnings),
        "device_warnings": list(trial.device_warnings),
    }
    return {name: parts[name] if name in parts else plain(getattr(trial, name)) for name in _WRITTEN} | {
        name: part for name, part in parts.items() if name not in _WRITTEN
    }


@cache
def trial_adapter() -> TypeAdapter[Trial]:
    """Validator of trials, whose module imports some of its types for type checkers alone."""
    from edgebench.records.model import BuiltArtifact, State
    from edgebench.records.stored import TrialStatus
    from edgebench.stats.power_curve import PowerCurve
    from edgebench.stats.warnings import Caution

    types = (BuiltArtifact, PowerCurve, Caution, Unwritten)
    names = {"State": State, "TrialStatus": TrialStatus, **{type_.__name__: type_ for type_ in types}}
    adapter = TypeAdapter(Trial)
    adapter.rebuild(_types_namespace=names)
    return adapter


def trial_from_document(entry: Mapping[str, Any]) -> Trial:
    """Trial of an entry that `trial_document` made, without values per pass and without cautions.

    Metrics that are not in the catalogue are left out. `strict` and `final` of estimates are not in an entry.

    Raises:
        ValueError: a field is missing or has another type.
    """
    try:
        estimates: dict[EstimateKey, Any] = {}
        by_rail = [(rail["estimates"], None, rail["name"]) for rail in entry["rails"]]
        by_worker = [(worker["estimates"], worker["number"], "") for worker in entry["workers"]]
        metered = {name for documents, *_ in by_rail for name in documents}
        own = {name: part for name, part in entry["estimates"].items() if name not in metered}
        for documents, worker, rail in ((own, None, ""), *by_rail, *by_worker):
            for name, part in documents.items():
                try:
                    key = key_of(name, worker, rail)
                except KeyError:
                    continue
                values = {field: part[field] for field in part if field not in ("unit", "session_values")}
                estimates[key] = values | {"sessions": part["session_values"]}
        parts = {name: value for name, value in entry.items() if name in _WRITTEN}
        return trial_adapter().validate_python(parts | {"estimates": estimates})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no entry of a trial: {error!r}") from error


# Verdicts.


def bound_of(estimate: Estimate) -> Bound:
    """Side of an unknown value's one known end; empty where the value is known, or nothing is."""
    ends = [end for end in (estimate.low, estimate.high) if end is not None and math.isfinite(end)]
    if estimate.value is not None or len(ends) != 1:
        return ""
    if estimate.low is not None:
        return "above" if estimate.strict else "at least"
    return "below" if estimate.strict else "at most"


@dataclasses.dataclass(frozen=True)
class VerdictEntry:
    """One requirement against one trial; numbers are in the requirement's unit."""

    trial: str
    """Key of the trial that is judged. Source: experiment.json."""
    profile: str
    """Name of the profile. Source: profile."""
    requirement: str
    """Name of the requirement. Source: profile."""
    metric: str
    """Limited quantity, such as image_s. Source: profile."""
    statistic: str
    """Statistic of it: median, p90, p99, max, declared. Source: profile."""
    averaging_s: float | None
    """Time over which a limit on power means its average; null where it means any moment, and for all else.
    Unit: s. Source: profile."""
    wanted: bool
    """True for a wish, which counts neither for the whole profile nor for the exit code. Source:
    profile."""
    limit: float
    """Limit in unit; of a size that of the side with the least margin. Source: profile."""
    unit: str
    """Unit of limit, value, low, high and margin. Source: profile."""
    value: float | None
    """Judged value; null where it is unknown. Source: trial."""
    low: float | None
    """Lower end of its interval; null without one. Source: trial."""
    high: float | None
    """Upper end of its interval; null without one. Source: trial."""
    bound: Bound
    """Side of an unknown value's one known end: above or at least low, below or at most high; above and below
    exclude that end. Empty where the value is known, or nothing is. Source: trial."""
    basis: str
    """Origin: empty for a measured estimate, the meter's scope for power and energy, else declared (maximum,
    typical) or published. Source: trial."""
    verdict: Literal["pass", "fail", "inconclusive", "unknown"]
    """Verdict: pass, fail, inconclusive (the data cannot decide) or unknown (there is no estimate). Source:
    fit."""
    margin: float | None
    """Distance from the value to the limit; negative where it is missed, null without a value. Source:
    fit."""
    reason: str
    """Cause of the verdict, in words. Source: fit."""
    next_steps: tuple[NextStep, ...]
    """Actions that would settle or change the verdict. Source: fit."""


def verdict_entry(verdict: Verdict, next_steps: Iterable[NextStep] = ()) -> VerdictEntry:
    """Entry of a verdict in documents and frames, with its numbers in the requirement's unit."""
    requirement, estimate, scale = verdict.requirement, verdict.estimate, verdict.requirement.scale

    def scaled(number: float | None) -> float | None:
        return None if number is None or not math.isfinite(number) else number / scale

    return VerdictEntry(
        trial=verdict.trial,
        profile=verdict.profile,
        requirement=requirement.name,
        metric=requirement.quantity,
        statistic=requirement.statistic,
        averaging_s=requirement.averaging_s,
        wanted=requirement.wanted,
        limit=verdict.limit / scale if isinstance(requirement.limit, tuple) else requirement.limit,
        unit=requirement.unit,
        value=scaled(estimate.value),
        low=scaled(estimate.low),
        high=scaled(estimate.high),
        bound=bound_of(estimate),
        basis=estimate.basis,
        verdict=verdict.word,
        margin=scaled(verdict.margin),
        reason=verdict.reason,
        next_steps=tuple(step.in_unit(scale) for step in next_steps),
    )
