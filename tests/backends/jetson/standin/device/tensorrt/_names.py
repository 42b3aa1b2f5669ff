"""The names of one release: a class has the members that names.txt gives it there, and takes no others.

A Python class that is derived from one of the real package has to call its initialiser; that holds here too.
"""

import io
import json
import os
from typing import Any, Dict, Mapping, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
with io.open(os.path.join(HERE, "release.json"), encoding="utf-8") as _file:
    RELEASE = json.load(_file)
SHAPE = RELEASE["shape"]
VERSION = RELEASE["version"]
MAJOR = int(VERSION.split(".")[0])


def names_of(path, shape):
    """{class: {member: value or None}} of a release, "" for the module's own names."""
    names: Dict[str, Dict[str, Optional[int]]] = {"": {}}
    with io.open(path, encoding="utf-8") as file:
        for line in file:
            name, *releases = line.split()
            values = dict(each.partition("=")[::2] for each in releases)
            if name == "#" or shape not in values:
                continue
            owner, _, member = name.rpartition(".")
            if owner or not name[0].isupper():
                names.setdefault(owner, {})[member] = int(values[shape]) if values[shape] else None
            else:
                names.setdefault(name, {})
    return names


NAMES = names_of(os.path.join(HERE, "names.txt"), SHAPE)


class Enumeration:
    """A member, as pybind11's: no integer, but convertible into one."""

    __members__: Mapping[str, Any] = {}

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __int__(self):
        return self.value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return type(other) is type(self) and other.value == self.value

    def __repr__(self):
        return "{}.{}".format(type(self).__name__, self.name)


def _enumeration(owner):
    kind: Any = type(owner.rpartition(".")[2], (Enumeration,), {"__module__": "tensorrt"})
    kind.__members__ = {name: kind(name, value) for name, value in NAMES[owner].items() if value is not None}
    for name, member in kind.__members__.items():
        setattr(kind, name, member)
    return kind


ENUMERATIONS: Dict[str, Any] = {
    owner: _enumeration(owner)
    for owner, members in NAMES.items()
    if any(value is not None for value in members.values())
}
SEVERITY = ENUMERATIONS.get("ILogger.Severity") or ENUMERATIONS["Logger.Severity"]


class BoundType(type):
    """The type of the bound classes: what is derived from one has to call its initialiser."""

    def __call__(cls, *arguments, **named):
        bound = super().__call__(*arguments, **named)
        if not bound.__dict__.get("_initialised"):
            base = cls.__bases__[0].__name__
            raise TypeError("{}.__init__() must be called when overriding __init__".format(base))
        return bound


class Bound(metaclass=BoundType):
    """A class of the real package: it has its attributes and takes no others."""

    def __init__(self):
        self._initialised = True

    def __setattr__(self, name, value):
        is_own = "_is_bound" in type(self).__dict__ and not name.startswith("_")
        if is_own and name not in NAMES[type(self).__name__]:
            text = "'tensorrt.{}' object has no attribute '{}'"
            raise AttributeError(text.format(type(self).__name__, name))
        object.__setattr__(self, name, value)


def incompatible(name, value):
    """What pybind11 raises for an argument of the wrong type."""
    return TypeError("{}(): incompatible function arguments: {!r}".format(name, value))


def integer(name, value):
    """An address or a handle; TypeError for what pybind11 takes as none."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise incompatible(name, value)
    return value.__index__()


def expose(namespace):
    """Take from the package what this release lacks, and give it its enumerations."""
    for owner in [
        name for name, each in namespace.items() if isinstance(each, BoundType) and each is not Bound
    ]:
        if owner not in NAMES:
            del namespace[owner]
            continue
        kind = namespace[owner]
        kind._is_bound = True
        for name in [name for name in vars(kind) if not name.startswith("_") and name not in NAMES[owner]]:
            delattr(kind, name)
    namespace.update({owner: kind for owner, kind in ENUMERATIONS.items() if "." not in owner})
    for owner in ("ILogger", "Logger"):
        if "Severity" in NAMES[owner]:
            namespace[owner].Severity = SEVERITY
            for name, member in SEVERITY.__members__.items():
                setattr(namespace[owner], name, member)
