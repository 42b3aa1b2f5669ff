import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from edgebench.cache.objects import Cache
from edgebench.data.files import list_files
from edgebench.errors import InputError
from edgebench.models.train.splits import Split, folder_splits, split


def folder_of(root: Path, counts: dict[str, int]) -> Path:
    """A folder a class, with one plain picture after another."""
    for place, (name, n) in enumerate(counts.items()):
        (root / name).mkdir(parents=True)
        for index in range(n):
            Image.new("RGB", (8, 8), (place * 50, index, 0)).save(root / name / f"{index:02}.jpg")
    return root


def test_a_split_is_disjoint_whole_and_from_the_seed():
    training, validation = split(3670, 123)
    assert len(validation) == 734  # the published accuracies are of so many
    assert sorted(training + validation) == list(range(3670))
    assert split(3670, 123) == (training, validation)
    assert split(3670, 124) != (training, validation)
    with pytest.raises(ValueError, match="4 images"):
        split(4, 7)


@pytest.mark.slow
def test_a_folder_is_split_into_the_very_files_that_keras_splits_it_into(
    tmp_path: Path, session_cache: Cache
):
    folder = folder_of(tmp_path / "flowers", {"roses": 31, "daisy": 17, "tulips": 24})
    (folder / "LICENSE.txt").write_text("not an image")
    program = (
        "import sys, keras\n"
        "for subset in ('training', 'validation'):\n"
        "    found = keras.utils.image_dataset_from_directory(sys.argv[1], validation_split=0.2, seed=123,\n"
        "        subset=subset, verbose=False)\n"
        "    print('paths|' + '|'.join(sorted(found.file_paths)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    told = [line.split("|")[1:] for line in done.stdout.splitlines() if line.startswith("paths|")]
    splits = folder_splits(folder, session_cache, 123)

    def paths(split_part: Split) -> list[str]:
        return sorted(str(split_part.files[index]) for index in split_part.indices)

    assert [paths(splits.train), paths(splits.validation)] == told
    assert set(splits.calibration.indices) <= set(splits.train.indices)


def test_a_part_is_listed_with_its_labels(tmp_path: Path, session_cache: Cache):
    folder = folder_of(tmp_path / "data" / "flowers", {"daisy": 15, "roses": 15})
    splits = folder_splits(folder, session_cache, 3)
    near, far = tmp_path / "data" / "v.csv", tmp_path / "elsewhere" / "v.csv"
    far.parent.mkdir()
    for path in (near, far):
        path.write_text(splits.validation.as_csv(path.parent))
        listed = list_files(path)
        assert listed.files == tuple(splits.validation.files[index] for index in splits.validation.indices)
        assert listed.class_names == ("daisy", "roses")
        assert splits.train.images.labels is not None
        assert listed.labels == tuple(splits.train.images.labels[at] for at in splits.validation.indices)
    assert near.read_text().splitlines()[1].startswith("flowers/")
    assert far.read_text().splitlines()[1].startswith(str(tmp_path))


def test_a_class_that_a_part_lacks_is_said(tmp_path: Path, session_cache: Cache):
    folder = folder_of(tmp_path / "rare", {"daisy": 20, "roses": 1})
    with pytest.raises(InputError, match="roses") as caught:
        folder_splits(folder, session_cache, 7)
    assert "part has none" in caught.value.why
