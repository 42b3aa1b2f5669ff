import io
import json
from typing import Any

from edgebench.report.listings import CommandOutput
from edgebench.report.listings.models import model_listing, variants_listing
from edgebench.report.renderers.terminal import make_console

MODEL: dict[str, Any] = {
    "name": "tower\x1b[31m.tflite",
    "path": "/models/" + "deep/" * 30 + "tower.tflite",
    "format": "tflite",
    "inputs": [
        {"name": "a", "dtype": "int8", "shape": [1, None, 3], "scale": 0.5, "zero_point": -1},
        {"name": "b" * 200, "dtype": "float32", "shape": [], "scale": None, "zero_point": None},
    ],
    "outputs": [{"name": "[red]y", "dtype": "int8", "shape": [1, 5], "scale": None, "zero_point": None}],
    "operations": {"CONV_2D": 14, "custom:" + "x" * 190: 1},
    "macs": None,
    "macs_reason": "custom:x does not tell its work",
    "macs_counted": {"CONV_2D": 14},
    "parameters": 1234567,
    "precision": "mixed",
    "size_bytes": 3_530_000,
    "sha256": "ab" * 32,
}
FAMILY: dict[str, Any] = {
    "name": "mobilenet_v3_large",
    "format": "family",
    "source": "Howard et al. 2019",
    "input": {"height": 224, "width": 224, "divisor": 127.5, "offset": -1.0},
    "classes": 5,
    "widths": [{"width": None, "parameters": 4_232_837, "macs": 215_316_160, "weights": "random"}],
}


def said(listing: CommandOutput, as_json: bool = False) -> str:
    file = io.StringIO()
    console = make_console(file)
    console.width = 80
    listing.show(console, as_json=as_json)
    return file.getvalue()


def test_a_model_is_told_in_80_columns_and_without_control_characters():
    text = said(model_listing(MODEL))
    for line in text.splitlines():
        assert len(line.rstrip()) <= 80 or "/models/" in line
    assert "\x1b" not in text
    assert "1,234,567" in text
    assert "- (custom:x does not tell its work)" in text
    assert "3.53 MB" in text
    assert "1 x ? x 3" in text
    assert "0.5 x (q - -1)" in text
    assert "[red]y" in text
    assert "ab" * 32 in text
    assert "mixed (not one of" in text
    assert [line.split() for line in text.splitlines() if "CONV_2D" in line] == [["CONV_2D", "14", "yes"]]


def test_a_model_as_json_is_whole():
    document = json.loads(said(model_listing(MODEL), as_json=True))
    assert document == {"schema_version": 1, "model": MODEL}


def test_families_are_told_in_80_columns():
    text = said(variants_listing([], families=[FAMILY]))
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "215 M" in text
    assert "accuracy is not meaningful" in text
    model_text = said(model_listing(FAMILY))
    assert "pixel p as p / 127.5 - 1" in model_text
    assert "4,232,837" in model_text
    as_they_are = FAMILY | {"input": FAMILY["input"] | {"divisor": 1.0, "offset": 0.0}}
    assert "pixels as they are" in said(model_listing(as_they_are))
