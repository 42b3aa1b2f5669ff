"""A stored result as a source: its sessions' stamps, scores, samples and failures, as they are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from edgebench.cache.objects import Cache
from edgebench.data.picture_reading import MAX_PIXELS
from edgebench.errors import EdgeBenchError, StoredResultError, UnsupportedError, UsageError
from edgebench.store.layout import SCENE_FILE, regular_file
from edgebench.store.load import StoredResults, load
from edgebench.store.record_reading import MAX_JSON_BYTES
from edgebench.store.records import TargetRecord, TrialRecord
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.pictures import ImageSet, Pictures
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.variant import Variant

from .host_player import HOST_FORMAT
from .host_sessions import is_played_on_the_host
from .pictures import stand_in_images, stand_in_scene
from .result_sessions import GOLDEN_PATCHES, TrialRows, golden_reference, host_script_of, script_of, stages_of
from .script import FORMAT, make_artifact

MAX_IMAGES = 10_000


@dataclass(frozen=True)
class RecordedSource:
    """Implements `Source`, of one target of a result."""

    results: StoredResults
    target: TargetRecord

    @classmethod
    def read(cls, path: Path, target: str | None) -> RecordedSource:
        """From a result folder; UsageError where it is none, or where it has several targets."""
        try:
            results = load(path)
            _ = results.warnings  # reads every session's record, so that what is played is what was there
        except StoredResultError as error:
            raise UsageError(error.what, why=error.why, fix=error.fix) from error
        named = {stored.name: stored for stored in results.experiment.targets}
        listed = ", ".join(named)
        if target is None and len(named) != 1:
            raise UsageError(
                f"{path} holds {len(named)} targets", fix=f"say which with --set target=NAME: {listed}"
            )
        chosen = next(iter(named)) if target is None else target
        if chosen not in named:
            raise UsageError(f"{path} has no target {chosen[:100]!r}", fix=f"it has: {listed}")
        return cls(results, named[chosen])

    @property
    def name(self) -> str:
        """The experiment and its target."""
        experiment = self.results.experiment
        several = len(experiment.targets) > 1
        return f"{experiment.name}, {self.target.name}" if several else experiment.name

    @cached_property
    def sha256(self) -> str:
        """Of the plan and of every session's record, which has the hashes of its tables."""
        content = hashlib.sha256(self.target.name.encode())
        content.update(self.results.experiment.model_dump_json().encode())
        for trial in self._trials:
            for record in self.results.session_records(trial.key):
                content.update(record.model_dump_json().encode())
        return content.hexdigest()

    @property
    def _trials(self) -> list[TrialRecord]:
        return [trial for trial in self.results.experiment.trials if trial.target == self.target.name]

    def variants(self) -> tuple[Variant, ...]:
        """Those of the target's trials."""
        return tuple(dict.fromkeys(Variant.parse(trial.variant) for trial in self._trials))

    def concurrency(self) -> int:
        """As on the target, whose trials share its options."""
        return max((trial.concurrency for trial in self._trials), default=1)

    def _trial(self, variant: Variant, batch: int) -> TrialRecord | None:
        matching = (
            trial
            for trial in self._trials
            if trial.batch == batch and Variant.parse(trial.variant) == variant
        )
        return next(matching, None)

    def check_batch(self, variant: Variant, batch: int) -> None:
        """It was measured with the batches that it was measured with."""
        if self._trial(variant, batch) is None:
            there = sorted({trial.batch for trial in self._trials if Variant.parse(trial.variant) == variant})
            raise UsageError(
                f"{self.name} has no {variant.name} at batch {batch}",
                fix=f"it has {' and '.join(f'--batch {number}' for number in there) or 'other variants'}",
            )

    def artifact(self, variant: Variant, batch: int, cache: Cache) -> Artifact | UnsupportedError:
        """The sessions of one trial; StoredResultError where a table of theirs is damaged."""
        trial = self._trial(variant, batch)
        if trial is None:
            return UnsupportedError(f"{self.name} has no {variant.name} at batch {batch}")
        if trial.status != "planned" or trial.artifact_bytes is None or not trial.class_names:
            return UnsupportedError(
                f"{variant.name} was not measured in {self.name}",
                why=trial.reason or "the source says nothing of its artifact",
            )
        rows = self._rows(trial.key)
        patches = self.results.experiment.scene_of(trial).patches
        on_host = is_played_on_the_host(
            rows.records, rows.passes, rows.windows, patches, stages_of(rows.batches)
        )
        script, arrays, tolerance = (host_script_of if on_host else script_of)(rows, len(trial.class_names))
        classes = len(trial.class_names)
        return make_artifact(
            cache,
            variant=variant,
            batch=batch,
            patch=self.results.experiment.scene.patch,
            classes=trial.class_names,
            script={"kind": "results", "source": self.name, "source_sha256": self.sha256, **script},
            arrays=arrays,
            golden=golden_reference(classes).tolist(),
            golden_labels=[at % classes for at in range(GOLDEN_PATCHES)],
            reference="the source's own check",
            tolerance=tolerance,
            size_bytes=trial.artifact_bytes,
            source_sha256=self.sha256,
            format_=HOST_FORMAT if on_host else FORMAT,
        )

    def _rows(self, key: str) -> TrialRows:
        if any(len(record.workers) > 1 for record in self.results.session_records(key)):
            raise UsageError(
                f"a trial of {self.name} was measured by several workers at the same time",
                why="one worker replays it, and cannot play what they did to each other",
            )
        tables = {name: self._by_trial[name].get(key) for name in self._by_trial}
        return TrialRows(
            records=tuple(
                record for record in self.results.session_records(key) if record.status != "interrupted"
            ),
            passes=tables["passes"],
            batches=tables["batches"],
            probes=tables["probes"],
            predictions=tables["predictions"],
            windows=tables["windows"],
        )

    @cached_property
    def _by_trial(self) -> dict[str, dict[str, pd.DataFrame]]:
        results = self.results
        frames = {
            "passes": results.passes,
            "batches": results.batches,
            "probes": results.probes,
            "predictions": results.predictions,
            "windows": results.windows,
        }
        return {
            name: {str(key): rows for key, rows in frame.groupby("trial", observed=True)}
            for name, frame in frames.items()
        }

    def pictures(self, cache: Cache) -> Pictures:
        """The small picture that was kept, at the scene's size, and images of which only the labels count."""
        scene = self.results.experiment.scene
        if scene.rows * scene.columns * scene.patch**2 > MAX_PIXELS:
            raise UsageError(
                f"the scene of {self.name} is {scene.rows} x {scene.columns} patches of {scene.patch} pixels",
                why=f"more than {MAX_PIXELS // 1_000_000} million pixels are not made up",
            )
        preview = self.results.path / SCENE_FILE
        there = self._is_picture(preview)
        scene_stand_in = stand_in_scene(
            cache,
            name=scene.name,
            rows=scene.rows,
            columns=scene.columns,
            patch=scene.patch,
            labels=self._scene_labels(),
            class_names=scene.class_names,
            preview=preview if there else None,
        )
        return Pictures(scene_stand_in, self._images(cache))

    def _is_picture(self, path: Path) -> bool:
        try:
            size = regular_file(path, self.results.path)
        except EdgeBenchError:
            return False
        return size is not None and size <= MAX_JSON_BYTES

    def _scene_labels(self) -> tuple[int, ...] | None:
        scene = self.results.experiment.scene
        usable = scene.labels is not None and len(scene.labels) == scene.rows * scene.columns
        return scene.labels if usable else None

    def _images(self, cache: Cache) -> ImageSet | None:
        images = self.results.experiment.images
        n = self._image_count()
        if images is None or n is None:
            return None
        labels = self._image_labels()
        paths = self.results.image_paths.get(images.sha256, ())
        return stand_in_images(
            cache,
            name=images.name,
            n=n,
            patch=self.results.experiment.scene.patch,
            labels=labels if images.labelled else None,
            class_names=images.class_names,
            overlapping=images.overlapping,
            paths=paths if len(paths) == n else (),
        )

    def _image_count(self) -> int | None:
        """How many images the source was measured on; None where no session got as far as predicting."""
        images, labels = self.results.experiment.images, self._image_labels()
        if labels is not None:
            return len(labels)
        records = (record for trial in self._trials for record in self.results.session_records(trial.key))
        died = any(record.failure is not None and record.failure.stage == "predict" for record in records)
        return min(images.n, MAX_IMAGES) if images is not None and died else None

    def _image_labels(self) -> Sequence[int] | None:
        """Of the images that some session has predicted, in their order; None where none has."""
        for trial in self._trials:
            rows = self._by_trial["predictions"].get(trial.key)
            if rows is None:
                continue
            mine = rows[rows["set"] == "images"]
            if mine.empty:
                continue
            first = mine[mine["session"] == mine["session"].min()].sort_values("index")
            labels = first["label"].to_numpy(np.int64)
            if len(labels) <= MAX_IMAGES:
                return [int(label) for label in labels]
        return None

    def check_plan(self, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """The same pace, the same pictures or their stand-ins, and no more sessions or passes."""
        record = self.results.experiment
        for setting, asked, there, flag in (
            ("period", plan.period_s, record.period_s, "--period"),
            ("sustained time", plan.sustained_s, record.sustained_s, "--sustained"),
        ):
            if (asked is None) != (there is None) or not math.isclose(asked or 0.0, there or 0.0):
                value = there if there is None or flag == "--period" else there / 60
                raise UsageError(
                    f"{self.name} was measured with {'no' if there is None else 'another'} {setting}",
                    fix=f"leave {flag} out" if value is None else f"add {flag} {value:g}",
                )
        most_passes = max((trial.passes or record.passes for trial in self._trials), default=record.passes)
        for setting, asked_n, there_n in (
            ("sessions", sessions, record.sessions),
            ("passes", plan.passes, most_passes),
        ):
            if asked_n > there_n and not (setting == "passes" and record.sustained_s):
                raise UsageError(
                    f"{self.name} has {there_n} {setting} a trial", fix=f"add --{setting} {there_n}"
                )
        scene, own = plan.scene, record.scene
        alike = (scene.rows, scene.columns, scene.labels) == (own.rows, own.columns, self._scene_labels())
        if scene.sha256 != own.sha256 and not alike:
            raise UsageError(
                f"{self.name} was measured on another scene, of {own.rows} x {own.columns} patches",
                fix="leave --scene out: a stand-in takes its place",
            )
        n = self._image_count()
        if images is not None and images.n != n:
            raise UsageError(
                f"{self.name} was measured on {'no' if n is None else n} images, and not on {images.n}",
                fix="leave --images and --accuracy-images out: stand-ins take their place",
            )
