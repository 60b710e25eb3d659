# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Objects in protobuf by the schema text: what a Go client writes and reads, as dictionaries that look like the JSON form.

    schema = Schema.load()
    message = schema.encode({"apiVersion": "apps/v1", "kind": "Deployment", ...})
    deployment = schema.decode(message)

As Go's marshallers do, a field that is no pointer is written even when it is empty.
"""
import base64
import datetime
import glob
import os
import re
import struct

import wire

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "core", "api", "schema")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
SIGNED = (1 << 63, 1 << 64)


def plain(type_):
    """Whether it is a pointer, and the type of a map's keys, is the same on the wire."""
    return re.sub(r"\{[^}]*\}", "{}", type_).replace("*", "")


class Field:
    def __init__(self, name, type_, number, words):
        self.name, self.number, self.words = name, number, words
        self.type, self.pointer = plain(type_), type_.startswith("*")
        self.inline = name == "inline"

    @property
    def single(self):
        """A value that Go keeps by itself: written always."""
        return not self.pointer and self.type[:2] not in ("[]", "{}") and self.type != "bytes"


class Type:
    def __init__(self, name):
        self.name, self.fields = name, []


def to_seconds(text):
    """(seconds, nanoseconds) of a time in RFC 3339."""
    found = re.fullmatch(r"(\d+-\d+-\d+T\d+:\d+:\d+)(?:\.(\d+))?Z", text)
    whole = datetime.datetime.strptime(found.group(1), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return int((whole - EPOCH).total_seconds()), int((found.group(2) or "").ljust(9, "0"))


def to_time(data, digits):
    seconds, nanos = number(wire.first(data, 1, 0)), wire.first(data, 2, 0)
    text = (EPOCH + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (".%06d" % (nanos // 1000) if digits else "") + "Z"


def number(value):
    """A varint as a signed number."""
    return value - SIGNED[1] if value >= SIGNED[0] else value


def unsigned(value):
    return value + SIGNED[1] if value < 0 else int(value)


def write_time(value):
    if not value:
        return b""
    seconds, nanos = to_seconds(value)
    return wire.join([(1, 0, unsigned(seconds)), (2, 0, nanos)])


def write_choice(value):
    text = isinstance(value, str)
    return wire.join([(1, 0, int(text)), (2, 0, 0 if text else unsigned(value or 0))] + wire.texts(3, value if text else ""))


def read_choice(data):
    return wire.first(data, 3).decode() if wire.first(data, 1, 0) else number(wire.first(data, 2, 0))


# What is a number on the wire: (type, of the value, from the value).
NUMBERS = {
    "bool": (lambda v: int(bool(v)), bool), "int32": (lambda v: unsigned(v or 0), number), "int64": (lambda v: unsigned(v or 0), number),
}
# What has a length: (to bytes, from bytes).
TEXTS = {
    "string": (lambda v: (v or "").encode(), lambda d: d.decode()),
    "bytes": (base64.b64decode, lambda d: base64.b64encode(d).decode()),
    "time": (write_time, lambda d: to_time(d, False) if d else None),
    "microtime": (write_time, lambda d: to_time(d, True) if d else None),
    "duration": (lambda v: wire.join([(1, 0, unsigned(v))]), lambda d: number(wire.first(d, 1, 0))),
    "quantity": (lambda v: wire.join(wire.texts(1, str(v or ""))), lambda d: wire.first(d, 1).decode()),
    "intorstring": (write_choice, read_choice),
    "raw": (lambda v: wire.join(wire.texts(1, v or b"")), lambda d: wire.first(d, 1)),
    "json": (lambda v: wire.join(wire.texts(1, v or b"")), lambda d: wire.first(d, 1)),
    "fieldsv1": (lambda v: wire.join(wire.texts(1, v or b"")), lambda d: wire.first(d, 1)),
}


class Schema:
    """All types by their name, such as apps.v1.Deployment, and the package of each apiVersion."""
    loaded = None

    @classmethod
    def load(cls):
        cls.loaded = cls.loaded or cls(sorted(glob.glob(os.path.join(FOLDER, "*.schema"))))
        return cls.loaded

    def __init__(self, paths):
        self.types, self.messages, self.aliases, self.packages, self.resources = {}, {}, {}, {}, {}
        for path in paths:
            self._read(path)
        for field in [f for type_ in self.types.values() for f in type_.fields]:
            field.type = self._meaning(field.type)

    def _read(self, path):
        with open(path) as f:
            lines = [line.rstrip("\n") for line in f if not line.startswith("#")]
        about, current = {}, None
        for line in lines:
            words = line.split()
            if line[:1] not in ("", " "):
                current = None
                if words[0] in ("package", "group", "version"):
                    about[words[0]] = words[1].strip('"')
                elif words[0] == "type":
                    current = self.types.setdefault("%s.%s" % (about["package"], words[1]), Type(words[1]))
                elif words[0] == "named":
                    names = self.messages if words[3:] == ["message"] else self.aliases
                    names["%s.%s" % (about["package"], words[1])] = plain(words[2])
                elif words[0] == "resource":
                    self.resources[(self._version(about), words[2])] = (words[1], words[3] == "Namespaced")
                if "version" in about:
                    self.packages.setdefault(self._version(about), about["package"])
            elif current and words and words[0] != "+":
                current.fields.append(Field(words[0], words[1], int(words[2]), words[3:]))

    def _meaning(self, type_):
        """Without names for what has a form of its own on the wire."""
        prefix, name = re.fullmatch(r"((?:\[\]|\{\})*)(.*)", type_).groups()
        return prefix + self._meaning(self.aliases[name]) if name in self.aliases else type_

    @staticmethod
    def _version(about):
        return "/".join(part for part in (about.get("group"), about.get("version")) if part)

    def type_of(self, api_version, kind):
        own = self.packages.get(api_version, "meta.v1") + "." + kind
        return self.types.get(own) or self.types["meta.v1." + kind]

    # -- writing ---------------------------------------------------------------------------------------------------

    def encode(self, thing):
        """With its envelope."""
        message = self.message(self.type_of(thing["apiVersion"], thing["kind"]), thing)
        return wire.envelope(thing["apiVersion"], thing["kind"], message)

    def message(self, type_, thing):
        known = {f.name for f in self._flat(type_)} | {"apiVersion", "kind"}
        if set(thing) - known:
            raise KeyError("%s has no %s" % (type_.name, set(thing) - known))
        return wire.join([one for field in sorted(type_.fields, key=lambda f: f.number) for one in self._field(field, thing)])

    def _flat(self, type_):
        for field in type_.fields:
            yield from self._flat(self.types[field.type]) if field.inline else [field]

    def _field(self, field, thing):
        if not field.number:
            return []
        if field.inline:
            inner = {f.name for f in self._flat(self.types[field.type])}
            message = self.message(self.types[field.type], {k: v for k, v in thing.items() if k in inner})
            return [(field.number, 2, message)]
        value = thing.get(field.name)
        if value is None and not field.single:
            return []
        return self._values(field.type, field.number, value)

    def _values(self, type_, at, value):
        if type_.startswith("[]"):
            return [one for item in value for one in self._values(type_[2:], at, item)]
        if type_.startswith("{}"):
            entries = (wire.texts(1, key) + self._values(type_[2:], 2, value[key]) for key in sorted(value))
            return [(at, 2, wire.join(entry)) for entry in entries]
        if type_ in NUMBERS:
            return [(at, 0, NUMBERS[type_][0](value))]
        if type_ == "float64":
            return [(at, 1, struct.pack("<d", value or 0))]
        if type_ in TEXTS:
            return [(at, 2, TEXTS[type_][0](value))]
        if type_ in self.types:
            return [(at, 2, self.message(self.types[type_], value or {}))]
        if type_ in self.messages:
            return [(at, 2, wire.join(self._values(self.messages[type_], 1, value)))]
        return [(at, 2, (value or "").encode())]  # a string with a name, or an enumeration

    # -- reading ---------------------------------------------------------------------------------------------------

    def decode(self, data):
        api_version, kind, message = wire.open_envelope(data)
        return {"apiVersion": api_version, "kind": kind, **self.read(self.type_of(api_version, kind), message)}

    def read(self, type_, message):
        fields, out = {f.number: f for f in type_.fields if f.number}, {}
        for at, kind, value in wire.fields(message):
            if at not in fields:
                raise KeyError("%s has no field %d" % (type_.name, at))
            self._put(fields[at], kind, value, out)
        return out

    def _put(self, field, kind, value, out):
        if field.inline:
            out.update(self.read(self.types[field.type], value))
        elif field.type.startswith("[]"):
            out.setdefault(field.name, []).append(self._value(field.type[2:], kind, value))
        elif field.type.startswith("{}"):
            out.setdefault(field.name, {})[wire.first(value, 1).decode()] = self._entry(field.type[2:], value)
        else:
            found = self._value(field.type, kind, value)
            if not field.single or found not in (None, "", 0, False) or "required" in field.words:
                out[field.name] = found

    def _entry(self, type_, data):
        kind, value = next(((w, v) for n, w, v in wire.fields(data) if n == 2), (2, b""))
        return self._value(type_, kind, value)

    def _value(self, type_, kind, value):
        if kind != (0 if type_ in NUMBERS else 1 if type_ == "float64" else 2):
            raise ValueError("wire type %d for %s" % (kind, type_))
        if type_ in NUMBERS:
            return NUMBERS[type_][1](value)
        if type_ == "float64":
            return struct.unpack("<d", value)[0]
        if type_ in TEXTS:
            return TEXTS[type_][1](value)
        if type_ in self.types:
            return self.read(self.types[type_], value)
        if type_ in self.messages:
            return [self._value(self.messages[type_][2:], 2, one) for one in wire.every(value, 1)]
        return value.decode()
