"""Trials and their keys."""

from dataclasses import replace

import pytest

from edgebench.contract import BackendOptions
from edgebench.errors import UsageError
from edgebench.run.settings import RunConfig
from edgebench.run.trials import choose_variants, make_trials
from tests.fakes import FakeBackend, made_images, made_scene, make_targets


def trials(backend=None, *, settings=(), meters=(), scene=None, images=None, depths=(), batches=(1,)):
    backend = backend or FakeBackend()
    backends = {backend.name: backend}
    variants = {backend.name: choose_variants(backend, depths, ())}
    return make_trials(
        make_targets(backends, settings, meters),
        backends,
        variants,
        batches=batches,
        scene=scene or made_scene(),
        images=images or made_images(),
    )


def test_all_depths_and_the_backends_own_precisions_by_default():
    names = [trial.variant.name for trial in trials()]
    assert names == [
        f"mobilenet_v1-{depth}-{precision}" for depth in (0.25, 0.5, 1.0) for precision in ("fp32", "int8")
    ]


def test_keys_are_distinct_and_the_same_again():
    keys = [trial.key for trial in trials(batches=(1, 16))]
    assert len(set(keys)) == 12
    assert keys == [trial.key for trial in trials(batches=(1, 16))]
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)


@pytest.mark.parametrize(
    "change",
    [
        {"settings": ("threads=2",)},
        {"meters": ("rapl",)},
        {"scene": replace(made_scene(), sha256="3" * 64)},
        {"images": replace(made_images(), sha256="3" * 64)},
        {"backend": FakeBackend("other")},
        {"batches": (2,)},
    ],
)
def test_whatever_decides_the_result_changes_the_key(change):
    assert trials(depths=(0.25,))[0].key != trials(depths=(0.25,), **change)[0].key


def test_repeated_flags_make_one_trial():
    assert len(trials(depths=(0.25, 0.25))) == 2


@pytest.mark.parametrize(
    ("depths", "precisions", "word"),
    [
        ((0.3,), (), "depth multiplier 0.3"),
        ((), ("int4",), "precision int4"),
        ((), ("fp16",), "not take fp16"),
    ],
)
def test_unknown_or_unsupported_variants_are_usage_errors(depths, precisions, word):
    with pytest.raises(UsageError, match=word) as caught:
        choose_variants(FakeBackend(), depths, precisions)
    assert caught.value.exit_code == 2
    assert caught.value.fix


@pytest.mark.parametrize("setting", ["threads", "thread=2", "threads=two", "=2"])
def test_bad_settings_are_usage_errors(setting):
    with pytest.raises(UsageError) as caught:
        make_targets({"fake": FakeBackend()}, [setting], [])
    assert caught.value.fix


def test_settings_are_validated_into_their_types():
    (target,) = make_targets({"fake": FakeBackend()}, ["threads=2"], ["rapl"])
    assert target.options == {"threads": 2}
    assert target.meters == ("rapl",)
    (target,) = make_targets({"fake": FakeBackend()}, [], ["rapl", "ina:1", "rapl:", "ina:2", "rapl"])
    assert target.meters == ("rapl", "ina:1", "ina:2")


class Metered(FakeBackend):
    meters = ("ina3221", "tegrastats")


def test_the_devices_meters_are_taken_where_no_other_is_and_none_is_refused():
    def target(*meters, no_meter=False):
        [made] = make_targets({"fake": Metered()}, [], meters, no_meter=no_meter)
        return made

    assert (target().meters, target().preferred_meters) == ((), Metered.meters)
    assert (target("rapl").meters, target("rapl").preferred_meters) == (("rapl",), ())
    assert (target("telemetry:2").meters, target("telemetry:2").preferred_meters) == (
        ("telemetry:2",),
        Metered.meters,
    )
    refused = target("rapl", "telemetry:2", no_meter=True)
    assert (refused.meters, refused.preferred_meters) == (("telemetry:2",), ())


def test_the_devices_meters_are_in_the_key_and_their_absence_changes_nothing():
    def key(backend, **more):
        [trial] = make_trials(
            make_targets({"fake": backend}, (), (), **more),
            {"fake": backend},
            {"fake": choose_variants(backend, (0.25,), ("int8",))},
            batches=(1,),
            scene=made_scene(),
            images=made_images(),
        )
        return trial.key, trial.inputs["target"]

    plain, target = key(FakeBackend())
    assert "preferred_meters" not in target
    assert key(FakeBackend(), no_meter=True)[0] == plain == key(Metered(), no_meter=True)[0]
    metered, target = key(Metered())
    assert metered != plain
    assert target["preferred_meters"] == ["ina3221", "tegrastats"]


def test_period_and_sustained_time_are_in_the_key_and_their_absence_changes_nothing():
    def key(**pace):
        backend = FakeBackend()
        [trial] = make_trials(
            make_targets({"fake": backend}, (), ()),
            {"fake": backend},
            {"fake": choose_variants(backend, (0.25,), ("int8",))},
            batches=(1,),
            scene=made_scene(),
            images=made_images(),
            config=RunConfig(**pace),
        )
        return trial.key, trial.inputs["settings"]

    plain, settings = key()
    assert "period_s" not in settings and "sustained_s" not in settings
    assert key(period=None, sustained=None)[0] == plain
    paced, settings = key(period=2.0)
    assert settings["period_s"] == 2.0
    assert len({plain, paced, key(period=3.0)[0], key(sustained=1.0)[0]}) == 4


def test_an_option_that_decides_no_result_stays_out_of_the_key():
    class Options(BackendOptions):
        not_in_key = frozenset({"flash"})
        places = frozenset({"address"})
        address: str = ""
        threads: int = 1
        flash: bool = False

    def of(*settings):
        backend = FakeBackend()
        backend.options_model = Options  # type: ignore[misc,assignment]
        return trials(backend, settings=settings)[0]

    elsewhere = of("address=10.0.0.7")
    assert (elsewhere.target.places, elsewhere.key) == (("address",), of().key)
    assert elsewhere.target.connection != of().target.connection
    with pytest.raises(UsageError, match="address has several values"):
        of("address=a", "address=b")
    flashed = of("flash=true")
    assert flashed.target.options["flash"] is True
    assert flashed.inputs["settings"]["options"] == {"threads": 1}
    assert flashed.key == of().key != of("threads=2").key
    with pytest.raises(UsageError, match="flash has several values"):
        of("flash=true", "flash=false")
