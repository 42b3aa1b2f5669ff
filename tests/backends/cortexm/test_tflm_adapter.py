"""The adapter to TFLM over a stand-in of its public API, as a program of this machine under sanitizers."""

import pytest

from tests.backends.cortexm.host_programs import INPUT_BYTES, SCORES, HostProgram, require_compiler
from tests.backends.cortexm.tflm_programs import host_program, require_cxx_compiler
from tests.backends.cortexm.uploading import upload

BANNER = ["m-timestamp-mode-performance", "m-init-done", "m-ready"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    require_compiler()
    require_cxx_compiler()
    return host_program(tmp_path_factory.mktemp("tflm"))


@pytest.mark.parametrize(("flags", "line"), [(("-DTFLM_RESETS=1",), ["m-info-[state=reset]"]), ((), [])])
def test_a_model_with_a_state_is_reset_before_each_inference(tmp_path, monkeypatch, flags, line):
    require_compiler()
    require_cxx_compiler()
    monkeypatch.setenv("TFLM_STANDIN", "reset")
    with HostProgram(host_program(tmp_path, *flags), "--stdio", "--clock-speed", 1) as device:
        assert device.answer() == BANNER
        assert [words for words in device.command("profile") if "state=" in words] == line
        failed = device.command("infer 1 0")[-1] == "e-[An inference failed: Reset failed]"
        assert failed is bool(line)


def test_scores_are_those_of_the_resident_input_every_time(program):
    with HostProgram(program, "--stdio", "--clock-speed", 1) as device:
        assert device.answer() == BANNER
        profile = device.command("profile")
        assert "m-info-[engine=TFLM stand-in]" in profile
        assert "m-info-[input-type=int8]" in profile
        assert f"m-info-[engine-bytes={INPUT_BYTES + SCORES}]" in profile
        levels = [40 * part for part in range(SCORES)]  # of pixels; the input is them less 128
        tensor = b"".join(bytes([(level - 128) % 256]) * (INPUT_BYTES // SCORES) for level in levels)
        assert upload(device, tensor) == ["m-load-done"]
        # Of the second inference, too: the interpreter has overwritten its input by then.
        assert device.command("infer 2 1")[-1] == "m-results-[0.000,0.156,0.312,0.469,0.625]"


FAILURES = {
    "input type": "input or output is not float32, int8 or uint8",
    "input size": f"the model's input is not of {INPUT_BYTES} bytes",
    "output size": f"the model's output is not of {SCORES} scores",
    "arena": f"AllocateTensors failed with an arena of {INPUT_BYTES + SCORES} bytes",
    "schema": "the model is no .tflite of the schema that TFLM reads",
    "abort": f"TFLM aborted, with an arena of {INPUT_BYTES + SCORES} bytes",
    "halt": f"TFLM aborted, with an arena of {INPUT_BYTES + SCORES} bytes",
    "inputs": "the model has not one input and one output",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_model_that_cannot_be_started_is_an_error_and_no_silence(program, failure, monkeypatch):
    monkeypatch.setenv("TFLM_STANDIN", failure)
    with HostProgram(program, "--stdio", "--clock-speed", 1) as device:
        assert device.answer() == BANNER
        error = f"e-[The model cannot be started: {FAILURES[failure]}]"
        assert device.command("infer 1 0") == [error]
        assert device.command("results") == [error]
        assert "m-info-[engine=TFLM stand-in]" in device.command("profile")


def test_an_inference_that_fails(program, monkeypatch):
    monkeypatch.setenv("TFLM_STANDIN", "invoke")
    with HostProgram(program, "--stdio", "--clock-speed", 1) as device:
        assert device.answer() == BANNER
        assert device.command("infer 1 0")[-1] == "e-[An inference failed: Invoke failed]"


@pytest.mark.attack("TFLM aborts during an inference: the firmware answers errors from then on, and goes on")
def test_an_inference_that_aborts(program, monkeypatch):
    monkeypatch.setenv("TFLM_STANDIN", "abort in invoke")
    with HostProgram(program, "--stdio", "--clock-speed", 1) as device:
        assert device.answer() == BANNER
        for _ in range(2):
            assert "An inference failed: TFLM aborted" in device.command("infer 1 0")[-1]
