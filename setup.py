"""Which packages are installed: all that lie in edgebench/ and, as edgebench.backends, in backends/."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["edgebench", "edgebench.*"]),
        *(f"edgebench.{name}" for name in find_packages(include=["backends", "backends.*"])),
        "edgebench.reference",
        "edgebench.template",
    ]
)
