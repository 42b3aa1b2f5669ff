import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.units import fitting_units, measured, one_measured


def _requirement(quantity, limit, **more):
    return Requirement.model_validate({"name": "r", "quantity": quantity, "limit": limit, **more})


def _refused(quantity, limit, **more):
    with pytest.raises(ValidationError) as caught:
        _requirement(quantity, limit, **more)
    context = caught.value.errors()[0]["ctx"]
    return f"{context['what']}\n{context['fix']}"


@pytest.mark.parametrize(
    ("quantity", "text", "limit", "unit"),
    [
        ("image_s", "4.42 s", 4.42, "s"),
        ("image_s", "4.42s", 4.42, "s"),
        ("image_s", "4420 ms", 4420.0, "ms"),
        ("image_s", "95.65 min", 5739.0, "s"),
        ("image_s", "1 d", 86400.0, "s"),
        ("image_s", "250 µs", 250e-6, "s"),
        ("power_peak_w", "5 W", 5.0, "W"),
        ("power_peak_w", "500 mW", 500.0, "mW"),
        ("power_mean_w", "0.001 kW", 1.0, "W"),
        ("energy_j", "2 kJ", 2000.0, "J"),
        ("energy_j", "1 mWh", 3.6, "J"),
        ("mass_g", "150 g", 150.0, "g"),
        ("mass_g", "2e-1 kg", 0.2, "kg"),
        ("memory_bytes", "8 MB", 8.0, "MB"),
        ("memory_bytes", "2 GiB", 2.0, "GiB"),
        ("memory_bytes", "64 Mbit", 8e6, "bytes"),
        ("accuracy", "95 %", 95.0, "%"),
        ("size_mm", "65 x 30 x 8 mm", (65.0, 30.0, 8.0), "mm"),
        ("size_mm", "6.5 × 3 × 0.8 cm", (6.5, 3.0, 0.8), "cm"),
        ("size_mm", "6.5 cm x 30 mm x 0.008 m", (65.0, 30.0, 8.0), "mm"),
        ("power_peak_w", "3 Watt", 3.0, "W"),
        ("power_peak_w", "750 milliwatts", 750.0, "mW"),
        ("mass_g", "200 grams", 200.0, "g"),
        ("mass_g", "1 kilogram", 1.0, "kg"),
        ("accuracy", "93 percent", 93.0, "%"),
        ("accuracy", "93 per cent", 93.0, "%"),
        ("image_s", "2 minutes", 120.0, "s"),
        ("image_s", "40 millisecond", 40.0, "ms"),
        ("energy_j", "5 Joules", 5.0, "J"),
        ("size_mm", "65 x 30 x 8 millimetres", (65.0, 30.0, 8.0), "mm"),
    ],
)
def test_a_limit_with_its_unit(quantity, text, limit, unit):
    requirement = _requirement(quantity, text)
    assert requirement.limit == pytest.approx(limit, rel=1e-12)
    assert requirement.unit == unit


def test_every_unit_of_every_quantity_reads_as_what_the_catalogue_says():
    for name, metric in required_metrics().items():
        for unit, scale in metric.units.items():
            if unit == "1":
                continue
            values, read = measured(f"3 {unit}", metric.units, name)
            assert (values, read) == ((3.0,), unit)
            if metric.unit != "1":
                converted, _ = measured(f"3 {unit}", {metric.unit: 1.0}, name)
                assert converted == pytest.approx((3 * scale,))


def test_a_unit_that_is_stated_twice_alike_is_one():
    assert _requirement("power_peak_w", "500 mW", unit="mW").limit == 500.0


@pytest.mark.parametrize(
    ("quantity", "text", "expected"),
    [
        ("power_peak_w", "5 g", "g is a mass, and power_peak_w is a power\nwrite it in W, mW, kW"),
        ("image_s", "5 m", "m is a length, and image_s is a time\nwrite it in s, ms"),
        ("energy_j", "5 W", "W is a power, and energy_j is an energy\nwrite it in J, mJ, kJ, Wh"),
        ("mass_g", "5 °C", "unknown unit"),
        ("memory_bytes", "5 bit/s", "bit/s is a data rate, and memory_bytes is an amount of data"),
        ("accuracy", "1 s", "s is a time, and accuracy is a share\nwrite it in %"),
        ("power_peak_w", "5 w", "unknown unit 'w'"),
        ("memory_bytes", "8 KB", "unknown unit 'KB'\ndid you mean 'kB'"),
        ("memory_bytes", "8 Mb", "unknown unit 'Mb'\ndid you mean 'MB'"),
        ("image_s", "5 sek", "unknown unit 'sek'"),
        ("image_s", "5 __class__", "is not a number with a unit"),
        ("image_s", "4,42 s", "may divide thousands or be the decimal point"),
        ("image_s", "4.42", "'4.42' has no unit\nwrite one with its unit, such as '4.42 s'"),
        ("image_s", "s", "is not a number with a unit"),
        ("image_s", "", "is not a number with a unit"),
        ("image_s", "< 5 s", "is not a number with a unit"),
        ("image_s", "9**9**9 s", "is not a number with a unit"),
        ("image_s", "1 s" + " " * 200, "is too long"),
        ("image_s", "0 s", "limit 0.0 is not above 0"),
        ("image_s", "-1 ms", "limit -1.0 is not above 0"),
        ("image_s", "1 x 2 x 3 s", "does not fit image_s"),
        ("size_mm", "8 mm", "does not fit size_mm"),
        ("size_mm", "65 mm x 30 x 8", "has no unit"),
        ("size_mm", "65 x 30 g x 8 mm", "has no unit"),
        ("size_mm", "65 mm x 30 g x 8 mm", "g is a mass, and size_mm is a length"),
        ("accuracy", "95", "'95' has no unit\nwrite it with its unit: '95 %'"),
        ("accuracy", "0.95", "write a number without quotes, such as 6.0"),
    ],
)
def test_what_is_no_limit_of_the_quantity(quantity, text, expected):
    assert expected in _refused(quantity, text)


def test_a_text_and_another_unit_contradict_each_other():
    assert "limit '5 W' has its unit, and unit = 'mW'\nleave unit out" in _refused(
        "power_peak_w", "5 W", unit="mW"
    )


def test_units_of_two_units():
    assert measured("9.6 kbit/s", {"bit/s": 1.0}, "a rate") == ((9600.0,), "bit/s")


def test_one_number():
    assert one_measured("95.65 min", "s", "cycle", "1 s") == 5739.0
    with pytest.raises(PydanticCustomError, match="cycle '1 x 2 s' is not a number with its unit"):
        one_measured("1 x 2 s", "s", "cycle", "1 s")


@given(st.text("0123456789.eE+-x× smgWJBKMi%°/*,()_\n", max_size=30))
def test_any_text_is_a_limit_or_a_problem(text):
    for metric in required_metrics().values():
        try:
            values, unit = measured(text, metric.units, metric.name)
        except PydanticCustomError as error:
            assert error.context is not None
            assert error.context["fix"]
        else:
            assert values
            assert unit in metric.units


def test_profiles_and_their_units_are_read_without_statistics():
    code = (
        "import sys; from edgebench.judge.requirements.profile import load_profile, shipped_profiles\n"
        "shipped_profiles()\n"
        "from edgebench.judge.units import measured; measured('5 W', {'W': 1.0}, 'power')\n"
        "sys.exit(bool({'numpy', 'scipy', 'pandas'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_ratio_is_no_percentage_where_its_units_say_so():
    assert _requirement("slowdown", 1.2, unit="1").limit == 1.2
    assert fitting_units(required_metrics()["slowdown"].units) == ["1"]
    assert "slowdown has no unit: it is a ratio" in str(_refused("slowdown", "120 %"))
