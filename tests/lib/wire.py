# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Protobuf without a schema: messages as lists of (number, wire type, value), and the envelope that Kubernetes puts around objects."""
import struct

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\0"


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def fields(data):
    """[(number, wire type, value)]: bytes for lengths, numbers for varints."""
    at, found = 0, []
    while at < len(data):
        tag, at = read_varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire == 2:
            n, at = read_varint(data, at)
            if at + n > len(data):
                raise ValueError("cut off")
            value, at = data[at:at + n], at + n
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        else:
            raise ValueError("wire type %d" % wire)
        found.append((tag >> 3, wire, value))
    return found


def join(found):
    out = b""
    for number, wire, value in found:
        out += varint(number << 3 | wire)
        out += varint(value) if wire == 0 else varint(len(value)) + value if wire == 2 else value
    return out


def texts(number, *values):
    return [(number, 2, value.encode() if isinstance(value, str) else value) for value in values]


def first(data, number, default=b""):
    return next((value for n, _, value in fields(data) if n == number), default)


def every(data, number):
    return [value for n, _, value in fields(data) if n == number]


def open_envelope(data):
    """(apiVersion, kind, message)"""
    if not data.startswith(MAGIC):
        raise ValueError("no envelope: %r" % data[:40])
    unknown = fields(data[4:])
    if [f[0] for f in unknown] != [1, 2, 3, 4]:
        raise ValueError("an unusual envelope: %r" % [f[0] for f in unknown])
    kind = fields(unknown[0][2])
    return kind[0][2].decode(), kind[1][2].decode(), unknown[1][2]


def envelope(api_version, kind, message):
    return MAGIC + join(texts(1, join(texts(1, api_version) + texts(2, kind))) + texts(2, message) + texts(3, "") + texts(4, ""))


def change_metadata(message, change):
    """The object's message with change(fields of metadata) in place of its metadata."""
    found = fields(message)
    return join([(n, w, join(change(fields(v)))) if n == 1 else (n, w, v) for n, w, v in found])


def without(*numbers):
    return lambda found: [f for f in found if f[0] not in numbers]


def read_frame(stream):
    """(type, object with its envelope) of a watch; None at the end."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    n = struct.unpack(">I", head)[0]
    frame = stream.read(n)
    if len(frame) != n:
        raise ValueError("a frame of %d of %d bytes" % (len(frame), n))
    event = fields(frame)
    return event[0][2].decode(), first(event[1][2], 1)
