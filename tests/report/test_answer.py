import pytest

from edgebench.fit.profile import Profile
from edgebench.fit.verdict import judge
from edgebench.report.answer import sentences
from edgebench.vocabulary.declared_conditions import DeclaredTemperature
from tests.report import samples


@pytest.mark.parametrize("limit", [-30.0, 0.0, -273.0])
def test_a_temperature_that_is_missed_has_no_share_of_its_limit(limit: float) -> None:
    wanted = {"name": "cold", "quantity": "temperature_c", "statistic": "lowest", "limit": limit}
    profile = Profile.model_validate({"name": "mine", "requirements": [wanted]})
    trial = samples.summary(temperature_c=DeclaredTemperature(10.0, 50.0, "sheet"))
    [sentence] = sentences([trial], judge(trial, profile))
    assert "misses temperature_c lowest" in sentence and "°C" in sentence
    assert "of it" not in sentence
