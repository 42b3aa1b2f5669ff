"""The published figures as an experiment that can be judged: every trial of it is marked published."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, ValidationError, field_validator, model_validator

from edgebench.errors import UsageError
from edgebench.files import read_toml
from edgebench.installed import shipped_folder
from edgebench.judge.judged import Judged, with_boards
from edgebench.judge.metric import Metric, Stated
from edgebench.judge.metrics import required_metrics
from edgebench.judge.profile import Profile, shipped_profiles
from edgebench.judge.schedule import Strict
from edgebench.judge.trial_summary import (
    PUBLISHED,
    Accuracy,
    Bound,
    Published,
    TrialSummary,
    mark_of,
    planned_fields,
    timed_with,
)
from edgebench.judge.verdict import judge_all
from edgebench.records.stored import ExperimentRecord, SceneRecord, TrialRecord
from edgebench.records.target import Target
from edgebench.refusals import form, problem, refusal
from edgebench.results.load import StoredResults
from edgebench.stats.compare import wilson
from edgebench.stats.interval import Interval
from edgebench.suggest import choose, short
from edgebench.version import __version__

# Published figures as they lie in results/reference: TOML, a source to every figure, checked strictly.


SCENE_PATCHES = 400
"""What image_s and infer_s are the time of: a picture of 4512 x 4512 in patches of 224 x 224."""

BOUNDS: Mapping[str, Bound] = {each.replace(" ", "_"): each for each in get_args(Bound)}
"""Key -> how the figure lies to the number under it."""

_FORMS = ("value", "k", *BOUNDS, "picture")
_OF_A_SCENE = ("image_s", "infer_s")
_NAME = r"^[a-z0-9][a-z0-9._-]{0,59}$"
_NAMED = form("up to 60 small letters, digits, '.', '_' and '-', a letter or digit first")
_MOST = 1e18


class _Entry(Strict):
    """A table of the file: its texts are plain."""

    @field_validator("*", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        if isinstance(value, str) and not value.isprintable():
            raise problem("a text holds control characters", "write plain text on one line")
        return value


class Source(_Entry):
    """Who published, as it is quoted behind a verdict; where it can be read."""

    title: str = Field(min_length=1, max_length=200)
    address: str = Field(default="", max_length=300)


class FigureEntry(_Entry):
    """One published figure, in exactly one form.

    Attributes:
        quantity: what it is about; not mass, size and the artifact's size, which a target declares.
        source: a key of the file's [sources].
        unit: of its number; the quantity's base unit where it is left out.
        value: a number without an interval; `covers` says what it is of.
        patches: of how many patches a time is; the time of a scene is in proportion to it.
        k, n: a share, with `covers` for what the n are.
        above, at_least, below, at_most: a bound that the source states in `words`.
        picture: that it was published as a picture alone, of which nobody may read a number.
        words: what the source says, as it is quoted behind the verdict.
        covers: what a number is of, such as the inference of one patch alone.
    """

    quantity: str
    source: str
    unit: str = ""
    value: float | None = Field(default=None, gt=0, lt=_MOST)
    patches: int | None = Field(default=None, ge=1, le=SCENE_PATCHES)
    k: int | None = Field(default=None, ge=0, le=10**12)
    n: int | None = Field(default=None, ge=1, le=10**12)
    above: float | None = Field(default=None, gt=0, lt=_MOST)
    at_least: float | None = Field(default=None, gt=0, lt=_MOST)
    below: float | None = Field(default=None, gt=0, lt=_MOST)
    at_most: float | None = Field(default=None, gt=0, lt=_MOST)
    picture: Literal[True] | None = Field(default=None, json_schema_extra=form("picture = true"))
    words: str = Field(default="", max_length=300)
    covers: str = Field(default="", max_length=300)

    @property
    def metric(self) -> Metric:
        """The quantity's entry in the catalogue."""
        return required_metrics()[self.quantity]

    @property
    def scale(self) -> float:
        """How many of the figures' unit one `unit` is."""
        return self.metric.units.get(self.unit, 1.0)

    @property
    def bound(self) -> str:
        """Which of BOUNDS it is; empty for none."""
        return next((key for key in BOUNDS if getattr(self, key) is not None), "")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        known = {
            name: metric
            for name, metric in required_metrics().items()
            if not isinstance(metric.judged, Stated) and not metric.is_size
        }
        if self.quantity not in known:
            raise problem(f"unknown quantity {short(self.quantity)}", choose(self.quantity, known))
        metric, k, n = self.metric, self.k, self.n
        forms = [key for key in _FORMS if getattr(self, key) is not None]
        one_of = f"write one of {', '.join(_FORMS)}"
        is_time = self.value is not None and self.quantity in _OF_A_SCENE
        is_number = self.value is not None or k is not None
        number = getattr(self, self.bound) if self.bound else self.value or 0.0
        unit = f"unknown unit {short(self.unit)} of {self.quantity}"
        more = f"{number:g} is more than every {metric.share_of}"
        faults = (
            (self.unit and self.unit not in metric.units, unit, choose(self.unit, metric.units)),
            (not forms, "it has neither a number nor `picture = true`", one_of),
            (len(forms) > 1, f"{' and '.join(forms)} in one figure", one_of),
            ((k is None) != (n is None), "k and n belong together", "write both: k right ones of n"),
            (n and not metric.share_of, f"k and n do not belong to {self.quantity}", "write value ="),
            ((k or 0) > (n or 0), f"{k} of {n} is more than all", "write k for the right ones, n for all"),
            (self.patches and not is_time, "patches belong to the value of a scene's time", "leave them out"),
            (
                is_number and not self.covers,
                "covers is missing",
                'write such as covers = "inference only"',
            ),
            (self.bound and not self.words, "words are missing", "quote what the source says: words = "),
            (metric.share_of and number * self.scale > 1, more, 'write a share, or unit = "%"'),
        )
        for is_wrong, what, fix in faults:
            if is_wrong:
                raise problem(what, fix)
        return self


class TrialEntry(_Entry):
    """What was published of one model on one device, under settings that the source states.

    Attributes:
        boards: what its target is made of, by the names that --board takes, where the source names it.
    """

    target: str = Field(pattern=_NAME, json_schema_extra=_NAMED)
    device: str = Field(min_length=1, max_length=200)
    model: str = Field(pattern=_NAME, json_schema_extra=_NAMED)
    depth_multiplier: float | None = Field(default=None, gt=0, le=10)
    precision: Literal["fp32", "fp16", "int8"]
    batch: int = Field(default=1, ge=1, le=10**6)
    concurrency: int = Field(default=1, ge=1, le=10**6)
    boards: tuple[str, ...] = Field(default=(), max_length=10)
    figures: tuple[FigureEntry, ...] = Field(min_length=1, max_length=100)

    @property
    def variant(self) -> str:
        """Model and precision, as a run names them."""
        depth = "" if self.depth_multiplier is None else f"-{self.depth_multiplier:g}"
        depth = f"{depth}.0" if depth and "." not in depth else depth
        return f"{self.model}{depth}-{self.precision}"

    @property
    def identity(self) -> tuple[str, str, int, int]:
        """What tells it from every other trial."""
        return self.target, self.variant, self.batch, self.concurrency

    @property
    def identity_and_fault(self) -> tuple[Hashable, str]:
        """With what is wrong where another one has it."""
        return self.identity, f"{self.target}: two trials of {self.variant}"

    @model_validator(mode="after")
    def _no_duplicates(self) -> Self:
        _refuse_twice((figure.quantity, f"two figures of {figure.quantity}") for figure in self.figures)
        return self


class Reference(_Entry):
    """One file of published figures."""

    schema_version: Literal[1] = Field(
        default=1, json_schema_extra=form("write schema_version = 1, or leave it out")
    )
    title: str = Field(min_length=1, max_length=200)
    sources: dict[str, Source] = Field(min_length=1, max_length=100)
    trials: tuple[TrialEntry, ...] = Field(min_length=1, max_length=1000)

    @model_validator(mode="after")
    def _known_sources(self) -> Self:
        for trial in self.trials:
            for figure in trial.figures:
                if figure.source not in self.sources:
                    raise problem(
                        f"{trial.target}: unknown source {short(figure.source)} of {figure.quantity}",
                        f"{choose(figure.source, self.sources)}; or add [sources.NAME] with its title",
                    )
        _refuse_twice(trial.identity_and_fault for trial in self.trials)
        return self


_AGAIN = "install edgebench again, from a wheel or a clone"


def reference_folder() -> Path:
    """Where the published figures lie that come with EdgeBench; UsageError where there are none."""
    folder = shipped_folder("reference", checkout="results/reference")
    if folder is None:
        raise UsageError("this installation has no published figures", fix=_AGAIN)
    return folder


def load_references(folder: Path) -> tuple[Reference, ...]:
    """The files of published figures in a folder, by name.

    Raises UsageError, naming the file and what to write instead, for one that is no such file, for a trial
    that two of them have, and for a folder without any.
    """
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise UsageError(f"{folder} has no published figures", fix=_AGAIN)
    references = []
    for file in files:
        tables = read_toml(file, "reference", fix=_AGAIN).tables
        try:
            references.append(Reference.model_validate(tables))
        except ValidationError as error:
            refused = refusal(error, tables, Reference)
            fix = refused.fix or "see results/reference"
            raise UsageError(f"reference {file}: {refused.sentence()}", fix=fix) from error
    try:
        _refuse_twice(trial.identity_and_fault for reference in references for trial in reference.trials)
    except ValueError as error:
        raise UsageError(f"reference {folder}: {error}", fix="take one of the two out") from error
    return tuple(references)


def _refuse_twice(identities: Iterable[tuple[Hashable, str]]) -> None:
    """What is wrong stands beside each identity."""
    seen = set()
    for identity, what in identities:
        if identity in seen:
            raise problem(what, "take one of the two out")
        seen.add(identity)


_SCENE = SceneRecord(
    name="the study's picture", sha256="", height=4512, width=4512, patch=224, rows=20, columns=20
)


def judge_published(profiles: Sequence[Profile] | None = None, boards: Sequence[str] = ()) -> Judged:
    """The published figures that come with EdgeBench, and their verdicts.

    Without `profiles` by all that are shipped. Mass and size are those of `boards` (`[TARGET=]NAME`), else of
    the boards that the source names. UsageError as `edgebench.judge.published.load_references` and
    `fit.boards_of_targets.with_boards`.
    """
    folder = reference_folder()
    references = load_references(folder)
    profiles = shipped_profiles() if profiles is None else list(profiles)
    entries = [(reference, trial) for reference in references for trial in reference.trials]
    record = ExperimentRecord(
        name="reference",
        created_utc="",
        edgebench_version=__version__,
        command=("edgebench", "fit", "--reference"),
        seed=0,
        sessions=1,
        passes=1,
        scene=_SCENE,
        targets=tuple(
            {
                trial.target: Target(name=trial.target, device=PUBLISHED, body=trial.device)
                for _, trial in entries
            }.values()
        ),
        trials=tuple(_trial(trial) for _, trial in entries),
        profiles=tuple(profile.as_record() for profile in profiles),
        warnings=("every figure was published by others, as its source says; none was measured here",),
    )
    named = [f"{trial.target}={name}" for _, trial in entries for name in trial.boards]
    record, notes = with_boards(with_boards(record, named)[0], boards)
    targets = {target.name: target for target in record.targets}
    summaries = [_summary(reference, trial, targets[trial.target]) for reference, trial in entries]
    verdicts = judge_all(summaries, profiles)
    return Judged(StoredResults(folder, record), tuple(profiles), summaries, verdicts, notes)


def _trial(entry: TrialEntry) -> TrialRecord:
    return TrialRecord(
        key=hashlib.sha256(json.dumps([PUBLISHED, *entry.identity]).encode()).hexdigest()[:16],
        target=entry.target,
        variant=entry.variant,
        depth_multiplier=entry.depth_multiplier,
        precision=entry.precision,
        batch=entry.batch,
        inputs={"settings": {"concurrency": entry.concurrency}},
        mark=PUBLISHED,
    )


def _summary(reference: Reference, entry: TrialEntry, target: Target) -> TrialSummary:
    figures = {
        figure.quantity: published(figure, reference.sources[figure.source]) for figure in entry.figures
    }
    patches = min((figure.patches or SCENE_PATCHES for figure in entry.figures), default=SCENE_PATCHES)
    extrapolated = patches < SCENE_PATCHES
    # As the tables have them: a time is of no session, and has no interval.
    times = {
        name: Interval(figure.value, None, None, sessions=0, n=0)
        for name, figure in figures.items()
        if figure.value is not None
    }
    right = figures.get("accuracy")
    accuracy = None
    if right and right.k is not None and right.n is not None and right.low is not None and right.high:
        accuracy = Accuracy(right.k, right.n, right.low, right.high)
    trial = _trial(entry)
    summary = TrialSummary(
        **planned_fields(trial),
        status="done",
        reason="",
        image_s=times.get("image_s"),
        infer_s=times.get("infer_s"),
        stages_ms={},
        cold={},
        accuracy=accuracy,
        accuracy_reason="",
        scene_accuracy=None,
        agreement=None,
        power=None,
        power_reason="no meter: what was published of power stands in the verdicts",
        memory_bytes=None,
        artifact_bytes=None,
        mass_g=target.mass_g,
        size_mm=target.size_mm,
        body="" if target.body == entry.device else target.body,
        workers=({"worker": 0},),
        timed=timed_with(_SCENE),
        mark=mark_of(trial, (), (), extrapolated=extrapolated),
        scene_covered=_SCENE.covered,
        measured_patches=patches if extrapolated else None,
        extrapolated=extrapolated,
        published=tuple(figures.values()),
    )
    return replace(summary, accuracy_reason="" if summary.accuracy else summary.unpublished("accuracy"))


def published(entry: FigureEntry, source: Source) -> Published:
    """A figure of a file, in its quantity's base unit; a time of some patches as that of the scene."""
    value, low, high = None, None, None
    scaled = SCENE_PATCHES / entry.patches if entry.patches else 1
    if entry.value is not None:
        value = entry.value * entry.scale * scaled
    elif entry.k is not None and entry.n is not None:
        value, (low, high) = entry.k / entry.n, wilson(entry.k, entry.n)
    elif entry.bound:
        end = getattr(entry, entry.bound) * entry.scale
        low, high = (end, None) if entry.bound in ("above", "at_least") else (None, end)
    return Published(
        quantity=entry.quantity,
        statistic=entry.metric.statistics[0],
        source=source.title,
        value=value,
        low=low,
        high=high,
        bound=BOUNDS[entry.bound] if entry.bound else "",
        k=entry.k,
        n=entry.n,
        words=entry.words,
        covers=entry.covers,
        scaled=scaled,
    )
