"""Published figures as trials that can be judged: each is marked as published and names its source.

They are TOML files in results/reference, which is shipped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from edgebench.errors import UsageError
from edgebench.files import read_toml
from edgebench.installed import shipped_folder
from edgebench.judge.accuracy import share_right
from edgebench.judge.judged import Judged, with_boards
from edgebench.judge.metrics import METRICS, required_metrics
from edgebench.judge.recorded import recorded_trials
from edgebench.judge.requirements.profile import Profile, shipped_profiles
from edgebench.judge.requirements.schedule import Strict
from edgebench.judge.trial import PUBLISHED, STATED, Estimate, Trial
from edgebench.judge.trials import trial_of
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.records.stored import ExperimentRecord, SceneRecord, TrialRecord
from edgebench.records.target import Target
from edgebench.refusals import form, refusal, refuse
from edgebench.results.load import StoredResults
from edgebench.suggest import choose, short
from edgebench.version import __version__

SCENE = SceneRecord(
    name="the study's picture", sha256="", height=4512, width=4512, patch=224, rows=20, columns=20
)
"""Scene of published image_s and infer_s."""

# Verdicts of published figures.
#
# | published | estimate | verdict |
# | --- | --- | --- |
# | k of n | share with its Wilson interval | as of a measured share |
# | a bound in words, such as "exceeds 5 W peak" | one end | pass or fail where all of it is on one side |
# | a number | value without ends | inconclusive: its uncertainty was not published |
# | infer_s above a limit of image_s without a number | lower end | fail: image_s is never shorter |
# | a picture, another statistic, nothing | none | unknown |
#
# Sources are not added up: infer_s below a limit of image_s leaves that open. Mass and size are those of the
# trial's boards.

_BOUNDS = ("above", "at_least", "below", "at_most")
_FORMS = ("value", "k", *_BOUNDS, "picture")
_AGAIN = "install edgebench again, from a wheel or a clone"
_Amount = Annotated[float | None, Field(gt=0, lt=1e18)]
_NAMED = form("up to 60 small letters, digits, '.', '_' and '-', a letter or digit first")
_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,59}$", json_schema_extra=_NAMED)]


class _Entry(Strict):
    """Table of the file, with plain texts."""

    @field_validator("*", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        controls = isinstance(value, str) and not value.isprintable()
        refuse((controls, "a text holds control characters", "write plain text on one line"))
        return value


class Source(_Entry):
    """Publication, as it is quoted behind a verdict, and its address."""

    title: str
    address: str = ""


class FigureEntry(_Entry):
    """One published figure, in exactly one form.

    Attributes:
        quantity: metric; not one that a target declares, a run records or a profile's schedule makes.
        source: key of the file's [sources].
        unit: unit of its number. Default: the metric's base unit.
        value: number without an interval; `covers` says what it covers.
        patches: patches of a time; the time of a scene is in proportion to it.
        k, n: share, with `covers` for the n.
        above, at_least, below, at_most: bound that the source states in `words`.
        picture: it was published as a picture alone, from which no number is read.
        words: quote of the source.
        covers: scope of the number, such as the inference of one patch alone.
    """

    quantity: str
    source: str
    unit: str = ""
    value: _Amount = None
    patches: int | None = Field(default=None, ge=1, le=SCENE.patches)
    k: int | None = Field(default=None, ge=0)
    n: int | None = Field(default=None, ge=1, le=10**12)
    above: _Amount = None
    at_least: _Amount = None
    below: _Amount = None
    at_most: _Amount = None
    picture: Literal[True] | None = Field(default=None, json_schema_extra=form("picture = true"))
    words: str = ""
    covers: str = ""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        measured = {
            name: metric
            for name, metric in required_metrics().items()
            if metric.statistics[0] not in ("declared", "recorded") and not metric.is_scheduled
        }
        unknown = f"unknown quantity {short(self.quantity)}"
        refuse((self.quantity not in measured, unknown, choose(self.quantity, measured)))
        metric, k, n, unit = measured[self.quantity], self.k, self.n, self.unit
        forms = [key for key in _FORMS if getattr(self, key) is not None]
        several = " and ".join(forms) or "neither a number nor a picture"
        number = sum(float(getattr(self, key)) for key in forms if key != "k")
        too_much = metric.share_of and number * metric.units.get(unit, 1.0) > 1
        no_time = self.patches and (self.value is None or not metric.is_latency)
        refuse(
            (unit and unit not in metric.units, f"unknown unit {short(unit)}", choose(unit, metric.units)),
            (len(forms) != 1, f"{several} in one figure", f"write one of {', '.join(_FORMS)}"),
            ((k is None) != (n is None), "k and n belong together", "write both: k right ones of n"),
            (n and not metric.share_of, f"k and n do not belong to {self.quantity}", "write value ="),
            ((k or 0) > (n or 0), f"{k} of {n} is more than all", "write k for the right ones, n for all"),
            (no_time, "patches belong to the value of a scene's time", "leave them out"),
            ((n or self.value) and not self.covers, "covers is missing", 'such as covers = "inference only"'),
            ({*forms} & {*_BOUNDS} and not self.words, "words are missing", "quote the source: words = "),
            (too_much, f"{number:g} is more than every {metric.share_of}", 'write a share, or unit = "%"'),
        )
        return self

    def estimate(self, source: Source) -> Estimate:
        """Estimate in base units with its source; a time of some patches as that of the scene."""
        metric = METRICS[self.quantity]
        unit = metric.units[self.unit or metric.unit]
        quote = f'"{self.words}" ({source.title})' if self.words else source.title
        covers = f"it covers {self.covers}" if self.covers else ""
        notes = quote, covers, "over what time it is averaged was not published" if metric.is_power else ""
        if self.k is not None and self.n is not None:
            return replace(share_right(self.k, self.n, *notes), basis="published")
        if self.value is not None:
            times = SCENE.patches / self.patches if self.patches else 1
            scaled = f" (the published number times {times:g})" if times > 1 else ""
            reason = f"published without an interval{scaled}"
            estimate = Estimate(self.value * unit * times, reason=reason)
        elif self.picture:
            estimate = Estimate(reason="published as a picture, from which no number is read")
        else:
            low, high = self.above or self.at_least, self.below or self.at_most
            low, high, is_strict = low and low * unit, high and high * unit, bool(self.above or self.below)
            estimate = Estimate(low=low, high=high, strict=is_strict, reason="published as a bound")
        return replace(estimate, basis="published").with_notes(*notes)


class TrialEntry(_Entry):
    """Published figures of one model on one device, under settings that the source states.

    Attributes:
        boards: boards of its target, by the names that --board takes, where the source names them.
    """

    target: _Name
    device: str
    model: _Name
    depth_multiplier: float | None = Field(default=None, gt=0, le=10)
    precision: Literal["fp32", "fp16", "int8"]
    batch: int = Field(default=1, ge=1)
    concurrency: int = Field(default=1, ge=1)
    boards: tuple[str, ...] = ()
    figures: tuple[FigureEntry, ...] = Field(min_length=1)

    @property
    def record(self) -> TrialRecord:
        """Trial as a run plans it; variants are named as a run names them."""
        depth = "" if self.depth_multiplier is None else f"-{self.depth_multiplier}"
        variant = f"{self.model}{depth}-{self.precision}"
        identity = [PUBLISHED, self.target, variant, self.batch, self.concurrency]
        return TrialRecord(
            **self.model_dump(include={"target", "depth_multiplier", "precision", "batch"}),
            key=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16],
            variant=variant,
            inputs={"settings": {"concurrency": self.concurrency}},
            mark=PUBLISHED,
        )


class Reference(_Entry):
    """One file of published figures; validated with the identities of other files."""

    schema_version: Literal[1] = 1
    title: str
    sources: dict[str, Source]
    trials: tuple[TrialEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        seen: set[str] = set() if info.context is None else info.context
        for trial in self.trials:
            record = trial.record
            identities = [(record.key, f"two trials of {record.variant}")]
            for entry in trial.figures:
                identities.append((record.key + entry.quantity, f"two figures of {entry.quantity}"))
                unknown = f"{trial.target}: unknown source {short(entry.source)} of {entry.quantity}"
                refuse((entry.source not in self.sources, unknown, choose(entry.source, self.sources)))
            for identity, twice in identities:
                refuse((identity in seen, f"{trial.target}: {twice}", "take one of the two out"))
                seen.add(identity)
        return self


def reference_folder() -> Path:
    """Folder of the published figures that come with EdgeBench.

    Raises:
        UsageError: it is missing.
    """
    if folder := shipped_folder("reference", checkout="results/reference"):
        return folder
    raise UsageError("this installation has no published figures", fix=_AGAIN)


def load_references(folder: Path) -> tuple[Reference, ...]:
    """Files of published figures in a folder, by name.

    Raises:
        UsageError: there is none; one cannot be read, with its place and the fix; two have the same trial.
    """
    references, seen = [], set[str]()
    for file in sorted(folder.glob("*.toml")):
        tables = read_toml(file, "reference", fix=_AGAIN).tables
        try:
            references.append(Reference.model_validate(tables, context=seen))
        except ValidationError as error:
            refused = refusal(error, tables, Reference)
            fault = f"reference {file}: {refused.sentence()}"
            raise UsageError(fault, fix=refused.fix or "see results/reference") from error
    if not references:
        raise UsageError(f"{folder} has no published figures", fix=_AGAIN)
    return tuple(references)


def judge_published(profiles: Sequence[Profile] | None = None, boards: Sequence[str] = ()) -> Judged:
    """Published figures that come with EdgeBench, and their verdicts.

    Args:
        profiles: profiles to judge by; None for all that are shipped.
        boards: `[TARGET=]NAME` of boards in place of those that the source names, for mass and size.

    Raises:
        UsageError: as `load_references` and `with_boards`.
    """
    folder = reference_folder()
    entries = [(reference, trial) for reference in load_references(folder) for trial in reference.trials]
    profiles = shipped_profiles() if profiles is None else profiles
    bodies = {trial.target: trial.device for _, trial in entries}
    record = ExperimentRecord(
        id="0" * 32,  # no run
        name="reference",
        created_utc="",
        edgebench_version=__version__,
        command=("edgebench", "fit", "--reference"),
        seed=0,
        sessions=1,
        passes=1,
        scene=SCENE,
        targets=tuple(Target(name=name, device=PUBLISHED, body=board) for name, board in bodies.items()),
        trials=tuple(trial.record for _, trial in entries),
        profiles=tuple(profile.as_record() for profile in profiles),
        warnings=("every figure was published by others, as its source says; none was measured here",),
    )
    named = [f"{trial.target}={name}" for _, trial in entries for name in trial.boards]
    record, notes = with_boards(with_boards(record, named)[0], boards)
    results = StoredResults(folder, record)
    recorded = recorded_trials(results, STATED.interval)
    trials = [published_trial(trial_of(recorded[entry.record.key]), entry, file) for file, entry in entries]
    return Judged(results, tuple(profiles), trials, judge_all(trials, profiles), notes)


def published_trial(trial: Trial, entry: TrialEntry, reference: Reference) -> Trial:
    """Trial without sessions, with the published estimates and the declared mass and size of its boards."""
    unpublished = Estimate(reason="no figure was published")
    estimates = {metric.key(): unpublished for metric in METRICS.values() if not metric.is_size}
    for name in ("mass_g", "size_mm"):
        declared = {key: estimate for key, estimate in trial.estimates_of(name) if not estimate.is_missing}
        estimates |= declared or {METRICS[name].key(): unpublished}
    for figure in entry.figures:
        metric = METRICS[figure.quantity]
        estimates[metric.key()] = figure.estimate(reference.sources[figure.source])
    patches = min(figure.patches or SCENE.patches for figure in entry.figures)
    is_scaled = patches < SCENE.patches
    return replace(
        trial,
        status="done",
        reason="",
        estimates=estimates,
        body="" if trial.body == entry.device else trial.body,
        marks=(PUBLISHED, "extrapolated") if is_scaled else (PUBLISHED,),
        scene=replace(trial.scene, measured_patches=patches if is_scaled else None),
    )
