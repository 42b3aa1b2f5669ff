"""The device is held to the contract, with EdgeBench's firmware running on this machine as its board."""

from typing import ClassVar

import pytest

from edgebench.prepare.cache import Cache
from edgebench.testing import BackendContract
from tests.backends.cortexm import first_light


@pytest.fixture(scope="class", autouse=True)
def board(request, tmp_path_factory):
    artifact = first_light.first_light_artifact(Cache(tmp_path_factory.mktemp("cache")))
    model_id = first_light.engines.model_id(artifact)
    program = first_light.compile_first_light(tmp_path_factory.mktemp("first-light"), model_id)
    with first_light.on_a_pty(program) as (port, _):
        request.cls.port = port
        yield


class TestFirmware(BackendContract):
    backend = first_light.FirstLightBackend()
    batch = 1
    skips: ClassVar[dict[str, str]] = {"test_looking_at_it_loads_no_runtime": "it is no installed package"}
