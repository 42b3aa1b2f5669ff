"""Reading the user's pictures: CPU time against plain Pillow, and of a choice against a set as small."""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench.prepare.cache import Cache
from edgebench.prepare.images import ALL, ReadingOptions, load_images

PLAIN_BAR = 1.3
CHOICE_BAR = 1.5
SIZE = 224
CLASSES = 10
READ = 1_500  # in two parts
MANY, CHOSEN = 10_000, 100
MOST_PAIRS = 5  # each reads thousands of pictures


def rows(cache: Cache, pairs: int) -> list[Row]:
    """On JPEG files of 640 x 480, each reading into an empty cache; `cache` is not used."""
    pairs = min(pairs, MOST_PAIRS)
    with tempfile.TemporaryDirectory() as folder:
        sets = {n: _pictures(Path(folder, str(n)), n) for n in (CHOSEN, READ, MANY)}
        files = sorted(sets[READ].rglob("*.jpg"))
        plain = abba(lambda: _read_s(sets[READ]), lambda: _cpu_s(lambda: _plain(files)), pairs)
        choice = ReadingOptions(counts=frozenset({CHOSEN}))
        chosen = abba(lambda: _read_s(sets[MANY], choice), lambda: _read_s(sets[CHOSEN]), pairs)
    return [
        ratio_row(f"reading {READ} pictures against plain Pillow, CPU time", plain, PLAIN_BAR),
        ratio_row(f"reading {CHOSEN} of {MANY} pictures against a set of {CHOSEN}", chosen, CHOICE_BAR),
    ]


def _pictures(folder: Path, n: int) -> Path:
    """A folder for each class; of more than a hundred pictures the others are links to these."""
    rng = np.random.default_rng(0)
    for number in range(n):
        file = folder / str(number % CLASSES) / f"{number:05}.jpg"
        if number >= CHOSEN:
            os.link(folder / str(number % CLASSES) / f"{number % CHOSEN:05}.jpg", file)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(rng.integers(0, 256, (48, 64, 3), np.uint8))
        content = io.BytesIO()
        coarse.resize((640, 480), Image.Resampling.BICUBIC).save(content, "JPEG", quality=90)
        file.write_bytes(content.getvalue())
    return folder


def _plain(files: list[Path]) -> None:
    for file in files:
        with Image.open(file) as image:
            resized = image.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
            np.asarray(resized)


def _read_s(folder: Path, options: ReadingOptions = ALL) -> float:
    with tempfile.TemporaryDirectory() as empty:
        return _cpu_s(lambda: load_images(folder, Cache(Path(empty)), SIZE, options))


def _cpu_s(call: Callable[[], object]) -> float:
    start_s = time.process_time()
    call()
    return time.process_time() - start_s
