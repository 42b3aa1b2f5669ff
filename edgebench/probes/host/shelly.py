"""Shelly: a plug or relay that meters the mains, by its local HTTP interface, once a second.

Sources: the maker's documents of both interfaces. `/shelly` needs no password; it has the generation (`gen`;
the first has `type` instead) and whether all else needs one (`auth`, `auth_en`). Generation 1: `/meter/N`, or
`/emeter/N` without a relay, has `power` in W and `is_valid`. Later ones: `/rpc/Switch.GetStatus?id=N`, or
`/rpc/PM1.GetStatus?id=N` without a relay, has `apower` in W, `voltage` in V and `current` in A, each the last
that was measured; `/rpc/EM1.GetStatus?id=N` of an energy meter has `act_power` instead. `id` is the channel.
How often that is, and what it is the mean over, is not documented; other firmware for the same plugs
(shelly-homekit, issue 1037) reads their meter once a second.
"""

import json
import re
import socket
import time
from http.client import HTTPConnection, HTTPException
from typing import Any, Dict, List

from ..basics import ADDRESS, ANSWER, ProbeDenied, ProbeMissing, Samples, now_ns, split_options
from .sampling import CURRENT, SHOWN, VOLTAGE, PluggedMeter, power_channel

PLACE = "host"
RATE_HZ = 1.0
ANSWER_S = 1.0
MOST_BYTES = 1 << 14
MOST_W = 4000.0
READ = {"wall": ("apower", MOST_W), "voltage": ("voltage", 500.0), "current": ("current", 20.0)}
EXAMPLE = "shelly:192.0.2.10"
PLUG = re.compile(r"([\w-]{1,63}(\.[\w-]{1,63}){0,8}|\[[0-9a-f:.]{2,45}\])(:[1-5]?\d{1,4})?", re.A | re.I)
FIRST = ("/meter/{}", "/emeter/{}")
LATER = ("/rpc/Switch.GetStatus?id={}", "/rpc/PM1.GetStatus?id={}", "/rpc/EM1.GetStatus?id={}")
FIX = (
    "name a Shelly that measures what a device draws, where this machine reaches it, such as --meter "
    + EXAMPLE
)


class Unexpected(HTTPException):
    """An answer that is not such a meter's, in words."""


class BoundedSocket(socket.socket):
    """A connection whose reads all end at one moment, on time.monotonic, however slowly bytes come."""

    end_s = 0.0

    def recv_into(self, *arguments: Any) -> int:
        """As that of a socket; socket.timeout from that moment on."""
        left_s = self.end_s - time.monotonic()
        if left_s <= 0:  # also where bytes are there: they may never end
            raise socket.timeout("timed out")
        self.settimeout(left_s)
        return super(BoundedSocket, self).recv_into(*arguments)


class Link(HTTPConnection):
    """The connection to a plug, opened by the first request and kept where the plug keeps it."""

    sock: Any

    def connect(self) -> None:
        """Connect, within the timeout."""
        super(Link, self).connect()
        self.sock = BoundedSocket(fileno=self.sock.detach())

    def get(self, path: str) -> Dict[str, Any]:
        """The JSON object there; HTTPException for any other answer, OSError without one in time."""
        was_kept = self.sock is not None
        try:
            self.request("GET", path)
            self.sock.end_s = time.monotonic() + ANSWER_S
            answer = self.getresponse()
            body = answer.read(MOST_BYTES + 1)
        except (HTTPException, OSError) as error:
            self.close()
            if was_kept and isinstance(error, ConnectionError):  # the plug had closed it meanwhile
                return self.get(path)
            raise
        except ValueError as error:  # a chunk of negative size
            self.close()
            raise Unexpected(str(error)[:SHOWN]) from None
        if not answer.isclosed():  # there is more of it
            self.close()
        try:
            document = json.loads(body) if answer.status == 200 else None
        except (ValueError, RecursionError):
            document = None
        found: Dict[str, Any] = document if isinstance(document, dict) else {}
        if answer.status == 401 or found.get("auth") or found.get("auth_en"):
            self.close()
            raise ProbeDenied(
                "{} asks for a password, and EdgeBench sends none".format(self.host),
                "switch the plug's authentication off for as long as it is the meter",
            )
        if not found:
            place = answer.getheader("Location") or body[:SHOWN]
            words = "{} gives status {} and no JSON object of {} bytes: {!r}"
            raise Unexpected(words.format(path, answer.status, MOST_BYTES, place)[:SHOWN])
        return found

    def reading(self, path: str) -> Dict[str, float]:
        """Power, and voltage and current as far as they are there; HTTPException without power."""
        document = self.get(path)
        document.setdefault("apower", document.get("act_power", document.get("power")))
        channel = path.partition("?id=")[2]
        if channel and document.get("id", int(channel)) != int(channel):
            raise Unexpected("{} is answered for channel {}".format(path, document["id"])[:SHOWN])
        numbers = {
            channel: float(document[name])
            for channel, (name, most) in READ.items()
            if type(document.get(name)) in (int, float) and 0 <= document[name] <= most
        }
        if "wall" not in numbers or document.get("is_valid", True) is not True:
            words = "{} has no power of 0 to {:g} W: {}"
            raise Unexpected(words.format(path, MOST_W, json.dumps(document))[:SHOWN])
        return numbers


class ShellyProbe(PluggedMeter):
    """Power that the plug gives, with voltage and current where it has them.

    Args:
        info: what it says of itself.
        link: to the plug.
        path: of its readings.
    """

    def __init__(self, info: Dict[str, Any], link: Link, path: str) -> None:
        super(ShellyProbe, self).__init__(info, link)
        self._plug = link
        self._path = path
        self._due_s = time.monotonic()  # of the next request

    def _open(self) -> Link:
        return self._plug  # its next request connects

    def _converse(self, link: Link, samples: Samples, end_s: float) -> None:
        now_s = time.monotonic()
        if now_s < self._due_s:
            self._wait(min(self._due_s, end_s))
            return
        self._due_s = max(self._due_s + 1 / RATE_HZ, now_s)
        asked_ns = now_ns()
        try:
            reading = link.reading(self._path)
        except (HTTPException, socket.timeout) as error:
            self._miss(str(error), samples)
            return
        self._hear()
        samples.add((asked_ns + now_ns()) // 2, reading)


def open_probe(address: str) -> ShellyProbe:
    """The probe of `shelly:HOST:PORT?channel=N`; port 80 and channel 0 where they are not stated."""
    place, options = split_options(address, ("channel",), EXAMPLE)
    channel = options.get("channel", "0")
    if not PLUG.fullmatch(place):
        raise ProbeMissing("{!r} is no address of a plug".format(address), FIX, ADDRESS)
    if not re.match(r"[0-9]{1,2}\Z", channel):
        what = "channel={!r} is no number from 0 to 99".format(channel)
        raise ProbeMissing(what, "write it like --meter {}?channel=1".format(EXAMPLE), ADDRESS)
    link = Link(place, timeout=ANSWER_S)
    failures: List[str] = []
    try:
        about = link.get("/shelly")
        if "gen" not in about and "type" not in about:
            raise Unexpected("/shelly is not that of a Shelly: {}".format(json.dumps(about))[:SHOWN])
        for path in [path.format(channel) for path in (LATER if "gen" in about else FIRST)]:
            try:
                link.reading(path)
                break
            except Unexpected as error:
                failures.append(str(error))
        else:
            raise Unexpected("; ".join(failures))
    except (HTTPException, OSError) as error:
        link.close()
        step = ANSWER if isinstance(error, HTTPException) else ""
        raise ProbeMissing("{} cannot be read: {}".format(place, error), FIX, step) from None
    model = str(about.get("model") or about.get("type"))[:15]  # each may take an escape of ten characters
    info = {
        "kind": "shelly",
        "address": address,
        "rate_hz": RATE_HZ,
        "averaging_ms": None,
        "resolution": "{!r}: as it rounds, to 0.01 W at best".format(model),
        "scope": "wall",
        "channels": [power_channel("wall", MOST_W)] + ([VOLTAGE, CURRENT] if "gen" in about else []),
    }
    return ShellyProbe(info, link, path)
