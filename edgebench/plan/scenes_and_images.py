"""What each model of a run is timed and tested with: its scene, its images, and why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from edgebench.cache.objects import Cache
from edgebench.data.calibration import refuse_overlap
from edgebench.data.images import cut, load_images, load_scene
from edgebench.data.landcover import CLASS_NAMES
from edgebench.data.samples import samples_scene
from edgebench.data.shipped import shipped_images, shipped_scene
from edgebench.errors import UsageError
from edgebench.models.families.catalogue import RANDOM_REASON, SIZE
from edgebench.plan.model_choice import Chosen, with_golden
from edgebench.plan.run_settings import RunConfig
from edgebench.vocabulary.model_source import SHIPPED, ModelSource
from edgebench.vocabulary.pictures import ImageSet, Scene


@dataclass(frozen=True)
class ModelPictures:
    """One model with all that its trials need; `images_reason` says why there are no images."""

    chosen: Chosen
    scene: Scene
    images: ImageSet | None
    images_reason: str = ""

    @property
    def source(self) -> ModelSource:
        """The model."""
        return self.chosen.source

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of its pictures, beside what its model's notes say."""
        images, scene, size = self.images, self.scene, self.chosen.size
        if images is None:
            return ()
        notes = images.notes
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


def gather(chosen: Sequence[Chosen], config: RunConfig, cache: Cache) -> tuple[ModelPictures, ...]:
    """Scene, images and golden patches for each model; read or rendered once, then found in the cache.

    UsageError for a geometry that cannot be; InputError for pictures that cannot be read, are too small, or
    are in the test and in the calibration.
    """
    if config.stride is not None and config.whole:
        raise UsageError("--stride and --whole exclude each other", fix="leave one of them out")
    if config.patch is not None and config.whole:
        raise UsageError("--patch and --whole exclude each other", fix="leave one of them out")
    return tuple(_Gathering(model, config, cache).model_pictures() for model in chosen)


@dataclass(frozen=True)
class _Gathering:
    chosen: Chosen
    config: RunConfig
    cache: Cache

    def model_pictures(self) -> ModelPictures:
        source = self.chosen.source
        if source.inputs is not None:
            own_inputs = self.config.inputs is not None
            checked_model = with_golden(self.chosen, self.cache, None, None)
            reason = source.model.accuracy_reason if source.model else ""
            return ModelPictures(checked_model, samples_scene(source.inputs, own_inputs), None, reason)
        images, reason = self.images
        if images is not None and source.calibration is not None and self.config.images is not None:
            refuse_overlap(source.calibration, images)
        return ModelPictures(
            with_golden(self.chosen, self.cache, images, self.scene), self.scene, images, reason
        )

    @cached_property
    def scene(self) -> Scene:
        config, cache = self.config, self.cache
        scene = load_scene(config.scene, cache, 1) if config.scene else shipped_scene(cache)
        if config.whole:
            return cut(scene, scene.height, scene.width)
        height, width = self.chosen.size
        if config.patch is not None:
            width, height = config.patch
        return cut(scene, height, width, config.stride)

    @property
    def images(self) -> tuple[ImageSet | None, str]:
        config, source, size = self.config, self.chosen.source, self.chosen.size
        if self.chosen.random:
            return None, RANDOM_REASON
        if config.images is not None:
            return load_images(config.images, self.cache, size), ""
        if source == SHIPPED:
            return shipped_images(self.cache, "test"), ""
        names = source.class_names
        if names is not None and set(CLASS_NAMES) <= set(names) and size == (SIZE, SIZE):
            return shipped_images(self.cache, "test"), ""
        return None, "no images were given (--images)"
