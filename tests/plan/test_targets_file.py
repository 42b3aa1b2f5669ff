"""The targets file: what it takes, and how a bad one is refused."""

import re
from pathlib import Path

import pytest

from edgebench.errors import UsageError
from edgebench.records.target import DeclaredPower
from edgebench.run import targets_file
from edgebench.run.targets_file import DeclaredTarget, read_targets

WHOLE = """
schema_version = 1

[[targets]]
name = "nano"
device = "cpu"
host = "someone@nano.local:2222"
python = "/usr/bin/python3.8"
launch = { env = { OMP_NUM_THREADS = "2", EMPTY = "" }, prefix = ["nice", "-n", "-5"], affinity = [2, 3] }
options = { threads = 2 }
power_mode = 0
meters = ["rapl"]
mass_g = 138
size_mm = [100, 80.5, 29]

[[targets]]
name = "here"
device = "cpu"
"""
PATH = Path("targets.toml")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def parsed(text):
    PATH.write_text(text)
    return read_targets(PATH).targets


def test_a_syntax_error_is_to_be_mended_and_a_file_that_is_not_there_to_be_named():
    with pytest.raises(UsageError) as caught:
        parsed("targets = [")
    assert caught.value.fix == "mend that line"
    with pytest.raises(UsageError) as caught:
        read_targets(Path("nowhere.toml"))
    assert caught.value.fix == "name another --targets-file"


def one(line):
    return f'[[targets]]\nname = "nano"\ndevice = "cpu"\n{line}\n'


def power(figure):
    return one(f"declared_power = {{ {figure} }}")


MAXIMUM = '{ watts = 9, kind = "maximum", source = "label" }'


def test_declared_power_is_a_figure_or_a_list_of_one_of_each_kind():
    [nano] = parsed(one(f"declared_power = {MAXIMUM}"))
    assert [figure.power for figure in nano.declared_power] == [DeclaredPower(9.0, "maximum", "label")]
    [nano] = parsed(one(f"declared_power = [{MAXIMUM}, {MAXIMUM.replace('maximum', 'typical')}]"))
    assert [figure.kind for figure in nano.declared_power] == ["maximum", "typical"]


def test_a_whole_file():
    nano, here = parsed(WHOLE)
    assert (nano.name, nano.device, nano.host) == ("nano", "cpu", "someone@nano.local:2222")
    assert nano.python == "/usr/bin/python3.8"
    assert nano.launch.env == {"OMP_NUM_THREADS": "2", "EMPTY": ""}
    assert nano.launch.prefix == ("nice", "-n", "-5")
    assert nano.launch.affinity == (2, 3)
    assert nano.options == {"threads": 2}
    assert (nano.power_mode, nano.meters) == ("0", ("rapl",))
    assert (nano.mass_g, nano.size_mm) == (138.0, (100.0, 80.5, 29.0))
    assert (here.host, here.python, here.power_mode, here.mass_g, here.size_mm) == (None,) * 5


def test_the_documented_example_is_one():
    readme = (Path(__file__).parents[2] / "docs" / "boards.md").read_text()
    [example] = [
        block for block in re.findall(r"```toml\n(.*?)```", readme, re.DOTALL) if "[[targets]]" in block
    ]
    [nano] = parsed(example)
    assert set(DeclaredTarget.model_fields) == nano.model_fields_set


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[targets]", "not TOML"),
        ("\x00", "not TOML"),
        ("mass_g = " + "9" * 5000, "not TOML"),
        ("boards = []", "'boards' is no key"),
        ("schema_version = 2", "schema version 2"),
        ("targets = 1", "no list of tables"),
        ("targets = [1]", "no list of tables"),
        ('[[targets]]\nname = "nano"', "target 'nano': device is missing"),
        ('[[targets]]\ndevice = "cpu"', "target number 1: name is missing"),
        (one("weight = 3"), "target 'nano': unknown key 'weight'"),
        (one("launch = { nice = 3 }"), "launch: unknown key 'nice'"),
        (one('launch = { env = { "A=B" = "c" } }'), "launch.env"),
        (one("launch = { affinity = [-1] }"), "launch.affinity"),
        (one('launch = { affinity = ["7"] }'), "launch.affinity"),
        (one("launch = { affinity = [true] }"), "launch.affinity"),
        (one("mass_g = 0"), "mass_g"),
        (one("mass_g = inf"), "mass_g"),
        (one("mass_g = 'heavy'"), "mass_g: 'heavy' is not a number"),
        (one("size_mm = [1, 2]"), "size_mm"),
        (one("size_mm = [1, 2, 1e300]"), "size_mm, third number: 1e+300 is not at most 1e+09"),
        (one("size_mm = [1, 2, -3]"), "size_mm, third number: -3 is not above 0"),
        (one("host = '-oProxyCommand=true'"), "host"),
        (one("host = 'board name'"), "host"),
        (one("host = 'a@b:99999'"), "host"),
        (one("declared_power = 5"), "declared_power: 5 is not a list"),
        (power("watts = 5, kind = 'maximum'"), "source is missing"),
        (power("watts = 5, kind = 'peak', source = 'x'"), "kind: 'peak' is not known"),
        (power("watts = 0, kind = 'maximum', source = 'x'"), "watts: 0 is not above 0"),
        (power("watts = nan, kind = 'maximum', source = 'x'"), "watts"),
        (power("watts = 5000, kind = 'maximum', source = 'x'"), "watts: 5000 is not at most 2000"),
        (power("watts = '5kW', kind = 'maximum', source = 'x'"), "watts: '5kW' is not a number"),
        (power("watts = true, kind = 'maximum', source = 'x'"), "watts: True is not a number"),
        (power("watts = 5, kind = 'maximum', source = ''"), "source"),
        (power("watts = 5, kind = 'maximum', source = 'x', mode = '5W'"), "unknown key 'mode'"),
        (one(f"declared_power = [{MAXIMUM}, {MAXIMUM}]"), "two figures of kind 'maximum'"),
        (one("boot_s = 25"), "boot_s: 25 is not a table"),
        (one("boot_s = { value = 25 }"), "source is missing"),
        (one("boot_s = { value = 25, kind = 'usual', source = 'x' }"), "kind: 'usual' is not known"),
        (one("boot_s = { value = '25 s', source = 'x' }"), "value: '25 s' is not a number"),
        (one("python = '--version'"), "python: a path or a name of a Python does not"),
        (one("python = 'a\\u0000b'".replace("'", '"')), "python"),
        (one("meters = 'rapl'"), "meters: 'rapl' is not a list"),
        (one("power_mode = true"), "power_mode"),
        (one("set_power_mode = true"), "set_power_mode does not say which"),
        (one("power_mode = 0\nset_power_mode = 'yes'"), "set_power_mode: 'yes'"),
        (one("options = 3"), "options"),
        ('[[targets]]\nname = "../up"\ndevice = "cpu"', "name"),
        (one("") + one(""), "two targets 'nano'"),
    ],
)
def test_what_does_not_fit_is_named_with_the_file_and_the_fix(text, message):
    with pytest.raises(UsageError) as caught:
        parsed(text)
    assert message in caught.value.what
    assert "targets.toml" in caught.value.what
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (one("size_mm = [1, 2]"), "size_mm = [100.0, 80.0, 29.0]"),
        (one("size_mm = [1, 2, -3]"), "size_mm = [100.0, 80.0, 29.0]"),
        (one("launch = { affinity = [-1] }"), "affinity = [0, 1]"),
        (one('launch = { env = { "A=B" = "c" } }'), "env = { NAME = 'value' }"),
        (one("meters = 'rapl'"), "meters = ['rapl']"),
        (one("declared_power = 5"), "declared_power = { watts = 9.5, kind = 'maximum', source = "),
        (one(f"declared_power = [{MAXIMUM.replace('9', '-9')}]"), "write watts, such as watts = 9.5"),
        (one('python = "a\\u0000b"'), "without control characters"),
        ('[[targets]]\nname = "../up"\ndevice = "cpu"', "up to 40 letters"),
    ],
)
def test_the_fix_is_the_form_of_the_key(text, fix):
    with pytest.raises(UsageError) as caught:
        parsed(text)
    assert fix in caught.value.fix


def test_too_many_and_too_large_are_refused(tmp_path):
    with pytest.raises(UsageError) as caught:
        parsed("".join(f'[[targets]]\nname = "t{number}"\ndevice = "cpu"\n' for number in range(201)))
    assert "201 targets" in caught.value.what
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * ((1 << 18) + 1))
    with pytest.raises(UsageError, match="256 KiB"):
        read_targets(large)


def test_the_working_folder_comes_before_the_users(tmp_path, monkeypatch):
    users = tmp_path / "config" / "targets.toml"
    monkeypatch.setattr(targets_file, "user_file", lambda: users)
    monkeypatch.chdir(tmp_path)
    assert read_targets().path is None
    with pytest.raises(UsageError, match="'nano'") as caught:
        read_targets().named(["nano"])
    assert "--host" in caught.value.fix
    users.parent.mkdir()
    users.write_text(WHOLE)
    assert read_targets().path == users
    Path("targets.toml").write_text(one(""))
    assert [target.name for target in read_targets().targets] == ["nano"]
    with pytest.raises(UsageError, match=r"other\.toml"):
        read_targets(tmp_path / "other.toml")


def test_an_unknown_name_is_refused_with_the_closest(tmp_path):
    path = tmp_path / "targets.toml"
    path.write_text(WHOLE)
    targets = read_targets(path)
    assert [target.name for target in targets.named(["here", "nano", "here"])] == ["here", "nano"]
    with pytest.raises(UsageError) as caught:
        targets.named(["nan"])
    assert "did you mean 'nano'" in caught.value.fix
