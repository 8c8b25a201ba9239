"""Protobuf messages as raw fields: for encodings that no serialiser writes, but that every parser must take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from google.protobuf.descriptor import Descriptor, FieldDescriptor

VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32 = range(6)
UNKNOWN_NUMBER = 18_000
LONGEST_VARINT = 10
LONGEST_LENGTH = 5
"""Parsers take longer varints for numbers, but not for tags and lengths."""


@dataclass(frozen=True)
class Field:
    """One field as it stands in the bytes. A length-delimited payload is without its length."""

    number: int
    wire_type: int
    payload: bytes

    def encode(self, pad: int = 0) -> bytes:
        """The bytes of the field; `pad` makes its tag and its length that many bytes longer than needed."""
        tag = varint(self.number << 3 | self.wire_type, pad, LONGEST_LENGTH)
        if self.wire_type != BYTES:
            return tag + self.payload
        return tag + varint(len(self.payload), pad, LONGEST_LENGTH) + self.payload


Rewrite = Callable[[list[Field], Descriptor], list[Field]]


def rewritten(data: bytes, descriptor: Descriptor, rewrite: Rewrite, pad: int = 0) -> bytes:
    """The message with `rewrite` applied to the fields of every message in it, innermost first."""
    fields = []
    for field in parse(data):
        known = descriptor.fields_by_number.get(field.number)
        if known is not None and known.message_type is not None and field.wire_type == BYTES:
            field = replace(field, payload=rewritten(field.payload, known.message_type, rewrite, pad))
        fields.append(field)
    return b"".join(field.encode(pad) for field in rewrite(fields, descriptor))


def parse(data: bytes) -> Iterator[Field]:
    position = 0
    while position < len(data):
        tag, position = read_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        start = position
        if wire_type == VARINT:
            _, position = read_varint(data, position)
        elif wire_type == FIXED64:
            position += 8
        elif wire_type == FIXED32:
            position += 4
        elif wire_type == BYTES:
            length, start = read_varint(data, position)
            position = start + length
        else:
            raise ValueError(f"wire type {wire_type} at {start}")
        yield Field(number, wire_type, data[start:position])


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


def varint(value: int, pad: int = 0, longest: int = LONGEST_VARINT) -> bytes:
    """Little-endian groups of seven bits, with up to `pad` groups of zeros at the end."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    groups += [0] * min(pad, longest - len(groups))
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def unknown_fields() -> list[Field]:
    """One unknown field of each wire type, a group with a nested group included."""
    inner = Field(UNKNOWN_NUMBER + 7, VARINT, varint(7)).encode()
    nested = (
        Field(UNKNOWN_NUMBER + 6, GROUP_START, b"").encode()
        + inner
        + Field(UNKNOWN_NUMBER + 6, GROUP_END, b"").encode()
    )
    group = nested + inner + Field(UNKNOWN_NUMBER + 5, GROUP_END, b"").encode()
    return [
        Field(UNKNOWN_NUMBER, VARINT, varint(2**64 - 1)),
        Field(UNKNOWN_NUMBER + 1, FIXED64, b"\x01\x02\x03\x04\x05\x06\x07\x08"),
        Field(UNKNOWN_NUMBER + 2, BYTES, b"from the future"),
        Field(UNKNOWN_NUMBER + 2, BYTES, b""),
        Field(UNKNOWN_NUMBER + 4, FIXED32, b"\x01\x02\x03\x04"),
        Field(UNKNOWN_NUMBER + 5, GROUP_START, group),
    ]


def with_unknown_fields(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    return [*fields, *unknown_fields()]


def with_unknown_fields_between(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """An unknown field before each known one."""
    unknown = unknown_fields()[:5]
    return [each for index, field in enumerate(fields) for each in (unknown[index % len(unknown)], field)]


def unchanged(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    return fields


def padded_scalars(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """Varints three bytes longer than needed."""
    return [
        replace(field, payload=varint(read_varint(field.payload, 0)[0], 3)) if field.wire_type == VARINT else field
        for field in fields
    ]


def backwards(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """Fields by falling number; the elements of a repeated one keep their order."""
    return sorted(fields, key=lambda field: -field.number)


def interleaved(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """The first of each number, then the second of each, and so on."""
    seen: dict[int, int] = {}
    keyed = []
    for field in fields:
        seen[field.number] = rank = seen.get(field.number, 0) + 1
        keyed.append((rank, field.number, field))
    return [field for _, _, field in sorted(keyed, key=lambda entry: entry[:2])]


def repeated_scalars(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """Singular scalars written twice, first with another value: the last one counts."""
    return [each for field in fields for each in (*overwritten(field, descriptor), field)]


def overwritten(field: Field, descriptor: Descriptor) -> Iterator[Field]:
    known = descriptor.fields_by_number.get(field.number)
    if known is None or known.is_repeated or known.message_type is not None:
        return
    if known.containing_oneof is None and known.type == FieldDescriptor.TYPE_STRING:
        yield replace(field, payload=b"overwritten")
    elif known.type in (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_INT32):
        yield replace(field, payload=varint(1))


def split_messages(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """A singular message written in two parts, which a parser merges."""
    result = []
    for field in fields:
        known = descriptor.fields_by_number.get(field.number)
        parts = list(parse(field.payload)) if is_singular_message(known) else []
        if len(parts) < 2:
            result.append(field)
            continue
        half = len(parts) // 2
        for part in (parts[:half], parts[half:]):
            result.append(replace(field, payload=b"".join(each.encode() for each in part)))
    return result


def is_singular_message(known: FieldDescriptor | None) -> bool:
    return known is not None and known.message_type is not None and not known.is_repeated


def other_packing(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """Packed numbers one by one, and single ones packed; every second packed run only in its first half."""
    result: list[Field] = []
    for field in fields:
        known = descriptor.fields_by_number.get(field.number)
        width = packed_width(known)
        if width is None:
            result.append(field)
        elif field.wire_type == BYTES:
            elements = list(split_packed(field, width))
            half = len(elements) // 2
            result.extend(elements[:half])
            if elements[half:]:
                result.append(Field(field.number, BYTES, b"".join(element.payload for element in elements[half:])))
        else:
            result.append(Field(field.number, BYTES, field.payload))
    return result


PACKED_WIDTHS = {
    FieldDescriptor.TYPE_FLOAT: FIXED32,
    FieldDescriptor.TYPE_DOUBLE: FIXED64,
    FieldDescriptor.TYPE_INT32: VARINT,
    FieldDescriptor.TYPE_INT64: VARINT,
    FieldDescriptor.TYPE_UINT64: VARINT,
}


def packed_width(known: FieldDescriptor | None) -> int | None:
    return PACKED_WIDTHS.get(known.type) if known is not None and known.is_repeated else None


def split_packed(field: Field, wire_type: int) -> Iterator[Field]:
    position = 0
    while position < len(field.payload):
        start = position
        if wire_type == VARINT:
            _, position = read_varint(field.payload, position)
        else:
            position += 4 if wire_type == FIXED32 else 8
        yield Field(field.number, wire_type, field.payload[start:position])


def short_negatives(fields: list[Field], descriptor: Descriptor) -> list[Field]:
    """Negative 32-bit numbers in five bytes instead of ten."""
    result = []
    for field in fields:
        known = descriptor.fields_by_number.get(field.number)
        if (
            known is not None
            and known.type == FieldDescriptor.TYPE_INT32
            and known.is_repeated
            and field.wire_type == BYTES
        ):
            numbers = (read_varint(element.payload, 0)[0] & 0xFFFF_FFFF for element in split_packed(field, VARINT))
            field = replace(field, payload=b"".join(varint(number) for number in numbers))
        result.append(field)
    return result
