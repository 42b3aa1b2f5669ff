"""What a runner promises the worker; a runner file imports nothing from here, it only has this shape.

A runner is a file of Python 3.6 syntax in a folder `device`, with a function `load(path, options) -> Model`.
It may use the standard library, numpy and its vendor's runtime, which it imports at its top, so that the
import is timed apart from the load. Other files that `runner_files` names behind the runner travel with it,
such as what several runners share: relative imports work between them on the board as they do on the host.

A runner that plays what was measured elsewhere brings its own time, as four functions of its module:
`clock()` in nanoseconds, never falling; `sleep(seconds)`; `current_bytes()` and `peak_bytes()`, None where
nothing is known. Every stamp, the pace and the idle window are then taken from them and nothing from the
machine: there is no import time, a duration of 0 is one that is not known, and clocks are not matched. Its
backend says so (`own_clock`), or its sessions fail: nothing of this machine can vouch for such stamps.

An exception with an attribute `session_status` (error, load_failed, out_of_memory, timeout, lost_connection,
protocol_error) ends the session with that status.

The environment variable EDGEBENCH_SESSION_NUMBER is the number of the session within its trial.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, NamedTuple, Tuple

if TYPE_CHECKING:
    from typing import Protocol  # novermin

    from numpy.typing import NDArray
else:
    Protocol = object

Slot = NamedTuple("Slot", [("number", int), ("array", Any)])
"""A place for one batch's input: its number, and the array that the worker fills (for samples a tuple
of arrays, see Model)."""

Done = Callable[..., None]
"""`done(index, scores, extra_ns=0)`: batch `index` is through; `extra_ns` is a time on the device."""


class Model(Protocol):
    """A loaded model. Scores are real numbers, [batch, classes], and may be a view that is overwritten.

    A model with other outputs than one row of scores gives a tuple with all of them, each as the runtime has
    it with the batch first; `quantisations` then lists (scale, zero point), or None, for each.

    `options` has `input_shapes`, a list of shapes, where the file leaves axes open and the runtime has to be
    told. For a model that takes no picture, `slot.array` is a tuple of arrays, one an input in the file's
    order, and `buffers` is not asked: `infer` gives them to the runtime. Its batch is 1.

    Optional members:
        buffers() -> list of arrays: one input array a slot, which the worker preprocesses straight
            into. Without it the worker makes one array and `infer` finds it in `slot.array`.
        infer_many(slots, done): for a runtime with a queue. `slots` gives (index, slot) lazily: taking
            the next one patchifies and preprocesses it, and there must be a free slot for it, so no
            more are taken than lie in `buffers()` less those not done. `done` is called once an index,
            from any thread.
        quantisations: see above; not needed where outputs are real numbers.
        extra_stage: the name of the device's own stage, where `done` is given `extra_ns`: a letter, then at
            most 40 letters, digits and underscores; not start, end, image, due, lateness or another stage's.
        begin(stage): told that golden, measure or predict begins; never inside a timed region. Measure
            begins with the first pass, again with the warm-up, and again with each steady pass.
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
        """The runtime: its name, version and the settings that it truly uses."""

    def infer(self, slot: Slot) -> "NDArray[Any]":
        """Run the batch that lies in the slot."""


Filled = Iterator[Tuple[int, Slot]]
