"""What the README of every device family here has to say (CONTRIBUTING.md, a new device)."""

import inspect
from pathlib import Path

import pytest

from edgebench import registry

HEADINGS = ("## Setting up", "## Options (`--set key=value`)", "## What was tried, and what was not")
NAMES = [
    name
    for name in registry.names("edgebench.backends")
    if type(registry.backend(name)).__module__.startswith("edgebench.backends.")
]


def readme_of(name):
    return (Path(inspect.getfile(type(registry.backend(name)))).parent / "README.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_readme_says_how_to_set_up_what_can_be_set_and_what_was_tried(name):
    sections = readme_of(name).split("\n## ")
    for heading in HEADINGS:
        title = heading.removeprefix("## ")
        [section] = [section for section in sections if section.startswith(title)]
        assert len(section.split("\n", 1)[1].strip()) > 40, f"{heading}: nothing stands there"


@pytest.mark.parametrize("name", NAMES)
def test_a_readme_lists_every_option(name):
    text = readme_of(name)
    options = registry.backend(name).options_model.model_json_schema().get("properties", {})
    missing = [
        option
        for option in options
        if not {f"`{option}`", f"`{option.replace('_', '-')}`"} & set(_quoted(text))
    ]
    assert not missing


def _quoted(text):
    return (f"`{part}`" for part in text.split("`")[1::2])
