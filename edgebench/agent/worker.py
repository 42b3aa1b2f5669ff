"""The worker: one process a session that imports the runner and measures, one request at a time.

Requests and replies are frames; a reply carries the request's `id` as `re`. Outside the timed loop only.
"""

import gc
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

from . import building, memory
from .building import import_sent
from .children import take_over_descriptors
from .clock import Pace, asked_for, monotonic_clock, ns_since_spawn, tick_ns
from .files import patches, require_content, samples
from .frames import FrameStream, Message

if TYPE_CHECKING:
    from .runner_contract import Model
    from .timed import Timed, TimedLoop

TRACEBACK_CHARACTERS = 8000
WARMUP_STEP = 10
PREDICT_STEP = 256
RUNNER = "edgebench_runner"
AWAKE_NS = 5000000
"""How long before a common start a worker is awake."""
DOZE_S = 0.02
"""A pause that is longer ends with the next request. Linux lets such a wait last 0.1 % longer than asked."""

Reply = Tuple[Message, bytes]


class Worker:
    """What the worker knows between two requests.

    Args:
        stream: of the requests and the replies.
        scratch: the folder in which this process may build; none for a worker that measures.
    """

    def __init__(self, stream: FrameStream, scratch: str = "") -> None:
        self._stream = stream
        self._scratch = scratch
        self._clock = monotonic_clock()
        self._spawn_ns = ns_since_spawn(self._clock)
        self._sleep: Callable[[float], None] = time.sleep
        self._memory: Any = memory
        self._pace = Pace(self._clock, self._doze, stream.pending)
        self._model: Optional[Model] = None
        self._loop: Optional[TimedLoop] = None
        self._sides = (0, 0, 3)
        self._tensors: List[Message] = []
        self._windows: List[Any] = []
        self._batch_ns: List[int] = []  # of the first pass and the warm-up, in order

    def serve(self) -> None:
        """Answer requests until `end` or until the other side closes."""
        while True:
            frame = self._stream.read()
            if frame is None:
                return
            request = frame.message
            reply, payload = self._answer(request)
            reply["re"] = request.get("id")
            self._stream.write(reply, payload)
            if request.get("op") == "end":
                return

    def _answer(self, request: Message) -> Reply:
        operation = str(request.get("op"))
        try:
            answer: Reply = getattr(self, "do_" + operation)(request)
            return answer
        except MemoryError:
            return self._failure("out_of_memory", "the worker ran out of memory"), b""
        except Exception as error:
            status = "load_failed" if operation == "load" else "error"
            status = str(getattr(error, "session_status", status))
            return self._failure(status, "{}: {}".format(type(error).__name__, error)), b""

    @staticmethod
    def _failure(status: str, what: str) -> Message:
        # The whole traceback belongs to the session's stderr, the reply carries its message.
        sys.stderr.write(traceback.format_exc()[-TRACEBACK_CHARACTERS:])
        sys.stderr.flush()
        return {"error": {"status": status, "what": what[:2000]}}

    def do_build(self, request: Message) -> Reply:
        """Have the runner make, on this board, the file that it loads; notes go out on its progress."""

        def tell(note: Message) -> None:
            self._stream.write(dict(note, re=request.get("id")))

        if not self._scratch:
            raise RuntimeError("this worker was not started to build")
        runner = import_sent(RUNNER, request["code"])
        result = building.build(runner, request, self._scratch, tell, self._clock)
        return dict(result._asdict()), b""

    def do_load(self, request: Message) -> Reply:
        """Import the runner, load the artifact, make the buffers; each is what the host asked for.

        `ready_s` is what a process that does nothing else takes until it can infer: from just before it was
        started until it reads its first request, and of this request all but the comparison of hashes.
        """
        asked = self._clock()
        import numpy

        from .pixels import channels_of
        from .timed import TimedLoop

        began = self._clock()
        runner: Any = import_sent(RUNNER, request["code"])
        imported = self._clock()
        own_time = hasattr(runner, "clock")
        if own_time:
            self._clock, self._sleep, self._memory = runner.clock, runner.sleep, runner
            self._pace = Pace(self._clock, self._sleep, self._stream.pending)
        clock = self._clock
        _require_asked(request, "artifact")
        companions = request.get("companions") or {}
        for companion in companions.values():
            _require_asked(companion)
        options = dict(request["options"], **building.companion_option(companions))
        loading = clock()
        model = runner.load(request["artifact"], options)
        loaded = clock()
        self._model = model
        spec = request["input"]
        self._sides = (spec["height"], spec["width"], channels_of(spec))
        self._tensors = request.get("tensors") or []
        self._loop = TimedLoop(model, spec, request["batch"], request["classes"], clock, self._tensors)
        ready = clock()
        moved = asked_for()
        is_cold = getattr(model, "is_cold", True)
        ready_ns = None if self._spawn_ns is None else self._spawn_ns + imported - asked + ready - loading
        return {
            "ready_s": ready_ns / 1e9 if ready_ns and is_cold and not own_time else None,
            "import_s": (imported - began) / 1e9 if imported > began and not own_time else None,
            "load_s": (loaded - loading) / 1e9 if loaded > loading and is_cold else None,
            "own_time": own_time,
            "tick_ns": None if own_time else tick_ns(clock),
            "test_clock": {"offset_ns": moved[0], "drift_ppm": moved[1]} if moved else None,
            "after_load_bytes": self._memory.current_bytes(),
            "runtime": model.describe(),
            "numpy": numpy.__version__,
            "stages": list(self._loop.stages),
        }, b""

    def do_golden(self, request: Message) -> Reply:
        """Scores of the golden patches; the first of them is the session's first inference."""
        loop = self._begin("golden")
        timed = loop.run(self._golden(request))
        return {
            "first_inference_ns": loop.first_inference_ns or None,
            "first_result_ns": loop.first_result_ns or None,
            "shape": list(timed.scores.shape),
        }, _little(timed.scores)

    def do_scene(self, request: Message) -> Reply:
        """Hold the scene in memory, read to its last byte, so that no pass waits for a disk."""
        import numpy

        from .pixels import windows

        _require_asked(request)
        if self._tensors:
            self._windows = samples(request["path"], self._tensors)
            return {"patches": len(self._windows)}, b""
        scene = numpy.load(request["path"])
        if scene.dtype != numpy.uint8 or scene.ndim != 3 or scene.shape[2] != self._sides[2]:
            raise ValueError(
                "the scene is {} {} instead of uint8 [height, width, {}]".format(
                    scene.dtype, scene.shape, self._sides[2]
                )
            )
        whole = numpy.ascontiguousarray(scene)
        patch = request.get("patch") or self._sides[0]
        across = request.get("patch_width") or request.get("patch") or self._sides[1]
        self._windows = windows(whole, patch, across, request.get("stride"))
        if not self._windows:
            raise ValueError("the scene {} is smaller than one patch".format(scene.shape))
        tell = getattr(self._model, "scene", None)
        if tell:
            tell(len(self._windows))
        return {"patches": len(self._windows)}, b""

    def do_idle(self, request: Message) -> Reply:
        """Sleep, so that the meters see the idle device; before that window let a pause go by."""
        if request.get("pause_s"):
            self._sleep(request["pause_s"])
        began = self._clock()
        self._sleep(request["idle_s"])
        return {"start_ns": began, "end_ns": self._clock()}, b""

    def do_burst(self, request: Message) -> Reply:
        """Infer the golden patches over and over in bursts, an idle pause before each; a note after each.

        A meter on the host sees them: by when it does its clock is matched with this one.
        """
        from .timed import load_burst

        loop = self._begin("burst")
        golden = self._golden(request)
        began = self._clock()
        bursts = []
        for pause_s in request["pauses_s"]:
            self._sleep(pause_s)
            bursts.append(load_burst(loop, golden, request["burst_ns"]))
            self._stream.write({"progress": len(bursts), "re": request.get("id")})
        return {"start_ns": began, "bursts": bursts}, b""

    def do_pass(self, request: Message) -> Reply:
        """One pass over the scene."""
        loop = self._begin("measure")
        timed = loop.run(self._windows)
        self._batch_ns = _batch_ns(timed, loop)
        return self._as_pass(timed, loop, timed.scores.tobytes())

    def do_passes(self, request: Message) -> Reply:
        """Passes that the worker starts by itself, each when it is due: at a period, or one after the other.

        Each is sent as it ends, and the next does not wait for the host: a link that stalls makes no pass
        late. They are `passes`, or go on for `sustained_ns` of this clock, and for `least_ns` in any case;
        the next request, whatever it is, ends them after the pass in hand, or in the pause. Only that ends
        those with a `start_ns`, when the first is due: other workers start then too, and the last decides.
        """
        period_ns, sustained_ns = request["period_ns"], request.get("sustained_ns")
        least_ns, start_ns = request.get("least_ns") or 0, request.get("start_ns")
        if start_ns is not None:
            self._pace.next_ns = start_ns
        began_ns = None
        done = 0
        loop = self._begin("measure")
        if start_ns is not None:  # a sleeper may be woken some milliseconds late: be awake by then
            self._sleep(max(0, start_ns - AWAKE_NS - self._clock()) / 1e9)
            while self._clock() < start_ns:
                pass
        while done == 0 or not self._stream.pending():
            if done and period_ns:  # back to back there is no pause to collect garbage in
                loop = self._begin("measure")
            due_ns = self._pace.wait(period_ns)
            if self._clock() < due_ns:  # a request has come in the pause
                break
            timed = loop.run(self._windows)
            done += 1
            reply, payload = self._as_pass(timed, loop, timed.scores.tobytes())
            reply.update(due_ns=due_ns, progress=done, re=request.get("id"))
            self._stream.write(reply, payload)
            began_ns = due_ns if began_ns is None else began_ns
            # The pause after a pass belongs to the time that they go on.
            gone_ns = max(timed.end_ns, due_ns + period_ns) - began_ns
            over = done >= request.get("passes", 0) if sustained_ns is None else gone_ns >= sustained_ns
            if start_ns is None and over and gone_ns >= least_ns:
                break
        return {"passes": done}, b""

    def do_warmup(self, request: Message) -> Reply:
        """Find the batch after which the session was steady; go on beyond the first pass to find it.

        Counted from the session's first batch: those of the first pass are warm-up already. A session that
        is not steady when the cap is reached is marked and goes on.
        """
        from .timed import in_turn, steady_after

        loop = self._begin("measure")
        floor, cap = request["floor"], request["cap"]
        parts: List[Timed] = []
        position = 0
        steady = steady_after(self._batch_ns, floor, cap)
        while steady is None and len(self._batch_ns) < cap:
            wanted = min(WARMUP_STEP, cap - len(self._batch_ns)) * loop.batch
            part = loop.run(in_turn(self._windows, position, wanted))
            position += wanted
            parts.append(part)
            self._batch_ns += _batch_ns(part, loop)
            steady = steady_after(self._batch_ns, floor, cap)
        batches = min(len(self._batch_ns), cap) if steady is None else steady
        reply: Message = {"batches": batches, "steady": steady is not None}
        if parts:
            stamps = b"".join(_little(part.stamps) for part in parts)
            reply.update(start_ns=parts[0].start_ns, end_ns=parts[-1].end_ns)
            return dict(reply, stamps_bytes=len(stamps)), stamps
        return reply, b""

    def do_predict(self, request: Message) -> Reply:
        """Scores of images, mapped from their file, or samples; a note goes out after every few hundred."""
        loop = self._begin("predict")
        _require_asked(request)
        images: Any = (
            samples(request["path"], self._tensors)
            if self._tensors
            else patches(request["path"], self._sides, in_memory=False)
        )
        scores = []
        step = max(1, PREDICT_STEP // loop.batch) * loop.batch  # whole batches: only the last is padded
        for first in range(0, len(images), step):
            scores.append(_little(loop.run(list(images[first : first + step])).scores))
            self._stream.write({"progress": min(first + step, len(images)), "re": request.get("id")})
        return {"shape": [len(images), loop.classes]}, b"".join(scores)

    def do_end(self, request: Message) -> Reply:
        """Close the runner before the process ends."""
        close = getattr(self._model, "close", None)
        if close:
            close()
        return {}, b""

    def _doze(self, seconds: float) -> None:
        if seconds > DOZE_S:
            self._stream.pending(0.9 * seconds)
        else:
            self._sleep(seconds)

    def _golden(self, request: Message) -> List[Any]:
        """The golden patches, or samples."""
        _require_asked(request)
        if self._tensors:
            return samples(request["path"], self._tensors)
        return list(patches(request["path"], self._sides, in_memory=True))

    def _begin(self, stage: str) -> "TimedLoop":
        if self._loop is None or self._model is None:
            raise RuntimeError("nothing is loaded")
        begin = getattr(self._model, "begin", None)
        if begin:
            begin(stage)
        gc.collect()  # the loop runs without it
        return self._loop

    def _as_pass(self, timed: "Timed", loop: "TimedLoop", scores: bytes) -> Reply:
        stamps = _little(timed.stamps)
        return {
            "start_ns": timed.start_ns,
            "end_ns": timed.end_ns,
            "stamps_bytes": len(stamps),
            "shape": list(timed.scores.shape),
            "first_inference_ns": loop.first_inference_ns or None,
            "first_result_ns": loop.first_result_ns or None,
            "peak_bytes": self._memory.peak_bytes(),
        }, stamps + scores


def _require_asked(request: Message, name: str = "path") -> None:
    """WrongContent where the host gave a hash with a file's path, and the file has another one."""
    if request.get("sha256"):
        require_content(request[name], request["sha256"])


def _little(values: Any) -> bytes:
    """Little-endian bytes of an array (numpy's or the standard library's)."""
    import numpy

    array = numpy.asarray(values)
    data: bytes = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return data


def _batch_ns(timed: "Timed", loop: "TimedLoop") -> List[int]:
    """Patchify to the end of infer, batch by batch."""
    stride = 2 * len(loop.stages)
    stamps = timed.stamps
    return [stamps[at + 5] - stamps[at] for at in range(0, len(stamps), stride)]


def main(arguments: List[str]) -> int:
    """Take over stdin and stdout for the frames, then serve."""
    stream = take_over_descriptors()
    scratch = ""
    for argument in arguments:
        if argument.startswith("--affinity="):
            os.sched_setaffinity(0, [int(number) for number in argument[len("--affinity=") :].split(",")])
        elif argument.startswith("--building="):
            scratch = argument[len("--building=") :]
    Worker(stream, scratch).serve()
    return 0
