"""Streams that docs/FORMAT.md allows and the program's encoder would not write: make_odd.py FOLDER.

Put together by tests/tools/grz_write.py; what they hold is in the .txt beside them.
"""
import pathlib
import sys

import numpy as np
import zstandard

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from grz_write import (  # noqa: E402
    BF16, ELIAS, F16, F64, FIXED, INT16, NONE, PLANES, RAW, UINT8, ZSTD, block, elias, head, header, nuqsgd, origin, qsgd, raw, scales, spec, stream,
    tensors, text, varint, zstd,
)  # fmt: skip

TERNARY, SIGNED, QSGD = nuqsgd("bits=2", 4), nuqsgd("bits=3", 4, zero="no"), qsgd("s=3", 4)
EMPTY = spec(0, NONE), tensors(header(b"e", [0]))
SIZES = [4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8, 1, 8, 16, 1, 1, 1, 1, 1]  # bytes of every dtype
SYMBOLS, SCALES = [1, 2, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0, 1], (2, 3, 0, 3)


def unknown_records():
    """Records that may be skipped stand anywhere, also in front of ORIGIN and before INDEX."""
    new = (0xFF, b"from a later version"), (0x80, b"")
    return stream(*new, origin((0, b"", b"format", b"npz")), *new, spec(0, TERNARY), *new, tensors(header(b"w", [6])), *new,
                  block(FIXED, scales(2, 3) + bytes([1, 2, 0, 1, 2, 2]), varint(0) + scales(2, 3) + bytes([1 + 6 + 27 + 162, 2])), *new)


def optional_feature():
    return stream(*EMPTY, begin=head(optional=0xFFFFFFFF))


def origins():
    """Keys that are not known, or there twice; a record without entries; prefixes that are not as long as they could be."""
    return stream(origin((0, b"", b"format", b"npz"), (0, b"layer/a", b"new", b"\0\xff"), (3, b"er/a", b"new", b"")), origin(),
                  origin((0, b"layer/b", b"order", b"fortran"), (7, b"", b"order", b"fortran")), *EMPTY)


def small_batches():
    """A TENSORS record for every tensor, and one whose tensors share less of their names than they could."""
    lines = [spec(0, NONE)]
    for i in range(3):
        lines += [tensors(header(b"layer%d" % i, [2], UINT8)), raw(np.array([i, 9], "u1"), first=i)]
    return stream(*lines, tensors(header(b"layer3", [1], UINT8), header(b"ayer4", [1], UINT8, shared=1, previous=b"layer3")),
                  raw(np.array([3, 4], "u1"), first=3, count=2))


def all_dtypes():
    """Two elements of each, bytes that count up: among them a bool that is neither 0 nor 1."""
    lines, bytes_of = [spec(0, NONE)], lambda i: bytes((7 * i + k) % 256 for k in range(2 * SIZES[i]))
    return stream(*lines, tensors(*[header(b"dtype%d" % i, [2], i) for i in range(20)]),
                  *[block(RAW, bytes_of(i), bytes_of(i), first=i) for i in range(20)])


def any_coder():
    """The same tensor by every coder, and without one, whatever the spec says; frames of all levels."""
    content, packed = scales(*SCALES) + bytes(SYMBOLS), bytes([1 + 6 + 27 + 162, 2, 9])
    values = np.arange(13, dtype="<f4")
    rows = values.tobytes()
    planes = b"".join(text(zstd(rows[i::4])) for i in range(4))
    level = zstandard.ZstdCompressor(level=-5).compress(packed)
    ways = [(FIXED, scales(*SCALES) + packed), (ZSTD, scales(*SCALES) + zstd(packed)), (ZSTD, scales(*SCALES) + level)]
    ways += [(ELIAS, elias(code, SCALES, SYMBOLS, 4)) for code in range(3)]
    lines = [spec(0, TERNARY), spec(1, QSGD)]
    for i, (coding, rest) in enumerate(ways):
        lines += [tensors(header(b"way%d" % i, [13])), block(coding, content, varint(0) + rest, first=i)]
    for i, (coding, rest) in enumerate([(RAW, rows), (PLANES, planes)], len(ways)):
        lines += [tensors(header(b"way%d" % i, [13], number=1)), block(coding, rows, rest, first=i)]
    return stream(*lines)


def zero_scales():
    """Any symbol decodes to a zero there, some to −0: by fixed, since elias has no symbols then."""
    symbols = [0, 1, 2, 2, 1, 0, 2, 0]
    packed = [sum(s * 3**i for i, s in enumerate(symbols[at : at + 5])) for at in (0, 5)]
    signed = [0, 3, 4, 7, 7, 4, 3, 0]
    bits = sum(s << 3 * i for i, s in enumerate(signed)).to_bytes(3, "little")
    return stream(spec(0, TERNARY), spec(1, SIGNED), tensors(header(b"a", [8]), header(b"b", [8], number=1), header(b"c", [8], F16, number=1),
                                                              header(b"d", [8], BF16, number=1), header(b"e", [8], F64, number=1)),
                  block(FIXED, scales(0, 1) + bytes(symbols), varint(0) + scales(0, 1) + bytes(packed)),
                  *[block(FIXED, scales(0, 0.5) + bytes(signed), varint(0) + scales(0, 0.5) + bits, first=i) for i in (1, 2, 3, 4)])


def all_escaped():
    """Blocks without any symbol, by every coder."""
    values = np.array([np.nan, 1, -np.inf], "<f4").tobytes()
    lines = [spec(0, QSGD)]
    for i, (coding, code) in enumerate([(FIXED, b""), (ZSTD, zstd(b"")), (ELIAS, b"\2")]):
        lines += [tensors(header(b"way%d" % i, [3])), block(coding, values, varint(1) + b"\1" + values + code, first=i)]
    return stream(*lines)


def pieces_of_a_run():
    """Buckets end with their tensor; empty tensors inside a run and at its end belong to it, others do not."""
    kept, symbols = np.array([np.nan, np.inf, 1e-45, -0.0, 5], "<f4").tobytes(), [1, 0, 0, 2, 2, 2]
    about = tensors(header(b"none", [0]), header(b"a", [8]), header(b"empty", [3, 0]), header(b"b", [2]), header(b"c", []), header(b"end", [0]),
                    header(b"other", [0], INT16, number=1), header(b"d", [1]))
    return stream(spec(0, TERNARY), spec(1, NONE), about,
                  block(FIXED, scales(2, 1) + bytes(symbols) + kept, varint(2) + b"\x0a" + kept + scales(2, 1) + bytes([1 + 54 + 162, 2]), first=1, count=5),
                  block(FIXED, scales(7) + b"\2", varint(0) + scales(7) + b"\2", first=7))


def rounding_to_narrow_types():
    """Ties of binary16 and bfloat16, overflow to infinity, results that are subnormal or vanish."""
    factors = [1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 65519, 65520, 2**-24, 2**-25, 3 * 2**-25, 3.4e38, 1.5e-38, 0.1]
    symbols = bytes([1, 2] * len(factors))
    packed = [sum(s * 3**i for i, s in enumerate(symbols[at : at + 5])) for at in range(0, len(symbols), 5)]
    content, rest = scales(*factors) + symbols, varint(0) + scales(*factors) + bytes(packed)
    return stream(spec(0, qsgd("s=1", 2)), tensors(*[header(b"%d" % i, [len(symbols)], i) for i in range(4)]),
                  *[block(FIXED, content, rest, first=i) for i in range(4)])


def patterns():
    """fp16 and bf16 into every dtype: subnormal and extreme patterns."""
    octets = np.array([0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0xFBFF, 0x7F7F, 0x0080, 0x007F], "<u2").tobytes()
    lines = [spec(0, "fp16+fixed"), spec(1, "bf16+zstd:level=1")]
    for i in range(8):
        coding, code = ((FIXED, octets), (ZSTD, zstd(octets[::2] + octets[1::2])))[i // 4]
        finite = octets if i // 4 else octets[:18]
        code = code if i // 4 else finite
        lines += [tensors(header(b"%d" % i, [len(finite) // 2], i % 4, number=i // 4)), block(coding, finite, varint(0) + code, first=i)]
    return stream(*lines)


def shapes():
    """255 dimensions, huge ones beside a zero, a name of any bytes and of none, the largest step and worker, an unknown rule."""
    most = (1 << 64) - 1
    return stream(spec(0, NONE), tensors(header(b"\xff\n\t\\ \x7f", [1] * 255, UINT8), header(b"", [most, most, 0], step=most, worker=most, rule=most),
                                         header(b"n" * 300, [2, 3], UINT8), header(b"", [1], UINT8)),
                  raw(np.array([200], "u1")), raw(np.arange(7, dtype="u1"), first=2, count=2))


def two_streams():
    """The same name twice, in streams of different seeds."""
    return unknown_records() + stream(spec(0, NONE), tensors(header(b"w", [1], UINT8, seed=8)), raw(np.array([5], "u1")), begin=head(8))


def main(folder):
    for make in (unknown_records, optional_feature, origins, small_batches, all_dtypes, any_coder, zero_scales, all_escaped, pieces_of_a_run,
                 rounding_to_narrow_types, patterns, shapes, two_streams):
        pathlib.Path(folder, f"odd_{make.__name__}.grz").write_bytes(make())


if __name__ == "__main__":
    main(sys.argv[1])
