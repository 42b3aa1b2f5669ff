"""A fleet whose messages are protected by TLS, through Dask's own configuration."""

import shutil
import subprocess

import pytest

from tests.fleet.labs import QUICK, Lab, sessions_of, target
from tests.walk.conftest import make_place

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(tmp_path):
    """A lab whose scheduler and machine have a certificate, and its environment for clients."""
    pytest.importorskip("distributed")
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl, which is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab"),
            *("-keyout", key, "-out", certificate, "-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    tls = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(certificate)}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT"] = str(certificate)
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY"] = str(key)
    folder = tmp_path / "place"
    folder.mkdir()
    made = Lab(make_place(folder), protocol="tls", environment=tls)
    try:
        made.start_scheduler()
        made.start_worker("machine", target("one"))
        yield made
    finally:
        made.stop()


def test_a_run_measures_through_tls(lab):
    done = lab.run(
        "run", "--scheduler", lab.address, *QUICK, "--target", "one", "--sessions", "2", "--name", "r"
    )
    assert done.returncode == 0, done.stderr
    [records] = sessions_of(lab.place.folder / "results" / "r").values()
    assert [record["status"] for record in records] == ["ok", "ok"]


@pytest.mark.attack(
    "a client without a certificate asks a fleet that wants TLS: refused, with where it is set"
)
def test_without_a_certificate_nothing_is_told(lab):
    for address in (lab.address, lab.address.replace("tls", "tcp")):
        done = lab.place.run("fleet", "status", address)
        assert done.returncode == 1
        assert "wants TLS" in done.stderr and "distributed.comm.tls" in done.stderr
