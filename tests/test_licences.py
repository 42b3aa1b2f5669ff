"""docs/licences.md says what the pinned packages say of themselves."""

import re

from tests.licence_page import PAGE, PROJECT, closure, licence, page, pinned

PERMISSIVE = re.compile(r"Apache-2\.0|MIT|BSD|ISC|PSF|0BSD|Zlib|CC0")


def test_the_page_is_made_of_the_pinned_packages():
    assert PAGE.read_text() == page(), "python -m tests.licence_page"


def test_what_the_core_needs_is_under_permissive_licences():
    names = set(closure(PROJECT["dependencies"]))
    assert {"numpy", "typer", "shellingham"} <= names, "dependencies of dependencies count"
    assert names <= set(pinned())
    assert {name for name in names if not PERMISSIVE.search(licence(name)) or "GPL" in licence(name)} == set()


def test_no_extra_brings_a_licence_that_passes_itself_on():
    extras = PROJECT["optional-dependencies"]
    for lines in extras.values():
        rows = {name: licence(name) for name in set(closure(lines)) & set(pinned())}
        assert {name: text for name, text in rows.items() if "GPL" in text} == {}
