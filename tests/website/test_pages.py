"""The documentation: commands that exist, links that lead somewhere, a site that asks no other host."""

import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
import typer.main

from edgebench.cli.main import app
from edgebench.report.schemas import NAMES
from tests.website.commands_in_pages import commands, pages
from website import commands as commands_page
from website import examples, formats
from website.sources import PAGES, ROOT, BrokenLink, with_page_links, with_plain_bars

PLACES = re.compile(r"^[A-Z][A-Z_]*$|\.\.\.$")


def parsed(words: list[str]) -> str | None:
    """Go down the commands as the command line does, without carrying anything out; a message, or None."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("edgebench", [], resilient_parsing=True)
    words = list(words)
    while hasattr(command, "get_command") and words and not words[0].startswith("-"):
        name = words.pop(0)
        command.list_commands(context)  # takes in those of installed packages
        command = command.get_command(context, name)
        if command is None:
            return f"no command {name!r}"
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
        command = context.command
    options = {
        form
        for parameter in command.get_params(context)
        for form in (*parameter.opts, *parameter.secondary_opts)
    }
    unknown = [
        word
        for word in words
        if word.startswith("-") and word.split("=")[0] not in options and not known(word)
    ]
    return f"no option {unknown[0]}" if unknown else None


def known(word):
    return word in ("-", "--debug") or re.fullmatch(r"-?\d[\d.]*\S*", word)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_is_one(page):
    wrong = [
        f"{page.name}:{number}: edgebench {' '.join(words)}: {message}"
        for number, words in commands(page)
        if not any(PLACES.search(word) and word == words[0] for word in words[:1])
        and (message := parsed(words))
    ]
    assert not wrong


def test_commands_are_found_and_wrong_ones_are_noticed(tmp_path):
    found = [words for page in pages() for _, words in commands(page)]
    assert len(found) > 100
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n    edgebench run --devise cpu \\\n        --quick  # why\n    make && edgebench rnu\n"
    )
    assert [(number, parsed(words)) for number, words in commands(page)] == [
        (3, "no option --devise"), (5, "no command 'rnu'"),
    ]  # fmt: skip


def test_links_lead_to_pages_and_what_has_none_is_named():
    text = "[a](../backends/coral/README.md#setting-up) [b](../edgebench/boards.toml) \n    [d](x)"
    assert with_page_links(text, "docs/devices.md") == (
        "[a](devices/coral.md#setting-up) b (`edgebench/boards.toml`) \n    [d](x)"
    )
    assert with_page_links("[x](../coral/README.md)", "backends/jetson/README.md") == "[x](coral.md)"
    with pytest.raises(BrokenLink, match="leads nowhere"):
        with_page_links("[x](gone.md)", "docs/start.md")


def test_every_device_family_and_every_meter_has_its_page():
    readmes = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("backends/*/README.md")}
    readmes |= {path.relative_to(ROOT).as_posix() for path in ROOT.glob("edgebench/probes/*/README.md")}
    assert readmes <= set(PAGES)
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert [page for page in PAGES.values() if f": {page}\n" not in navigation] == []


@pytest.mark.parametrize(
    "page",
    ["README.md", *(name for name in PAGES), *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))],
)
def test_no_page_of_the_repository_has_a_dead_link(page):
    with_page_links((ROOT / page).read_text(encoding="utf-8"), page)


def test_every_field_of_every_schema_stands_on_the_page_of_formats():
    text = formats.page()
    assert text.count("\n## ") == len(NAMES)
    assert "| `sessions` | integer |" in text and "`cold.load_s`" in text
    rows = [line for line in text.split("\n") if line.startswith("| `")]
    assert len(rows) > 500 and all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)


def test_every_command_and_option_stands_on_the_page_of_commands():
    text = commands_page.page()
    for words in (
        "edgebench run",
        "edgebench meters record",
        "edgebench cortexm simulate",
        "edgebench compare",
    ):
        assert f"\n## {words}\n" in text
    assert "--fail-on" in text and "[bold]" not in text
    assert "| `--fail-on regression` |" in text


def test_a_bar_within_the_code_of_a_table_is_shown_without_its_backslash():
    text = "| `A\\|B` | a \\| b |\n\n    `A\\|B`"
    assert with_plain_bars(text) == "| `A|B` | a \\| b |\n\n    `A\\|B`"


def test_the_page_of_examples_has_each_file_that_it_names():
    text = examples.page()
    for path in ("ci-regression/check.sh", "ci-regression/workflow.yml", "lab/targets.toml"):
        assert (ROOT / "examples" / path).read_text().rstrip() in text and f"\n## {path}\n" in text


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'edgebench[docs]'")
    return tmp_path_factory.mktemp("site")


def build(folder, cwd=ROOT):
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "mkdocs.yml", "-d", folder],
        cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_site_builds_and_asks_no_other_host(site):
    done = build(site)
    assert done.returncode == 0, done.stderr[-3000:]
    built = list(site.rglob("*.html"))
    assert len(built) > 35
    loaded = re.compile(
        r"<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=[\"']?(https?:)?//", re.IGNORECASE
    )
    assert [page.name for page in built if loaded.search(page.read_text())] == []
    styles = [
        page.name
        for page in site.rglob("*.css")
        if re.search(r"(?:url\(|@import)[\"' ]*https?:", page.read_text())
    ]
    assert styles == []


@pytest.mark.slow
@pytest.mark.parametrize("link", ["[x](nowhere.md)", "[x](start.md#no-such-heading)", "[x](../no/file.py)"])
def test_a_link_that_leads_nowhere_fails_the_build(site, tmp_path, link):
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("docs", "website"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("edgebench", "backends", "results", "notebooks", "examples", "tests", ".github"):
        (tree / name).symlink_to(ROOT / name)
    for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    page = tree / "docs" / "start.md"
    page.write_text(page.read_text() + f"\n{link}\n")
    done = build(tmp_path / "site", cwd=tree)
    assert done.returncode != 0
    assert link.partition("(")[2].strip(")").rpartition("/")[2].partition("#")[2] in done.stderr + done.stdout
