"""The published figures as an experiment that can be judged: every trial of it is marked published."""

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
from edgebench.judge.judged import Judged, with_boards
from edgebench.judge.metric import Stated
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
_AGAIN = "install edgebench again, from a wheel or a clone"
_Amount = Annotated[float | None, Field(gt=0, lt=1e18)]
_Text = Annotated[str, Field(max_length=300)]
_Title = Annotated[str, Field(min_length=1, max_length=200)]
_Settings = Annotated[int, Field(ge=1, le=10**6)]
_NAMED = form("up to 60 small letters, digits, '.', '_' and '-', a letter or digit first")
_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,59}$", json_schema_extra=_NAMED)]


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

    title: _Title
    address: _Text = ""


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
    value: _Amount = None
    patches: int | None = Field(default=None, ge=1, le=SCENE_PATCHES)
    k: int | None = Field(default=None, ge=0, le=10**12)
    n: int | None = Field(default=None, ge=1, le=10**12)
    above: _Amount = None
    at_least: _Amount = None
    below: _Amount = None
    at_most: _Amount = None
    picture: Literal[True] | None = Field(default=None, json_schema_extra=form("picture = true"))
    words: _Text = ""
    covers: _Text = ""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        known = {
            name: metric
            for name, metric in required_metrics().items()
            if not isinstance(metric.judged, Stated) and not metric.is_size
        }
        if self.quantity not in known:
            raise problem(f"unknown quantity {short(self.quantity)}", choose(self.quantity, known))
        metric, k, n = known[self.quantity], self.k, self.n
        forms = [key for key in _FORMS if getattr(self, key) is not None]
        one_of = f"write one of {', '.join(_FORMS)}"
        is_bound = not BOUNDS.keys().isdisjoint(forms)
        is_time = self.value is not None and self.quantity in ("image_s", "infer_s")
        number = next((float(getattr(self, key)) for key in forms if key != "k"), 0.0)
        number *= metric.units.get(self.unit, 1.0)
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
                forms in (["value"], ["k"]) and not self.covers,
                "covers is missing",
                'write such as covers = "inference only"',
            ),
            (is_bound and not self.words, "words are missing", "quote what the source says: words = "),
            (metric.share_of and number > 1, more, 'write a share, or unit = "%"'),
        )
        for is_wrong, what, fix in faults:
            if is_wrong:
                raise problem(what, fix)
        return self

    def published(self, source: Source) -> Published:
        """The figure in its quantity's base unit; a time of some patches as that of the scene."""
        metric = required_metrics()[self.quantity]
        unit, scaled = metric.units.get(self.unit, 1.0), SCENE_PATCHES / self.patches if self.patches else 1
        bound = next((key for key in BOUNDS if getattr(self, key) is not None), "")
        value, low, high = None, None, None
        if self.value is not None:
            value = self.value * unit * scaled
        elif self.k is not None and self.n is not None:
            value, (low, high) = self.k / self.n, wilson(self.k, self.n)
        elif bound:
            end = getattr(self, bound) * unit
            low, high = (end, None) if bound in ("above", "at_least") else (None, end)
        lies: Bound | Literal[""] = BOUNDS[bound] if bound else ""
        about = (self.quantity, metric.statistics[0], source.title)
        of = (self.words, self.covers, scaled)
        return Published(*about, value, low, high, lies, self.k, self.n, *of)


class TrialEntry(_Entry):
    """What was published of one model on one device, under settings that the source states.

    Attributes:
        boards: what its target is made of, by the names that --board takes, where the source names it.
    """

    target: _Name
    device: _Title
    model: _Name
    depth_multiplier: float | None = Field(default=None, gt=0, le=10)
    precision: Literal["fp32", "fp16", "int8"]
    batch: _Settings = 1
    concurrency: _Settings = 1
    boards: tuple[str, ...] = Field(default=(), max_length=10)
    figures: tuple[FigureEntry, ...] = Field(min_length=1, max_length=100)

    @property
    def record(self) -> TrialRecord:
        """The trial as a run plans it; variants are named as a run names them."""
        depth = "" if self.depth_multiplier is None else f"-{self.depth_multiplier:g}"
        depth = f"{depth}.0" if depth and "." not in depth else depth
        variant = f"{self.model}{depth}-{self.precision}"
        identity = [PUBLISHED, self.target, variant, self.batch, self.concurrency]
        return TrialRecord(
            key=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16],
            target=self.target,
            variant=variant,
            depth_multiplier=self.depth_multiplier,
            precision=self.precision,
            batch=self.batch,
            inputs={"settings": {"concurrency": self.concurrency}},
            mark=PUBLISHED,
        )


class Reference(_Entry):
    """One file of published figures; validated with the set of what other files have."""

    schema_version: Literal[1] = Field(
        default=1, json_schema_extra=form("write schema_version = 1, or leave it out")
    )
    title: _Title
    sources: dict[str, Source] = Field(min_length=1, max_length=100)
    trials: tuple[TrialEntry, ...] = Field(min_length=1, max_length=1000)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        known: set[str] = set() if info.context is None else info.context
        for trial in self.trials:
            record = trial.record
            identities = [(record.key, f"two trials of {record.variant}")]
            for figure in trial.figures:
                identities.append((record.key + figure.quantity, f"two figures of {figure.quantity}"))
                if figure.source not in self.sources:
                    raise problem(
                        f"{trial.target}: unknown source {short(figure.source)} of {figure.quantity}",
                        f"{choose(figure.source, self.sources)}; or add [sources.NAME] with its title",
                    )
            for identity, what in identities:
                if identity in known:
                    raise problem(f"{trial.target}: {what}", "take one of the two out")
                known.add(identity)
        return self


def reference_folder() -> Path:
    """Where the published figures lie that come with EdgeBench; UsageError where there are none."""
    if folder := shipped_folder("reference", checkout="results/reference"):
        return folder
    raise UsageError("this installation has no published figures", fix=_AGAIN)


def load_references(folder: Path) -> tuple[Reference, ...]:
    """The files of published figures in a folder, by name.

    Raises UsageError, naming the file and what to write instead, for one that is no such file, for a trial
    that two of them have, and for a folder without any.
    """
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise UsageError(f"{folder} has no published figures", fix=_AGAIN)
    references, known = [], set[str]()
    for file in files:
        tables = read_toml(file, "reference", fix=_AGAIN).tables
        try:
            references.append(Reference.model_validate(tables, context=known))
        except ValidationError as error:
            refused = refusal(error, tables, Reference)
            fix = refused.fix or "see results/reference"
            raise UsageError(f"reference {file}: {refused.sentence()}", fix=fix) from error
    return tuple(references)


_SCENE = SceneRecord(
    name="the study's picture", sha256="", height=4512, width=4512, patch=224, rows=20, columns=20
)


def judge_published(profiles: Sequence[Profile] | None = None, boards: Sequence[str] = ()) -> Judged:
    """The published figures that come with EdgeBench, and their verdicts.

    Without `profiles` by all that are shipped. Mass and size are those of `boards` (`[TARGET=]NAME`), else of
    the boards that the source names. UsageError as `load_references` and `with_boards`.
    """
    folder = reference_folder()
    entries = [(reference, trial) for reference in load_references(folder) for trial in reference.trials]
    profiles = shipped_profiles() if profiles is None else list(profiles)
    targets = [Target(name=trial.target, device=PUBLISHED, body=trial.device) for _, trial in entries]
    record = ExperimentRecord(
        name="reference",
        created_utc="",
        edgebench_version=__version__,
        command=("edgebench", "fit", "--reference"),
        seed=0,
        sessions=1,
        passes=1,
        scene=_SCENE,
        targets=tuple({target.name: target for target in targets}.values()),
        trials=tuple(trial.record for _, trial in entries),
        profiles=tuple(profile.as_record() for profile in profiles),
        warnings=("every figure was published by others, as its source says; none was measured here",),
    )
    named = [f"{trial.target}={name}" for _, trial in entries for name in trial.boards]
    record, notes = with_boards(with_boards(record, named)[0], boards)
    bodies = {target.name: target for target in record.targets}
    summaries = [_summary(reference, trial, bodies[trial.target]) for reference, trial in entries]
    verdicts = judge_all(summaries, profiles)
    return Judged(StoredResults(folder, record), tuple(profiles), summaries, verdicts, notes)


def _summary(reference: Reference, entry: TrialEntry, target: Target) -> TrialSummary:
    figures = {
        figure.quantity: figure.published(reference.sources[figure.source]) for figure in entry.figures
    }
    patches = min(figure.patches or SCENE_PATCHES for figure in entry.figures)
    extrapolated = patches < SCENE_PATCHES
    # As the tables have them: a time is of no session, and has no interval.
    times: dict[str, Any] = {
        name: Interval(figure.value, None, None, sessions=0, n=0)
        for name in ("image_s", "infer_s")
        if (figure := figures.get(name)) and figure.value is not None
    }
    right = figures.get("accuracy")
    accuracy = None
    if right and right.k is not None and right.n is not None and right.low is not None and right.high:
        accuracy = Accuracy(right.k, right.n, right.low, right.high)
    trial = entry.record
    summary = TrialSummary(
        **planned_fields(trial),
        **times,
        status="done",
        reason="",
        accuracy=accuracy,
        power_reason="no meter: what was published of power stands in the verdicts",
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
    return replace(summary, accuracy_reason="" if accuracy else summary.unpublished("accuracy"))
