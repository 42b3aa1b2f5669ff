"""The options that say which model: by name or file, its input, its labels. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="FILE|NAME",
        help="A family by name, or a file of yours: .tflite, .onnx, .keras, a SavedModel's folder, weights "
        "(.npz). Repeatable. Default: mobilenet_v1",
    ),
]
WidthOption = Annotated[
    list[float] | None,
    typer.Option("--width", metavar="A", help="Width of a family, like --depth. Repeatable."),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option("--labels", metavar="FILE", help="The model's classes, one name a line, in order."),
]
LayoutOption = Annotated[
    str | None,
    typer.Option("--layout", metavar="L", help="NHWC or NCHW, where the input's shape does not tell."),
]
InputScaleOption = Annotated[
    str | None,
    typer.Option(
        "--input-scale",
        metavar="S[,S,S]",
        help="A pixel p becomes (p - mean) / scale; one number, or one a channel. Default: read from the "
        "model, else -1..1",
    ),
]
InputMeanOption = Annotated[
    str | None,
    typer.Option("--input-mean", metavar="M[,M,M]", help="The mean of --input-scale. Default: 0 beside it"),
]
InputShapeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input-shape",
        metavar="[NAME=]N,N",
        help="An input's shape where the model leaves it open, batch included. Repeatable. Default: 1 a side",
    ),
]
InputsOption = Annotated[
    Path | None,
    typer.Option(
        "--inputs",
        metavar="DIR|FILE",
        help="Inputs for a model that takes no picture: .npy files or a .npz, one array an input. "
        "Default: random ones",
    ),
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        metavar="DIR",
        help="Pictures that int8's ranges are found with (a folder or CSV); none of --images.",
    ),
]
