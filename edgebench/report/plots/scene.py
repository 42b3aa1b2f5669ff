"""The scene with the classes that a variant predicted: one translucent cell per patch."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from PIL import Image

from edgebench.errors import EdgeBenchError, StoredResultError
from edgebench.judge.trial import Trial
from edgebench.records.stored import SceneRecord
from edgebench.report import tables, words
from edgebench.report.plots import drawing
from edgebench.report.plots.panels import Picture, draw_panels, picture
from edgebench.results.load import StoredResults

_MAX_PIXELS = 4_000 * 4_000
_MOST_CLASSES = 10  # in the caption
_CLASS_COLOURS = (drawing.BLUE, "#F5F5F5", drawing.GREEN, drawing.ORANGE, *drawing.PALETTE[3:6])


def scene(
    scene_jpg: bytes,
    record: SceneRecord,
    predictions: Sequence[int],
    class_names: Sequence[str],
    *,
    ax: Axes | FigureBase | None = None,
) -> Axes:
    """Draw the scene, each patch tinted by its predicted class; patches with another label are crossed.

    Args:
        scene_jpg: JPEG of the part of the scene that is cut into patches.
        record: the scene; its labels are compared by name where all are classes of the model.
        predictions: one class index per patch, row by row; -1 where it is missing.
        class_names: names of the classes.
        ax: place of the plot, see `plots.panels.Place`.

    Raises:
        StoredResultError: the picture cannot be read, or the predictions are not one per patch.
    """
    patches = record.rows * record.columns
    if len(predictions) != patches:
        raise StoredResultError(
            "the predictions of the scene cannot be drawn",
            why=f"there are {len(predictions)} for {patches} patches",
            fix="measure the scene again",
        )
    pixels = _decode(scene_jpg)
    seen = np.asarray(predictions, dtype=np.int64)
    tints = np.array([to_rgba(colour, 0.42) for colour in _CLASS_COLOURS])
    cells = tints[seen % len(tints)]
    cells[(seen < 0) | (seen >= len(class_names)), 3] = 0.0
    wrong = disagreements(record, predictions, class_names)

    def draw(axes: Axes, extent: tuple[float, float, float, float]) -> None:
        axes.imshow(pixels, extent=extent, interpolation="lanczos")
        axes.imshow(cells.reshape(record.rows, record.columns, 4), extent=extent, interpolation="nearest")
        axes.set_axis_off()
        if wrong:
            rows, columns = np.divmod(np.asarray(wrong), record.columns)
            halo = [withStroke(linewidth=2.6, foreground="black")]
            crosses = axes.scatter(
                columns + 0.5, rows + 0.5, marker="x", s=26, linewidths=1.3, color="white", path_effects=halo
            )
            drawing.mark(crosses, "disagreements")

    counts = np.bincount(seen[(seen >= 0) & (seen < len(class_names))].ravel(), minlength=len(class_names))
    # Few classes are all shown, since their absence matters too; of many those that occur most.
    shown = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
    shown = np.sort(shown[counts[shown] > 0] if len(class_names) > _MOST_CLASSES else shown)
    handles: list[Artist] = []
    for index in shown.tolist():
        named = f"{drawing.label(class_names[index])}: {int(counts[index])}"
        handles.append(Patch(facecolor=tints[index % len(tints)][:3], edgecolor=drawing.QUIET, label=named))
    if rest := len(class_names) - len(shown):
        handles.append(Line2D([], [], linestyle="", label=f"and {rest} more"))
    if wrong is not None:
        differ = f"label differs: {len(wrong)}"
        handles.append(Line2D([], [], marker="x", color="black", linestyle="", label=differ))
    extent = (0.0, float(record.columns), float(record.rows), 0.0)
    height = max(2.5, min(12.0, 5.9 * record.rows / record.columns))
    [axes] = draw_panels(ax, [("", extent)], draw, "", "predicted patches", handles=handles, height=height)
    return axes


def disagreements(
    record: SceneRecord, predictions: Sequence[int], class_names: Sequence[str]
) -> list[int] | None:
    """Indices of the patches whose label is another class; None where labels and classes do not compare."""
    if record.labels is None or len(record.labels) != len(predictions):
        return None
    if not set(record.class_names) <= set(class_names):
        return None
    classes = [*map(class_names.index, record.class_names)]
    return [
        index
        for index, (label, seen) in enumerate(zip(record.labels, predictions, strict=True))
        if label >= 0 and classes[label] != seen
    ]


def _decode(scene_jpg: bytes) -> NDArray[np.uint8]:
    try:
        with warnings.catch_warnings(), Image.open(io.BytesIO(scene_jpg), formats=("JPEG",)) as image:
            warnings.simplefilter("error")
            if image.width * image.height > _MAX_PIXELS:
                raise ValueError(f"{image.width} x {image.height} is too large for a preview")
            return np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Warning) as error:
        raise StoredResultError(
            "the stored picture of the scene cannot be read",
            why=words.plain(error),
            fix="the figures are not affected; measure again for a new picture",
        ) from error


# Predicted classes of the patches by trial, and the picture that a page shows.


def scene_predictions(results: StoredResults) -> dict[str, list[int]]:
    """Class of each patch by a trial's key, row by row: the first complete set.

    Sets are those of a finished session's workers, session after session. A trial without a complete one is
    left out.
    """
    experiment = results.experiment
    patches = {trial.key: experiment.scene_of(trial).patches for trial in experiment.trials}
    frame = results.table("predictions", ["worker", "set", "index", "predicted"])
    finished = {
        (key, record.n) for key in patches for record in results.session_records(key) if record.status == "ok"
    }
    frame = frame[frame["set"] == "scene"]
    predictions: dict[str, list[int]] = {}
    for (trial, session, _worker), rows in frame.groupby(
        ["trial", "session", "worker"], sort=True, observed=True
    ):
        key, ordered = str(trial), rows.sort_values("index")
        is_wanted = (key, session) in finished and key not in predictions
        if is_wanted and ordered["index"].tolist() == list(range(patches[key])):
            predictions[key] = [int(item) for item in ordered["predicted"]]
    return predictions


def scene_picture(results: StoredResults, trials: Sequence[Trial]) -> Picture:
    """Scene with the classes that one trial predicted: the most accurate, the fastest of equals."""
    record = results.experiment.scene
    if not trials:
        return _absent("the result holds no trial")
    if record.kind == "samples":
        return _absent("the models were timed with other inputs")
    # Trials that are timed with another cut have another grid than the picture's.
    class_names = {
        trial.key: trial.class_names
        for trial in results.experiment.trials
        if trial.scene is None and trial.class_names
    }
    seen = {key: classes for key, classes in scene_predictions(results).items() if key in class_names}
    able = [trial for trial in trials if trial.key in seen]
    if not able:
        return _absent("no trial predicted all of its patches")
    best = max(able, key=_accuracy_then_speed)
    names, predictions = class_names[best.key], seen[best.key]
    counts = ", ".join(
        f"{words.plain(name, 40)} {predictions.count(index)}" for index, name in enumerate(names)
    )
    wrong = disagreements(record, predictions, names)
    patches = record.rows * record.columns
    try:
        photograph = results.scene_jpeg
        if photograph is None:
            return _absent("it was not kept with the result")
        shown = picture(
            partial(scene, photograph, record, predictions, names),
            f"The scene with the predicted class of each of {patches} patches: {counts}",
            f"{words.plain(record.name, 80)}, {record.height} x {record.width} pixels, {record.rows} x "
            f"{record.columns} patches, tinted by what {tables.trial_names(trials)[best.key]} predicted: "
            f"{counts}.",
            "The scene has no labels in these classes."
            if wrong is None
            else f"{len(wrong)} of {patches} patches, crossed, are labelled otherwise.",
        )
    except EdgeBenchError as error:
        return _absent(words.plain(error).removesuffix("."))
    return replace(shown, is_photograph=True)


def _absent(why: str) -> Picture:
    return Picture(f"There is no picture of the scene: {why}.")


def _accuracy_then_speed(trial: Trial) -> tuple[float, float]:
    shares = (trial.estimate(name).value for name in ("accuracy", "scene_accuracy"))
    share = next((share for share in shares if share is not None), -1.0)
    latency_s = trial.latency.value if trial.latency else None
    return share, float("-inf") if latency_s is None else -latency_s
