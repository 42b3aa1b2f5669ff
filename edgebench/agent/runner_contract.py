"""What a runner promises the worker; a runner file imports nothing from here, it only has this shape.

A runner is a file of Python 3.6 syntax in a folder `device`, with a function `load(path, options) -> Model`.
It may use the standard library, numpy and its vendor's runtime, which it imports at its top, so that the
import is timed apart from the load. Other files that it takes in by relative imports travel with it, such as
what several runners share: those imports work on the board as they do on the host.

A runner that plays what was measured elsewhere brings its own time, as four functions of its module:
`clock()` in nanoseconds, never falling; `sleep(seconds)`; `current_bytes()` and `peak_bytes()`, None where
nothing is known. Every stamp, the pace and the idle windows are then taken from them and nothing from the
machine: there is no import time, a duration of 0 is one that is not known, and clocks are not matched. Its
backend says so (`own_clock`), or its sessions fail: nothing of this machine can vouch for such stamps.

An exception with an attribute `session_status` (error, load_failed, out_of_memory, timeout, lost_connection,
protocol_error) ends the session with that status.

A runner that makes what it loads on the board itself, such as an engine that its runtime optimises for that
very processor, has two functions more (`Build`, `BuildVersion`), and its backend says so (`builds`). `build`
then runs before a trial's first session, in a process of its own, and never counts as load; `load` is given
what it made. What was built stays on the board, and is made again only where a file, an option, the runner's
own code or `build_version()` is another one. A runner with options that only `load` takes names the others as
`BUILD_OPTIONS`, a tuple: `build` is given these alone (`precision` and `input_shapes` among them, if it needs
them), so that sessions which differ in nothing else share what was built.

Other files that an artifact needs, its companions, travel with it, each by its hash: `options["companions"]`
has the path of each by its name, for `build` and `load` alike. They are not in one folder: a runtime that
looks for weights next to their graph is given links to both in a temporary folder.

The environment variable EDGEBENCH_SESSION_NUMBER is the number of the session within its trial,
EDGEBENCH_WORKER that of the worker within its session: 0, unless several measure side by side. Whatever a
runner starts and leaves behind ends with its worker; where several run, the agent knows by EDGEBENCH_WORKER
whose it is. EDGEBENCH_CPU_QUOTA is the number of cores that a container's CPU quota allows; it is not set
without a quota. A default number of threads keeps to it.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple

if TYPE_CHECKING:
    from typing import Protocol  # novermin

    from numpy.typing import NDArray
else:
    Protocol = object

Slot = NamedTuple("Slot", [("number", int), ("array", Any)])
"""A place for one batch's input: its number, and the array that the worker fills (a tuple of
arrays for samples, see Model)."""

Done = Callable[..., None]
"""`done(index, scores, extra_ns=0)`: batch `index` is through; `extra_ns` is a time on the device."""


BuildProgress = Callable[..., None]
"""`progress(done, total, text="")`: the build has done this number of steps (total 0: unknown).

It may be called from any thread. A build that is further has the time of one step again, up to a limit for
the whole; repeating a number is no progress. `text` names the step.
"""

Build = Callable[[str, Optional[str], str, Dict[str, Any], BuildProgress], str]
"""`build(source, calibration, cache_dir, options, progress)` gives the path of the file for `load`.

    source: path of the artifact that was prepared on the host.
    calibration: path of the companion called `calibration`, whatever its suffix; None without one.
    cache_dir: an empty folder for this build. The result is a plain file in it, and no link; all else in it
        is removed when `build` returns, raises or is ended.
    options: as for `load`; where the runner has BUILD_OPTIONS, those alone.

A full disk, a crash or an exception fails the session and leaves nothing.
"""

BuildVersion = Callable[[], str]
"""`build_version()`: the runtime, its version, and whatever else of the board decides what is built, such as
the processor's compute capability. Quick: it is asked before each trial's first session.
"""


class Model(Protocol):
    """A loaded model. Scores are real numbers, [batch, classes], and may be a view that is overwritten.

    A model with other outputs than one row of scores gives a tuple with all of them, each as the runtime has
    it with the batch first; `quantisations` then lists (scale, zero point) for each; None for floats.

    `options` has the variant's `precision` (fp32, fp16, int8), and `input_shapes`, a list of shapes, where
    the file leaves axes open and the runtime needs them, and `state` where the model carries something from
    one inference to the next (`edgebench.records.model.State`). For a model that takes no picture,
    `slot.array` is a tuple of arrays, one an input in the file's order, and `buffers` is not asked: `infer`
    gives them to the runtime. Its batch is 1.

    Optional members:
        buffers() -> list of arrays: one input array a slot, which the worker preprocesses straight
            into. Without it the worker makes one array and `infer` finds it in `slot.array`.
        infer_many(slots, done): for a runtime with a queue. `slots` gives (index, slot) lazily: taking
            the next one patchifies and preprocesses it, and there must be a free slot for it, so no
            more are taken than `buffers()` has less those not done. `done` is called once an index,
            from any thread.
        quantisations: see above; not needed where outputs are real numbers.
        extra_stage: the name of the device's own stage, where `done` is given `extra_ns`: a letter, then at
            most 40 letters, digits and underscores; not start, end, image, due, lateness or another stage's.
        is_cold: False where most of the load was done before and kept, such as a model that was compiled by
            an earlier session: this one then has no `load_s`.
        reset(): forget what earlier inferences left in the model. Called before each inference, within the
            pass and outside of its stages. Only of a model whose `options["state"]` says so, and only
            without `infer_many`.
        begin(stage): told that golden, measure, burst or predict begins; never inside a timed region.
            Measure begins with the first pass, again with the warm-up, and again with each steady pass;
            burst are the golden patches over and over, where a meter on the host is matched by them.
        scene(patches): told that the scene is there, and how many patches a pass has.
        close(): let go of the device.
    """

    @property
    def input_shape(self) -> Tuple[int, ...]:
        """With the batch, such as (1, 224, 224, 3). A plain attribute will do."""

    @property
    def input_dtype(self) -> str:
        """float32, float16, int8 or uint8. A plain attribute will do."""

    def describe(self) -> Dict[str, Any]:
        """The runtime: its name, version and the settings that it truly uses.

        Optional entries: `placement`, the number of operations by provider or delegate; `absent`, the reason
        for each entry that is None; `warnings`, sentences for whoever reads the results; `emulated`, True if
        no device carries the model out, so that no time or power is one.
        """

    def infer(self, slot: Slot) -> "NDArray[Any]":
        """Run the batch in the slot."""


Filled = Iterator[Tuple[int, Slot]]
