"""Why outside data is refused: the place in plain words, the value, and the key that was meant."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from edgebench.refusals import form, form_at, in_words, names_at, problem, refusal
from edgebench.suggest import choose, short

_Name = Annotated[
    str, Field(pattern="^[a-z]+$", max_length=5, json_schema_extra=form("up to 5 small letters"))
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["abort", "hang"] = "abort"
    in_pass: int = Field(default=0, alias="pass")


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: _Name = "x"
    nick: _Name | None = None
    sizes: dict[_Name, tuple[_Name, int]] | None = Field(None, json_schema_extra=form("write sizes like ..."))
    code: Annotated[str, Field(pattern="^[0-9]+$")] = "1"
    pixels: bytes = b""
    size_mm: tuple[Annotated[float, Field(gt=0)], float, float] | None = None
    time: float | list[Annotated[list[float], Field(min_length=1)]] | None = None
    parts: tuple[_Part, ...] = ()
    by_name: dict[str, _Part] = {}
    flag: bool = False
    count: Annotated[int, Field(ge=1)] = 1
    limit: float

    @field_validator("flag")
    @classmethod
    def _never(cls, flag):
        if flag:
            raise ValueError("the flag is worn out")
        return flag

    @model_validator(mode="after")
    def _whole(self):
        if self.count == 13:
            raise problem("13 brings no luck", "write 12")
        return self


def refused(**document):
    document = {"limit": 1.0} | document
    with pytest.raises(ValidationError) as caught:
        _Document.model_validate(document)
    found = refusal(caught.value, document, _Document)
    return found.sentence(), found.fix


@pytest.mark.parametrize(
    ("document", "said", "fix"),
    [
        ({"size_mm": [1, 2, "x"]}, "size_mm, third number: 'x' is not a number", "such as 1.5"),
        ({"size_mm": [0, 2, 3]}, "size_mm, first number: 0 is not above 0", "above 0"),
        ({"size_mm": 3}, "size_mm: 3 is not a list", "[...]"),
        ({"size_mm": [1, 2]}, "size_mm: [1, 2] has too few entries", ""),
        ({"time": [[1.0], []]}, "time, second entry: [] does not have at least 1 entry", ""),
        ({"time": float("nan")}, "time: nan is not a finite number", "nan"),
        ({"parts": [{"kind": "hagn"}]}, "parts, first entry, kind: 'hagn' is not known", "mean 'hang'?"),
        ({"parts": [{}, {"when": 1}]}, "parts, second entry: unknown key 'when'", "known: kind, pass"),
        ({"by_name": {"a.b": {"pass": "x"}}}, "by_name.a.b.pass: 'x' is not a whole number", "such as 2"),
        ({"by_name": {"a\x1b": 3}}, "by_name.'a\\x1b': 3 is not a table", "{"),
        ({"code": 3}, "code: 3 is not text", "in quotes"),
        ({"name": 3}, "name: 3 is not text", "up to 5 small letters"),
        ({"name": "A"}, "name: 'A' does not have the form that is taken", "up to 5 small letters"),
        ({"name": "abcdef"}, "name: 'abcdef' does not have at most 5 characters", "up to 5 small letters"),
        ({"nick": "A"}, "nick: 'A' does not have the form that is taken", "up to 5 small letters"),
        ({"sizes": 3}, "sizes: 3 is not a table", "write sizes like ..."),
        ({"sizes": {"A": ["b", 1]}}, "sizes.A: 'A' does not have the form that is taken", "write sizes"),
        (
            {"sizes": {"a": ["B", 1]}},
            "sizes.a, first entry: 'B' does not have the form that is taken",
            "5 small letters",
        ),
        ({"sizes": {"a": ["b"]}}, "sizes.a: ['b'] has too few entries", "write sizes like ..."),
        ({"flag": "maybe"}, "flag: 'maybe' is not true or false", "without quotes"),
        ({"flag": True}, "flag: the flag is worn out", ""),
        ({"count": 0}, "count: 0 is not at least 1", "at least 1"),
        ({"count": 2.5}, "count: 2.5 is not a whole number", "write a whole number"),
        ({"count": 13}, "13 brings no luck", "write 12"),
        ({"limt": 2}, "unknown key 'limt'", "did you mean 'limit'? known: name, nick"),
    ],
)
def test_the_place_the_value_and_the_fix_are_said(document, said, fix):
    sentence, how = refused(**document)
    assert sentence == said
    assert fix in how


def test_neither_a_regular_expression_nor_the_words_of_the_validator_are_shown():
    assert refused(code="A") == ("code: 'A' does not have the form that is taken", "")
    assert refused(pixels=3) == ("pixels: 3 is not taken", "")


def test_the_form_of_a_value_is_that_of_the_nearest_field():
    assert form_at(_Document, ()) == form_at(_Document, ("count",)) == ""
    assert form_at(_Document, ("sizes",)) == form_at(_Document, ("sizes", "a")) == "write sizes like ..."
    assert form_at(_Document, ("sizes", "a", 0)) == form_at(_Document, ("nick",)) == "up to 5 small letters"


def test_a_misspelt_key_comes_before_what_it_leaves_missing():
    with pytest.raises(ValidationError) as caught:
        _Document.model_validate({"limt": 1.0})
    assert refusal(caught.value, {"limt": 1.0}, _Document).what == "unknown key 'limt'"
    with pytest.raises(ValidationError) as caught:
        _Document.model_validate({})
    missing = refusal(caught.value, {}, _Document)
    assert (missing.sentence(), missing.fix) == ("limit is missing", "add limit =")


def test_what_is_no_table_at_all():
    with pytest.raises(ValidationError) as caught:
        _Document.model_validate([1])
    assert refusal(caught.value, [1], _Document).sentence() == "[1] is not a table"


def test_places_in_words():
    assert in_words(("launch", "env")) == "launch.env"
    assert in_words(("a", 9, "b")) == "a, tenth entry, b"
    assert in_words(("a", 20)) == "a, entry 21"
    assert in_words(("a", 100), "number") == "a, number 101"
    assert in_words((0, "b")) == "first entry, b"


def test_the_keys_of_a_table_are_found_through_lists_dicts_and_alternatives():
    for place in (("parts", 0), ("by_name", "x")):
        assert names_at(_Document, place) == ["kind", "pass"]
    assert names_at(_Document, ("limit", "x")) == []


def test_values_from_outside_are_short_and_harmless():
    assert short("a\x1b[31m" + "b" * 100).startswith("'a\\x1b[31m") and len(short("b" * 100)) == 60
    assert choose("x", []) == "known: none"
