"""How much a device measures: passes or windows, patches of the scene, images for accuracy."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from edgebench.cache.objects import Cache
from edgebench.contract import Backend
from edgebench.data.subsets import subset
from edgebench.errors import UsageError
from edgebench.plan.run_settings import RunConfig
from edgebench.vocabulary.pictures import ImageSet, Scene


@dataclass(frozen=True)
class Extent:
    """What a run names of it; None leaves that to each device.

    Attributes:
        passes: steady passes, or windows, of a session.
        patches: of the scene, on devices that measure a part of it; the others measure all the same.
        accuracy_images: that accuracy is taken on; all where there are fewer.
        seed: of the choice of images.
    """

    passes: int | None = None
    patches: int | None = None
    accuracy_images: int | None = None
    seed: int = 7

    @classmethod
    def of(cls, config: RunConfig) -> Extent:
        """What a configuration names."""
        return cls(config.passes, config.patches, config.accuracy_images, config.seed)

    def require_patches_taken(self, backends: Collection[Backend]) -> None:
        """UsageError where a number of patches is named and no device measures a part of the scene."""
        names = [backend.name for backend in backends if backend.default_patches is None]
        if self.patches is not None and len(names) == len(backends):
            raise UsageError(
                f"--patches: {', '.join(names)} {'measures' if len(names) == 1 else 'measure'} whole scenes",
                why="each pass goes through all patches; the number is for devices that measure windows of "
                "a patch, or a part of the scene",
                fix="leave --patches out; smaller scenes come by --scene, --patch or --stride",
            )

    def patches_of(self, backend: Backend, scene: Scene) -> int | None:
        """How many patches of the scene a device measures; None where its passes go through all.

        UsageError for more than the scene has, or than there are windows.
        """
        default = backend.default_patches
        if default is None:
            return None
        if self.patches is None:
            windows = self.passes if backend.gives_windows and self.passes is not None else default
            return min(default, windows, scene.patches)
        if self.patches > scene.patches:
            raise UsageError(
                f"--patches {self.patches} is more than the scene has",
                why=f"{scene.name} has {scene.patches}",
                fix=f"write --patches N with N from 1 to {scene.patches}",
            )
        if backend.gives_windows and self.passes is not None and self.patches > self.passes:
            raise UsageError(
                f"--patches {self.patches} is more than the {self.passes} windows of a session",
                why=f"a window of {backend.name} is of one patch, and passes are its windows",
                fix=f"add --passes {self.patches}, or leave --passes out: there are then enough",
            )
        return self.patches

    def passes_of(self, backend: Backend, scene: Scene) -> int:
        """How many steady passes, or windows, a session of a device has: a window for each patch at least."""
        if self.passes is not None:
            return self.passes
        patches = self.patches_of(backend, scene) if backend.gives_windows else None
        return max(backend.default_passes, patches or 1)

    def images_of(self, backend: Backend, images: ImageSet | None, cache: Cache) -> ImageSet | None:
        """The images that a device's accuracy is taken on: all, or so many of each class as is its share."""
        wanted = backend.default_accuracy_images if self.accuracy_images is None else self.accuracy_images
        if images is None or wanted is None:
            return images
        return subset(images, wanted, self.seed, cache)

    def images_note(self, images: ImageSet | None) -> str:
        """What is to be known where fewer images are there than were asked for; "" where there are enough."""
        if images is None or self.accuracy_images is None or self.accuracy_images <= images.n:
            return ""
        return f"--accuracy-images {self.accuracy_images}: {images.name} has {images.n}, and all are taken"
