"""How much a device measures: what the run names, else its own defaults."""

from typing import ClassVar

import pytest

from edgebench.errors import UsageError
from edgebench.run.targets import make_targets
from edgebench.run.trials import Extent, choose_variants, make_trials
from tests.fakes import FakeBackend, made_images, made_scene

SCENE = made_scene()  # 2 x 3 patches


class Windowed(FakeBackend):
    gives_windows = True
    default_passes = 5
    default_patches: ClassVar[int | None] = 1


class Partial(FakeBackend):
    """Its passes go over some patches."""

    default_patches: ClassVar[int | None] = 64


@pytest.mark.parametrize(
    ("backend", "extent", "patches", "passes"),
    [
        (FakeBackend, Extent(), None, 10),
        (FakeBackend, Extent(passes=3), None, 3),
        (FakeBackend, Extent(patches=4), None, 10),  # beside a device that it is for
        (Windowed, Extent(), 1, 5),
        (Windowed, Extent(passes=3), 1, 3),
        (Windowed, Extent(patches=4), 4, 5),
        (Windowed, Extent(patches=6), 6, 6),  # a window for each
        (Windowed, Extent(patches=3, passes=3), 3, 3),
        (Partial, Extent(), 6, 10),  # the scene has no more
        (Partial, Extent(patches=2, passes=1), 2, 1),
    ],
)
def test_what_is_measured(backend, extent, patches, passes):
    assert extent.patches_of(backend(), SCENE) == patches
    assert extent.passes_of(backend(), SCENE) == passes


@pytest.mark.parametrize(
    ("backend", "extent", "fix"),
    [
        (Windowed, Extent(patches=7), "from 1 to 6"),
        (Partial, Extent(patches=7), "from 1 to 6"),
        (Windowed, Extent(patches=4, passes=3), "--passes 4"),
    ],
)
def test_what_cannot_be_is_refused(backend, extent, fix):
    with pytest.raises(UsageError) as refused:
        extent.patches_of(backend(), SCENE)
    assert fix in refused.value.fix


def test_patches_are_for_devices_that_measure_a_part():
    Extent().require_patches_taken([FakeBackend()])
    Extent(patches=2).require_patches_taken([FakeBackend(), Windowed("small")])
    with pytest.raises(UsageError, match="fake, other measure whole scenes"):
        Extent(patches=2).require_patches_taken([FakeBackend(), FakeBackend("other")])


def test_each_target_has_its_own_and_the_patches_are_in_the_key():
    backends = {"fake": FakeBackend(), "small": Windowed("small")}
    variants = {name: choose_variants(backend, (0.25,), ("int8",)) for name, backend in backends.items()}

    def trials(**extent):
        return make_trials(
            make_targets(backends, [], []),
            backends,
            variants,
            scene=SCENE,
            images=made_images(),
            extent=Extent(**extent),
            images_for=lambda backend, own: made_images(2 if backend.gives_windows else 4),
        )

    whole, small = trials()
    assert (whole.passes, whole.patches, whole.model_data) == (10, None, None)
    assert "patches" not in whole.inputs["settings"]
    assert (small.passes, small.patches, small.inputs["settings"]["patches"]) == (5, 1, 1)
    assert small.model_data is not None and small.model_data.images == made_images(2)
    assert small.model_data.scene == SCENE
    again, more = trials(patches=2)
    assert again.key == whole.key and more.key != small.key
    assert trials(passes=7)[1].key == small.key


def test_fewer_images_than_asked_for_are_noted(tmp_path):
    assert "has 4" in Extent(accuracy_images=5).images_note(made_images())
    assert Extent(accuracy_images=4).images_note(made_images()) == ""
    assert Extent().images_note(None) == ""
