"""A stand-in for TensorRT's Python package, in the shape of one release: see the package that writes it."""

from . import _shape

_shape.expose(globals())
