import os
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from edgebench import installed
from edgebench.errors import UnavailableError, UnsupportedError, UsageError
from edgebench.installed import version_of
from edgebench.prepare import chain
from edgebench.prepare import chain as subject
from edgebench.prepare.cache import Cache, canonical_hash, sha256_file
from edgebench.prepare.image_sets import shipped_images
from edgebench.prepare.landcover import CLASS_NAMES
from edgebench.prepare.shipped import shipped_weights
from edgebench.prepare.tflite import TfliteChain
from edgebench.prepare.workers import litert
from edgebench.prepare.workers.processes import results_of, run_jobs
from edgebench.records.model import Artifact, InputSpec, Prepared, PrepareRequest
from edgebench.records.values import PRECISIONS, Variant

pytestmark = pytest.mark.slow

TFLITE = TfliteChain()
ALL_CONVERTED = TfliteChain(use_shipped=False)


def request_for(precision: str, depth: float = 0.25, batch: int = 1) -> PrepareRequest:
    return PrepareRequest(Variant(depth, precision), batch, {})


def scores_of(
    artifact: Artifact, patches: NDArray[np.uint8], kernels: litert.Kernels = litert.DEFAULT
) -> NDArray[np.float32]:
    return litert.score(artifact.path, patches, artifact.input.model_dump(), kernels=kernels)


def never(*_: object) -> None:
    raise AssertionError("nothing was to be made")


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cache, dict[str, Artifact]]:
    """Depth multiplier 0.25 as fp16 and int8, converted here, and the cache that holds them."""
    if version_of("tensorflow") is None:
        pytest.skip("conversion takes tensorflow")
    cache = Cache(tmp_path_factory.mktemp("converted"))
    requests = [request_for(precision) for precision in ("fp16", "int8")]
    fp16, int8 = ALL_CONVERTED.prepare(requests, cache, lambda _: None)
    assert isinstance(fp16, Artifact) and isinstance(int8, Artifact)
    return cache, {"fp16": fp16, "int8": int8}


def test_what_is_shipped_is_what_a_conversion_gives(
    converted: tuple[Cache, dict[str, Artifact]], prepared_quarter: dict[str, Artifact]
):
    for precision, made in converted[1].items():
        shipped = prepared_quarter[precision]
        if made.provenance["tools"] != shipped.provenance["tools"]:
            pytest.skip("other versions of the tools are installed")
        request = request_for(precision)
        assert ALL_CONVERTED.recipe(request).inputs == TFLITE.recipe(request).inputs
        (check,) = made.provenance["checks"]
        assert check["max_abs_diff"] <= check["tolerance"] and check["top1_equal"] == check["n"]
        assert {**made.provenance, "checks": []} == shipped.provenance
        assert made.input == shipped.input
        # The ranges of int8 are sums of floats, in which processors differ.
        differ = np.abs(np.array(made.golden.scores) - np.array(shipped.golden.scores)).max()
        assert differ <= (2 / 256 if precision == "int8" else 1e-5)
    # So are the folded weights of fp16, in their last digit.
    assert converted[1]["fp16"].size_bytes == prepared_quarter["fp16"].size_bytes


def test_artifacts_say_what_they_are(prepared_quarter: dict[str, Artifact]):
    for precision, artifact in prepared_quarter.items():
        assert artifact.variant == f"mobilenet_v1-0.25-{precision}"
        assert artifact.sha256 == sha256_file(artifact.path)
        assert artifact.size_bytes == artifact.path.stat().st_size
        assert artifact.class_names == CLASS_NAMES
        assert artifact.provenance["weights_sha256"] == shipped_weights(0.25).inputs["weights_sha256"]
        assert set(artifact.provenance["tools"]) == {"tensorflow", "keras", "ai-edge-litert"}
        assert artifact.provenance["calibration"]["n"] == 250
        assert artifact.golden.patches_sha256 == sha256_file(artifact.golden.patches)
    sizes = [prepared_quarter[precision].size_bytes for precision in ("fp32", "fp16", "int8")]
    assert sizes[0] > 1.5 * sizes[1] > 1.5 * sizes[2]
    assert prepared_quarter["int8"].input.scale == pytest.approx(1 / 127.5)
    assert prepared_quarter["int8"].input.zero_point == -1
    assert prepared_quarter["fp16"].input.dtype == "float32"


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_golden_patches_show_a_class_each_and_come_out_within_tolerance(
    prepared_quarter: dict[str, Artifact], precision: str
):
    artifact = prepared_quarter[precision]
    patches = np.load(artifact.golden.patches)
    expected = np.array(artifact.golden.scores)
    assert expected.shape == (5, 5)
    assert expected.argmax(1).tolist() == [0, 1, 2, 3, 4]
    assert expected.max(1).min() > 0.9
    found = scores_of(artifact, patches)
    assert np.abs(found - expected).max() <= artifact.golden.tolerance
    wrong = scores_of(artifact, patches[::-1].copy())
    assert np.abs(wrong - expected).max() > artifact.golden.tolerance


def test_int8_is_exact_on_reference_kernels(prepared_quarter: dict[str, Artifact]):
    artifact = prepared_quarter["int8"]
    assert artifact.golden.exact_with == ("kernels=reference",)
    found = scores_of(artifact, np.load(artifact.golden.patches), litert.REFERENCE)
    np.testing.assert_array_equal(found, np.array(artifact.golden.scores, np.float32))


def test_the_shipped_weights_are_right_on_test_patches_and_the_precisions_agree(
    prepared_quarter: dict[str, Artifact], session_cache: Cache
):
    images = shipped_images(session_cache, "test")
    assert images.labels is not None
    chosen = slice(0, 200)
    patches, labels = np.load(images.path, mmap_mode="r")[chosen], np.array(images.labels[chosen])
    predicted = {one: scores_of(made, patches).argmax(1) for one, made in prepared_quarter.items()}
    for found in predicted.values():
        assert (found == labels).mean() > 0.9  # 95 % on all 1,000
    assert (predicted["fp16"] == predicted["fp32"]).mean() > 0.99
    assert (predicted["int8"] == predicted["fp32"]).mean() > 0.97


def test_from_the_cache_nothing_is_made_and_nothing_heavy_is_imported(
    prepared_quarter: dict[str, Artifact], session_cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(chain, "run_outputs", never)
    monkeypatch.setattr(subject, "shipped_images", never)
    again = TFLITE.prepare([request_for(one) for one in PRECISIONS], session_cache, never)
    assert again == list(prepared_quarter.values())
    assert not {"tensorflow", "keras"} & sys.modules.keys()


def test_a_truncated_artifact_is_converted_again_to_the_same_file(
    converted: tuple[Cache, dict[str, Artifact]],
):
    cache, artifacts = converted
    whole = artifacts["fp16"]
    os.truncate(whole.path, 1000)
    said: list[str] = []
    assert ALL_CONVERTED.prepare([request_for("fp16")], cache, said.append) == [whole]
    assert any("mobilenet_v1-0.25-fp16" in text for text in said)
    assert sha256_file(whole.path) == whole.sha256


def test_an_artifact_is_the_same_whatever_was_converted_before_it(
    converted: tuple[Cache, dict[str, Artifact]], prepared_quarter: dict[str, Artifact], tmp_path: Path
):
    def job(depth: float, name: str) -> dict[str, object]:
        return {
            "what": name,
            "kind": "family",
            "family": "mobilenet_v1",
            "size": 224,
            "shapes": [[1, 224, 224, 3]],
            "tensors": [],
            "n": 5,
            "golden_batch": 1,
            "depth_multiplier": depth,
            "classes": 5,
            "published": True,
            "input": InputSpec(dtype="float32").model_dump(mode="json"),
            "batch": 1,
            "weights": str(shipped_weights(depth).path),
            "golden": str(prepared_quarter["fp16"].golden.patches),
            "calibration": None,
            "outputs": {"fp16": str(tmp_path / name)},
        }

    jobs = [job(0.5, "first"), job(0.25, "second")]
    results_of(
        run_jobs("edgebench.prepare.workers.tflite_steps", jobs, tmp_path, lambda _: None, processes=1)
    )
    assert sha256_file(tmp_path / "second") == converted[1]["fp16"].sha256


def test_a_batch_is_static_and_a_second_maker_waits_for_the_first(
    converted: tuple[Cache, dict[str, Artifact]], session_cache: Cache
):
    single = converted[1]["int8"]
    said: list[str] = []
    outcomes: list[Sequence[Prepared]] = []

    def work() -> None:
        outcomes.append(TFLITE.prepare([request_for("int8", batch=3)], session_cache, said.append))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (one,), (other,) = outcomes
    assert one == other
    assert len([text for text in said if text.startswith("converting")]) == 1
    assert isinstance(one, Artifact)
    assert one.batch == 3
    assert one.sha256 != single.sha256
    # Calibrated on the same patches, it computes the same.
    assert one.golden.scores == single.golden.scores
    patches = np.load(one.golden.patches)
    found = scores_of(one, patches, litert.REFERENCE)  # five patches: the second batch is padded
    np.testing.assert_array_equal(found, np.array(one.golden.scores, np.float32))


def test_inputs_are_quick_plain_and_tell_artifacts_apart(monkeypatch: pytest.MonkeyPatch):
    keys = {
        canonical_hash(TFLITE.recipe(request_for(precision, depth, batch)).inputs)
        for precision in PRECISIONS
        for depth in (0.25, 0.5, 1.0)
        for batch in (1, 4)
    }
    assert len(keys) == 18
    shipped, made = request_for("int8"), request_for("int8", batch=4)
    before = [canonical_hash(TFLITE.recipe(request).inputs) for request in (shipped, made)]
    monkeypatch.setattr(installed, "version", lambda _: "0.0.1")
    after = [canonical_hash(TFLITE.recipe(request).inputs) for request in (shipped, made)]
    assert after[0] == before[0]  # what is shipped stands under the tools that made it
    assert after[1] != before[1]


def test_what_cannot_be_made_is_an_outcome_among_the_others(
    prepared_quarter: dict[str, Artifact], session_cache: Cache
):
    requests = [request_for("int4"), request_for("fp32"), request_for("fp32", depth=0.75)]
    first, second, third = TFLITE.prepare(requests, session_cache, never)
    assert isinstance(first, UnsupportedError)
    assert "int4" in first.what
    assert second == prepared_quarter["fp32"]
    assert isinstance(third, UnsupportedError)


def test_a_batch_of_nothing_is_a_usage_error(session_cache: Cache):
    with pytest.raises(UsageError, match="batch of 0"):
        TFLITE.prepare([request_for("fp32", batch=0)], session_cache, never)


def test_without_tensorflow_the_error_says_how_to_get_it(
    session_cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    def version(package: str) -> str:
        if package in ("tensorflow", "keras"):
            raise PackageNotFoundError(package)
        return "2.3.0"

    monkeypatch.setattr(installed, "version", version)
    asked = [request_for("fp32", batch=4), request_for("fp32")]
    missing, shipped = TFLITE.prepare(asked, session_cache, never)
    assert isinstance(shipped, Artifact)
    assert isinstance(missing, UnavailableError)
    assert str(missing) == (
        "mobilenet_v1-0.25-fp32 cannot be prepared: tensorflow, keras are not installed "
        "(pip install 'edgebench[prepare,cpu]')"
    )
    assert str(TFLITE.missing(asked[0])) == str(missing)
    assert TFLITE.missing(asked[1]) is None
    assert TFLITE.missing(request_for("int4")) is None
