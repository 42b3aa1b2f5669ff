"""The model families that are there by name: widths, input, size, and how Keras builds them.

All are the feature layers of `keras.applications` without their top, global average pooling, and a dense
softmax; MobileNet v3 keeps the hidden layer that its paper has before it. They take five classes unless told
otherwise, like the case study, so that figures of one family stand beside another's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgebench.errors import UsageError
from edgebench.suggest import choose

CLASSES = 5
SIZE = 224
NORMALISATION_MOMENTUM = 0.9  # in training: Keras's 0.99 is slow to follow where epochs are few

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
        """The width where none is asked for: 1.0, or None for a family of one width."""
        return 1.0 if self.widths else None

    def width(self, asked: float | None) -> float | None:
        """The width that `asked` stands for; UsageError for one that there is not."""
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
    """The family of that name; UsageError when there is none."""
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
    for layer in base.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            layer.momentum = NORMALISATION_MOMENTUM
    hidden = (
        [tf.keras.layers.Dense(family.hidden, activation="hard_silu", name="hidden")] if family.hidden else []
    )
    return tf.keras.Sequential(
        [base, *hidden, tf.keras.layers.Dense(classes, activation="softmax", name="scores")]
    )
