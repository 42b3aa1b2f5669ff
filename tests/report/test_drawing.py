"""The look of the reports comes and goes without a trace in the user's matplotlib."""

from __future__ import annotations

import gc
import io

import matplotlib
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from edgebench.report import drawing


@pytest.fixture(autouse=True)
def as_before():
    is_interactive = matplotlib.is_interactive()
    yield
    matplotlib.interactive(is_interactive)


def test_the_users_settings_are_theirs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 21.0)
    with drawing.style():
        assert matplotlib.rcParams["font.size"] != 21.0
    assert matplotlib.rcParams["font.size"] == 21.0


def test_what_the_first_figure_of_a_notebook_switches_on_stays_on() -> None:
    # The notebook's backend is chosen while that figure is made, and shows figures of the interactive mode.
    matplotlib.interactive(False)
    with drawing.style():
        matplotlib.interactive(True)
    assert matplotlib.is_interactive()


def test_an_interactive_session_stays_one_when_a_figure_fails() -> None:
    matplotlib.interactive(True)
    with pytest.raises(RuntimeError), drawing.style():
        raise RuntimeError
    assert matplotlib.is_interactive()


class _Counted(Line2D):
    draws = 0

    def draw(self, renderer) -> None:
        self.draws += 1
        super().draw(renderer)


def _drawn() -> tuple[Figure, _Counted]:
    figure = drawing.blank()
    with drawing.style():
        left, right = figure.subplots(1, 2)
        line = _Counted([0, 1], [0, 2000])
        left.add_line(line)
        left.set(ylim=(0, 3000), ylabel="image_s", title="board")
        right.plot([1, 2], label="a long name of a trial")
        figure.legend(loc="outside right upper")
    return figure, line


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_figure_is_drawn_once_with_the_bytes_of_its_full_layout(form: str) -> None:
    plain = io.BytesIO()
    with drawing.style():
        _drawn()[0].savefig(plain, format=form, metadata=drawing._UNDATED[form], dpi=150)
    figure, line = _drawn()
    before = figure.get_layout_engine(), figure.canvas, figure.dpi
    assert drawing.as_bytes(figure, form) == plain.getvalue()
    assert line.draws == 1
    assert (figure.get_layout_engine(), figure.canvas, figure.dpi) == before


def test_garbage_is_collected_again_after_a_figure_that_fails() -> None:
    with pytest.raises(RuntimeError), drawing.uncollected():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled()
