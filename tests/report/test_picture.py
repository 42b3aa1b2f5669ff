"""The picture in README.md is the page that the command next to it makes."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.report.picture import COMMAND, PICTURE, make

README = Path(__file__).parents[2] / "README.md"


def test_the_command_stands_next_to_the_picture():
    text = " ".join(README.read_text().replace("\\\n", " ").split())
    picture, command = text.index("docs/report.png"), text.index(COMMAND)
    assert 0 < command - picture < 600


@pytest.mark.slow
def test_the_picture_is_the_page_that_the_command_makes(tmp_path):
    """Coarse means are compared: the time of the run is in the page, and fonts differ a little."""
    make(tmp_path / "report.png")
    seen, shown = (
        np.asarray(Image.open(path).convert("L").resize((64, 40), Image.Resampling.BOX), np.float64)
        for path in (tmp_path / "report.png", PICTURE)
    )
    assert Image.open(PICTURE).size == (1280, 800)
    assert np.abs(seen - shown).max() < 40, "python -m tests.report.picture"
    assert np.abs(seen - shown).mean() < 2
