"""The published figures as an experiment that can be judged: every trial of it is marked published.

They are TOML files in results/reference, which is shipped: each figure names its source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from edgebench.errors import UsageError
from edgebench.files import read_toml
from edgebench.installed import shipped_folder
from edgebench.judge.figure import Bound
from edgebench.judge.judged import Judged, with_boards
from edgebench.judge.metric import Stated
from edgebench.judge.metrics import METRICS, required_metrics
from edgebench.judge.profile import Profile, shipped_profiles
from edgebench.judge.schedule import Strict
from edgebench.judge.trial_summary import (
    PUBLISHED,
    Accuracy,
    Published,
    TrialSummary,
    mark_of,
    planned_fields,
    timed_with,
)
from edgebench.judge.verdict import judge_all
from edgebench.records.stored import ExperimentRecord, SceneRecord, TrialRecord
from edgebench.records.target import Target
from edgebench.refusals import form, refusal, refuse
from edgebench.results.load import StoredResults
from edgebench.stats.compare import wilson
from edgebench.stats.interval import Interval
from edgebench.suggest import choose, short
from edgebench.version import __version__

SCENE = SceneRecord(
    name="the study's picture", sha256="", height=4512, width=4512, patch=224, rows=20, columns=20
)
"""What image_s and infer_s are the time of."""

BOUNDS: Mapping[str, Bound] = {each.replace(" ", "_"): each for each in get_args(Bound)}
"""Key -> where the figure is relative to the number under it."""

_FORMS = ("value", "k", *BOUNDS, "picture")
_AGAIN = "install edgebench again, from a wheel or a clone"
_Amount = Annotated[float | None, Field(gt=0, lt=1e18)]
_NAMED = form("up to 60 small letters, digits, '.', '_' and '-', a letter or digit first")
_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,59}$", json_schema_extra=_NAMED)]


class _Entry(Strict):
    """A table of the file: its texts are plain."""

    @field_validator("*", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        controls = isinstance(value, str) and not value.isprintable()
        refuse((controls, "a text holds control characters", "write plain text on one line"))
        return value


class Source(_Entry):
    """Who published, as it is quoted behind a verdict; where it can be read."""

    title: str
    address: str = ""


class FigureEntry(_Entry):
    """One published figure, in exactly one form.

    Attributes:
        quantity: what it is about; not mass, size and the artifact's size, which a target declares.
        source: a key of the file's [sources].
        unit: of its number. Default: the quantity's base unit.
        value: a number without an interval; `covers` says what it is of.
        patches: of how many patches a time is; the time of a scene is in proportion to it.
        k, n: a share, with `covers` for what the n are.
        above, at_least, below, at_most: a bound that the source states in `words`.
        picture: it was published as a picture alone, from which no number is read.
        words: what the source says, as it is quoted behind the verdict.
        covers: what a number is of, such as the inference of one patch alone.
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
            name: each
            for name, each in required_metrics().items()
            if not isinstance(each.judged, Stated) and not each.is_size
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
            ({*forms} & {*BOUNDS} and not self.words, "words are missing", "quote the source: words = "),
            (too_much, f"{number:g} is more than every {metric.share_of}", 'write a share, or unit = "%"'),
        )
        return self

    def published(self, source: Source) -> Published:
        """The figure in its quantity's base unit; a time of some patches as that of the scene."""
        metric, scaled = required_metrics()[self.quantity], SCENE.patches / (self.patches or SCENE.patches)
        unit = metric.units[self.unit or metric.unit]
        ends = {bound: end * unit for key, bound in BOUNDS.items() if (end := getattr(self, key)) is not None}
        value = None if self.value is None else self.value * unit * scaled
        low, high = ends.get("above", ends.get("at least")), ends.get("below", ends.get("at most"))
        if self.k is not None and self.n is not None:
            value, (low, high) = self.k / self.n, wilson(self.k, self.n)
        about = (self.quantity, metric.statistics[0], source.title)
        of = self.model_dump(include={"k", "n", "words", "covers"})
        return Published(*about, value, low, high, next(iter(ends), ""), **of, scaled=scaled)


class TrialEntry(_Entry):
    """What was published of one model on one device, under settings that the source states.

    Attributes:
        boards: what its target is made of, by the names that --board takes, where the source names it.
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
        """The trial as a run plans it; variants are named as a run names them."""
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
    """One file of published figures; validated with the set of what other files have."""

    schema_version: Literal[1] = 1
    title: str
    sources: dict[str, Source]
    trials: tuple[TrialEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        known: set[str] = set() if info.context is None else info.context
        for trial in self.trials:
            record = trial.record
            identities = [(record.key, f"two trials of {record.variant}")]
            for figure in trial.figures:
                identities.append((record.key + figure.quantity, f"two figures of {figure.quantity}"))
                unknown = f"{trial.target}: unknown source {short(figure.source)} of {figure.quantity}"
                refuse((figure.source not in self.sources, unknown, choose(figure.source, self.sources)))
            for identity, what in identities:
                refuse((identity in known, f"{trial.target}: {what}", "take one of the two out"))
                known.add(identity)
        return self


def reference_folder() -> Path:
    """The folder of published figures that comes with EdgeBench; UsageError where it is missing."""
    if folder := shipped_folder("reference", checkout="results/reference"):
        return folder
    raise UsageError("this installation has no published figures", fix=_AGAIN)


def load_references(folder: Path) -> tuple[Reference, ...]:
    """The files of published figures in a folder, by name.

    Raises UsageError, naming the file and what to write instead, for one that is no such file, for a trial
    that two of them have, and for a folder without any.
    """
    references, known = [], set[str]()
    for file in sorted(folder.glob("*.toml")):
        tables = read_toml(file, "reference", fix=_AGAIN).tables
        try:
            references.append(Reference.model_validate(tables, context=known))
        except ValidationError as error:
            refused = refusal(error, tables, Reference)
            what = f"reference {file}: {refused.sentence()}"
            raise UsageError(what, fix=refused.fix or "see results/reference") from error
    if not references:
        raise UsageError(f"{folder} has no published figures", fix=_AGAIN)
    return tuple(references)


def judge_published(profiles: Sequence[Profile] | None = None, boards: Sequence[str] = ()) -> Judged:
    """The published figures that come with EdgeBench, and their verdicts.

    Without `profiles` by all that are shipped. Mass and size are those of `boards` (`[TARGET=]NAME`), else of
    the boards that the source names. UsageError as `load_references` and `with_boards`.
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
        targets=tuple(Target(name=name, device=PUBLISHED, body=body) for name, body in bodies.items()),
        trials=tuple(trial.record for _, trial in entries),
        profiles=tuple(profile.as_record() for profile in profiles),
        warnings=("every figure was published by others, as its source says; none was measured here",),
    )
    named = [f"{trial.target}={name}" for _, trial in entries for name in trial.boards]
    record, notes = with_boards(with_boards(record, named)[0], boards)
    targets = {target.name: target for target in record.targets}
    summaries = [_summary(reference, trial, targets[trial.target]) for reference, trial in entries]
    verdicts = judge_all(summaries, profiles)
    return Judged(StoredResults(folder, record), tuple(profiles), summaries, verdicts, notes)


def _summary(reference: Reference, entry: TrialEntry, target: Target) -> TrialSummary:
    figures = tuple(figure.published(reference.sources[figure.source]) for figure in entry.figures)
    # As the tables have them: a time is of no session, and has no interval.
    known: dict[str, Any] = {
        figure.quantity: Interval(figure.value, None, None, sessions=0, n=0)
        for figure in figures
        if figure.value is not None and METRICS[figure.quantity].is_latency
    }
    for each in figures:
        if each.k is not None and each.n and each.low is not None and each.high is not None:
            known[each.quantity] = Accuracy(each.k, each.n, each.low, each.high)
    patches = min(figure.patches or SCENE.patches for figure in entry.figures)
    extrapolated = patches < SCENE.patches
    summary = TrialSummary(
        **planned_fields(entry.record),
        **known,
        status="done",
        reason="",
        power_reason="no meter: the verdicts quote what was published of power",
        mass_g=target.mass_g,
        size_mm=target.size_mm,
        body="" if target.body == entry.device else target.body,
        workers=({"worker": 0},),
        timed=timed_with(SCENE),
        mark=mark_of(entry.record, (), (), extrapolated=extrapolated),
        scene_covered=SCENE.covered,
        measured_patches=patches if extrapolated else None,
        extrapolated=extrapolated,
        published=figures,
    )
    reason = "" if "accuracy" in known else summary.unpublished("accuracy")
    return replace(summary, accuracy_reason=reason)
