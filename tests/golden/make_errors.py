"""Writes damaged streams with valid checksums, from docs/FORMAT.md: make_errors.py GOLDEN FOLDER.

GOLDEN is a folder of golden streams; each error starts from one of them. The texts beside the
streams are what `gradz test` said when they were made, without the places, read and found right.
"""
import pathlib
import struct
import sys

import xxhash


def h(data):
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(data))


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def read_varint(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        n |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return n, at


def split(stream):
    """HEAD, [(type, body)], INDEX body"""
    end = stream[-32:]
    (index_at,) = struct.unpack("<Q", end[:8])
    at, records = 40, []
    while at < len(stream) - 32:
        size, body = read_varint(stream, at + 1)
        records.append((stream[at], stream[body:body + size]))
        at = body + size + 8
    return stream[:40], records


def record(kind, body):
    data = bytes([kind]) + varint(len(body)) + body
    return data + h(data)


def join(head, records):
    """The index keeps its old contents: it is reached only where nothing before it is wrong."""
    body = b"".join(record(*r) for r in records)
    index_at = len(head) + len(body) - len(record(*records[-1]))
    tail = struct.pack("<QQ", index_at, len(head) + len(body) + 32)
    return head + body + tail + h(tail) + bytes.fromhex("8f47525a454e440a")


def head(changes):
    data = bytearray(bytes.fromhex("8f47525a0d0a1a0a") + bytes([1, 0]) + bytes(22))
    for at, value in changes.items():
        data[at] = value
    return bytes(data) + h(bytes(data))


def main():
    golden, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    good = (golden / "nuqsgd_2_fixed.grz").read_bytes()
    first, records = split(good)
    place = {kind: [i for i, r in enumerate(records) if r[0] == kind][0] for kind in (1, 2, 3, 4)}

    def with_body(kind, body):
        changed = list(records)
        changed[place[kind]] = (kind, body)
        return join(first, changed)

    def without(kind):
        return join(first, [r for i, r in enumerate(records) if i != place[kind]])

    block = records[place[3]][1]
    scales = 1 + 1 + 1 + 1 + 8 + 1  # coding, tensor, tensors, chunk, content, escaped
    spec = records[place[1]][1]
    errors = {
        "empty": b"", "cut_head": good[:20], "cut_record": good[:60], "cut_end": good[:-1], "no_end": good[:-32],
        "magic": b"\x89" + good[1:], "trailing": good + b"x", "flipped": good[:50] + bytes([good[50] ^ 1]) + good[51:],
        "newer_major": join(head({8: 2}), records), "newer_minor": join(head({9: 1}), records),
        "reserved": join(head({10: 1}), records), "required_feature": join(head({16: 4}), records),
        "unknown_record": join(first, [(0x05, b"new")] + records), "no_spec": without(1), "no_block": without(3),
        "index": with_body(4, records[place[4]][1][:-1] + bytes([records[place[4]][1][-1] ^ 1])),
        "doubled_block": join(first, records[:place[3] + 1] + records[place[3]:]),
        "spec_unknown": with_body(1, spec.replace(b"nuqsgd", b"nusqgd")),
        "spec_not_canonical": with_body(1, spec.replace(b"p=0.5", b"p=.50")),
        "scale_negative": with_body(3, block[:scales + 3] + bytes([block[scales + 3] | 0x80]) + block[scales + 4:]),
        "scale_nan": with_body(3, block[:scales] + b"\x00\x00\xc0\x7f" + block[scales + 4:]),
        "symbol": with_body(3, block[:-2] + b"\xff" + block[-1:]),
        "content": with_body(3, block[:4] + bytes([block[4] ^ 1]) + block[5:]),
        "escaped_count": with_body(3, block[:scales - 1] + b"\x7f" + block[scales:]),
        "coder_unknown": with_body(3, b"\x50" + block[1:]),
        "short_block": with_body(3, block[:-1]), "long_block": with_body(3, block + b"\x00"),
    }
    for name, data in errors.items():
        (out / f"{name}.grz").write_bytes(data)


main()
