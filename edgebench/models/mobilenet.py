"""MobileNet v1 in Keras, of `edgebench.models.families`; only for processes of their own."""

from __future__ import annotations

from edgebench.models import families
from edgebench.models.families import Model
from edgebench.models.networks import load, weights_of

__all__ = ["build", "load", "weights_of"]


def build(depth_multiplier: float, *, classes: int = families.CLASSES, size: int = families.SIZE) -> Model:
    """An untrained model from float32 [n, size, size, 3] in -1..1 to scores [n, classes]."""
    return families.build("mobilenet_v1", depth_multiplier, classes=classes, size=size)
