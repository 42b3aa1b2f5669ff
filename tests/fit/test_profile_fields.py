import re
import tomllib
from functools import cache
from importlib import resources

import jsonschema
import pytest

from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirements.profile import parse_profile, shipped_profiles
from edgebench.judge.requirements.profile_file import profile_schema
from tests.fit.profile_page import HEAD, PAGE, page

REQUIRED = 'name = "x"\n[[requirements]]\nname = "r"\n'


@cache
def _validator():
    jsonschema.Draft202012Validator.check_schema(profile_schema())
    return jsonschema.Draft202012Validator(profile_schema())


def _is_valid(text):
    return _validator().is_valid(tomllib.loads(text))


def test_every_field_is_described():
    schema = profile_schema()
    for table in (schema, *schema["$defs"].values()):
        assert table["properties"]
        assert all(field["description"] for field in table["properties"].values())


def test_the_page_is_the_fields():
    assert PAGE.read_text() == page(), "renew it: python -m tests.fit.profile_page"


def test_the_page_s_example_is_a_profile():
    (example,) = re.findall(r"```toml\n(.*?)```", HEAD, re.DOTALL)
    profile = parse_profile(example.encode(), "example")
    assert [requirement.name for requirement in profile.requirements] == [
        "latency",
        "peak power",
        "mass",
        "small",
    ]
    assert profile.requirements[0].limit == 71.7375
    assert _is_valid(example)


def test_editors_take_the_shipped_profiles():
    for profile in shipped_profiles():
        file = resources.files("edgebench.judge") / "profiles" / f"{profile.name}.toml"
        assert _is_valid(file.read_text())


def test_editors_take_every_statistic_and_unit_of_every_quantity():
    for name, metric in required_metrics().items():
        limit = "[1, 2, 3]" if metric.is_size else "0.5"
        for statistic in metric.statistics:
            for unit in metric.units:
                body = f'quantity = "{name}"\nstatistic = "{statistic}"\nunit = "{unit}"\nlimit = {limit}\n'
                assert _is_valid(REQUIRED + body)


@pytest.mark.parametrize(
    "text",
    [
        'title = "no name"\n[[requirements]]\nname = "r"\n',
        'name = "nothing required"\n',
        "extra = 1\n" + REQUIRED + "limit = 1\n",
        REQUIRED + "limit = -1\n",
        REQUIRED + 'limit = "much"\n',
        REQUIRED + 'limit = 1\nunit = "W"\n',
        REQUIRED + 'limit = 1\nstatistic = "mean"\n',
        REQUIRED + 'quantity = "mass_g"\nlimit = 1\nstatistic = "median"\n',
        REQUIRED + 'quantity = "mass"\nlimit = 1\n',
        REQUIRED + 'limit = 1\nwanted = "yes"\n',
        'name = "x"\nextends = "disco-realtime"\n[schedule]\nimages = 3\n',
        'name = "x"\nextends = "disco-realtime"\n[schedule]\ncycle = 5\nimages = 3\n',
    ],
)
def test_editors_mark_what_is_no_profile(text):
    assert not _is_valid(text)
