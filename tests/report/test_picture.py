"""The picture in README.md is the page that the command next to it makes."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.report.picture import COMMAND, PICTURE, make

README = Path(__file__).parents[2] / "README.md"


def test_the_command_stands_next_to_the_picture():
    text = " ".join(README.read_text().replace("\\\n", " ").split())
    picture, command = text.index("docs/report.png"), text.index(COMMAND)
    assert 0 < command - picture < 600


def coarse(path: Path) -> NDArray[np.float64]:
    with Image.open(path) as image:
        assert image.size == (1280, 800)
        return np.asarray(image.convert("L").resize((64, 40), Image.Resampling.BOX), np.float64)


@pytest.mark.slow
def test_the_picture_is_the_page_that_the_command_makes(tmp_path):
    """Coarse means are compared: the time of the run is in the page, and fonts differ a little."""
    make(tmp_path / "report.png")
    seen, shown = coarse(tmp_path / "report.png"), coarse(PICTURE)
    assert np.abs(seen - shown).max() < 40, "python -m tests.report.picture"
    assert np.abs(seen - shown).mean() < 2
