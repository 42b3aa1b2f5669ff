"""The names of one release: what it lacks is taken away, what nothing here needs raises when it is called.

A class of the real package takes no attribute that it has no name for, and a Python class derived from one
has to call its initialiser; both hold here too.
"""

import io
import json
import os
from typing import Any, Dict, Mapping, Optional

_HERE = os.path.dirname(os.path.abspath(__file__))

with io.open(os.path.join(_HERE, "release.json"), encoding="utf-8") as _file:
    RELEASE = json.load(_file)
SHAPE = RELEASE["shape"]
VERSION = RELEASE["version"]
MAJOR = int(VERSION.split(".")[0])
_DTYPES = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BF16", "bool": "BOOL"}


def names_of(path, shape):
    """{class: {member: value or None}} of a release, "" for the module's own names; from names.txt."""
    names: Dict[str, Dict[str, Optional[int]]] = {"": {}}
    with io.open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            name, *releases = line.split()
            values = dict(each.partition("=")[::2] for each in releases)
            if shape not in values:
                continue
            owner, _, member = name.rpartition(".")
            value = int(values[shape]) if values[shape] else None
            if not owner and name[0].isupper():
                names.setdefault(name, {})
            else:
                names.setdefault(owner, {})[member] = value
    return names


NAMES = names_of(os.path.join(_HERE, "names.txt"), SHAPE)


class Enumeration:
    """As pybind11's: no integer, but convertible into one."""

    __members__: Mapping[str, Any] = {}
    name = ""
    value = 0

    def __init__(self, value):
        number = integer("__init__", value)
        members = [each for each in self.__members__.values() if each.value == number]
        if not members:
            raise ValueError("{} is no {}".format(value, type(self).__name__))
        self.__dict__.update(members[0].__dict__)

    def __int__(self):
        return self.value

    __index__ = __int__

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return type(other) is type(self) and other.value == self.value

    def __ne__(self, other):
        return not self == other

    def __lt__(self, other):
        return self.value < int(other)

    def __le__(self, other):
        return self.value <= int(other)

    def __gt__(self, other):
        return self.value > int(other)

    def __ge__(self, other):
        return self.value >= int(other)

    def __str__(self):
        return "{}.{}".format(type(self).__name__, self.name)

    def __repr__(self):
        return "<{}: {}>".format(self, self.value)


def enumeration(name, members):
    """A class with these members, {name: value}."""
    kind: Any = type(name, (Enumeration,), {"__module__": "tensorrt", "__members__": {}})
    for member, value in members.items():
        each = kind.__new__(kind)
        each.__dict__.update({"name": member, "value": value})
        kind.__members__[member] = each
        setattr(kind, member, each)
    return kind


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
        derived = "_is_bound" not in type(self).__dict__
        if derived or name.startswith("_") or isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
            return
        raise AttributeError("'tensorrt.{}' object has no attribute '{}'".format(type(self).__name__, name))


def attribute(name, kind=None, read_only=False):
    """A property that keeps its value in `_name`; TypeError for a value of another kind."""

    def get(self):
        return getattr(self, "_" + name)

    def put(self, value):
        if kind is not None and not isinstance(value, kind):
            raise incompatible(name, value)
        object.__setattr__(self, "_" + name, value)

    return property(get, None if read_only else put)


def incompatible(name, value):
    """What pybind11 raises for an argument of the wrong type."""
    return TypeError("{}(): incompatible function arguments: {!r}".format(name, value))


def integer(name, value):
    """An address or a handle; TypeError for what pybind11 takes as none."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise incompatible(name, value)
    number = value.__index__()
    if number < 0:
        raise incompatible(name, value)
    return number


def _nothing(owner, name):
    def member(*arguments, **named):
        raise NotImplementedError("the stand-in has no {}.{}".format(owner, name))

    return member


ENUMERATIONS = {}
for _owner, _members in NAMES.items():
    _valued = {_name: _value for _name, _value in _members.items() if _value is not None}
    if _valued:
        ENUMERATIONS[_owner] = enumeration(_owner.rpartition(".")[2], _valued)


def expose(namespace):
    """Fill the package's namespace with the names of this release."""
    from . import (
        _builder,
        _calibrators,
        _config,
        _context,
        _engine,
        _inspector,
        _network,
        _parser,
        _runtime,
        _values,
    )

    written = {}
    building = (_network, _parser, _calibrators, _config, _builder)
    running = (_runtime, _engine, _inspector, _context)
    for module in (_values, *building, *running):
        for name, each in vars(module).items():
            if isinstance(each, type) and each.__module__ == module.__name__ and name[0].isupper():
                written[name] = each
    for owner, members in NAMES.items():
        if not owner:
            continue
        outer = owner.rpartition(".")[0]
        if owner in ENUMERATIONS:
            if not outer:
                namespace[owner] = ENUMERATIONS[owner]
            continue
        namespace[owner] = _fit(written.get(owner) or type(owner, (Bound,), {}), owner, members)
    _export_severity(namespace)
    data_type = namespace["DataType"]
    data_type.itemsize = property(_values.itemsize)
    for name in NAMES[""]:
        member = _DTYPES.get(name, name.upper())
        if member in NAMES["DataType"]:
            namespace[name] = getattr(data_type, member)
        else:
            namespace[name] = getattr(_values, name)
    namespace["__version__"] = VERSION


def _fit(kind, owner, members):
    """A class with the members that the release has, and no other."""
    kind.__module__ = "tensorrt"
    kind.__name__ = kind.__qualname__ = owner
    for name in [name for name in vars(kind) if not name.startswith("_") and name not in members]:
        delattr(kind, name)
    for name in members:
        if not hasattr(kind, name):
            setattr(kind, name, _nothing(owner, name))
    if issubclass(kind, Bound):
        kind._is_bound = True
    return kind


def severity():
    """The severities, wherever this release has them."""
    return ENUMERATIONS.get("ILogger.Severity") or ENUMERATIONS["Logger.Severity"]


def _export_severity(namespace):
    owners = [owner for owner in ("ILogger", "Logger") if "Severity" in NAMES[owner]]
    for owner in owners:
        namespace[owner].Severity = severity()
        for name, member in severity().__members__.items():
            setattr(namespace[owner], name, member)
