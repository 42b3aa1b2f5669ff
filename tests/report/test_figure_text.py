from __future__ import annotations

import math

import pytest

from edgebench.report.words import FigureText, sort_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.227 to 0.235 s", 0.227),
        ("+71.45 s", 71.45),
        ("-3.20 points", -3.2),
        ("±0.4 %", 0.4),
        ("341,066,722", 341066722),
        ("87/100", 0.87),
        ("1.5e-05", 1.5e-05),
        (FigureText("0.29", 0.2901234), 0.2901234),
    ],
)
def test_a_cell_of_figures_sorts_by_its_number(text: str, value: float) -> None:
    assert float(sort_value(text)) == value


@pytest.mark.parametrize("text", ["-", "", "unknown", FigureText("inf", math.inf), FigureText("-", math.nan)])
def test_what_is_no_number_has_none(text: str) -> None:
    assert sort_value(text) == ""


def test_the_text_of_a_figure_is_text() -> None:
    text = FigureText("0.29 s", 0.2901)
    assert text == "0.29 s" and f"{text}!" == "0.29 s!" and text.value == 0.2901
