"""tools/grz_decode.py on streams that grz_write.py, made from docs/FORMAT.md too, puts together by hand. Needs numpy, zstandard, xxhash."""
import contextlib
import io
import os
import pathlib
import random
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
try:
    import grz_decode
    import numpy as np
    import xxhash
    import zstandard
    from grz_write import *  # noqa: F403
except ImportError as missing:
    print(f"skipped: {sys.executable}: {missing}")
    sys.exit(1 if os.environ.get("GRADZ_REQUIRE_PYTHON") else 77)

TERNARY = nuqsgd("bits=2", 4)  # D = 0, 1, -1
SIGNED = nuqsgd("bits=3", 4, "elias:code=omega", zero="no")  # D = -1, -1/2, -1/4, -1/8, 1/8, 1/4, 1/2, 1
QSGD = qsgd("s=3", 4)  # D = 0, 1/3, -1/3, 2/3, -2/3, 1, -1
EMPTY = spec(0, NONE), tensors(header(b"e", [0]))  # a stream needs a tensor

SMALL = stream(origin((0, b"", b"format", b"npz")), spec(0, TERNARY), tensors(header(b"w", [6])),
               block(FIXED, scales(2, 3) + bytes([1, 2, 0, 1, 2, 2]), varint(0) + scales(2, 3) + bytes([1 + 6 + 27 + 162, 2])))


class Case(unittest.TestCase):
    def values(self, data):
        (tensor,) = grz_decode.decode(data)[0].tensors
        return tensor.values

    def equal(self, got, want, dtype="<f4"):
        want = np.asarray(want, dtype)
        self.assertEqual((got.dtype, got.shape, got.tobytes()), (want.dtype, want.shape, want.tobytes()))

    def refused(self, data, why, **options):
        with self.assertRaisesRegex(grz_decode.FormatError, why) as caught:
            grz_decode.decode(data, **options)
        self.assertNotIn("\n", str(caught.exception))


class Stream(Case):
    def test_small(self):
        (decoded,) = grz_decode.decode(SMALL)
        tensor = decoded.tensors[0]
        self.assertEqual(tensor[:4], (b"w", "float32", 0, 0))
        self.assertEqual((tensor.shape, tensor.spec), ((6,), TERNARY))
        self.assertEqual(decoded.origin, [(b"", b"format", b"npz")])
        self.equal(tensor.values, [2, -2, 0, 2, -3, -3])

    def test_every_prefix_is_refused(self):
        for size in range(len(SMALL)):
            with self.subTest(size=size):
                self.refused(SMALL[:size], ".")

    def test_every_flipped_bit_is_refused(self):
        for bit in range(8 * len(SMALL)):
            flipped = bytearray(SMALL)
            flipped[bit // 8] ^= 1 << bit % 8
            with self.subTest(bit=bit):
                self.refused(bytes(flipped), ".")

    def test_two_streams(self):
        first, second = grz_decode.decode(SMALL + stream(*EMPTY))
        self.assertEqual([tensor.name for tensor in first.tensors + second.tensors], [b"w", b"e"])
        self.refused(SMALL + b"\0", "stream at byte")
        self.refused(SMALL + SMALL[:-1], "stream at byte")

    def test_head(self):
        self.equal(self.values(stream(*EMPTY, begin=head(optional=1 << 31))), [])
        for changed, why in (
            ({"major": 2}, "version 2.0"), ({"minor": 1}, "version 1.1"), ({"required": 8}, "required"), ({"reserved": b"\0\0\0\0\0\1"}, "reserved"),
        ):  # fmt: skip
            self.refused(stream(*EMPTY, begin=head(**changed)), why)
        damaged = head(major=2)[:-1] + b"\0"
        self.refused(stream(*EMPTY, begin=damaged), "checksum of the HEAD")

    def test_unknown_records(self):
        self.equal(self.values(stream((0xFF, b"any"), EMPTY[0], (0x80, b""), EMPTY[1], (0x82, b""))), [])
        self.refused(stream((0x05, b"")), "unknown record type 0x05")

    def test_order(self):
        data, about = block(RAW, b"abc", b"abc"), tensors(header(b"b", [3], UINT8))
        self.equal(self.values(stream(spec(0, NONE), about, data)), list(b"abc"), "u1")
        self.refused(stream(about, spec(0, NONE), data), "spec 0 is not known")
        self.refused(stream(spec(0, NONE), data, about), "where None is due")
        self.refused(stream(spec(0, NONE), about, data, data), "where None is due")
        self.refused(stream(spec(0, NONE), about), "INDEX before all blocks")
        self.refused(stream(spec(0, NONE), about, tensors(header(b"c", [0], UINT8)), data), "before all blocks")
        self.refused(stream(spec(0, NONE), origin()), "ORIGIN after")
        self.refused(stream(spec(1, NONE)), "spec 1 where 0")
        self.refused(stream(spec(0, NONE), spec(1, NONE), EMPTY[1]), "a spec is there twice")
        self.refused(stream(), "without tensors")
        self.refused(stream(spec(0, NONE)), "without tensors")

    def test_records_are_used_up(self):
        self.refused(stream(spec(0, NONE), (2, tensors(header(b"b", [0], UINT8))[1] + b"\0")), "1 bytes too many")
        self.refused(one(NONE, [3], RAW, b"abc", b"abcd", UINT8), "1 bytes too many")
        self.refused(one(NONE, [3], RAW, b"abc", b"ab", UINT8), "truncated")

    def test_index_and_end(self):
        records = spec(0, NONE), tensors(header(b"b", [3], UINT8)), block(RAW, b"abc", b"abc")
        for change in (lambda x: x + b"\0", lambda x: x[:-1] + b"\1", lambda x: b"\2" + x[1:], lambda x: x[:-1]):
            self.refused(stream(*records, index=change), "INDEX differs")
        self.refused(stream(*EMPTY, index=lambda x: bytes(500)), "an index of 500 bytes")
        self.refused(stream(*EMPTY, end=lambda x: b"\1" + x[1:]), "offset of INDEX")
        self.refused(stream(*EMPTY, end=lambda x: x[:8] + b"\1" + x[9:]), "length of the stream")

    def test_varints(self):
        for spelling, why in (b"\x80\0", "longer than it need"), (b"\xff" * 9 + b"\x02", "64 bits"), (b"\xff" * 10, "ten bytes"):
            self.refused(stream((1, spelling + b"none")), why)


class Origin(Case):
    def test_entries(self):
        first = origin((0, b"", b"format", b"hdf5"), (0, b"grads/a", b"order", b"fortran"), (6, b"b", b"k", b"\0\n"))
        (decoded,) = grz_decode.decode(stream(first, origin((0, b"c", b"unknown", b"")), origin(), *EMPTY))
        self.assertEqual([entry[0] for entry in decoded.origin], [b"", b"grads/a", b"grads/b", b"c"])
        self.assertEqual(decoded.origin[2], (b"grads/b", b"k", b"\0\n"))

    def test_refused(self):
        self.refused(stream(origin((1, b"", b"format", b"x"))), "1 bytes shared")
        self.refused(stream((0x81, varint(5) + zstd(b"\0\0\0\0"))), "does not declare 5 bytes")
        self.refused(stream((0x81, varint(4) + zstd(b"\0\0\0\0") + b"\0")), "zstd frame")
        self.refused(stream((0x81, varint(4) + zstd(b"\0\0") + zstd(b"\0\0"))), "zstd frame")
        self.refused(stream((0x81, varint(1 << 27) + zstd(b""))), "too long")
        self.refused(stream((0x81, varint(0) + b"\x50\x2a\x4d\x18" + bytes(4))), "not a zstd frame")  # a skippable one
        for frame in zstd(b"") + bytes(3), zstd(b"")[:-1], zstd(b"")[:-3] + b"\x01\x08\0":
            self.refused(stream((0x81, varint(0) + frame)), "zstd frame")
        undeclared = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(4))
        self.refused(stream((0x81, varint(4) + undeclared)), "does not declare")


class Tensors(Case):
    def test_names_shapes_and_ranks(self):
        about = tensors(header(b"conv.weight", [2, 0, 3], step=5, worker=3), header(b"bias", [], UINT8, shared=5, previous=b"conv.weight", number=1),
                        header(b"\xff\n", [1] * 70, UINT8, number=1), header(b"", [1 << 60, 1 << 60, 0], number=1))
        (decoded,) = grz_decode.decode(stream(spec(0, QSGD), spec(1, NONE), about, block(RAW, b"ab", b"ab", first=1, count=2)))
        self.assertEqual([tensor.name for tensor in decoded.tensors], [b"conv.weight", b"conv.bias", b"\xff\n", b""])
        self.assertEqual([tensor.shape for tensor in decoded.tensors], [(2, 0, 3), (), (1,) * 70, (1 << 60, 1 << 60, 0)])
        self.assertEqual([tensor.values.shape for tensor in decoded.tensors], [(2, 0, 3), (), (1,), (0,)])
        self.assertEqual(decoded.tensors[0][2:4], (5, 3))

    def test_refused(self):
        def batch(*headers, **options):
            return stream(spec(0, NONE), spec(1, QSGD), tensors(*headers), **options)

        self.refused(batch(), "0 tensors")
        self.refused(batch(header(b"a", [0]), header(b"a", [0])), "twice")
        self.refused(batch(header(b"a", [0]), header(b"", [0], shared=2, previous=b"aa")), "2 bytes shared")
        self.refused(batch(header(b"a" * 65536, [0])), "too long")
        self.refused(batch(header(b"a", [0], dtype=20)), "unknown dtype")
        self.refused(batch(header(b"a", [1] * 256)), "rank")
        self.refused(batch(header(b"a", [0], seed=8)), "wrong key")
        self.refused(batch(header(b"a", [1 << 61])), "too large")
        self.refused(batch(header(b"a", [(1 << 61) - 1])), "INDEX before all blocks")
        self.refused(batch(header(b"a", [0], dtype=INT16, number=1)), "a quantizer for int16")
        self.assertEqual(len(grz_decode.decode(batch(*[header(b"%d" % i, [0]) for i in range(4096)]))[0].tensors), 4096)
        self.refused(batch(*[header(b"%d" % i, [0]) for i in range(4097)]), "4097 tensors")

    def test_a_record_ends_with_its_elements(self):
        """2^18 elements or more: with the tensor that reaches them, and not before."""
        sizes = [(1 << 18) - 1, 1]
        about = [header(b"%d" % i, [size], UINT8) for i, size in enumerate(sizes)]
        blocks = [raw(np.zeros(size, "u1"), first=i) for i, size in enumerate(sizes)]
        self.assertEqual(len(grz_decode.decode(stream(spec(0, NONE), tensors(*about), *blocks))[0].tensors), 2)
        self.refused(stream(spec(0, NONE), tensors(*about, header(b"e", [0], UINT8)), *blocks), "a header after 262144")


class Elements(Case):
    def test_raw_and_planes(self):
        values = np.arange(300, dtype="<i2") * 7
        low, high = values.tobytes()[::2], values.tobytes()[1::2]
        self.equal(self.values(one(NONE, [20, 15], RAW, values.tobytes(), values.tobytes(), INT16)), values.reshape(20, 15), "<i2")
        rest = text(low) + text(zstd(high))
        self.equal(self.values(one(NONE, [300], PLANES, values.tobytes(), rest, INT16)), values, "<i2")
        self.refused(one(NONE, [300], PLANES, values.tobytes(), text(high) + text(zstd(low)), INT16), "checksum of the elements")
        self.refused(one(NONE, [299], PLANES, values.tobytes(), rest, INT16), "zstd")

    def test_all_dtypes(self):
        for dtype, (name, storage) in enumerate(grz_decode.DTYPES):
            data = bytes(range(3 * storage.itemsize))
            (tensor,) = grz_decode.decode(one(NONE, [3], RAW, data, data, dtype))[0].tensors
            self.assertEqual((tensor.dtype, tensor.values.tobytes()), (name, data))

    def test_elements_of_a_quantized_tensor(self):
        values = np.array([1.5, np.nan, -0.0], "<f4")
        self.equal(self.values(one(QSGD, [3], RAW, values.tobytes(), values.tobytes())), values)

    def test_runs(self):
        """Runs end at another dtype or spec and at 2^14 elements, and hold the tensors without elements between."""
        sizes = [(0, UINT8, 0), (2, UINT8, 0), (0, UINT8, 0), (3, UINT8, 0), (0, INT16, 0), (1, INT16, 0)]
        sizes += [(2, F32, 0), (1, F32, 1), (1 << 14, F32, 1), (1, F32, 1)]
        about = tensors(*[header(b"%d" % i, [size], dtype, number=number) for i, (size, dtype, number) in enumerate(sizes)])
        data = [np.arange(size, dtype=grz_decode.DTYPES[dtype][1]) for size, dtype, _ in sizes]
        runs = [(1, 3), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1)]
        blocks = [raw(np.concatenate(data[first : first + count]), first=first, count=count) for first, count in runs]
        (decoded,) = grz_decode.decode(stream(spec(0, NONE), spec(1, QSGD), about, *blocks))
        for tensor, want in zip(decoded.tensors, data):
            self.equal(tensor.values, want, want.dtype)
        short = raw(np.concatenate(data[1:3]), first=1, count=2)
        self.refused(stream(spec(0, NONE), spec(1, QSGD), about, short, *blocks[1:]), "where .1, 3, 0. is due")
        self.refused(stream(spec(0, NONE), spec(1, QSGD), about, blocks[1], blocks[0], *blocks[2:]), "is due")

    def test_chunks(self):
        buckets = ("100000", 200000), ("300000", 1 << 18), ("tensor", 1 << 18)
        for name, chunk in (NONE, 1 << 18), *[(qsgd("s=1", bucket), chunk) for bucket, chunk in buckets]:
            values = np.arange(600001, dtype="<f4")
            blocks = [raw(values[at : at + chunk], chunk=at // chunk) for at in range(0, len(values), chunk)]
            about = spec(0, name), tensors(header(b"w", [600001]))
            self.equal(self.values(stream(*about, *blocks)), values)
            self.refused(stream(*about, blocks[0], blocks[2], *blocks[1:]), "is due")
            self.refused(stream(*about, *blocks[:-1]), "INDEX before")


class Symbols(Case):
    WANT = np.array([2, -2, 0, 2, -3, -3, 0, 0, 0, 0, 0, 0, 3], "<f4")  # ternary, bucket 4, scales 2, 3, 0, 3
    SYMBOLS, SCALES = [1, 2, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0, 1], (2, 3, 0, 3)

    def test_coders(self):
        content = scales(*self.SCALES) + bytes(self.SYMBOLS)
        packed = bytes([1 + 6 + 27 + 162, 2, 81 * 0 + 9])
        for coding, rest in (FIXED, scales(*self.SCALES) + packed), (ZSTD, scales(*self.SCALES) + zstd(packed)):
            self.equal(self.values(one(TERNARY, [13], coding, content, varint(0) + rest)), self.WANT)
        for code in range(3):
            rest = varint(0) + elias(code, self.SCALES, self.SYMBOLS, 4)
            self.equal(self.values(one(TERNARY, [13], ELIAS, content, rest)), self.WANT)
            self.refused(one(TERNARY, [13], ELIAS, content, rest + b"\0"), "bytes follow")
            self.refused(one(TERNARY, [13], ELIAS, content, rest[:-1]), "ends too early")
        self.refused(one(TERNARY, [13], ELIAS, content, varint(0) + b"\3" + rest[2:]), "known code")

    def test_wide_symbols(self):
        """Coders fixed, of 3 bits, and elias of larger numbers; thirds are rounded once."""
        symbols, levels = [6, 5, 4, 3, 2, 1, 0, 1], np.array([0, 1, -1, 2, -2, 3, -3], "<f4") / np.float32(3)
        want = np.repeat(np.array([0.1, 7], "<f4"), 4) * levels[symbols]
        content = scales(0.1, 7) + bytes(symbols)
        packed = sum(symbol << 3 * i for i, symbol in enumerate(symbols)).to_bytes(3, "little")
        pairs = bytes([symbols[i] + 7 * symbols[i + 1] for i in range(0, 8, 2)])
        for coding, rest in (FIXED, scales(0.1, 7) + packed), (ZSTD, scales(0.1, 7) + zstd(pairs)), (ELIAS, elias(2, (0.1, 7), symbols, 4)):
            self.equal(self.values(one(QSGD, [8], coding, content, varint(0) + rest)), want)

    def test_signed_table(self):
        table = np.array([-1, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1], "<f4")
        symbols = [0, 1, 2, 3, 4, 5, 6, 7, 4, 4]
        for code in range(3):
            rest = varint(0) + elias(code, (1, 3, 0), symbols, 4, signed=4)
            want = table[symbols] * np.repeat(np.array([1, 3, 0], "<f4"), (4, 4, 2))
            self.equal(self.values(one(SIGNED, [10], ELIAS, scales(1, 3, 0) + bytes(symbols), rest)), want)

    def test_escapes(self):
        """Pieces 1 and 3 of 4 are stored bit for bit; pieces do not cross from one tensor of a run to the next."""
        kept = np.array([np.nan, np.inf, 1e-45, -0.0, 5], "<f4").tobytes()
        symbols = [1, 0, 0, 2, 2, 2]
        about = spec(0, TERNARY), tensors(header(b"a", [8]), header(b"b", [2]), header(b"c", [1]))
        for coding, code in (FIXED, scales(2, 1) + bytes([1 + 54 + 162, 2])), (ELIAS, elias(0, (2, 1), symbols, 4)):
            data = stream(*about, block(coding, scales(2, 1) + bytes(symbols) + kept, varint(2) + b"\x0a" + kept + code, count=3))
            a, b, c = grz_decode.decode(data)[0].tensors
            self.assertEqual(b"".join(x.values.tobytes() for x in (a, b, c)), scales(2, 0, 0, -2) + kept[:16] + scales(-1, -1) + kept[16:])
        for bitmap, why in (varint(2) + b"\x1a", "unused bits"), (varint(2) + b"\x08", "1 bits"), (varint(5) + b"\x0f", "5 escaped pieces of 4"):
            self.refused(stream(*about, block(FIXED, b"", bitmap + kept + bytes(10), count=3)), why)

    def test_everything_escaped(self):
        values = np.array([np.nan, 1], "<f4").tobytes()
        for coding, code in (FIXED, b""), (ZSTD, zstd(b"")), (ELIAS, b"\2"):
            self.equal(self.values(one(QSGD, [2], coding, values, varint(1) + b"\1" + values + code)), np.frombuffer(values, "<f4"))

    def test_refused(self):
        def ternary(code, *values, symbols=bytes(6), coding=FIXED):
            return one(TERNARY, [6], coding, scales(*values) + symbols, varint(0) + scales(*values) + code)

        self.equal(self.values(ternary(b"\0\0", 1, 1)), np.zeros(6))
        for scale in (-1, -0.0, 1e-45, np.inf, np.nan, 1e-38):
            self.refused(ternary(b"\0\0", 1, scale), "a scale is neither")
        self.refused(ternary(b"\xf3\0", 1, 1), "not below 3.5")
        self.refused(ternary(b"\0\x03", 1, 1), "unused digits")
        self.refused(ternary(b"\0\0\0", 1, 1), "3 bytes of code")
        self.refused(ternary(b"\0", 1, 1), "1 bytes of code")
        self.refused(ternary(zstd(b"\0\0\0"), 1, 1, coding=ZSTD), "zstd frame")
        self.refused(ternary(b"\1\0", 1, 1), "checksum of the symbols")
        self.refused(ternary(b"\0\0", 1, 1, coding=21), "unknown coding")
        self.refused(ternary(b"\0\0", 1, 1, coding=16), "unknown coding")
        self.refused(one(QSGD, [1], FIXED, scales(1) + b"\7", varint(0) + scales(1) + b"\7"), "not below the alphabet")
        self.refused(one(QSGD, [1], FIXED, scales(1) + b"\1", varint(0) + scales(1) + b"\x09"), "unused bits")
        self.refused(one(NONE, [1], FIXED, b"", varint(0)), "whose spec is none")

    def test_long_elias_numbers(self):
        def coded(code, bits):
            return one(qsgd("s=3", "tensor"), [4], ELIAS, b"", varint(0) + bytes([code]) + pack(scale_bits(1) + bits))

        for code in range(3):
            self.refused(coded(code, number(code, 6)), "too large")  # past the end of the piece
            self.refused(coded(code, number(code, 1) + "0" + number(code, 4)), "too large")  # no such magnitude
            self.refused(coded(code, number(code, (1 << 18) + 2)), "too large")
            self.refused(coded(code, number(code, 1 << 60) + "0" * 99), "too large")
            self.refused(coded(code, number(code, 5) + "1"), "unused bits")
        self.refused(coded(1, "0" * 1000), "too large")
        self.refused(coded(0, "1" * 1000), "too large")

    def test_large_bucket(self):
        """One bucket of 2^18 elements whose last symbol is not zero, and one without any: the largest numbers."""
        size = 1 << 18
        for code in range(3):
            for symbols in np.zeros(size, np.uint8), np.eye(1, size, size - 1, dtype=np.uint8)[0]:
                rest = varint(0) + elias(code, (2,), symbols.tolist(), size)
                data = one(qsgd("s=1", "tensor"), [size], ELIAS, scales(2) + symbols.tobytes(), rest)
                self.equal(self.values(data), 2.0 * symbols)


class Quantizers(Case):
    def table(self, name):
        return grz_decode.parse_spec(name.encode())

    def test_tables(self):
        self.equal(self.table(QSGD).table, np.array([0, 1, -1, 2, -2, 3, -3], "<f4") / np.float32(3))
        self.equal(self.table(SIGNED).table, [-1, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1])
        self.equal(self.table(nuqsgd("s=2", 1, p=0.3)).table, [0, 0.3 * 0.3, -0.3 * 0.3, 0.3, -0.3, 1, -1])
        self.equal(self.table(nuqsgd("bits=1", 1, zero="no")).table, [-1, 1])
        power = 1.0
        for _ in range(126):
            power *= 0.9
        self.equal(self.table(nuqsgd("bits=8", 1, p=0.9)).table[1:3], [power, -power])
        self.assertEqual([self.table(name).alphabet for name in (NONE, "fp16+fixed", qsgd("s=255", 8))], [0, 65536, 511])

    def test_to_other_dtypes(self):
        """Half of 2^-8 more than 1 is a tie for bfloat16, half of 2^-10 more for binary16; both go to the even neighbour."""
        def decoded(scale, dtype):
            return self.values(one(qsgd("s=1", 2), [2], FIXED, scales(scale) + b"\1\2", varint(0) + scales(scale) + bytes([1 + 6]), dtype))

        for scale, pattern in (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (1 + 2**-8 + 2**-20, 0x3F81), (3.4e38, 0x7F80):
            self.equal(decoded(scale, BF16), [pattern, pattern | 0x8000], "<u2")
        for scale, pattern in (1 + 2**-11, 0x3C00), (1 + 3 * 2**-11, 0x3C02), (65519, 0x7BFF), (65520, 0x7C00), (2**-25, 0), (2**-24, 1):
            self.equal(decoded(scale, F16).view("<u2"), [pattern, pattern | 0x8000], "<u2")
        self.equal(decoded(0.1, F64), [np.float32(0.1), -np.float32(0.1)], "<f8")

    def test_patterns(self):
        """fp16 and bf16 have no scales; fixed is 16 bits a symbol, zstd the low bytes before the high ones."""
        values = np.array([1.5, -0.0, 65504, 6e-8, np.inf], "<f2")
        octets = values.tobytes()
        for coding, code in (FIXED, octets), (ZSTD, zstd(octets[::2] + octets[1::2])):
            self.equal(self.values(one("fp16+fixed", [5], coding, octets, varint(0) + code)), values)
            self.equal(self.values(one("fp16+fixed", [5], coding, octets, varint(0) + code, F16)), values, "<f2")
            self.equal(self.values(one("bf16+fixed", [5], coding, octets, varint(0) + code, BF16)), values.view("<u2"), "<u2")
        self.equal(self.values(one("bf16+fixed", [2], FIXED, b"\x80\x3f\x00\xc0", varint(0) + b"\x80\x3f\x00\xc0")), [1, -2])
        self.refused(one("fp16+fixed", [1], ELIAS, b"", varint(0) + b"\0"), "coder elias for fp16")

    def test_refused(self):
        good = nuqsgd("bits=4", 512), qsgd("s=255", "tensor", "zstd:level=19"), qsgd("bits=8", 1 << 40, "elias:code=delta"), "fp16+fixed", NONE
        for name in *good, nuqsgd("s=254", 1, p=0.9), nuqsgd("bits=2", 1, p=1e-5), good[1].replace("qsgd", "qsgdinf").replace("l2", "linf"):
            self.equal(self.values(stream(spec(0, name), tensors(header(b"e", [0])))), [])
        for name in (
            "", "none", "other+fixed", "none+fixed\n", "none:+fixed", "none+other", "none+zstd", "none+zstd:level=01", "none+zstd:level=20",
            "none+fixed+fixed", "none+elias:code=beta", qsgd("s=1", "01"), qsgd("s=1", 0), qsgd("s=1", "%31"), qsgd("s=01", 1),
            qsgd("bits=4,s=1", 1), qsgd("bits=9", 1), "qsgd:bits=4+fixed", "qsgd:bucket=1+fixed", good[0].replace("p=0.5,", "p=0.5,p=0.5,"),
            good[0].replace("p=0.5,norm=l2", "norm=l2,p=0.5"), good[0].replace("l2", "l3"), good[0] + "\xff",
        ):  # fmt: skip
            with self.subTest(name=name):
                self.refused(stream((1, varint(0) + name.encode("latin-1"))), "not in canonical form")
        for name, why in (
            ("fp16" + good[0][6:], "keys of another"), ("qsgd+fixed", "keys of another"), (good[0].replace("p=0.5,", ""), "p is missing"),
            (good[0].replace(",zero=yes", ""), "zero is missing"), ("qsgd" + good[0][6:], "p is missing, or"), (qsgd("s=1", (1 << 40) + 1), "too large"),
            (qsgd("s=1", 1).replace("qsgd", "qsgdinf"), "not linf"), (nuqsgd("s=1", 1, zero="no"), "needs bits"), (nuqsgd("bits=1", 1), "0 magnitudes"),
            (qsgd("bits=1", 1), "0 magnitudes"), (qsgd("s=256", 1), "256 magnitudes"), (nuqsgd("s=255", 1, p=0.9), "256 magnitudes"),
            (nuqsgd("s=127", 1), "not normal"), (nuqsgd("bits=3", 1, p=0.99999999), "equal"),
            *[(nuqsgd("bits=4", 1, p=p), "shortest") for p in ("0.50", "0.0", "0.0001", "1e-02", "5e-01", "1e-999", "0.10000000000000001")],
        ):  # fmt: skip
            with self.subTest(name=name):
                self.refused(stream(spec(0, name)), why)

    def test_shortest_spelling(self):
        for text in "0.5", "0.1", "0.001", "1e-04", "0.00012", "1.23e-05", "0.3333333333333333", "2.2250738585072014e-308", "5e-324":
            self.assertEqual(grz_decode.shortest(float(text)), text)


class Hostile(Case):
    def test_content_beyond_the_limit(self):
        zeros = bytes(1 << 20)
        data = one(NONE, [1 << 18], PLANES, zeros, 4 * text(zstd(bytes(1 << 18))))
        self.equal(self.values(data), np.zeros(1 << 18))
        self.refused(data, "limit", limit=1 << 20)
        self.refused(stream(spec(0, NONE), tensors(*[header(b"%d" % i, [16383], COMPLEX128) for i in range(16)]), block(RAW, b"", b"", count=16)),
                     "limit", limit=1 << 20)
        names = origin((0, bytes(1 << 20), b"format", b""), *[(1 << 20, b"", b"", b"")] * 1000)
        self.refused(stream(origin((0, b"", b"format", b"")), names), "limit", limit=1 << 24)

    def test_lying_frames(self):
        """Frames of repeated bytes that never end, with and without a declared size."""
        for start in b"\x28\xb5\x2f\xfd\x00\x58", b"\x28\xb5\x2f\xfd\x20\x05":
            frame = start + 200000 * b"\x02\x00\x10\x00"
            begin = time.monotonic()
            self.refused(stream((0x81, varint(5) + frame)), "zstd frame")
            self.assertLess(time.monotonic() - begin, 5)

    def test_long_texts(self):
        for name in "nuqsgd:bits=4,p=0." + "1" * 3000000, "qsgd:s=" + "%41" * 1000000, "none+" * 1000000, "qsgd:bits=4," * 1000000:
            begin = time.monotonic()
            self.refused(stream(spec(0, name)), "spec")
            self.assertLess(time.monotonic() - begin, 5)

    @mock.patch("grz_write.xxh3", lambda data: bytes(8))
    @mock.patch("grz_decode.xxh3", lambda data: 0)
    def test_changed_bodies(self):
        """Whatever a body holds, were its checksums right, it decodes or is refused: there is no other exception."""
        chance = random.Random(1)
        elements, codes = bytes(12), [elias(code, Symbols.SCALES, Symbols.SYMBOLS, 4) for code in range(3)]
        packed = scales(*Symbols.SCALES) + bytes([1 + 6 + 27 + 162, 2, 9])
        records = [
            origin((0, b"", b"format", b"npz"), (0, b"t", b"order", b"fortran")),
            spec(0, TERNARY), spec(1, SIGNED), spec(2, NONE), spec(3, "fp16+fixed"),
            tensors(header(b"w", [13]), header(b"x", [2, 4], number=1), header(b"y", [0]), header(b"z", [3], number=2), header(b"h", [2], number=3)),
            block(ELIAS, b"", varint(0) + codes[0]),
            block(ELIAS, b"", varint(1) + b"\1" + bytes(16) + elias(2, (2,), [1, 7, 0, 4], 4, signed=4), first=1),
            block(PLANES, b"", 3 * text(elements[:3]) + text(zstd(elements[:3])), first=3), block(FIXED, b"", varint(0) + bytes(4), first=4),
        ]  # fmt: skip
        others = [block(ELIAS, b"", varint(0) + codes[1]), block(ELIAS, b"", varint(0) + codes[2]), block(FIXED, b"", varint(0) + packed)]
        outcomes = {True: 0, False: 0}
        for _ in range(4000):
            changed = records[:6] + [chance.choice([records[6], *others])] + records[7:]
            i = chance.randrange(len(records))
            body = bytearray(changed[i][1])
            for _ in range(chance.choice((1, 1, 1, 2, 8))):
                at = chance.randrange(len(body) + 1)
                body[at : at + chance.choice((0, 1, 1, 1, 2))] = chance.choice((b"", b"\0", b"\xff", b"\x80", bytes([chance.randrange(256)])))
            changed[i] = (changed[i][0], bytes(body), *changed[i][2:])
            try:
                grz_decode.decode(stream(*changed), limit=1 << 22)
                outcomes[True] += 1
            except grz_decode.FormatError:
                outcomes[False] += 1
        self.assertGreater(min(outcomes.values()), 400)


class Program(Case):
    def run_main(self, data, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.grz")
            path.write_bytes(data)
            out, err = io.StringIO(), io.StringIO()
            arguments = ["grz_decode.py", str(path), *[option.format(folder) for option in options]]
            with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = grz_decode.main()
            archive = pathlib.Path(folder, "out.npz")
            saved = dict(np.load(archive)) if archive.exists() else None
            return status, out.getvalue(), err.getvalue(), saved

    def test_prints_and_saves(self):
        status, out, err, saved = self.run_main(SMALL + SMALL, "-o", "{}/out.npz")
        digest = xxhash.xxh3_64_hexdigest(np.array([2, -2, 0, 2, -3, -3], "<f4").tobytes())
        self.assertEqual((status, out, err), (0, 2 * f"w\tfloat32\t[6]\t{TERNARY}\t{digest}\t0\t0\n", ""))
        self.assertEqual(sorted(saved), ["w", "w#1"])
        self.equal(saved["w"], [2, -2, 0, 2, -3, -3])

    def test_refuses(self):
        for data, options in (SMALL[:-1], ()), (b"", ()), (SMALL, ("--limit", "10")), (SMALL, ("-o", "{}/missing/out.npz")):
            status, _, err, _ = self.run_main(data, *options)
            self.assertEqual((status, err.count("\n")), (1, 1))


if __name__ == "__main__":
    unittest.main()
