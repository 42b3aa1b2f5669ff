"""Batches by device: the default of each, and a usage error beyond what it takes."""

import pytest

from edgebench import registry
from edgebench.errors import UsageError
from edgebench.run.config import resolve
from edgebench.run.trials import batches_of, choose_variants, make_trials
from tests.fakes import FakeBackend, made_images, made_scene, make_targets


class Batching(FakeBackend):
    default_batch = 4
    most_batch = 8
    default_precisions = ("int8",)

    def concurrency(self, options):
        return 1 if options["threads"] == 1 else 2


def trials(settings=()):
    backends = {"fake": Batching()}
    return make_trials(
        make_targets(backends, settings, ()),
        backends,
        {"fake": choose_variants(backends["fake"], [0.25], ())},
        batches=resolve({}).config.batch,
        scene=made_scene(),
        images=made_images(),
    )


def test_a_run_that_names_none_takes_the_devices_defaults():
    [trial] = trials()
    assert (trial.batch, trial.variant.precision) == (4, "int8")


def test_batches_that_were_asked_for_are_taken_each_once():
    assert batches_of(Batching(), (8, 1, 8)) == (8, 1)


@pytest.mark.parametrize("batch", [0, 9])
def test_a_batch_out_of_range_is_a_usage_error(batch):
    with pytest.raises(UsageError, match=f"a batch of {batch}"):
        batches_of(Batching(), (1, batch))


def test_the_edge_tpu_takes_one_patch_at_a_time():
    with pytest.raises(UsageError):
        batches_of(registry.backend("coral"), (2,))


def test_inferences_in_flight_are_settings_and_decide_the_key():
    [alone], [queued] = trials(), trials(["threads=2"])
    assert (alone.concurrency, queued.concurrency) == (1, 2)
    assert [trial.inputs["settings"]["concurrency"] for trial in (alone, queued)] == [1, 2]
