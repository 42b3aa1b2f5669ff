"""The page of attacks says what the tests do."""

import subprocess
import sys

import pytest

from tests.attacks.table import PAGE, RENEW, ROOT, Attack, page
from tests.conftest import COLLECTED


def test_the_page_is_what_the_marks_say(request):
    if (attacks := request.config.stash.get(COLLECTED, None)) is not None:
        assert PAGE.read_text() == page(attacks), f"renew the page by `{RENEW}`"
        return
    # Not all tests are at hand.
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_row_counts_its_ways_and_nothing_in_it_is_markup():
    attacks = [
        Attack("tests/x/test_a.py", "A title.", "a board lies: its session fails"),
        Attack("tests/x/test_a.py", "A title.", "a file is <b>|\x1b: it is refused: in words"),
        Attack("tests/x/test_a.py", "A title.", "a board lies: its session fails"),
        Attack("tests/y/test_b.py", "Another", "b: c"),
    ]
    text = page(attacks)
    assert "4 attacks" in text
    assert "## A title\n\n[tests/x/test_a.py](../tests/x/test_a.py): 3\n" in text
    assert "| a board lies | its session fails | 2 |" in text
    assert r"| a file is \<b\>\|  | it is refused: in words | 1 |" in text
    assert "[tests/y/test_b.py](../tests/y/test_b.py): 1" in text


TESTS = """
import pytest

@pytest.mark.attack("a: b")
@pytest.mark.parametrize("right", [True, True, False])
def test_one(right):
    assert right

@pytest.mark.attack("c: d")
def test_skipped():
    pytest.skip("not here")

def test_none():
    pass
"""


@pytest.mark.parametrize("words", [(), ("-n1",)])
def test_a_run_ends_with_the_count(tmp_path, words):
    (tmp_path / "test_made.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text("from tests.attacks.summary import pytest_terminal_summary\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = attack(what): x\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words, str(tmp_path)],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "3 attacks, 2 survived" in done.stdout, done.stdout + done.stderr
