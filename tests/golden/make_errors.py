"""Streams that readers must refuse, each wrong in one place, with every checksum that the fault leaves right: make_errors.py FOLDER.

Put together by tests/tools/grz_write.py from docs/FORMAT.md; make.sh writes what the program says of them.
"""
import pathlib
import struct
import sys

import numpy as np
import zstandard

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from grz_write import (  # noqa: E402
    ELIAS, FIXED, INT16, NONE, PLANES, RAW, UINT8, ZSTD, block, elias, head, header, nuqsgd, number, one, origin, pack, qsgd, scale_bits,
    scales, spec, stream, tensors, text, varint, xxh3, zstd,
)  # fmt: skip

TERNARY, QSGD, SIGNED = nuqsgd("bits=2", 4), qsgd("s=3", 4), nuqsgd("bits=3", 4, zero="no")
ABOUT = spec(0, TERNARY), tensors(header(b"w", [6]))
CONTENT, CODE = scales(2, 3) + bytes([1, 2, 0, 1, 2, 2]), varint(0) + scales(2, 3) + bytes([1 + 6 + 27 + 162, 2])
RECORDS = origin((0, b"", b"format", b"npz")), *ABOUT, block(FIXED, CONTENT, CODE)
GOOD = stream(*RECORDS)
EMPTY = spec(0, NONE), tensors(header(b"e", [0]))
ABC = block(RAW, b"abc", b"abc")
BYTES = spec(0, NONE), tensors(header(b"b", [3], UINT8))


def changed(at, more):
    """The good stream with other bytes at a place, nothing mended."""
    return GOOD[:at] + more + GOOD[at + len(more) :]


def ternary(code, *values, symbols=bytes(6), coding=FIXED):
    return one(TERNARY, [6], coding, scales(*values) + symbols, varint(0) + scales(*values) + code)


def gaps(bits, code=0):
    """One piece of four elements with scale 1, coder elias."""
    return one(qsgd("s=3", "tensor"), [4], ELIAS, b"", varint(0) + bytes([code]) + pack(scale_bits(1) + bits))


def headers(*given):
    return stream(spec(0, NONE), spec(1, QSGD), tensors(*given))


def escaped(rest):
    return one(TERNARY, [6], FIXED, b"", rest)


def undeclared(data):
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


def whole_stream():
    yield "empty", b""
    yield "truncated_head", GOOD[:39]
    yield "truncated_magic", GOOD[:5]
    yield "truncated_after_head", GOOD[:40]
    yield "truncated_record", GOOD[:100]
    yield "truncated_index", GOOD[:-34]
    yield "truncated_end", GOOD[:-1]
    yield "truncated_second", GOOD + GOOD[:60]
    yield "bad_magic", changed(0, b"\x8e")
    yield "text_mode", GOOD.replace(b"\r\n", b"\n")
    yield "garbage_after", GOOD + b"garbage"
    yield "zeros_after", GOOD + bytes(40)
    yield "head_checksum", changed(24, b"\x08")
    yield "newer_major", stream(*RECORDS, begin=head(major=2))
    yield "newer_minor", stream(*RECORDS, begin=head(minor=1))
    yield "older_major", stream(*RECORDS, begin=head(major=0))
    yield "required_feature", stream(*RECORDS, begin=head(required=1 << 31))
    yield "reserved_byte", stream(*RECORDS, begin=head(reserved=b"\0\0\0\0\0\1"))
    yield "other_seed", stream(*RECORDS, begin=head(seed=8))


def records():
    yield "record_checksum", changed(44, b"\xff")
    yield "record_length", stream()[:40] + b"\x01" + varint((1 << 26) + 1) + bytes(100)
    yield "record_length_spelling", stream()[:40] + b"\x01\x80\x00" + xxh3(b"\x01\x80\x00") + bytes(100)
    yield "critical_record", stream((0x05, b"new"), *RECORDS)
    yield "record_type_0", stream(*RECORDS, (0x00, b""))
    yield "origin_late", stream(RECORDS[1], RECORDS[0], *RECORDS[2:])
    yield "spec_late", stream(*reversed(ABOUT), RECORDS[3])
    yield "spec_number", stream(spec(1, TERNARY), *RECORDS[2:])
    yield "spec_twice", stream(ABOUT[0], spec(1, TERNARY), *RECORDS[2:])
    yield "no_tensors", stream()
    yield "no_tensors_but_spec", stream(spec(0, NONE))
    yield "two_indices", stream(*RECORDS, (4, varint(1) + zstd(b"\0")))
    yield "index_missing", GOOD[: struct.unpack("<Q", GOOD[-32:-24])[0]] + GOOD[-32:]


def index_and_end():
    yield "index_type", stream(*RECORDS, index=lambda x: x[:1] + b"\x01" + x[2:])
    yield "index_length", stream(*RECORDS, index=lambda x: x[:2] + bytes([x[2] ^ 1]) + x[3:])
    yield "index_place", stream(*RECORDS, index=lambda x: x[:-1] + b"\x01")
    yield "index_count", stream(*RECORDS, index=lambda x: b"\x03" + x[1:])
    yield "index_longer", stream(*RECORDS, index=lambda x: x + b"\0")
    yield "index_bomb", stream(*RECORDS, index=lambda x: x + bytes(1 << 20))
    yield "end_offset", stream(*RECORDS, end=lambda x: bytes([x[0] ^ 1]) + x[1:])
    yield "end_length", stream(*RECORDS, end=lambda x: x[:8] + bytes([x[8] ^ 1]) + x[9:])
    yield "end_length_huge", stream(*RECORDS, end=lambda x: x[:8] + b"\xff" * 8)
    yield "end_checksum", changed(len(GOOD) - 16, b"\0\0")
    yield "end_magic", changed(len(GOOD) - 8, b"\x8fGRZ\r\n\x1a\n")


def origins():
    yield "origin_shared", stream(origin((1, b"", b"format", b"npz")), *EMPTY)
    yield "origin_size", stream((0x81, varint(5) + zstd(bytes(4))), *EMPTY)
    yield "origin_too_long", stream((0x81, varint(1 << 27) + zstd(b"")), *EMPTY)
    yield "origin_two_frames", stream((0x81, varint(4) + zstd(bytes(2)) + zstd(bytes(2))), *EMPTY)
    yield "origin_bytes_after_empty_frame", stream((0x81, varint(0) + zstd(b"") + bytes(3)), *EMPTY)
    yield "origin_undeclared_size", stream((0x81, varint(4) + undeclared(bytes(4))), *EMPTY)
    yield "origin_entry_cut", stream((0x81, varint(3) + zstd(b"\0\0\5")), *EMPTY)
    yield "origin_bomb", stream((0x81, varint(1000) + zstd(bytes(1 << 24))), *EMPTY)


def specs():
    def with_spec(name):
        return one(name, [6], FIXED, CONTENT, CODE)

    yield "spec_unknown_quantizer", with_spec("terngrad:bucket=4+fixed")
    yield "spec_unknown_key", with_spec(TERNARY.replace("zero=yes", "zero=yes,tail=1"))
    yield "spec_unknown_coder", with_spec(TERNARY.replace("fixed", "lzma"))
    yield "spec_without_coder", with_spec(TERNARY.replace("+fixed", ""))
    yield "spec_missing_key", with_spec(TERNARY.replace("p=0.5,", ""))
    yield "spec_order", with_spec(TERNARY.replace("p=0.5,norm=l2", "norm=l2,p=0.5"))
    yield "spec_number_spelling", with_spec(TERNARY.replace("p=0.5", "p=0.50"))
    yield "spec_bits", with_spec(qsgd("bits=9", 4))
    yield "spec_bits_and_s", with_spec(qsgd("bits=2,s=1", 4))
    yield "spec_bucket_0", with_spec(qsgd("s=1", 0))
    yield "spec_bucket_huge", with_spec(qsgd("s=1", (1 << 40) + 1))
    yield "spec_table_equal", with_spec(nuqsgd("bits=3", 4, p=0.99999999))
    yield "spec_table_subnormal", with_spec(nuqsgd("s=127", 4))
    yield "spec_zero_no_with_s", with_spec(nuqsgd("s=2", 4, zero="no"))


def tensor_headers():
    yield "tensors_none", headers()
    yield "tensors_4097", stream(spec(0, NONE), (2, varint(4097)))
    yield "tensor_key", headers(header(b"a", [0], seed=8))
    yield "tensor_twice", headers(header(b"a", [0]), header(b"a", [1]))
    yield "tensor_shared_name", headers(header(b"a", [0]), header(b"", [0], shared=2, previous=b"aa"))
    yield "tensor_name_65536", stream(spec(0, NONE), (2, varint(1, 0, 65536)))
    yield "tensor_dtype_99", headers(header(b"a", [0], dtype=99))
    yield "tensor_dtype_20", headers(header(b"a", [0], dtype=20))
    yield "tensor_rank_300", headers(header(b"a", [1] * 300))
    yield "tensor_too_large", headers(header(b"a", [1 << 61]))
    yield "tensor_product_too_large", headers(header(b"a", [1 << 40, 1 << 40]))
    yield "tensor_unknown_spec", headers(header(b"a", [0], number=2))
    yield "tensor_dtype_not_quantized", headers(header(b"a", [0], dtype=INT16, number=1))
    yield "tensors_go_on", headers(header(b"a", [1 << 18], UINT8), header(b"b", [0], UINT8))
    yield "tensors_bytes_left", stream(spec(0, NONE), (2, tensors(header(b"a", [0]))[1] + b"\0"))
    yield "tensors_cut", stream(spec(0, NONE), (2, tensors(header(b"a", [0]))[1][:-1]))


def blocks():
    small = spec(0, NONE), tensors(header(b"a", [2], UINT8), header(b"b", [0], UINT8), header(b"c", [1], UINT8))
    size = (1 << 18) + 1
    large = spec(0, NONE), tensors(header(b"a", [size], UINT8))
    parts = [block(PLANES, data, text(zstd(data)), chunk=c) for c, data in enumerate((bytes(1 << 18), b"\0"))]
    yield "block_missing", stream(*ABOUT)
    yield "block_before_tensors", stream(BYTES[0], ABC, BYTES[1])
    yield "block_too_many", stream(*BYTES, ABC, ABC)
    yield "tensors_before_block", stream(*BYTES, tensors(header(b"c", [0], UINT8)), ABC)
    yield "chunk_missing", stream(*large, parts[0])
    yield "chunk_order", stream(*large, *reversed(parts))
    yield "chunk_of_run", stream(*BYTES, block(RAW, b"abc", b"abc", chunk=1))
    yield "run_too_short", stream(*small, block(RAW, b"ab", b"ab", count=2), block(RAW, b"c", b"c", first=2))
    yield "run_too_long", stream(*BYTES, block(RAW, b"abc", b"abc", count=2))
    yield "run_of_none", stream(*BYTES, block(RAW, b"abc", b"abc", count=0))
    yield "block_unknown_tensor", stream(*BYTES, block(RAW, b"abc", b"abc", first=1 << 63))
    yield "block_cut", stream(*BYTES, (3, b"\0\0\1\0" + bytes(7), 0, 0))
    for coding in 2, 16, 20, 21, 255:
        yield f"coding_{coding}", stream(*ABOUT, block(coding, CONTENT, CODE))
    yield "symbols_without_quantizer", stream(*BYTES, block(FIXED, b"abc", varint(0) + b"abc"))


def elements():
    values = np.arange(300, dtype="<i2")
    low, high = values.tobytes()[::2], values.tobytes()[1::2]

    def planes(*rest, content=values.tobytes()):
        return one(NONE, [300], PLANES, content, b"".join(rest), INT16)

    yield "elements_too_few", one(NONE, [3], RAW, b"abc", b"ab", UINT8)
    yield "elements_too_many", one(NONE, [3], RAW, b"abc", b"abcd", UINT8)
    yield "elements_checksum", one(NONE, [3], RAW, b"abd", b"abc", UINT8)
    yield "planes_swapped", planes(text(high), text(zstd(low)))
    yield "planes_left_over", planes(text(low), text(zstd(high)), b"\0")
    yield "plane_missing", planes(text(low))
    yield "plane_short", planes(text(low), text(zstd(high[:-1])))
    yield "plane_bomb", planes(text(low), text(zstd(bytes(1 << 24))))
    yield "plane_lies_of_its_size", planes(text(low), text(lying(zstd(bytes(1 << 17)), 300)))
    yield "plane_no_frame", planes(text(low), text(b"\x28\xb5\x2f\xfd" + bytes(9)))
    yield "plane_skippable_frame", planes(text(low), text(b"\x50\x2a\x4d\x18" + bytes(4)))
    yield "plane_two_frames", planes(text(low), text(zstd(high) + zstd(b"")))


def lying(frame, size):
    """A zstd frame that declares another size of its content."""
    declared = zstandard.get_frame_parameters(frame).content_size
    assert frame[4] >> 6 == 2 and struct.unpack_from("<I", frame, 5)[0] == declared  # four bytes, no window byte
    return frame[:5] + struct.pack("<I", size) + frame[9:]


def symbols():
    yield "symbols_checksum", ternary(b"\1\0", 1, 1)
    yield "symbol_beyond_alphabet", one(QSGD, [1], FIXED, scales(1) + b"\7", varint(0) + scales(1) + b"\7")
    yield "symbol_beyond_alphabet_u16", one(qsgd("s=255", 4), [1], FIXED, scales(1) + b"\xff\1", varint(0) + scales(1) + b"\xff\1")
    yield "digits_beyond_ternary", ternary(b"\xf3\0", 1, 1)
    yield "digits_beyond_radix", one(QSGD, [2], ZSTD, scales(1) + b"\0\0", varint(0) + scales(1) + zstd(b"\x31"))
    yield "padding_bits", one(QSGD, [1], FIXED, scales(1) + b"\1", varint(0) + scales(1) + b"\x09")
    yield "padding_digits", ternary(b"\0\x03", 1, 1)
    yield "code_too_short", ternary(b"\0", 1, 1)
    yield "code_too_long", ternary(b"\0\0\0", 1, 1)
    yield "code_absent", one(TERNARY, [6], FIXED, CONTENT, varint(0))
    yield "zstd_too_long", ternary(zstd(bytes(3)), 1, 1, coding=ZSTD)
    yield "zstd_bomb", ternary(zstd(bytes(1 << 24)), 1, 1, coding=ZSTD)
    yield "zstd_undeclared_size", ternary(undeclared(bytes(2)), 1, 1, coding=ZSTD)
    yield "zstd_damaged", ternary(zstd(bytes(2))[:-1], 1, 1, coding=ZSTD)
    for name, value in ("negative", -1), ("minus_zero", -0.0), ("nan", np.nan), ("infinite", np.inf), ("subnormal", 1e-38):
        yield f"scale_{name}", ternary(b"\0\0", 1, value)


def escapes():
    kept, code = np.array([np.nan, 5], "<f4").tobytes(), scales(1) + b"\0"
    yield "escaped_more_than_pieces", escaped(varint(3) + b"\7" + kept + code)
    yield "escaped_count", escaped(varint(2) + b"\2" + kept + code)
    yield "escaped_none_in_bitmap", escaped(varint(1) + b"\0" + kept + code)
    yield "escaped_unused_bit", escaped(varint(1) + b"\6" + kept + code)
    yield "escaped_cut", escaped(varint(1) + b"\2" + kept[:-1])
    yield "escaped_checksum", escaped(varint(1) + b"\2" + kept + code)


def elias_codes():
    yield "elias_of_patterns", one("fp16+fixed", [1], ELIAS, b"", varint(0) + b"\0")
    yield "elias_unknown_code", gaps(number(0, 5), 3)
    yield "elias_absent", one(TERNARY, [6], ELIAS, CONTENT, varint(0))
    yield "elias_gap", gaps(number(0, 6))
    yield "elias_gap_huge", gaps(number(2, 1 << 60) + "0" * 99, 2)
    yield "elias_level", gaps(number(0, 1) + "0" + number(0, 4) + number(0, 4))
    yield "elias_omega_endless", gaps("1" * 1000)
    yield "elias_gamma_endless", gaps("0" * 1000, 1)
    yield "elias_cut", gaps(number(0, 1) + "0" + number(0, 2))
    yield "elias_padding", gaps(number(0, 5) + "1")
    yield "elias_bytes_left", gaps(number(0, 5) + "0" * 8)
    yield "elias_scale", one(qsgd("s=3", "tensor"), [4], ELIAS, b"", varint(0) + b"\0" + pack(scale_bits(-1.0) + number(0, 5)))
    yield "elias_signed_level", one(SIGNED, [1], ELIAS, b"", varint(0) + b"\0" + pack(scale_bits(1) + "0" + number(0, 5)))
    yield "elias_checksum", one(QSGD, [4], ELIAS, scales(1) + b"\1\0\0\0", varint(0) + elias(0, (1,), [2, 0, 0, 0], 4))


def main(folder):
    groups = whole_stream, records, index_and_end, origins, specs, tensor_headers, blocks, elements, symbols, escapes, elias_codes
    for group in groups:
        for name, data in group():
            path = pathlib.Path(folder, name + ".grz")
            assert not path.exists(), f"{path} is there"
            path.write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1])
