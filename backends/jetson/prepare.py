"""From a model to what a board builds its engine of: .onnx with its channels first."""

from __future__ import annotations

from edgebench.models.prepare.onnx import OnnxChain
from edgebench.models.prepare.onnx_form import OnnxForm

CHAIN = OnnxChain(lambda _: OnnxForm(layout="NCHW", integer_input=False))
