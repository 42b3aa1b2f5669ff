"""How much a device measures: what the run names, else its own defaults."""

from typing import ClassVar

import pytest

from edgebench.errors import UsageError
from edgebench.run.settings import RunConfig
from edgebench.run.trials import (
    choose_variants,
    images_note,
    make_trials,
    passes_of,
    patches_of,
    require_patches_taken,
)
from tests.fakes import FakeBackend, made_images, made_scene, make_targets

SCENE = made_scene()  # 2 x 3 patches


class Windowed(FakeBackend):
    gives_windows = True
    default_passes = 5
    default_patches: ClassVar[int | None] = 1


class Partial(FakeBackend):
    """Its passes go over some patches."""

    default_patches: ClassVar[int | None] = 64


@pytest.mark.parametrize(
    ("backend", "config", "patches", "passes"),
    [
        (FakeBackend, RunConfig(), None, 10),
        (FakeBackend, RunConfig(passes=3), None, 3),
        (FakeBackend, RunConfig(patches=4), None, 10),  # beside a device that it is for
        (Windowed, RunConfig(), 1, 5),
        (Windowed, RunConfig(passes=3), 1, 3),
        (Windowed, RunConfig(patches=4), 4, 5),
        (Windowed, RunConfig(patches=6), 6, 6),  # a window for each
        (Windowed, RunConfig(patches=3, passes=3), 3, 3),
        (Partial, RunConfig(), 6, 10),  # the scene has no more
        (Partial, RunConfig(patches=2, passes=1), 2, 1),
    ],
)
def test_what_is_measured(backend, config, patches, passes):
    assert patches_of(config, backend(), SCENE) == patches
    assert passes_of(config, backend(), SCENE) == passes


@pytest.mark.parametrize(
    ("backend", "config", "fix"),
    [
        (Windowed, RunConfig(patches=7), "from 1 to 6"),
        (Partial, RunConfig(patches=7), "from 1 to 6"),
        (Windowed, RunConfig(patches=4, passes=3), "--passes 4"),
    ],
)
def test_what_cannot_be_is_refused(backend, config, fix):
    with pytest.raises(UsageError) as refused:
        patches_of(config, backend(), SCENE)
    assert fix in refused.value.fix


def test_patches_are_for_devices_that_measure_a_part():
    require_patches_taken(RunConfig(), [FakeBackend()])
    require_patches_taken(RunConfig(patches=2), [FakeBackend(), Windowed("small")])
    with pytest.raises(UsageError, match="fake, other measure whole scenes"):
        require_patches_taken(RunConfig(patches=2), [FakeBackend(), FakeBackend("other")])


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
            config=RunConfig(**extent),
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
    assert "has 4" in images_note(RunConfig(accuracy_images=5), made_images())
    assert images_note(RunConfig(accuracy_images=4), made_images()) == ""
    assert images_note(RunConfig(), None) == ""
