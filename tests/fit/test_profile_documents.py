"""Profiles that extend another: what is inherited, replaced and dropped, and chains, which are refused."""

import os

import pytest

from edgebench.errors import UsageError
from edgebench.judge.requirements.profile import document_of, load_profile, shipped_profiles

BASE = """
name = "base"
title = "the base"
source = "a paper"
[[requirements]]
name = "latency"
limit = 4.42
[[requirements]]
name = "power"
quantity = "power_peak_w"
limit = 5.0
averaging_s = 1.0
[[requirements]]
name = "mass"
quantity = "mass_g"
limit = 150.0
"""


def _load(folder, text, name="mine.toml"):
    (folder / "base.toml").write_text(BASE)
    (folder / name).write_text(text)
    return load_profile(str(folder / name))


def _refused(folder, text, **kwargs):
    with pytest.raises(UsageError) as caught:
        _load(folder, text, **kwargs)
    assert caught.value.fix
    return str(caught.value)


def _limits(profile):
    return [(requirement.name, requirement.limit) for requirement in profile.requirements]


def test_all_that_is_not_said_is_inherited_but_what_the_base_is_called(tmp_path):
    profile = _load(tmp_path, 'name = "mine"\nextends = "base.toml"\n')
    assert (profile.name, profile.title, profile.source) == ("mine", "", "a paper")
    assert _limits(profile) == [("latency", 4.42), ("power", 5.0), ("mass", 150.0)]


def test_an_own_requirement_takes_the_whole_place_of_the_inherited_one(tmp_path):
    own = '[[requirements]]\nname = "peak"\nquantity = "power_peak_w"\nlimit = 6.0\n'
    profile = _load(tmp_path, f'name = "mine"\nextends = "base.toml"\n{own}')
    assert _limits(profile) == [("latency", 4.42), ("peak", 6.0), ("mass", 150.0)]
    assert profile.requirements[1].averaging_s is None


def test_a_wish_leaves_the_inherited_requirement_and_replaces_an_inherited_wish(tmp_path):
    wish = '[[requirements]]\nname = "light {0}"\nquantity = "mass_g"\nlimit = {0}\nwanted = true\n'
    (tmp_path / "wishing.toml").write_text(f"{BASE}{wish.format(100)}")
    profile = _load(tmp_path, f'name = "mine"\nextends = "wishing.toml"\n{wish.format(90)}')
    assert _limits(profile)[2:] == [("mass", 150.0), ("light 90", 90.0)]


def test_another_statistic_is_another_requirement(tmp_path):
    own = '[[requirements]]\nname = "tail"\nstatistic = "p99"\nlimit = 6.0\n'
    profile = _load(tmp_path, f'name = "mine"\nextends = "base.toml"\n{own}')
    assert _limits(profile)[-1] == ("tail", 6.0)
    assert len(profile.requirements) == 4


def test_without_drops_by_name(tmp_path):
    profile = _load(tmp_path, 'name = "mine"\nextends = "base.toml"\nwithout = ["power", "mass"]\n')
    assert _limits(profile) == [("latency", 4.42)]


def test_the_file_is_sought_beside_the_extending_one(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "deep" / "mine.toml").write_text('name = "mine"\nextends = "../base.toml"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert len(load_profile("../deep/mine.toml").requirements) == 3


def test_a_shipped_profile_is_extended_by_its_name(tmp_path):
    profile = _load(tmp_path, 'name = "mine"\nextends = "disco-realtime"\nwithout = ["size"]\n')
    shipped = load_profile("disco-realtime")
    assert profile.requirements == tuple(entry for entry in shipped.requirements if entry.name != "size")


def test_what_is_wrong_names_the_file_in_which_it_stands(tmp_path):
    (tmp_path / "wrong.toml").write_text(BASE.replace("limit = 5.0", "limit = -5.0"))
    message = _refused(tmp_path, 'name = "mine"\nextends = "wrong.toml"\n')
    assert f"mine.toml (extends {tmp_path / 'wrong.toml'}): requirement 'power': limit -5.0" in message


def test_an_inherited_name_is_not_given_away_again(tmp_path):
    own = '[[requirements]]\nname = "mass"\nquantity = "load_s"\nlimit = 1.0\n'
    assert "two requirements are called 'mass'" in _refused(
        tmp_path, f'name = "mine"\nextends = "base.toml"\n{own}'
    )


def test_two_own_requirements_on_one_thing_stay_a_contradiction(tmp_path):
    own = "".join(f'[[requirements]]\nname = "p{n}"\nstatistic = "p99"\nlimit = {n}\n' for n in (1, 2))
    assert "both limit the p99 of image_s" in _refused(
        tmp_path, f'name = "mine"\nextends = "base.toml"\n{own}'
    )


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('extends = "disco-artic"', "did you mean 'disco-arctic'"),
        ('extends = "none.toml"', "No such file"),
        ("extends = 3", "extends: 3 is not taken\nwrite extends"),
        ('extends = ""', "extends: '' is not taken\nwrite extends"),
        ('extends = "a\\u0000b.toml"', "cannot be read"),
        ('extends = "base.toml"\nwithout = "mass"', "without: 'mass' is not taken\nwrite without ="),
        ('extends = "base.toml"\nwithout = ["mas"]', "base.toml\ndid you mean 'mass'"),
        ('extends = "base.toml"\nwithout = ["latency", "power", "mass"]', "requirements"),
        (
            'without = ["mass"]',
            "without: ('mass',) is not taken\nwrite without = [\"mass\"], next to `extends`",
        ),
        ('extends = "base.toml"\nrequirements = 3', "requirements = 3"),
        ('extends = "typo.toml"', "typo.toml): unknown key 'requirments'\ndid you mean 'requirements'"),
        ('extends = "newer.toml"', "newer.toml: schema_version: 2 is not known"),
    ],
)
def test_what_cannot_be_extended(head, expected, tmp_path):
    (tmp_path / "typo.toml").write_text(BASE.replace('[[requirements]]\nname = "mass"', "[[requirments]]"))
    (tmp_path / "newer.toml").write_text("schema_version = 2\n" + BASE)
    assert expected in _refused(tmp_path, f'name = "mine"\n{head}\n')


def test_of_a_chain_the_files_are_named_with_what_to_do(tmp_path):
    (tmp_path / "middle.toml").write_text('name = "middle"\nextends = "base.toml"\n')
    with pytest.raises(UsageError) as caught:
        _load(tmp_path, 'name = "mine"\nextends = "middle.toml"\n')
    middle = tmp_path / "middle.toml"
    assert caught.value.what == (
        f"profile {tmp_path / 'mine.toml'} extends {middle}, which extends another profile"
    )
    assert "inherits from one profile" in caught.value.why
    assert f"take `extends` out of {middle}" in caught.value.fix


@pytest.mark.parametrize("name", [profile.name for profile in shipped_profiles()])
def test_every_shipped_profile_can_be_extended(name, tmp_path):
    assert _load(tmp_path, f'name = "mine"\nextends = "{name}"\n').judged == load_profile(name).judged


@pytest.mark.attack("profiles that extend one another in a circle: refused")
def test_a_circle_is_refused(tmp_path):
    (tmp_path / "other.toml").write_text('name = "other"\nextends = "mine.toml"\n')
    assert "which extends another" in _refused(tmp_path, 'name = "mine"\nextends = "other.toml"\n')


@pytest.mark.attack("a profile that extends itself by a link of another name: refused")
def test_a_link_to_itself_is_a_circle(tmp_path):
    os.symlink(tmp_path / "mine.toml", tmp_path / "link.toml")
    assert "which extends another" in _refused(tmp_path, 'name = "mine"\nextends = "link.toml"\n')


@pytest.mark.attack("a chain of hundreds of profiles: refused at the second file")
def test_a_long_chain_is_refused(tmp_path):
    for n in range(300):
        (tmp_path / f"{n}.toml").write_text(f'name = "x"\nextends = "{n + 1}.toml"\n')
    with pytest.raises(UsageError, match="which extends another"):
        load_profile(str(tmp_path / "0.toml"))


def test_a_document_knows_where_each_requirement_stands(tmp_path):
    own = '[[requirements]]\nname = "peak"\nquantity = "power_peak_w"\nlimit = 6.0\n'
    _load(tmp_path, f'name = "mine"\nextends = "base.toml"\n{own}')
    document = document_of(str(tmp_path / "mine.toml"))
    places = [(os.path.basename(origin.where), number) for origin, number in map(document.origin, range(3))]
    assert places == [("base.toml", 0), ("mine.toml", 0), ("base.toml", 2)]
