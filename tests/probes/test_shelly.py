"""The probe of a Shelly on a loopback stand-in: generations, connections, gaps, answers of something else."""

import itertools
import json
import math
import re
import time

import pytest

from edgebench.probes import basics
from edgebench.probes.host import sampling, shelly
from tests.probes.host_samples import closing, sample_until
from tests.probes.shelly_plug import PLUG_S, PLUS_PLUG, PM_MINI, PRO_EM, StandIn, answer

READING = "/rpc/Switch.GetStatus?id=0"


@pytest.fixture(autouse=True)
def _brisk(monkeypatch):
    """A sample a second would be a test of minutes."""
    monkeypatch.setattr(shelly, "RATE_HZ", 100.0)
    monkeypatch.setattr(shelly, "ANSWER_S", 0.3)
    monkeypatch.setattr(sampling, "LOOK_S", 0.05)
    monkeypatch.setattr(basics, "CHUNK_S", 0.05)


@pytest.fixture
def plug():
    plugs = []

    def plugged_in(*arguments, **options):
        plugs.append(StandIn(*arguments, **options))
        return plugs[-1]

    yield plugged_in
    for each in plugs:
        each.unplug()


def opened(plug, options=""):
    return closing(shelly.open_probe(plug.address.partition(":")[2] + options))


def spoiling(*pieces, first=3, count=1):
    """Answers `count` requests from number `first` on with these pieces."""
    return lambda number, path: pieces if first <= number < first + count else None


@pytest.mark.parametrize(
    ("pages", "values"),
    [
        (PLUG_S, {"wall": 48.52}),
        (PLUS_PLUG, {"wall": 47.1, "voltage": 232.0, "current": 0.203}),
        (PM_MINI, {"wall": 12.3, "voltage": 230.1, "current": 0.101}),
        (PRO_EM, {"wall": 7.4, "voltage": 235.9, "current": 0.096}),
    ],
    ids=["generation 1", "generation 2", "generation 3 without a relay", "energy meter"],
)
@pytest.mark.parametrize("keeps", [True, False])
def test_generations(plug, pages, values, keeps):
    stand_in = plug(pages, keeps=keeps)
    with opened(stand_in) as probe:
        assert (probe.info["scope"], probe.info["averaging_ms"]) == ("wall", None)
        assert probe.info["resolution"].split("'")[1] in pages["/shelly"]
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 4)
    assert {name: set(column) for name, column in heard.columns.items()} == {
        name: {value} for name, value in values.items()
    }
    assert stand_in.connections == (1 if keeps else len(stand_in.paths))
    assert (probe.rejected, probe.outages) == ([], [])


def test_another_channel(plug):
    pages = {**PLUS_PLUG, "/rpc/Switch.GetStatus?id=2": PLUS_PLUG[READING].replace("47.1", "3.5")}
    pages["/rpc/Switch.GetStatus?id=2"] = pages["/rpc/Switch.GetStatus?id=2"].replace('"id":0', '"id":2')
    with opened(plug(pages), "?channel=2") as probe:
        assert set(sample_until(probe, lambda heard: True).columns["wall"]) == {3.5}


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        pytest.param(
            [answer("<!DOCTYPE html><html>")],
            "no JSON object .*<!DOCTYPE html>",
            marks=pytest.mark.attack("a plug answers with a page of HTML: a gap, and its first bytes"),
        ),
        pytest.param(
            [answer('{"id":0,"output":true}')],
            "no power of 0 to 4000 W",
            marks=pytest.mark.attack("a plug's answer has no power: a gap, never 0"),
        ),
        pytest.param(
            [answer('{"apower":NaN}')],
            "no power of 0 to 4000 W",
            marks=pytest.mark.attack("a plug's power is NaN: a gap"),
        ),
        pytest.param(
            [answer('{"apower":1e999}')],
            "no power of 0",
            marks=pytest.mark.attack("a plug's power is infinite: a gap"),
        ),
        pytest.param(
            [answer('{"apower":-47.1}')],
            "no power of 0 to 4000 W.*-47.1",
            marks=pytest.mark.attack("a plug's power is negative: a gap, and the reading is kept"),
        ),
        pytest.param(
            [answer('{"apower":true}')],
            "no power of 0",
            marks=pytest.mark.attack("a plug's power is no number: a gap"),
        ),
        pytest.param(
            [answer('{"id":1,"apower":1.0}')],
            "answered for channel 1",
            marks=pytest.mark.attack("a plug answers for another channel: a gap"),
        ),
        pytest.param(
            [answer('{"apower":1.0,"is_valid":false}')],
            "no power of 0",
            marks=pytest.mark.attack("a plug says that its reading is not valid: a gap"),
        ),
        pytest.param(
            [answer(b"[" * 16_000)],
            "no JSON object",
            marks=pytest.mark.attack("a plug answers with JSON of great depth: a gap"),
        ),
        pytest.param(
            [answer(b'{"apower":47.1,' + b" " * 100_000 + b'"a":1}')],
            "no JSON object of 16384 bytes",
            marks=pytest.mark.attack("a plug's answer is huge: it is read to 16 KiB, a gap"),
        ),
        pytest.param(
            [answer("", "302 Found", "Location: http://192.0.2.1/trap")],
            "status 302 .*192.0.2.1/trap",
            marks=pytest.mark.attack("a plug redirects to another host: that is not asked, a gap"),
        ),
        pytest.param(
            [b"\x00\xff garbage\r\n\r\n"],
            "garbage",
            marks=pytest.mark.attack("a plug answers in another protocol: a gap"),
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"],
            "headers",
            marks=pytest.mark.attack("a plug's answer has hundreds of headers: a gap"),
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n"],
            "non-negative",
            marks=pytest.mark.attack("a plug's answer has a chunk of negative size: a gap"),
        ),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"],
            "no JSON object",
            marks=pytest.mark.attack("a plug's answer ends in its middle: a gap, and the next one is read"),
        ),
    ],
)
def test_an_answer_that_is_none_is_a_gap(plug, pieces, why):
    with opened(plug(PLUS_PLUG, spoiling(*pieces))) as probe:
        heard = sample_until(probe, lambda heard: len(heard.readings("wall")) >= 4)
    assert (heard.gaps("wall"), len(probe.rejected), probe.outages) == (1, 1, [])
    assert set(heard.readings("wall")) == {47.1}
    assert re.search(why, probe.rejected[0])


@pytest.mark.attack("a plug's answer never ends, byte by byte: it is given up within its time, a gap")
@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_an_answer_without_end(plug, head):
    def drip():
        yield head
        for _ in itertools.count():
            time.sleep(0.02)
            yield b" "

    with opened(plug(PLUS_PLUG, lambda number, path: drip() if number == 3 else None)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.readings("wall")) >= 4)
    assert heard.gaps("wall") == 1 and "timed out" in probe.rejected[0]


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"


@pytest.mark.attack(
    "a plug sends lines without end, as fast as it can: it is given up within its time, a gap"
)
@pytest.mark.parametrize(
    ("head", "line", "why"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "timed out"),
        (CHUNKED, b"X: y\r\n", "timed out"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", "100 headers"),
    ],
    ids=["continues", "trailers", "headers"],
)
def test_lines_without_end(plug, head, line, why):
    flood = itertools.chain([head], itertools.repeat(line * 1000))
    with opened(plug(PLUS_PLUG, lambda number, path: flood if number == 3 else None)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.readings("wall")) >= 4)
    assert heard.gaps("wall") == 1 and why in probe.rejected[0]


@pytest.mark.attack("a plug is unplugged during a session and plugged in again: gaps, then it goes on")
def test_unplugged_and_plugged_in_again(plug):
    stand_in = plug(PLUS_PLUG)
    done: list[int] = []

    def enough(heard):
        if not done and len(heard.readings("wall")) >= 3:
            stand_in.unplug()
            done.append(len(heard.readings("wall")))
        elif len(done) == 1 and math.isnan(heard.columns["wall"][-1]):
            stand_in.plug_in()
            done.append(0)
        return len(done) == 2 and len(heard.readings("wall")) >= done[0] + 3

    with opened(stand_in) as probe:
        heard = sample_until(probe, enough)
    assert heard.gaps("wall") >= 1 and set(heard.readings("wall")) == {47.1}
    assert probe.outages[0] and probe.outages[1:] == [""]


def test_a_connection_that_the_plug_closed_meanwhile_is_opened_again(plug):
    stand_in = plug(PLUS_PLUG, spoiling(answer(PLUS_PLUG[READING]), count=1))
    with opened(stand_in) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 5)
    assert (stand_in.connections, heard.gaps("wall"), probe.rejected) == (2, 0, [])


@pytest.mark.parametrize(
    ("page", "status"),
    [
        pytest.param(
            PLUS_PLUG["/shelly"].replace('"auth_en":false', '"auth_en":true'),
            "200 OK",
            marks=pytest.mark.attack(
                "a plug asks for a password: it is refused, with how to switch that off"
            ),
        ),
        (PLUG_S["/shelly"].replace('"auth":false', '"auth":true'), "200 OK"),
        ("", "401 Unauthorized"),
    ],
)
def test_a_plug_with_a_password_is_refused(plug, page, status):
    with pytest.raises(basics.ProbeDenied, match="password") as caught:
        opened(plug(PLUS_PLUG, lambda number, path: [answer(page, status)]))
    assert (caught.value.step, "authentication off" in caught.value.fix) == ("permission", True)


@pytest.mark.attack("a plug asks for a password from some moment on: the meter ends with that reason")
def test_a_password_during_a_session_ends_it(plug):
    stand_in = plug(PLUS_PLUG, spoiling(answer("", "401 Unauthorized")))
    with opened(stand_in) as probe, pytest.raises(basics.ProbeDenied, match="password"):
        sample_until(probe, lambda heard: False)


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        ({}, "status 404"),
        ({"/shelly": "[1]"}, r"no JSON object.*\[1\]"),
        ({"/shelly": '{"router":"of the house"}'}, "not that of a Shelly.*of the house"),
        ({"/shelly": PLUS_PLUG["/shelly"]}, "Switch.GetStatus.*status 404.*PM1.GetStatus.*status 404"),
        ({**PLUS_PLUG, READING: '{"id":0,"output":true}'}, "no power of 0 to 4000 W"),
        ({**PLUS_PLUG, READING: '{"id":1,"apower":3.0}'}, "id=0 is answered for channel 1"),
        ({**PRO_EM, "/rpc/EM1.GetStatus?id=0": '{"id":1,"act_power":3.0}'}, "id=0 is answered for channel 1"),
        ({**PLUS_PLUG, READING: '{"apower":-3.0}'}, "no power of 0 to 4000 W.*-3.0"),
    ],
)
@pytest.mark.attack(
    "another device, or a relay that measures nothing, is named as a Shelly: refused by its answer"
)
def test_another_device_at_the_address(plug, pages, why):
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        opened(plug(pages))
    assert (caught.value.step, "--meter shelly:192.0.2.10" in caught.value.fix) == ("answer", True)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://192.0.2.10",
        "192.0.2.10/status",
        "user@192.0.2.10",
        "192.0.2.10:99999",
        "192.0.2.10?channel=x",
        "192.0.2.10?password=p",
        pytest.param(
            "192.0.2.10%0d%0aX: y",
            marks=pytest.mark.attack("a plug's address has a line break: it is refused before any request"),
        ),
        "a" * 64,
        "a..b",
        "192.0.2.10?channel=\u0661",
    ],
)
def test_what_is_no_address(address):
    with pytest.raises(basics.ProbeMissing) as caught:
        shelly.open_probe(address)
    assert (caught.value.step, "shelly:192.0.2.10" in caught.value.fix) == ("address", True)
    assert ("is no number from 0 to 99" in caught.value.reason) == ("?channel=" in address)


def test_nothing_at_the_address(plug):
    stand_in = plug(PLUG_S)
    stand_in.unplug()
    with pytest.raises(basics.ProbeMissing, match=r"cannot be read: .*refused") as caught:
        opened(stand_in)
    assert (caught.value.step, caught.value.denied) == ("device", False)


@pytest.mark.attack("a plug's model is a text of hundreds of characters: its beginning is kept, escaped")
def test_a_long_model(plug):
    pages = {**PLUS_PLUG, "/shelly": json.dumps({"gen": 2, "model": "\U0010ffff" * 300})}
    with opened(plug(pages)) as probe:
        assert 100 < len(probe.info["resolution"]) <= 200 and probe.info["resolution"].isprintable()
