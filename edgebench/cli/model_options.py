"""The options that say which model: by name or file, its input, its labels. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from edgebench.cli.setting_options import option

ModelOption = Annotated[list[str] | None, option("model")]
WidthOption = Annotated[list[float] | None, option("width")]
LabelsOption = Annotated[Path | None, option("labels")]
LayoutOption = Annotated[str | None, option("layout")]
InputScaleOption = Annotated[str | None, option("input_scale")]
InputMeanOption = Annotated[str | None, option("input_mean")]
InputShapeOption = Annotated[list[str] | None, option("input_shape")]
InputsOption = Annotated[Path | None, option("inputs")]
CalibrationOption = Annotated[Path | None, option("calibration")]
