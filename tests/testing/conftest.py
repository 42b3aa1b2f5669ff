import pytest


@pytest.fixture(scope="session")
def edgebench_cache(session_cache):
    """What other tests have converted already is not converted again."""
    return session_cache
