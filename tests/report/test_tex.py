"""The report as LaTeX: an article that compiles, whatever text stands in it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgebench.fit.judged_experiment import Judged
from edgebench.report.export import export
from edgebench.report.forms import FORMS
from edgebench.report.tex_escape import escape

EVIL = r"\input{/etc/passwd} \write18{touch owned} \end{document} %$&#_^~ {\openout0=x ^^5cinput"
OWN = re.compile(
    r"\\(text(backslash|asciicircum|asciitilde|less|greater|bar|quotedbl|quotesingle|asciigrave|"
    r"periodcentered|endash|emdash|bullet|degree|mu)\{\}|[{}$&#%]|_\\allowbreak\{\}|ldots\{\}|newline\{\}|"
    r"checkmark\{\}|ensuremath\{(\\(pm|leq|geq|approx|times|Omega)|\^2)\}|character\{[0-9A-F]{4,6}\})"
)


@given(st.text())
def test_no_text_is_a_command(text: str) -> None:
    left = OWN.sub("", escape(text))
    assert not set(left) & set("\\$&#%^_\n")
    assert "--" not in left and "{" not in left.replace("{}", "")  # no dash of two hyphens


def test_characters_beyond_the_fonts_are_given_by_their_numbers() -> None:
    assert escape("é ≤ Ж") == r"é \ensuremath{\leq} \character{0416}"
    assert escape("\N{ROCKET}\x00") == r"\character{1F680}\character{0000}"


@pytest.fixture(scope="module")
def evil(hostile: Judged) -> Judged:
    summaries = [
        type(summary)(
            **{
                name: value
                for name, value in vars(summary).items()
                if name not in ("target", "figures_of_values")
            },
            target=EVIL,
        )
        for summary in hostile.summaries
    ]
    return Judged(hostile.results, hostile.profiles, summaries, hostile.verdicts)


def test_it_is_an_article_with_tables_over_pages(evil: Judged) -> None:
    text = FORMS["tex"].write(evil).decode()
    assert text.count(r"\begin{document}") == 1 and text.endswith("\\end{document}\n")
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") > 8
    assert r"\input{" not in text and r"\write18" not in text and "^^5c" not in text
    for summary in evil.summaries:
        if summary.image_s is not None:
            assert f"{summary.image_s.median:#.3g}" in text


def test_figures_are_those_of_the_folder_from_where_it_lies(bare: Judged, tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    text = export(bare, tmp_path / "paper" / "a.tex", None, tmp_path / "drawn").read_text()
    assert r"\newcommand{\figures}{\detokenize{../drawn}}" in text
    assert r"\IfFileExists{\figures/latency.pdf}" in text
    assert str(tmp_path) not in text.replace(escape(str(tmp_path)), "")


@pytest.mark.slow
def test_it_compiles_whatever_stands_in_it(evil: Judged, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed (texlive-latex-base, texlive-latex-recommended)")
    file = export(evil, tmp_path / "report.tex")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", file.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
    assert not (tmp_path / "owned").exists()
