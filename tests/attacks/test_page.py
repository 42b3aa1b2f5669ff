"""The page of attacks counts the marked tests."""

import re
import subprocess
import sys
from collections import Counter

import pytest

from tests.attacks.table import PAGE, RENEW, ROOT, page
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


def test_a_row_counts_the_cases_of_its_paths():
    """The longest path that fits a module decides its subject."""
    text = page(Counter({"link/test_clocks.py": 2, "link/test_ssh.py": 3, "agent/test_lock.py": 1}))
    rows = dict(re.findall(r"^\| ([^|]+) \|[^|]+\| (\d+) \|$", text, re.MULTILINE))
    assert "try 6\ncases" in text
    assert {name: count for name, count in rows.items() if count != "0"} == {
        "Boards with an agent": "2",
        "Boards over SSH": "3",
        "Builds and files on a board": "1",
    }


def test_a_module_without_a_subject_is_named():
    with pytest.raises(ValueError, match=r"tests/nowhere/test_new\.py"):
        page(Counter({"nowhere/test_new.py": 1}))


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
