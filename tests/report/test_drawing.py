"""The look of the reports comes and goes without a trace in the user's matplotlib."""

from __future__ import annotations

import gc

import matplotlib
import pytest

from edgebench.report.plots import drawing


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


def test_garbage_is_collected_again_after_a_figure_that_fails() -> None:
    with pytest.raises(RuntimeError), drawing.uncollected():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled()
