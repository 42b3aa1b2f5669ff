"""Subsets of image sets: by class, the same for the same seed, an image set of their own."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgebench.prepare.cache import Cache, sha256_file
from edgebench.prepare.image_lists import stratified
from edgebench.prepare.image_sets import subset
from edgebench.records.values import ImageSet

LABELS = (0, 1, 1, 1, 1, 1, 2, 2, 2, 2)


def image_set(folder: Path, labels: tuple[int, ...] | None = LABELS) -> ImageSet:
    pixels = np.arange(10 * 2 * 3 * 3, dtype=np.uint8).reshape(10, 2, 3, 3)
    np.save(folder / "images.npy", pixels)
    return ImageSet("ten", folder / "images.npy", "5" * 64, 10, labels, ("a", "b", "c"), overlapping=True)


@pytest.mark.parametrize(
    ("n", "counts"), [(10, {0: 1, 1: 5, 2: 4}), (5, {1: {2, 3}, 2: {2}}), (2, {1: {1}, 2: {1}})]
)
def test_each_class_has_its_share(n, counts):
    for seed in range(5):
        indices = stratified(LABELS, n, seed)
        assert indices == sorted(set(indices)) and len(indices) == n
        by_class = Counter(LABELS[index] for index in indices)
        for label, count in counts.items():
            assert by_class[label] in (count if isinstance(count, set) else {count}), (label, seed)


def test_the_seed_decides_which():
    labels = [index % 5 for index in range(1000)]
    assert stratified(labels, 100, 7) == stratified(labels, 100, 7) != stratified(labels, 100, 8)
    assert set(Counter(labels[index] for index in stratified(labels, 100, 7)).values()) == {20}
    # The same on every machine and with every version: it decides keys of trials that are on disk.
    assert stratified(labels, 100, 7)[:6] == [0, 8, 14, 15, 33, 58]


@pytest.mark.parametrize("n", [0, 11])
def test_no_more_than_there_are(n):
    with pytest.raises(ValueError, match="of 10 images"):
        stratified(LABELS, n, 7)


@pytest.mark.parametrize("labels", [LABELS, None], ids=["labelled", "unlabelled"])
def test_it_is_a_set_of_its_own(tmp_path, labels):
    images, cache = image_set(tmp_path, labels), Cache(tmp_path / "cache")
    images = replace(images, paths=tuple(f"{number}.png" for number in range(10)))
    few = subset(images, 4, 7, cache)
    assert few == subset(images, 4, 7, cache)
    assert (few.name, few.n, few.overlapping) == ("ten (4 of 10, seed 7)", 4, True)
    assert few.sha256 == sha256_file(few.path) != images.sha256
    indices = stratified(labels or [0] * 10, 4, 7, images.sha256)
    assert (np.load(few.path) == np.load(images.path)[indices]).all()
    assert few.paths == tuple(f"{index}.png" for index in indices)
    assert few.labels == (None if labels is None else tuple(LABELS[index] for index in indices))
    assert subset(images, 4, 8, cache).sha256 != few.sha256


def test_all_of_them_are_the_set_itself(tmp_path):
    images = image_set(tmp_path)
    assert subset(images, 10, 7, Cache(tmp_path / "cache")) is images
    assert subset(images, 11, 7, Cache(tmp_path / "cache")) is images
