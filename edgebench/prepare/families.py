"""The model families that are there by name: widths, input, size, and how Keras builds them.

All are the feature layers of `keras.applications` without their top, global average pooling, and a dense
softmax; MobileNet v3 keeps the hidden layer that its paper has before it. They take five classes unless told
otherwise, like the case study, so that families can be compared.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError, UsageError
from edgebench.files import open_regular, reason, require_bounded, require_distinct_arrays
from edgebench.prepare.cache import canonical_hash
from edgebench.suggest import choose

CLASSES = 5
SIZE = 224

INT8_SCALE, INT8_ZERO_POINT = 1 / 127.5, -1
"""How int8 of a family in -1..1 takes its input, as published: preprocessing is the pixel less 128."""

RANDOM_REASON = "the weights are random, so accuracy is not meaningful"

Model = Any
"""A `keras.Model`; not named, because importing Keras takes seconds."""


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        application: the function of `keras.applications`.
        widths: what Keras calls alpha, the narrowest first; empty for a family of one width.
        figures: by width (None for the only one), at 224 x 224 and five classes: parameters before anything
            is folded, and multiply-accumulates of convolutions and dense layers.
        source: who published it.
        divisor, offset: a pixel p (0..255) becomes p / divisor + offset.
        hidden: units of the layer before the scores; 0 for none.
        settings: further arguments of `application`.
    """

    name: str
    application: str
    widths: tuple[float, ...]
    figures: Mapping[float | None, tuple[int, int]]
    source: str
    divisor: float = 127.5
    offset: float = -1.0
    hidden: int = 0
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def default_width(self) -> float | None:
        """Default: 1.0; None for a family of one width."""
        return 1.0 if self.widths else None

    def width(self, asked: float | None) -> float | None:
        """The width for `asked`; UsageError for an unknown width."""
        if asked is None:
            return self.default_width
        if not self.widths:
            if asked == 1.0:
                return None
            raise UsageError(
                f"{self.name} has no width {asked:g}",
                why="it comes in one width only",
                fix="leave the width out",
            )
        if asked not in self.widths:
            raise UsageError(
                f"{self.name} has no width {asked:g}",
                fix=f"known: {', '.join(str(width) for width in self.widths)}",
            )
        return asked

    def parameters(self, width: float | None) -> int:
        """Parameters at five classes."""
        return self.figures[self.width(width)][0]

    def macs(self, width: float | None) -> int:
        """Multiply-accumulates of one 224 x 224 image at five classes."""
        return self.figures[self.width(width)][1]


_KNOWN = {
    family.name: family
    for family in (
        Family(
            "mobilenet_v1",
            "MobileNet",
            (0.25, 0.5, 1.0),
            {0.25: (219_829, 40_775_552), 0.5: (832_101, 148_987_648), 1.0: (3_233_989, 567_721_472)},
            "Howard et al. 2017",
        ),
        Family(
            "mobilenet_v2",
            "MobileNetV2",
            (0.35, 0.5, 0.75, 1.0, 1.3, 1.4),
            {
                0.35: (416_613, 58_012_208),
                0.5: (712_629, 95_858_240),
                0.75: (1_388_469, 207_796_192),
                1.0: (2_264_389, 299_500_672),
                1.3: (3_774_373, 507_718_880),
                1.4: (4_372_677, 580_412_784),
            },
            "Sandler et al. 2018",
        ),
        # Without Keras's own rescaling layer, which has no weights: pixels come in as for the others.
        Family(
            "mobilenet_v3_small",
            "MobileNetV3Small",
            (0.75, 1.0),
            {0.75: (1_031_677, 42_380_464), 1.0: (1_535_093, 55_491_520)},
            "Howard et al. 2019",
            hidden=1024,
            settings=(("include_preprocessing", False),),
        ),
        Family(
            "mobilenet_v3_large",
            "MobileNetV3Large",
            (0.75, 1.0),
            {0.75: (2_738_021, 153_287_024), 1.0: (4_232_837, 215_316_160)},
            "Howard et al. 2019",
            hidden=1280,
            settings=(("include_preprocessing", False),),
        ),
        # Keras's graph begins with a rescaling that cannot be left out: it takes pixels as they are.
        Family(
            "efficientnet_b0",
            "EfficientNetB0",
            (),
            {None: (4_055_976, 384_541_152)},
            "Tan and Le 2019",
            divisor=1.0,
            offset=0.0,
        ),
        Family("resnet50", "ResNet50", (), {None: (23_597_957, 3_855_935_488)}, "He et al. 2015"),
    )
}


def known() -> tuple[str, ...]:
    """The names of the families, MobileNet v1 first."""
    return tuple(_KNOWN)


def spec(name: str) -> Family:
    """The family of that name; UsageError for an unknown name."""
    family = _KNOWN.get(name)
    if family is None:
        raise UsageError(f"there is no model family {name!r}", fix=choose(name, _KNOWN))
    return family


def macs_of(name: str, width: float | None) -> int | None:
    """Multiply-accumulates of one image through a family's model; None where it is no family's."""
    family = _KNOWN.get(name)
    return family.figures[width][1] if family and width in family.figures else None


def build(name: str, width: float | None = None, *, classes: int = CLASSES, size: int = SIZE) -> Model:
    """An untrained model from float32 [n, size, size, 3] to scores [n, classes].

    The input is normalised as the family has it. Only for processes of their own: TensorFlow is imported.
    """
    import tensorflow as tf

    family = spec(name)
    chosen = family.width(width)
    settings = dict(family.settings) | ({} if chosen is None else {"alpha": chosen})
    base = getattr(tf.keras.applications, family.application)(
        input_shape=(size, size, 3), include_top=False, pooling="avg", weights=None, **settings
    )
    hidden = (
        [tf.keras.layers.Dense(family.hidden, activation="hard_silu", name="hidden")] if family.hidden else []
    )
    return tf.keras.Sequential(
        [base, *hidden, tf.keras.layers.Dense(classes, activation="softmax", name="scores")]
    )


# Weights files that a training writes, and random weights.
#
# A weights file is an .npz of float16 arrays named `<layer>/<variable>` as in Keras, such as `conv1/kernel`.
# The archive is not compressed and has no dates: equal weights make equal files, so a file's hash identifies
# its content.


RANDOM_SEED = 0
RANDOM_VERSION = 1  # counts up when the same seed would give other weights
MAX_FILE_BYTES = 256 * 1024 * 1024
"""The largest weights file, packed or unpacked."""

_DAMAGE = (
    OSError, ValueError, EOFError, KeyError, TypeError, RuntimeError, MemoryError, zipfile.BadZipFile
)  # fmt: skip
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the date in every member of the archive, so that hashes stay equal


def random_identity(family: str, depth_multiplier: float | None, classes: int) -> str:
    """The hash of all that decides random weights, in place of a file's hash."""
    return canonical_hash(
        {
            "random": RANDOM_VERSION,
            "seed": RANDOM_SEED,
            "family": family,
            "width": depth_multiplier,
            "classes": classes,
        }
    )


def count_parameters(path: Path) -> int:
    """How many numbers a weights file holds, trainable or not; InputError as from `read_weights`."""
    return sum(array.size for array in read_weights(path).values())


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The arrays of a weights file by name, as float32; InputError when it is not such a file."""
    try:
        with open_regular(path, MAX_FILE_BYTES) as file, zipfile.ZipFile(file) as archive:
            require_bounded(archive, MAX_FILE_BYTES)
            require_distinct_arrays(archive)
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: np.asarray(stored[name], np.float32) for name in stored.files}
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("it holds numbers that are not finite")
    except _DAMAGE as error:
        raise _not_weights(path, error) from error
    return arrays


def _not_weights(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read as weights",
        why=reason(error),
        fix="use an .npz of float16 arrays named as in Keras, such as examples/training writes",
    )


def write_weights(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays as float16; ValueError where a number is too large for it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            if not np.isfinite(array).all() or np.abs(array).max(initial=0) > np.finfo(np.float16).max:
                raise ValueError(f"the weights of {name} do not fit into float16")
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w") as member:
                np.lib.format.write_array(member, array.astype(np.float16), allow_pickle=False)
