"""Which models a run measures: the shipped family, families by name, and the user's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgebench.contract import Backend
from edgebench.errors import InputError, UnavailableError, UsageError
from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache
from edgebench.prepare.families import RANDOM_REASON, SIZE
from edgebench.prepare.formats import format_of, refusal, refusal_of
from edgebench.prepare.image_sets import (
    grey_scene,
    load_calibration,
    load_calibration_inputs,
    refuse_overlap,
    shipped_images,
    shipped_scene,
    shipped_scene_for,
)
from edgebench.prepare.images import ALL, ReadingOptions, cut, load_image_sets, load_scene, picture_reading
from edgebench.prepare.labels import are_numbers, fitted, matched, read_labels
from edgebench.prepare.landcover import CLASS_NAMES
from edgebench.prepare.samples import (
    DEFAULT_COUNT,
    GOLDEN,
    first_samples,
    labelled_set,
    random_samples,
    read_inputs,
    samples_scene,
)
from edgebench.prepare.shipped import has_shipped
from edgebench.prepare.user_model import (
    golden_of_images,
    golden_of_scene,
    place_of,
    read_source,
    require_labels_fit,
    source_from_weights,
)
from edgebench.records.model import SHIPPED, InputChoice, ModelSource, PrepareRequest, UserModel
from edgebench.records.target import Target
from edgebench.records.values import (
    DEPTH_MULTIPLIERS,
    PRECISIONS,
    ImageSet,
    Json,
    Progress,
    Scene,
    Variant,
)
from edgebench.run.settings import RunConfig
from edgebench.run.trials import ModelData, batches_of, default_precisions

_ONLY_FOUND = "mixed"  # a precision that a file may have and none is made at


@dataclass(frozen=True)
class Chosen:
    """A model of a run, and the widths (depth multipliers) that it is measured in."""

    source: ModelSource
    widths: tuple[float | None, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed of the file, and what is to be known of its calibration images."""
        model, calibration = self.source.model, self.source.calibration
        file = self.source.path.name if self.source.path else self.source.name
        assumed = model.assumed if model else ()
        return (
            *(f"{file}: assumed of its input: {assumption}" for assumption in assumed),
            *(f"{file}: {note}" for note in (model.notes if model else ())),
            *(calibration.notes if calibration else ()),
        )

    @property
    def random(self) -> bool:
        """Whether its weights are random."""
        return self.source.kind == "family" and not any(
            has_shipped(self.source.name, width) for width in self.widths
        )


def size_of(source: ModelSource) -> tuple[int, int]:
    """Height and width of the pictures that a model takes."""
    picture = source.model.picture if source.model else None
    return (picture.height, picture.width) if picture else (SIZE, SIZE)


def channels_of(source: ModelSource) -> int:
    """Channels of the pictures that a model takes: 3, or 1 for grey ones."""
    picture = source.model.picture if source.model else None
    return picture.channels if picture else 3


def resolve_sources(
    models: Sequence[str],
    *,
    cache: Cache,
    progress: Progress,
    widths: Sequence[float] = (),
    labels: Path | None = None,
    choice: InputChoice | None = None,
    calibration: Path | None = None,
    inputs: Path | None = None,
    label_offset: int | None = None,
    options: ReadingOptions = ALL,
) -> tuple[Chosen, ...]:
    """What `--model` names, in order, each read and understood; the shipped family without any.

    Sources of files have their calibration images and, where they take no picture, the samples that they are
    timed with; `with_golden` gives them what their outputs are checked with.

    Args:
        models: families by name, model files, SavedModel folders, weights (.npz).
        cache: where images and samples are kept.
        progress: told what is read.
        widths: of the families; empty for all that are shipped, else the default one.
        labels: class names of the user's files, one a line.
        label_offset: how far class numbers of labels are shifted; 1 for models with a background class.
        choice: what the user said of the files' inputs.
        calibration: images for post-training quantisation.
        inputs: samples for models that take no picture; None for random ones.
        options: treatment of the files of calibration images.

    Raises:
        UsageError: no such family or width, or a choice or calibration images that fit no model.
        InputError: a file that is none, is damaged, or does not fit its labels.
    """
    names = read_labels(labels) if labels else None
    chosen = tuple(
        _resolve(
            model,
            widths,
            names,
            choice or InputChoice(),
            calibration,
            inputs,
            cache,
            progress,
            label_offset,
            options,
        )
        for model in dict.fromkeys(models or (SHIPPED.name,))
    )
    _refuse_choices_without_use(chosen, widths, names, choice, inputs)
    if calibration is not None and all(model.source.calibration is None for model in chosen):
        raise UsageError(
            "--calibration is used by no model of this run",
            why="the shipped family has images of its own for that",
            fix="leave it out, or add --model FILE",
        )
    for note in dict.fromkeys(note for model in chosen for note in model.notes):
        progress(f"note: {note}")
    return chosen


def require_formats(models: Sequence[str], devices: Sequence[tuple[Backend, Mapping[str, Json]]]) -> None:
    """Refuse a model file that no device of the run takes, before any is read.

    Args:
        models: as `--model` names them.
        devices: that measure them, with their options.

    Raises:
        UsageError: no device takes the format of one of the files.
        InputError: a file is missing, or of no known format.
    """
    for path in (Path(model) for model in models if not _is_family(model)):
        kind = format_of(path).kind
        refusals = [
            refusal(path, kind, backend.name, backend.formats(options)) for backend, options in devices
        ]
        if refusals and all(refusals) and (first := refusals[0]):
            raise UsageError(first.what, why=first.why, fix=first.fix)


def _is_family(model: str) -> bool:
    """Whether `--model` names a family, known or not, and no file."""
    path = Path(model)
    is_name = not path.suffix and path.name == model and not path.exists()
    return is_name or model in catalogue.known()


def require_batch_axes(chosen: Sequence[Chosen], batches: Sequence[int]) -> None:
    """UsageError for a batch other than 1 where a model's inputs have no axis for it."""
    for batch in batches:
        for source in (model.source for model in chosen):
            if batch != 1 and source.model is not None and not source.model.has_batch:
                shapes = ", ".join(f"{tensor.name} {list(tensor.shape)}" for tensor in source.model.inputs)
                raise UsageError(
                    f"--batch {batch} does not fit {source.name}",
                    why=f"its inputs have no batch axis ({shapes}): axis 0 of each would be 1 or open",
                    fix="leave --batch out: their whole shapes are one sample",
                )


def variants_of(chosen: Chosen, backend: Backend, precisions: Sequence[str] = ()) -> tuple[Variant, ...]:
    """The variants that a run takes of one model on one backend.

    Empty `precisions` stand for what the backend supports, and for a file that is taken as it is, for its
    own. UsageError for one that was asked for and does not exist or is not supported.
    """
    source = chosen.source
    own = source.model.precision if source.model else None
    for precision in precisions:
        if precision not in PRECISIONS and precision != own:
            raise UsageError(f"there is no precision {precision}", fix=f"known: {', '.join(PRECISIONS)}")
        if precision not in backend.precisions and precision != _ONLY_FOUND:
            raise UsageError(
                f"{backend.name} does not take {precision}",
                why=backend.precision_reasons.get(precision, ""),
                fix=f"it takes {', '.join(backend.precisions)}",
            )
    taken = tuple(dict.fromkeys(precisions))
    if not taken:
        never_converted = source.kind in ("tflite", "edgetpu", "openvino")
        as_it_is = never_converted or (source.kind == "onnx" and own != "fp32")
        taken = (own,) if as_it_is and own else default_precisions(backend)
    return tuple(Variant(width, precision, source.name) for width in chosen.widths for precision in taken)


def with_golden(chosen: Chosen, cache: Cache, images: ImageSet | None, scene: Scene | None) -> Chosen:
    """The same with its golden patches: calibration images, else test images, else patches of the scene.

    A family of ours keeps the shipped ones; samples are checked with the first few of them.
    """
    source = chosen.source
    if source.kind == "family":
        return chosen
    if source.inputs is not None:
        return replace(chosen, source=replace(source, golden=first_samples(source.inputs, GOLDEN, cache)))
    if source.calibration is not None and source.calibration.is_read:
        golden = golden_of_images(source.calibration, "calibration images", cache)
    elif images is not None and images.is_read:
        golden = golden_of_images(images, f"images of {images.name}", cache)
    else:
        golden = golden_of_scene(scene or _shipped_scene(source, cache), *size_of(source), cache)
    return replace(chosen, source=replace(source, golden=golden))


def requests_for(
    chosen: Sequence[Chosen],
    backend: Backend,
    precisions: Sequence[str],
    batch: int,
    cache: Cache,
    options: Mapping[str, Json] | None = None,
) -> tuple[PrepareRequest, ...]:
    """What a backend is asked to prepare without a run: with the shipped scene, and its default options."""
    taken = backend.options_model().model_dump(mode="json") if options is None else options
    return tuple(
        PrepareRequest(variant, batch, taken, source=model.source)
        for model in (with_golden(each, cache, None, None) for each in chosen)
        for variant in variants_of(model, backend, precisions)
    )


def _resolve(
    model: str,
    widths: Sequence[float],
    names: tuple[str, ...] | None,
    choice: InputChoice,
    calibration: Path | None,
    inputs: Path | None,
    cache: Cache,
    progress: Progress,
    label_offset: int | None,
    options: ReadingOptions,
) -> Chosen:
    path = Path(model)
    if _is_family(model):
        return _family(model, widths, calibration, cache, options)
    progress(f"reading {path.name}")
    if path.suffix.lower() == ".npz":
        source = source_from_weights(path, cache, calibration=calibration, options=options)
        if names is not None and len(names) != len(source.class_names or ()):
            raise InputError(
                f"the labels are {len(names)} and {path.name} has {len(source.class_names or ())} classes",
                fix="leave --labels out: the record next to the weights has them",
            )
        return Chosen(replace(source, class_names=names or source.class_names), (source.width,))
    source = read_source(path, choice, cache)
    known = source.model
    assert known is not None
    names = names or known.class_names or None
    if names is not None and known.scores is not None:
        names = fitted(names, known.scores, label_offset)
    if known.picture is None:
        ranges = load_calibration_inputs(calibration, known.inputs, cache) if calibration else None
        source = replace(source, calibration=ranges)
        return Chosen(_with_samples(source, known, names, inputs, cache), (None,))
    source = replace(source, class_names=names if known.scores is not None else None)
    require_labels_fit(source)
    size = (known.picture.height, known.picture.width)
    channels = known.picture.channels
    images = load_calibration(calibration, cache, size, options, channels) if calibration else None
    return Chosen(replace(source, calibration=images), (None,))


def _with_samples(
    source: ModelSource, model: UserModel, names: tuple[str, ...] | None, inputs: Path | None, cache: Cache
) -> ModelSource:
    """A model that takes no picture with what it is timed with, and what its accuracy is taken on."""
    if inputs is None:
        drawn = random_samples(model.inputs, cache)
        states = [tensor.name for tensor in model.inputs if tensor.is_state]
        return replace(source, inputs=drawn, model=_fed_zeros(model, states))
    given = read_inputs(inputs, model.inputs)
    states = [
        tensor.name
        for place, tensor in enumerate(model.inputs)
        if tensor.is_state and not given.arrays[str(place)].any()
    ]
    source = replace(source, model=_fed_zeros(model, states))
    samples = given.kept(inputs, cache)
    if given.labels is None:
        return replace(source, inputs=samples)
    require_labels_fit(replace(source, class_names=names))
    labelled = labelled_set(inputs, given, model, names, cache)
    # A test set may be large: a pass over the first of it is as long as one over drawn samples.
    return replace(
        source,
        inputs=first_samples(samples, DEFAULT_COUNT, cache),
        labelled=labelled,
        class_names=labelled.class_names if labelled.task == "classes" else None,
    )


def _fed_zeros(model: UserModel, states: Sequence[str]) -> UserModel:
    """The model with a note that inputs which hold a state are zeros in each sample."""
    note = f"zeros for its state ({', '.join(states)}) in each sample"
    return replace(model, assumed=(*model.assumed, note)) if states else model


def _family(
    name: str, widths: Sequence[float], calibration: Path | None, cache: Cache, options: ReadingOptions
) -> Chosen:
    family = catalogue.spec(name)
    if widths:
        taken: tuple[float | None, ...] = tuple(dict.fromkeys(family.width(width) for width in widths))
    else:
        taken = DEPTH_MULTIPLIERS if name == SHIPPED.name else (family.default_width,)
    source = SHIPPED if name == SHIPPED.name else ModelSource(name=name)
    if calibration is not None and source is not SHIPPED:
        source = replace(source, calibration=load_calibration(calibration, cache, options=options))
    return Chosen(source, taken)


def _refuse_choices_without_use(
    chosen: Sequence[Chosen],
    widths: Sequence[float],
    names: tuple[str, ...] | None,
    choice: InputChoice | None,
    inputs: Path | None,
) -> None:
    files = [model.source.model for model in chosen if model.source.model is not None]
    if widths and all(model.source.is_users for model in chosen):
        raise UsageError(
            "--width and --depth are of families", why="a model file has one width", fix="leave them out"
        )
    if names is not None and not any(model.source.is_users for model in chosen):
        raise UsageError("--labels names the classes of a model of yours", fix="add --model FILE")
    if choice is not None:
        _refuse_input_without_use(files, choice)
        # A conversion may bring variable tensors.
        is_known = all(model.source.kind not in ("keras", "saved_model") for model in chosen)
        if choice.keep_state and is_known and all(model.state == "none" for model in files):
            raise UsageError(
                "--keep-state fits no model of this run",
                why="no .tflite of it carries a state from one inference to the next",
                fix="leave --keep-state out",
            )
    if inputs is not None and all(model.source.inputs is None for model in chosen):
        raise UsageError(
            "--inputs is for models that take no picture",
            why="those of this run are timed with the scene",
            fix="leave it out, or use --scene",
        )


def _refuse_input_without_use(files: Sequence[UserModel], choice: InputChoice) -> None:
    if choice.identity() and not files:
        raise UsageError(
            "what was said of the input fits no model of this run",
            why="a family knows its input",
            fix="leave it out, or add --model FILE",
        )
    values = {"--layout": choice.layout, "--input-scale": choice.scale, "--input-mean": choice.mean}
    for flag, value in values.items():
        if value is not None and all(model.picture is None for model in files):
            raise UsageError(
                f"{flag} fits no model of this run", why=files[0].accuracy_reason, fix=f"leave {flag} out"
            )
    for asked, _ in choice.shapes:
        names = [[tensor.name for tensor in model.inputs] for model in files]
        if all(place_of(asked, inputs) is None for inputs in names):
            raise UsageError(
                f"--input-shape: no model of this run has {'one input alone' if not asked else repr(asked)}",
                fix=f"write NAME=...; the inputs: {', '.join(name for inputs in names for name in inputs)}"[
                    :500
                ],
            )


# What each model of a run is timed and tested with: its scene, its images, and why there are none.


def notes_of(data: ModelData) -> tuple[str, ...]:
    """Notes on a model's pictures, in addition to its own notes."""
    images, scene, size = data.images, data.scene, size_of(data.source)
    notes = () if images is None else images.notes
    if scene.cropped is not None:
        notes = (
            f"the shipped scene is cropped to its middle {scene.width} x {scene.height} pixels for "
            f"{data.source.name}: image_s is the time of these {scene.patches} patches (--scene FILE is "
            "never cropped)",
            *notes,
        )
    if images is None:
        return notes
    if images.labels is None:
        return (
            *notes,
            f"{images.name}: the pictures have no labels, so there is no accuracy (a folder a class "
            "or a CSV of paths and labels has them)",
        )
    if len(images.class_names) == 1:
        notes = (
            *notes,
            f"{images.name}: all pictures are of one class, {images.class_names[0]}; accuracy on them "
            "cannot show what other classes are taken for",
        )
    cut_to = (scene.patch, scene.patch_width or scene.patch)
    if scene.kind == "samples" or cut_to == size:
        return notes
    return (
        *notes,
        f"patches of {cut_to[1]} x {cut_to[0]} are resized to {size[1]} x {size[0]} on the device by the "
        "nearest pixel, images on the host bilinearly: the accuracy does not show what the nearest pixel "
        "costs",
    )


def gather(
    chosen: Sequence[Chosen], config: RunConfig, cache: Cache, options: ReadingOptions = ALL
) -> tuple[ModelData, ...]:
    """Scene, images and golden patches for each model; read or rendered once, then found in the cache.

    UsageError for a geometry that cannot be; InputError for pictures that cannot be read, are too small, or
    are in the test and in the calibration.
    """
    if config.stride is not None and config.whole:
        raise UsageError("--stride and --whole exclude each other", fix="leave one of them out")
    if config.patch is not None and config.whole:
        raise UsageError("--patch and --whole exclude each other", fix="leave one of them out")
    if config.images is not None and all(model.source.inputs is not None for model in chosen):
        reasons = (model.source.model.accuracy_reason for model in chosen if model.source.model)
        raise UsageError(
            "--images is for models that take pictures",
            why=next(filter(None, reasons), "no model of this run takes one"),
            fix="leave it out, or give labelled samples with --inputs",
        )
    readings = [
        None
        if config.images is None or model.source.inputs is not None or model.random
        else picture_reading(size_of(model.source), options, channels_of(model.source))
        for model in chosen
    ]
    wanted = list(dict.fromkeys(reading for reading in readings if reading is not None))
    own = load_image_sets(config.images, cache, wanted, options) if config.images and wanted else {}
    return tuple(
        _gathered(model, config, cache, own[reading] if reading else None)
        for model, reading in zip(chosen, readings, strict=True)
    )


def _gathered(chosen: Chosen, config: RunConfig, cache: Cache, own: ImageSet | None) -> ModelData:
    source = chosen.source
    if source.inputs is not None:
        reason = source.model.accuracy_reason if source.model and not source.labelled else ""
        scene = samples_scene(source.inputs, config.inputs is not None)
        if source.labelled is not None and source.calibration is not None:
            refuse_overlap(source.calibration, source.labelled)
        return ModelData(with_golden(chosen, cache, None, None).source, scene, source.labelled, reason)
    scene = _scene(source, config, cache)
    images, reason = _images(chosen, config, cache, own)
    scores = source.model.scores if source.model else None
    is_of_numbers = images is not None and images.labels and are_numbers(images.class_names)
    if is_of_numbers and config.images and scores and not source.class_names:
        source = replace(source, class_names=tuple(map(str, range(scores))))  # labels are class numbers
        chosen = replace(chosen, source=source)
    if images is not None and source.calibration is not None and own is not None:
        refuse_overlap(source.calibration, images)
    return ModelData(with_golden(chosen, cache, images, scene).source, scene, images, reason)


def _scene(source: ModelSource, config: RunConfig, cache: Cache) -> Scene:
    height, width = size_of(source)
    if not (config.scene or config.whole or config.patch or config.stride):
        return _shipped_scene(source, cache)
    scene = load_scene(config.scene, cache, 1) if config.scene else shipped_scene(cache)
    scene = grey_scene(scene, cache) if channels_of(source) == 1 else scene
    if config.whole:
        return cut(scene, scene.height, scene.width)
    if config.patch is not None:
        width, height = config.patch
    return cut(scene, height, width, config.stride)


def _shipped_scene(source: ModelSource, cache: Cache) -> Scene:
    scene = shipped_scene_for(cache, *size_of(source))
    return grey_scene(scene, cache) if channels_of(source) == 1 else scene


def _images(
    chosen: Chosen, config: RunConfig, cache: Cache, own: ImageSet | None
) -> tuple[ImageSet | None, str]:
    """Those of one model, `own` where the user gave any; None with the reason."""
    source, size = chosen.source, size_of(chosen.source)
    if chosen.random:
        return None, RANDOM_REASON
    if own is not None:
        images = own
        names = source.class_names or (CLASS_NAMES if source.kind == "family" else None)
        scores = source.model.scores if source.model else len(names or ())
        if scores is not None:
            images = matched(images, names, scores, config.label_offset, source.name)
        return images, ""
    has_shipped_size = (*size, channels_of(source)) == (SIZE, SIZE, 3)
    if source == SHIPPED or (has_shipped_size and set(CLASS_NAMES) <= set(source.class_names or ())):
        return shipped_images(cache, "test"), ""
    return None, "no images were given (--images)"


# Which variants can be prepared with what is installed here; asked before anything that takes long.


def available_variants(
    target: Target, backend: Backend, chosen: Sequence[Chosen], config: RunConfig
) -> tuple[tuple[Variant, ...], str]:
    """The variants of a target that can be prepared, and a note that names the others; "" where all can.

    UnavailableError, on one line, where a depth or batch that was named lacks a package, or all of a model.
    """
    batches = batches_of(backend, config.batch)
    variants: list[Variant] = []
    left_out: dict[Variant, UnavailableError] = {}
    for model in chosen:
        asked = variants_of(model, backend, config.precision)
        lacking: dict[Variant, UnavailableError] = {}
        for variant in asked:
            for batch in batches:
                request = PrepareRequest(variant, batch, target.options, source=model.source)
                if refusal_of(backend, request) is None and (error := backend.missing(request)) is not None:
                    if config.depth or config.width or batch != backend.default_batch:
                        raise error
                    lacking[variant] = error
        if lacking and len(lacking) == len(asked):
            raise next(iter(lacking.values()))
        variants += [variant for variant in asked if variant not in lacking]
        left_out |= lacking
    if not left_out:
        return tuple(variants), ""
    names = ", ".join(variant.name for variant in list(left_out)[1:])
    also = f"; left out as well: {names}" if names else ""
    return tuple(variants), f"left out on {target.name}: {next(iter(left_out.values())).what}{also}"
