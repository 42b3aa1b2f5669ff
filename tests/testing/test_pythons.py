"""Old Pythons are looked for, and files are judged without them too."""

import sys

import pytest

from edgebench.testing import device_code as pythons


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "runner.py"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def alone(monkeypatch):
    """Neither an old Python nor vermin is installed."""
    monkeypatch.setattr(pythons, "find_python", lambda version: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("assert (n := 1)\n", "3.8"),
        ("def f(a, /): pass\n", "3.8"),
        ("from __future__ import annotations\n", "line 1"),
        ("def f(:\n", "invalid syntax"),
        ("match 1:\n    case 1: pass\n", "3.10"),
    ],
)
def test_the_syntax_tree_alone_tells(file, alone, text, words):
    [(judge, problems)] = pythons.judge_syntax(file(text)).items()
    assert judge == "its syntax tree"
    assert len(problems) == 1 and words in problems[0]


def test_what_is_sound_has_no_problems(file, alone):
    assert pythons.judge_syntax(file("x: int = 1\nprint(f'{x}')\n")) == {"its syntax tree": []}


def test_every_judge_is_named(file, monkeypatch):
    monkeypatch.setattr(pythons, "find_python", lambda version: sys.executable)
    verdicts = pythons.judge_syntax(file("x = 1\n"))
    assert verdicts == {"its syntax tree": [], "Python 3.6": [], "vermin": []}
    verdicts = pythons.judge_syntax(file("assert (n := 1)\n"))
    assert [len(problems) for problems in verdicts.values()] == [1, 0, 1]  # this Python takes it


def test_a_python_that_does_not_run_or_is_another_is_none(monkeypatch):
    monkeypatch.setattr(pythons, "candidates", lambda version: ["/no/such/python", sys.executable])
    pythons.find_python.cache_clear()
    try:
        assert pythons.find_python(f"{sys.version_info.major}.{sys.version_info.minor}") == sys.executable
        assert pythons.find_python("2.0") is None
    finally:
        pythons.find_python.cache_clear()
