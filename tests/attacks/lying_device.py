"""A device in this process, honest but for its lies, and whole sessions on it."""

import itertools
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from edgebench.agent.frames import Frame
from edgebench.errors import SessionError
from edgebench.link.agent_session import AgentSession
from edgebench.link.session_loop import Timeouts
from edgebench.link.worker import Board
from edgebench.records.session import LoadBursts, MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.run.measuring.session_record import Gathered, take_in
from tests.fakes import made_artifact, made_scene

S = 1_000_000_000
OFFSET_NS = 5_000 * S
WARM_UP = 20
BURSTS = LoadBursts(1.0, (0.5, 1.1, 0.7))


class Time:
    """The host's, which goes on at every look and whenever the device works."""

    def __init__(self):
        self.now_ns = 1_000 * S

    def monotonic_ns(self):
        self.now_ns += 1_000
        return self.now_ns


class Device:
    """An agent and its worker in this process, as a connection and as a placer: honest but for its lies.

    Args:
        time: the host's.
        rate: of its clock against the host's.
        tick_ns: the steps in which its clock moves.
        lies: by operation, what to do with the reply and its stamps (int64 [batches, 3, 2]).
        before: by operation, what befalls device or link when it is asked for.
    """

    def __init__(self, time, rate=1.0, lies=None, before=None, tick_ns=1):
        self.time, self.rate, self.tick_ns = time, rate, tick_ns
        self.lies, self.before = lies or {}, before or {}
        self.ahead_ns = OFFSET_NS
        self.asked = []

    def clock(self):
        self.time.now_ns += 1_000
        now_ns = self.ahead_ns + int(self.time.now_ns * self.rate)
        return now_ns - now_ns % self.tick_ns

    def run(self, batches):
        """Start, end and stamps of so many batches; 1 ms each stage."""
        start = self.clock()
        stamps = np.zeros((batches, 3, 2), np.int64)
        for batch, stage in itertools.product(range(batches), range(3)):
            stamps[batch, stage, 0] = self.clock()
            self.time.now_ns += 1_000_000
            stamps[batch, stage, 1] = self.clock()
        return start, self.clock(), stamps

    def answer(self, operation):
        scored = {"shape": [2, 2]}
        if operation == "load":
            self.time.now_ns += S
            took = {"import_s": 0.1 * self.rate or None, "load_s": 0.2 * self.rate or None}
            took |= {"own_time": False, "after_load_bytes": 10, "ready_s": 0.4 * self.rate or None}
            return {**took, "runtime": {}, "numpy": "1", "stages": ["patchify", "preprocess", "infer"]}, b""
        if operation == "golden":
            _, _, stamps = self.run(2)
            return {
                **scored,
                "first_inference_ns": int(stamps[0, 2, 1] - stamps[0, 2, 0]) or None,
                "first_result_ns": int(stamps[0, 2, 1] - stamps[0, 0, 0]) or None,
            }, bytes(16)
        if operation == "burst":
            reply = {"start_ns": self.clock(), "bursts": []}
            for pause_s in BURSTS.pauses_s:
                self.time.now_ns += int(pause_s * S)
                start = self.clock()
                self.time.now_ns += int(BURSTS.burst_s * S)
                reply["bursts"].append((start, self.clock()))
            return reply, b""
        if operation in ("pass", "warmup"):
            start, end, stamps = self.run(6 if operation == "pass" else WARM_UP - 6)
            reply = {"start_ns": start, "end_ns": end}
            if operation == "warmup":
                reply |= {"batches": WARM_UP, "steady": False}
            else:
                reply |= {**scored, "shape": [6, 2], "peak_bytes": 20}
            reply["stamps"] = stamps
            return reply, bytes(4 * 6 * 2) if operation == "pass" else b""
        return {}, b""

    # --- as a connection ---

    pipes = SimpleNamespace(longest_stall_s=0.0)

    def listen(self, listener):
        """Nothing comes unasked."""

    def listen_until(self, settled, timeout_s):
        return settled()

    def poll(self):
        """Nothing comes unasked."""

    def close(self):
        """There is no process."""

    def send(self, message, payload=b"", stall_s=math.inf):
        self.asked.append(message["op"])
        return len(self.asked)

    def wait(self, request, timeout_s, progressed=None, longest_s=None):
        operation = self.asked[request - 1]
        self.before.get(operation, lambda device: None)(self)
        asked_ns = self.clock()  # by the agent
        reply, payload = self.answer(operation)
        self.lies.get(operation, lambda reply: None)(reply)
        if "stamps" in reply:
            stamps = reply.pop("stamps").astype("<i8").tobytes()
            reply["stamps_bytes"], payload = len(stamps), stamps + payload
        return Frame({"now_ns": self.clock(), "asked_ns": asked_ns, **reply, "re": request}, payload)

    def follow(self, requests, timeout_s):
        return self.wait(min(requests), timeout_s)

    def leave(self):
        """No request is followed any longer."""

    def request(self, message, timeout_s, payload=b""):
        return self.wait(self.send(message), timeout_s)

    # --- as a placer ---

    def place(self, path, digest=None, progress=None):
        return str(path)

    def place_code(self, path):
        return {"path": str(path)}

    def unverified(self, sha256):
        return None

    def note_verified(self, sha256):
        """It was."""

    def require_room(self, files):
        """There is room."""


def measured(device, own_clock=False, bursts=None):
    """The passes of a whole session, as a run takes them in, and its facts."""
    session = AgentSession(
        Board(device, device, (Path("runner.py"),), Timeouts(), own_clock=own_clock),
        made_artifact(),
        SessionSettings(1, {}, Launch(), bursts=bursts),
    )
    with session:
        session.golden()
        gathered = Gathered()
        for taken in session.measure(MeasurePlan(made_scene(), 3, warmup_cap=WARM_UP)):
            take_in(taken, gathered, scene_patches=6, workers=1)
        return gathered.passes, session.facts()


def failure(device, fix="", **how):
    """Stage and reason of the session that such a device fails."""
    with pytest.raises(SessionError) as caught:
        measured(device, **how)
    assert caught.value.status == "protocol_error"
    assert fix in caught.value.fix
    return f"{caught.value.stage}: {caught.value.why}"


def altered(**fields):
    """A lie in fields of a reply."""
    return lambda reply: reply.update(fields)


def lie(operation, change, words, what):
    """A parameter of a table of lies: what a reply says, the words of the failure, the attack."""
    return pytest.param(operation, change, words, marks=pytest.mark.attack(f"{what}: the session fails"))
