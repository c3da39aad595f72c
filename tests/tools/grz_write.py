"""A small writer of gradz streams, made from docs/FORMAT.md: parts that a test may put together in any way, checksums right."""
import struct

import numpy as np
import xxhash
import zstandard

F32, F64, F16, BF16, UINT8, INT16, COMPLEX128 = 0, 1, 2, 3, 5, 6, 14
NONE, RAW, PLANES, FIXED, ELIAS, ZSTD = "none+zstd:level=1", 0, 1, 17, 18, 19


def xxh3(data):
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(data))


def varint(*values):
    out = b""
    for value in values:
        while value >= 128:
            out += bytes([value % 128 + 128])
            value //= 128
        out += bytes([value])
    return out


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


def text(data):
    return varint(len(data)) + data


def head(seed=7, major=1, minor=0, reserved=bytes(6), required=0, optional=0):
    fields = bytes.fromhex("8F47525A0D0A1A0A") + bytes([major, minor]) + reserved + struct.pack("<IIQ", required, optional, seed)
    return fields + xxh3(fields)


def record(kind, body):
    return bytes([kind]) + text(body) + xxh3(bytes([kind]) + text(body))


def origin(*entries):
    contents = b"".join(varint(shared) + text(name) + text(key) + text(value) for shared, name, key, value in entries)
    return (0x81, varint(len(contents)) + zstd(contents))


def spec(number, name):
    return (1, varint(number) + name.encode())


def qsgd(levels, bucket, coder="fixed"):
    return f"qsgd:{levels},norm=l2,bucket={bucket},rounding=stochastic+{coder}"


def nuqsgd(levels, bucket, coder="fixed", p=0.5, zero="yes"):
    return f"nuqsgd:{levels},p={p},norm=l2,bucket={bucket},rounding=stochastic,zero={zero}+{coder}"


def header(name, shape, dtype=F32, step=0, worker=0, number=0, shared=0, previous=b"", seed=7, rule=0):
    key = xxh3(struct.pack("<QQQ", seed, step, worker) + previous[:shared] + name)
    return varint(shared) + text(name) + bytes([dtype]) + varint(len(shape), *shape, step, worker) + key + varint(number, rule)


def tensors(*headers):
    return (2, varint(len(headers)) + b"".join(headers))


def block(coding, content, rest, first=0, count=1, chunk=0):
    return (3, bytes([coding]) + varint(first, count, chunk) + xxh3(content) + rest, first, chunk)


def stream(*records, begin=None, index=None, end=None):
    """HEAD, the records and the INDEX and END that fit; index and end change the last two."""
    out, entries, previous = begin or head(), varint(len(records)), 0
    for kind, body, *place in records:
        written = record(kind, body)
        entries += bytes([kind]) + varint(len(written))
        if place:
            entries += varint((place[0] - previous) % (1 << 64), place[1])
            previous = place[0]
        out += written
    entries = index(entries) if index else entries
    offset = len(out)
    out += record(4, varint(len(entries)) + zstd(entries))
    fields = struct.pack("<QQ", offset, len(out) + 32)
    fields = end(fields) if end else fields
    return out + fields + xxh3(fields) + bytes.fromhex("8F47525A454E440A")


def scales(*values):
    return np.array(values, "<f4").tobytes()


def number(code, n):
    """Section 9's code E, as text of 0 and 1, in the document's words."""
    digits = f"{n:b}"
    if code == 0:
        out = "0"
        while n > 1:
            out, n = f"{n:b}" + out, len(f"{n:b}") - 1
        return out
    return "0" * (len(digits) - 1) + digits if code == 1 else number(1, len(digits)) + digits[1:]


def pack(bits):
    """Bits as bytes, the first bit highest."""
    return b"".join(int(bits[i : i + 8].ljust(8, "0"), 2).to_bytes(1, "big") for i in range(0, len(bits), 8))


def scale_bits(value):
    return f"{struct.unpack('<I', struct.pack('<f', value))[0]:032b}"


def elias(code, values, symbols, bucket, signed=0):
    bits = ""
    for i, scale in enumerate(values):
        piece, place = symbols[bucket * i : bucket * i + bucket], 0
        bits += scale_bits(scale)
        for at, symbol in enumerate(piece if scale else [], 1):
            if signed:
                bits += "0" + number(code, symbol - signed + 1) if symbol >= signed else "1" + number(code, signed - symbol)
            elif symbol:
                bits += number(code, at - place) + str(1 - symbol % 2) + number(code, (symbol + 1) // 2)
                place = at
        if scale and not signed and place < len(piece):
            bits += number(code, len(piece) + 1 - place)
    return bytes([code]) + pack(bits)


def one(spec_text, shape, coding, content, rest, dtype=F32):
    return stream(spec(0, spec_text), tensors(header(b"w", shape, dtype)), block(coding, content, rest))


def raw(values, **place):
    return block(RAW, values.tobytes(), values.tobytes(), **place)
