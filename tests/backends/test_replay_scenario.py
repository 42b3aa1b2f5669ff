"""SCENARIO.toml: what is refused, with the key and the known ones, and what is drawn from it."""

import json
import zipfile

import pytest

from edgebench import registry
from edgebench.errors import UnsupportedError, UsageError
from edgebench.judge.trials import trials_of
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import Variant
from edgebench.run.config import resolve
from edgebench.run.planner import build
from tests.backends.replaying import QUICK, replay, scenario

VARIANT = "mobilenet_v1-0.25-int8"


def offers(source, **options):
    return registry.backend("replay").offers({"source": str(source), **options})


@pytest.mark.parametrize("name", ["demo", "steady"])
def test_a_shipped_scenario_is_usable_by_its_bare_name(name):
    assert offers(name)


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("image = 3", "variants.mobilenet_v1-0.25-int8: unknown key 'image'", "mean 'image_s'"),
        (
            "heat = { slope = 3 }",
            "variants.mobilenet_v1-0.25-int8.heat: unknown key 'slope'",
            "percent_per_s",
        ),
        ("accuracy = 1.5", "variants.mobilenet_v1-0.25-int8.accuracy: 1.5 is not at most 1", ""),
        ("patch_ms = { infer = 0 }", "patch_ms.infer: 0 is not above 0", ""),
        (
            "crashes = [{ session = 0, kind = 'melt' }]",
            "crashes, first entry, kind: 'melt' is not known",
            "abort, segfault",
        ),
        (
            "crashes = [{ session = 0, when = 1 }]",
            "crashes, first entry: unknown key 'when'",
            "stage, kind, pass",
        ),
        ("crashes = [{ session = 0, kind = 'golden_mismatch' }]", "belongs to the stage", ""),
        ("heat = { clock_drop_percent = 5 }", "takes a telemetry.cpu_clock_mhz", ""),
        ("image_s = nan", "image_s", ""),
        ("image_s = [[0.3], []]", "image_s, second entry: [] does not have at least 1 entry", ""),
        ("[variants.'../../etc']\nimage_s = 1", "'../../etc' is not a variant", "mobilenet_v1"),
        ("[extra]\nx = 1", "unknown key 'extra'", "known: default, schema_version, name, seed"),
        ("image_s = [", "is not TOML", "mend that line"),
        ("x = " + "[" * 5000, "is not TOML", "write it with fewer levels"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(tmp_path, text, message, fix):
    with pytest.raises(UsageError) as caught:
        offers(scenario(tmp_path, text))
    assert message in caught.value.what
    assert fix in caught.value.fix
    assert "\n" not in caught.value.what


def test_a_mistake_in_the_default_is_found_there(tmp_path):
    path = tmp_path / "made.toml"
    path.write_text(QUICK.replace("accuracy = 0.9", "accuracy = -1"))
    with pytest.raises(UsageError, match=r"made.toml: default.accuracy"):
        offers(path)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("schema_version = 1", "schema_version = 2", "schema_version"),
        ("schema_version = 1", "", "schema_version is missing"),
        ('name = "made"', 'name = "a\\u0000b"', "name"),
        ("n = 20", "n = 1_000_000", "images.n"),
        ("image_s = 0.3\n", "", "give image_s or patch_ms"),
        (f'[variants."{VARIANT}"]', "", "variants"),
        (f'[variants."{VARIANT}"]', "variants = 3", "unknown key 'variants'"),
        (f'[variants."{VARIANT}"]', "[scene]\nrows = 100000", "scene.rows"),
    ],
)
def test_hostile_tables_are_refused(tmp_path, before, after, message):
    path = tmp_path / "made.toml"
    assert before in QUICK
    path.write_text(QUICK.replace(before, after))
    with pytest.raises(UsageError) as caught:
        offers(path)
    assert message in caught.value.what
    assert caught.value.fix


@pytest.mark.parametrize("data", [b"\xff\xfe", b"#" * 1_100_000, b"\x00"])
def test_bytes_that_are_no_scenario_are_refused(tmp_path, data):
    path = tmp_path / "made.toml"
    path.write_bytes(data)
    with pytest.raises(UsageError):
        offers(path)


@pytest.mark.parametrize("source", ["no-such", "no/such.toml", "\0", "..", ".", "x" * 5000])
def test_a_source_that_is_not_there_is_said(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        offers(source)
    assert caught.value.fix
    [finding] = registry.backend("replay").check(Target("replay", "replay", {"source": source}))
    assert finding.level == "error" and finding.fix


def test_a_variant_has_the_default_and_its_own_over_it(tmp_path):
    path = tmp_path / "made.toml"
    path.write_text(
        QUICK + 'patch_ms = { infer = 2.0 }\nsessions = { distribution = "t3" }\n'
        '[variants."mobilenet_v1-1.0-fp32"]\nunsupported = "it needs 12 MB"\n'
    )
    backend = registry.backend("replay")
    variants = offers(path) or ()
    assert [variant.name for variant in variants] == [VARIANT, "mobilenet_v1-1.0-fp32"]
    requests = [PrepareRequest(variant, 1, {"source": str(path)}) for variant in variants]
    artifact, refused = backend.prepare(requests, Cache(tmp_path / "cache"), lambda text: None)
    assert isinstance(refused, UnsupportedError) and refused.why == "it needs 12 MB"
    again = backend.prepare(requests[:1], Cache(tmp_path / "other"), lambda text: None)[0]
    assert isinstance(artifact, Artifact) and isinstance(again, Artifact)
    assert artifact.sha256 == again.sha256  # the same bytes, whenever it is made
    play = json.loads(zipfile.ZipFile(artifact.path).read("script.json"))["play"]
    assert play["image_s"] is None and play["patch_ms"]["infer"] == 2.0
    assert (play["sessions"]["distribution"], play["sessions"]["sd_percent"]) == ("t3", 1.0)


def test_the_key_follows_the_content_and_not_the_path(tmp_path):
    backend = registry.backend("replay")
    source, same, other = (
        scenario(tmp_path, text, name) for text, name in (("", "a.toml"), ("", "b.toml"), ("#", "c.toml"))
    )
    inputs = [
        backend.prepare_inputs(PrepareRequest(Variant(0.25, "int8"), 1, {"source": path}))
        for path in (source, same, other)
    ]
    assert inputs[0] == inputs[1] != inputs[2]


def test_a_scenario_may_give_windows(session_cache, tmp_path):
    source = scenario(tmp_path, "windows = { inferences = 20 }\noutliers = { every = 3, factor = 2 }\n")
    results = replay(session_cache, tmp_path, source, name="windows")
    assert not len(results.passes)
    assert results.windows["inferences"].unique().tolist() == [20]
    assert results.windows["phase"].tolist() == ["first", "steady", "steady", "steady"] * 3
    [trial] = trials_of(results)
    assert trial.latency_metric == "infer_s" and "extrapolated" in trial.marks
    # 0.3 s a scene, of which 88 % is inference; every third window takes twice as long.
    assert trial.estimate("infer_s").value == pytest.approx(0.3 * 0.88, rel=0.05)
    slowest = max(value for values in trial.values_of("infer_s") for value in values)
    assert slowest == pytest.approx(2 * 0.3 * 0.88, rel=0.1)
    crashed = scenario(tmp_path, "windows = {}\ncrashes = [{ session = 1 }]\n", "crashed.toml")
    failed = replay(session_cache, tmp_path, crashed, name="crashed", retries=0)
    assert sorted(failed.sessions["status"]) == ["crash", "ok", "ok"]


def test_each_of_several_sources_is_played_with_pictures_of_its_own(session_cache, tmp_path):
    wide = scenario(tmp_path, "\n[scene]\nrows = 1\ncolumns = 4\n", "wide.toml")
    (tmp_path / "wide.toml").write_text((tmp_path / "wide.toml").read_text().replace("n = 20", "n = 30"))
    results = replay(session_cache, tmp_path / "both", scenario(tmp_path), f"source={wide}")
    first, second = trials_of(results)
    scenes = [results.experiment.scene_of(trial) for trial in results.experiment.trials]
    assert [(scene.rows, scene.columns) for scene in scenes] == [(2, 3), (1, 4)]
    accuracies = [trial.estimate("accuracy") for trial in (first, second)]
    assert [accuracy.n for accuracy in accuracies] == [20, 30]
    # nine of ten, and never one of five
    assert all(accuracy.value and accuracy.value > 0.6 for accuracy in accuracies)


@pytest.mark.slow
def test_a_replay_beside_a_device_keeps_its_own_pictures(session_cache, tmp_path):
    config = resolve({"device": ["toy", "replay"], "set": [f"source={scenario(tmp_path)}"]}).config
    plan = build(config, session_cache, lambda text: None).plan
    patches = {trial.target.name: plan.scene_of(trial).patches for trial in plan.trials}
    assert patches == {"toy": 400, "replay": 6}
