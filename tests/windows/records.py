"""Plugins with other records than they were built with."""

import struct

MAGIC = b"\x89RelaisR"
HEADER = 32
MASK = (1 << 64) - 1
# The kind of record, and tags of its fields: see `plugin-api/boundary/src/record.rs`.
PLUGIN, ENTRY, BOUNDARY, FINGERPRINT, TARGET, PANIC, NEEDS = 1, 5, 6, 7, 9, 10, 15


def mix(state, word):
    state = (((state << 5 | state >> 59) & MASK) ^ word) * 0xF1357AEA2E62A9C5 & MASK
    return state ^ state >> 32


def checksum(data):
    """That of `plugin-api/ir/src/wire.rs`."""
    even, odd = 0x9E3779B97F4A7C15 ^ len(data), 0
    for at in range(0, len(data), 16):
        low, high = struct.unpack("<QQ", data[at:at + 16].ljust(16, b"\0"))
        even, odd = mix(even, low), mix(odd, high)
    state = mix(even, odd)
    return state ^ state >> 29


def plugin_record(data):
    """Where the record of the plugin begins in a file, and its length."""
    at = -1
    while (at := data.index(MAGIC, at + 1)) >= 0:
        kind, length = struct.unpack("<II", data[at + 12:at + 20])
        if kind == PLUGIN:
            return at, length


def fields(data):
    """The fields of a record: tags and values."""
    while len(data) >= 6:
        tag, size = struct.unpack("<HI", data[:6])
        yield tag, data[6:6 + size]
        data = data[6 + size:]


def with_fields(data, values):
    """The file with other values, which are not longer, for some fields of its plugin's record."""
    at, length = plugin_record(data)
    new = b""
    for tag, value in fields(data[at + HEADER:at + HEADER + length]):
        value = values.get(tag, value)
        new += struct.pack("<HI", tag, len(value)) + value
    header = data[at:at + 16] + struct.pack("<II", len(new), 0xFFFFFFFF ^ PLUGIN) + struct.pack("<Q", checksum(new))
    return data[:at] + header + new.ljust(length, b"\0") + data[at + HEADER + length:]


def flipped(data):
    """The file with one bit of its plugin's record changed."""
    at, length = plugin_record(data)
    last = at + HEADER + length - 1
    return data[:last] + bytes([data[last] ^ 1]) + data[last + 1:]


def version(major, minor, patch):
    return struct.pack("<HHH", major, minor, patch)


def without_entry(data):
    """The file with another name for the symbol that its record has as the entry."""
    at, length = plugin_record(data)
    end = at + HEADER + length
    entry = dict(fields(data[at + HEADER:end]))[ENTRY]
    other = b"x" * len(entry)
    return data[:at].replace(entry, other) + data[at:end] + data[end:].replace(entry, other)
