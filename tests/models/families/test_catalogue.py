import pytest

from edgebench.errors import UsageError
from edgebench.prepare import families as catalogue
from edgebench.prepare.families import random_identity
from edgebench.prepare.shipped import has_shipped


@pytest.mark.parametrize(
    ("name", "width", "million"),
    [
        # Howard 2017, Sandler 2018, Howard 2019, Tan and Le 2019, He 2015: tables of the papers.
        ("mobilenet_v1", 0.25, 41),
        ("mobilenet_v1", 0.5, 149),
        ("mobilenet_v1", 1.0, 569),
        ("mobilenet_v2", 1.0, 300),
        ("mobilenet_v2", 1.4, 585),
        ("mobilenet_v3_small", 1.0, 56),
        ("mobilenet_v3_small", 0.75, 44),
        ("mobilenet_v3_large", 1.0, 219),
        ("mobilenet_v3_large", 0.75, 155),
        ("efficientnet_b0", None, 390),
        ("resnet50", None, 3_800),
    ],
)
def test_multiply_accumulates_are_the_published_ones(name: str, width: float | None, million: int):
    # Published ones are of 1,000 classes, and some count a little more than products.
    assert catalogue.spec(name).macs(width) / 1e6 == pytest.approx(million, rel=0.04)


def test_a_family_says_which_widths_it_has():
    assert catalogue.known()[0] == "mobilenet_v1"
    assert catalogue.spec("mobilenet_v2").width(None) == 1.0
    assert catalogue.spec("resnet50").width(None) is None
    assert catalogue.spec("resnet50").width(1.0) is None
    with pytest.raises(UsageError) as caught:
        catalogue.spec("resnet50").width(0.5)
    assert "one width only" in caught.value.why
    with pytest.raises(UsageError) as caught:
        catalogue.spec("mobilenet_v2").width(0.3)
    assert "0.35" in caught.value.fix
    with pytest.raises(UsageError) as caught:
        catalogue.spec("mobilenetv2")
    assert "did you mean 'mobilenet_v2'" in caught.value.fix


def test_every_width_has_its_figures():
    for name in catalogue.known():
        family = catalogue.spec(name)
        assert set(family.figures) == set(family.widths or (None,))
        assert all(catalogue.macs_of(name, width) == macs for width, (_, macs) in family.figures.items())
    assert catalogue.macs_of("tower-1a2b3c4d", None) is None
    assert catalogue.macs_of("resnet50", 1.0) is None


def test_random_weights_are_known_by_what_decides_them():
    one = random_identity("mobilenet_v2", 1.0, 5)
    assert len(one) == 64
    assert one == random_identity("mobilenet_v2", 1.0, 5)
    assert len({one, random_identity("mobilenet_v2", 0.5, 5), random_identity("mobilenet_v2", 1.0, 10)}) == 3
    assert has_shipped("mobilenet_v1", 0.25)
    assert not has_shipped("mobilenet_v2", 1.0)
    assert not has_shipped("mobilenet_v1", None)
