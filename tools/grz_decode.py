#!/usr/bin/env python3
"""Decodes gradz streams: docs/FORMAT.md as a program, in the page's order. Needs numpy, zstandard and xxhash.

    tools/grz_decode.py FILE.grz [-o OUT.npz] [--limit BYTES]

Prints a line per tensor, columns separated by tabs: name (other bytes than visible ASCII, and the backslash, as \\xNN), dtype, shape,
spec, XXH3-64 of the element bytes, step, worker. A stream that is refused gives one line on stderr and exit status 1.
As a module: decode(bytes) returns the streams. bfloat16 and the 8-bit floats come as uint16 and uint8 that hold their patterns.
"""
import argparse
import contextlib
import re
import sys
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import xxhash
import zstandard

DEFAULT_LIMIT = 1 << 31  # bytes that the content of an input may take: a few bytes of input can stand for any number of zeros


class FormatError(Exception):
    """The input is not what FORMAT.md describes; the text says why, in one line."""


class Tensor(NamedTuple):
    name: bytes
    dtype: str
    step: int
    worker: int
    values: np.ndarray  # flat where NumPy cannot hold the shape (over 64 dimensions, or huge ones next to a zero)
    shape: tuple
    spec: str


class Stream(NamedTuple):
    tensors: list
    origin: list  # (object, key, value), all bytes


def require(condition, problem):
    if not condition:
        raise FormatError(problem)


@contextlib.contextmanager
def error_at(place):
    """Puts the place before the text of a FormatError that passes."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from None


class Budget:
    """What the content may still take. Whatever can grow beyond the input's size is charged before it is made."""

    def __init__(self, limit):
        self.left = limit

    def spend(self, size):
        require(size <= self.left, f"the content exceeds the memory limit: {size} bytes more, {self.left} left")
        self.left -= size


# ---- 1. Notation ----


class Reader:
    """A cursor over bytes. Nothing is read beyond them."""

    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def take(self, size):
        require(size <= len(self.data) - self.at, f"truncated: {size} bytes wanted, {len(self.data) - self.at} left")
        self.at += size
        return self.data[self.at - size : self.at]

    def uint(self, size):
        return int.from_bytes(self.take(size), "little")

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.uint(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                require(byte or not shift, "a varint is longer than it need be")
                require(value < 1 << 64, "a varint exceeds 64 bits")
                return value
        raise FormatError("a varint is longer than ten bytes")

    def text(self):
        return bytes(self.take(self.varint()))

    def rest(self):
        return self.take(len(self.data) - self.at)

    def finish(self):
        require(self.at == len(self.data), f"{len(self.data) - self.at} bytes too many")

    def checksum(self, begin, what):
        """The xxh3, stored here, of the bytes from `begin` to here."""
        computed = xxh3(self.data[begin : self.at])
        require(self.uint(8) == computed, f"checksum of the {what} differs")


def xxh3(data):
    return xxhash.xxh3_64_intdigest(data)


def varint(value):
    """The one spelling of a value."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def unzstd(frame, size):
    """The content of exactly one zstd frame, which must declare that it holds `size` bytes. A lying one grows by some MiB at most."""
    require(bytes(frame[:4]) == b"\x28\xb5\x2f\xfd", "not a zstd frame")
    stage, content = zstandard.ZstdDecompressor().decompressobj(), bytearray()
    try:
        declared = zstandard.get_frame_parameters(frame)
        require(declared.content_size == size, f"a zstd frame does not declare {size} bytes of content")
        require(declared.dict_id == 0, "a zstd frame needs a dictionary")
        for at in range(0, len(frame), 64):
            require(not stage.eof, "bytes after the zstd frame")
            content += stage.decompress(frame[at : at + 64])
            require(len(content) <= size, f"a zstd frame holds more than {size} bytes")
    except zstandard.ZstdError:
        raise FormatError("a zstd frame is damaged") from None
    require(stage.eof and not stage.unused_data and len(content) == size, "a zstd frame is truncated, or bytes follow it")
    return bytes(content)


# ---- 2. Stream ----

ORIGIN, SPEC, TENSORS, BLOCK, INDEX = 0x81, 0x01, 0x02, 0x03, 0x04
MAX_BODY = 1 << 26


def decode(data, limit=DEFAULT_LIMIT):
    """The streams of an input, as a list of Stream. FormatError for what is refused, also for more than `limit` bytes of content."""
    data, streams, begin, budget = memoryview(data), [], 0, Budget(limit)
    require(len(data), "an empty input is not a stream")
    while begin < len(data):
        with error_at(f"stream at byte {begin}"):
            stream, size = decode_stream(Reader(data[begin:]), budget)
        streams.append(stream)
        begin += size
    return streams


def decode_stream(reader, budget):
    """The stream that begins here, and its length."""
    with error_at("HEAD"):
        decoder = Decoder(read_head(reader), budget)
    begin, kind = reader.at, None
    while kind != INDEX:
        record_at = reader.at
        with error_at(f"record at byte {record_at}"):
            kind, body = read_record(reader)
            decoder.record(kind, body, reader.at - record_at, record_at - begin)
            body.finish()
    with error_at("END"):
        read_end(reader, record_at)
    return decoder.result(), reader.at


def read_head(reader):
    """Returns the seed. The checksum comes first: a newer version is not damage."""
    require(bytes(reader.take(8)) == b"\x8fGRZ\r\n\x1a\n", "not a gradz stream")
    fields = Reader(reader.take(24))
    reader.checksum(0, "HEAD")
    major, minor = fields.uint(1), fields.uint(1)
    require(major == 1 and minor == 0, f"version {major}.{minor} is not known")
    require(not any(fields.take(6)), "reserved bytes are not zero")
    require(fields.uint(4) == 0, "a required feature is not known")
    fields.take(4)  # optional features: ignored
    return fields.uint(8)


def read_record(reader):
    """The type of a record and a Reader of its body."""
    begin = reader.at
    kind, size = reader.uint(1), reader.varint()
    require(size <= MAX_BODY, f"a body of {size} bytes is too long")
    body = reader.take(size)
    reader.checksum(begin, "record")
    return kind, Reader(body)


def read_end(reader, index_at):
    begin = reader.at
    require(reader.uint(8) == index_at, "wrong offset of INDEX")
    require(reader.uint(8) == begin + 32, "wrong length of the stream")
    reader.checksum(begin, "END")
    require(bytes(reader.take(8)) == b"\x8fGRZEND\n", "no magic at the end")


class Decoder:
    """What is known of a stream after some of its records, and a method for each type of record."""

    def __init__(self, seed, budget):
        self.seed, self.budget = seed, budget
        self.origin, self.specs, self.tensors = [], [], []
        self.spec_texts = set()
        self.idents = set()  # (name, step, worker) of all tensors
        self.next, self.chunk = 0, 0  # the tensor and chunk whose block is due
        self.index, self.index_count, self.previous = bytearray(), 0, 0  # entries, their number, first tensor of the last BLOCK

    def record(self, kind, body, size, before):
        """Reads the body of a record of `size` bytes that comes `before` bytes after HEAD."""
        if kind == INDEX:
            return self.read_index(body, before)
        readers = {ORIGIN: self.read_origin, SPEC: self.read_spec, TENSORS: self.read_tensors, BLOCK: self.read_block}
        require(kind in readers or kind & 0x80, f"unknown record type 0x{kind:02x}")
        place = readers.get(kind, Reader.rest)(body)  # an unknown one is skipped
        self.index += bytes([kind]) + varint(size) + (place if kind == BLOCK else b"")
        self.index_count += 1

    def result(self):
        return Stream([tensor.result() for tensor in self.tensors], self.origin)

    # ---- 3. ORIGIN ----

    def read_origin(self, body):
        require(not self.specs, "ORIGIN after other records")  # those after ORIGIN begin with a SPEC
        size = body.varint()
        require(size <= MAX_BODY, f"an origin of {size} bytes is too long")
        entries, name = Reader(unzstd(body.rest(), size)), b""
        while entries.at < size:
            shared = entries.varint()
            require(shared <= len(name), f"{shared} bytes shared with an object of {len(name)}")
            name, key, value = name[:shared] + entries.text(), entries.text(), entries.text()
            self.budget.spend(256 + len(name) + len(key) + len(value))
            self.origin.append((name, key, value))

    # ---- 4. SPEC ----

    def read_spec(self, body):
        number, text = body.varint(), bytes(body.rest())
        require(number == len(self.specs), f"spec {number} where {len(self.specs)} is due")
        require(text not in self.spec_texts, "a spec is there twice")
        self.budget.spend(1 << 14)  # its table, and what it is as objects
        self.specs.append(parse_spec(text))
        self.spec_texts.add(text)

    # ---- 5. TENSORS ----

    def read_tensors(self, body):
        require(self.due() is None, "TENSORS before all blocks of the ones before")
        count, name, elements = body.varint(), b"", 0
        require(1 <= count <= 4096, f"{count} tensors in a record")
        for _ in range(count):
            require(elements < 1 << 18, f"a header after {elements} elements")
            tensor = self.read_header(body, name)
            elements += tensor.count
            name, ident = tensor.name, (tensor.name, tensor.step, tensor.worker)
            require(ident not in self.idents, f"tensor {name[:80]!r} of step {tensor.step}, worker {tensor.worker} is there twice")
            self.idents.add(ident)
            self.tensors.append(tensor)

    def read_header(self, body, previous):
        shared, size = body.varint(), body.varint()
        require(shared <= len(previous), f"{shared} bytes shared with a name of {len(previous)}")
        require(shared + size <= 65535, f"a name of {shared + size} bytes is too long")
        self.budget.spend(512 + shared + size)
        name = previous[:shared] + bytes(body.take(size))
        dtype, rank = body.uint(1), body.varint()
        require(dtype < len(DTYPES), f"unknown dtype {dtype}")
        require(rank <= 255, f"rank {rank} is too high")
        shape = tuple(body.varint() for _ in range(rank))
        step, worker, key, spec, _rule = body.varint(), body.varint(), body.uint(8), body.varint(), body.varint()
        hashed = b"".join(value.to_bytes(8, "little") for value in (self.seed, step, worker)) + name
        require(key == xxh3(hashed), f"wrong key of tensor {name[:80]!r}")
        require(spec < len(self.specs), f"spec {spec} is not known")
        require(dtype <= 3 or self.specs[spec].quantizer == "none", f"a quantizer for {DTYPES[dtype][0]}")
        return Pending(name, DTYPES[dtype], step, worker, shape, self.specs[spec])

    # ---- 6. BLOCK ----

    def due(self):
        """First tensor, number of tensors and chunk of the block that must come next; None if there is none."""
        while self.next < len(self.tensors) and self.tensors[self.next].count == 0:
            self.next += 1
        if self.next == len(self.tensors):
            return None
        first, end = self.tensors[self.next], self.next + 1
        if first.count >= RUN_BELOW:
            return self.next, 1, self.chunk
        while end < len(self.tensors) and self.tensors[end].continues(first):
            end += 1
        return self.next, end - self.next, 0

    def read_block(self, body):
        """Returns the block's part of its entry in INDEX."""
        coding, place, content = body.uint(1), (body.varint(), body.varint(), body.varint()), body.uint(8)
        require(place == self.due(), f"block {place} where {self.due()} is due")
        at, members, chunk = place
        tensors = self.tensors[at : at + members]
        parts = [tensor.part(chunk) for tensor in tensors]  # (begin, end), in elements
        count = sum(end - begin for begin, end in parts)
        self.budget.spend(count * tensors[0].storage.itemsize)
        if coding in (0, 1):
            values = read_elements(body, coding, count, tensors[0].storage, content)
        else:
            lengths = np.concatenate([pieces(*part, tensor.bucket) for part, tensor in zip(parts, tensors)])
            values = read_symbols(body, coding - 16, lengths, tensors[0], content)
        for tensor, (begin, end) in zip(tensors, parts):
            tensor.blocks.append(values[: end - begin])
            values = values[end - begin :]
        finished = parts[0][1] == tensors[0].count
        self.next, self.chunk = (at + members, 0) if finished else (at, chunk + 1)
        delta, self.previous = at - self.previous, at
        return varint(delta) + varint(chunk)

    # ---- 7. INDEX ----

    def read_index(self, body, before):
        """The contents follow from the records, byte for byte: each value has one spelling."""
        require(self.tensors, "a stream without tensors")
        require(self.due() is None, "INDEX before all blocks")
        size = body.varint()
        require(size <= 16 + 4 * before, f"an index of {size} bytes is too long")
        require(unzstd(body.rest(), size) == varint(self.index_count) + self.index, "INDEX differs from the records")


# ---- 5. TENSORS: one of them ----

DTYPES = [
    (name, np.dtype(storage))
    for name, storage in (pair.split(":") for pair in (
        "float32:<f4 float64:<f8 float16:<f2 bfloat16:<u2 int8:i1 uint8:u1 int16:<i2 uint16:<u2 int32:<i4 uint32:<u4 int64:<i8 uint64:<u8 "
        "bool:? complex64:<c8 complex128:<c16 float8_e4m3fn:u1 float8_e5m2:u1 float8_e8m0fnu:u1 float8_e4m3fnuz:u1 float8_e5m2fnuz:u1").split())
]  # fmt: skip
RUN_BELOW, CHUNK = 1 << 14, 1 << 18


class Pending:
    """A tensor whose values come block by block."""

    def __init__(self, name, dtype, step, worker, shape, spec):
        self.name, self.step, self.worker, self.shape, self.spec = name, step, worker, shape, spec
        (self.dtype, self.storage), self.blocks, self.count = dtype, [], 1
        for size in shape:
            self.count *= size
        require(self.count * self.storage.itemsize < 1 << 63, f"tensor {name[:80]!r} is too large")
        self.bucket = spec.bucket or max(self.count, 1)
        self.chunk = CHUNK // self.bucket * self.bucket or CHUNK

    def continues(self, first):
        return self.spec is first.spec and self.dtype == first.dtype and self.count < RUN_BELOW

    def part(self, chunk):
        return chunk * self.chunk, min((chunk + 1) * self.chunk, self.count)

    def result(self):
        values = np.concatenate([np.empty(0, self.storage), *self.blocks])
        self.blocks.clear()
        with contextlib.suppress(ValueError):
            values = values.reshape(self.shape)
        return Tensor(self.name, self.dtype, self.step, self.worker, values, self.shape, self.spec.text)


# ---- 6. BLOCK: what is in it ----


def read_elements(body, coding, count, storage, content):
    if coding == 0:
        raw = bytes(body.take(count * storage.itemsize))
    else:
        planes = np.empty((storage.itemsize, count), np.uint8)
        for plane in planes:
            data = body.text()
            plane[:] = np.frombuffer(data if len(data) == count else unzstd(data, count), np.uint8)
        raw = planes.T.tobytes()
    require(xxh3(raw) == content, "checksum of the elements differs")
    return np.frombuffer(raw, storage)


def pieces(begin, end, bucket):
    """Lengths of the parts of buckets that the elements from begin to end of a tensor consist of."""
    first, size = bucket - begin % bucket, end - begin
    edges = np.arange(min(first, size), size, min(bucket, CHUNK))  # a block has CHUNK elements of a tensor at most
    return np.diff([0, *edges, size]) if size else np.empty(0, int)


def read_symbols(body, coder, lengths, tensor, content):
    spec, storage = tensor.spec, tensor.storage
    require(spec.alphabet, "symbols in a block whose spec is none")
    require(coder in (FIXED, ELIAS, ZSTD, RANS), f"unknown coding {coder + 16}")
    escaped = read_bitmap(body, len(lengths))
    kept_at = np.repeat(escaped, lengths)  # per element: is it stored bit for bit?
    kept = body.take(int(kept_at.sum()) * storage.itemsize)
    coded = lengths[~escaped]
    if coder == ELIAS:
        scales, symbols = decode_elias(body.rest(), coded, spec)
    else:
        scales = np.frombuffer(body.take(0 if spec.table is None else 4 * len(coded)), "<f4")
        decode_coded = {FIXED: decode_fixed, ZSTD: decode_zstd, RANS: decode_rans}[coder]
        symbols = decode_coded(body.rest(), int(coded.sum()), spec.alphabet)
    check_scales(scales.view("<u4"))
    require((symbols < spec.alphabet).all(), "a symbol is not below the alphabet")
    symbols = symbols.astype("<u1" if spec.alphabet <= 256 else "<u2")
    require(xxh3(scales.tobytes() + symbols.tobytes() + bytes(kept)) == content, "checksum of the symbols differs")
    values = np.empty(len(kept_at), storage)
    values[kept_at] = np.frombuffer(kept, storage)
    values[~kept_at] = dequantize(spec, symbols, scales, coded, tensor.dtype)
    return values


def read_bitmap(body, count):
    """Which of the pieces are escaped."""
    escaped = body.varint()
    require(escaped <= count, f"{escaped} escaped pieces of {count}")
    bits = np.unpackbits(np.frombuffer(body.take((count + 7) // 8), np.uint8), bitorder="little") if escaped else np.zeros(count, np.uint8)
    require(not bits[count:].any(), "unused bits of the bitmap are set")
    require(bits.sum() == escaped, f"{bits.sum()} bits of the bitmap are set, not {escaped}")
    return bits[:count].astype(bool)


def check_scales(patterns):
    normal = (patterns >= 0x0080_0000) & (patterns < 0x7F80_0000)  # and positive
    require((normal | (patterns == 0)).all(), "a scale is neither +0 nor positive, normal and finite")


# ---- 4 and 8. Specs and their quantizers ----

SPEC_TEXT = re.compile(
    r"(?P<name>none|fp16|bf16|nuqsgd|qsgd|qsgdinf)"
    r"(?::(?:bits=(?P<bits>[1-8])|s=(?P<s>0|[1-9][0-9]{0,2}))(?:,p=(?P<p>0\.[0-9]{1,20}|[1-9](?:\.[0-9]{1,17})?e-[0-9]{2,3}))?,norm=(?P<norm>l2|linf)"
    r",bucket=(?P<bucket>tensor|[1-9][0-9]{0,12}),rounding=(?:stochastic|nearest)(?:,zero=(?P<zero>yes|no))?)?"
    r"\+(?:fixed|elias:code=(?:omega|gamma|delta)|zstd:level=(?:[1-9]|1[0-9])|rans)"
)


class Spec(NamedTuple):
    text: str
    quantizer: str
    bucket: int  # 0: the tensor
    alphabet: int = 0  # 0 for none
    table: object = None  # D, float32; None for fp16 and bf16, which have no scales either
    levels: int = 0  # non-zero magnitudes: m, or h in a signed table
    signed: bool = False


def parse_spec(raw):
    text = raw.decode("latin-1")
    with error_at(f"spec {text[:200]!r}"):
        spec = SPEC_TEXT.fullmatch(text)
        require(spec, "not in canonical form, or not known")
        name, has_keys = spec["name"], spec["norm"] is not None
        require(has_keys == ("qsgd" in name), "keys of another quantizer")
        if not has_keys:
            return Spec(text, name, CHUNK) if name == "none" else Spec(text, name, 512, 1 << 16)
        for key in "p", "zero":
            require((spec[key] is not None) == (name == "nuqsgd"), f"{key} is missing, or a key of another quantizer")
        require(name != "qsgdinf" or spec["norm"] == "linf", "norm is not linf")
        bucket = 0 if spec["bucket"] == "tensor" else int(spec["bucket"])
        require(bucket <= 1 << 40, f"bucket {bucket} is too large")
        return Spec(text, name, bucket, *tables(name, spec))


def tables(name, spec):
    """The alphabet, D, the number of magnitudes, and whether D is signed."""
    signed = spec["zero"] == "no"
    if spec["bits"]:
        m = 2 ** (int(spec["bits"]) - 1) - (not signed)
    else:
        require(not signed, "zero=no needs bits")
        m = int(spec["s"]) + (name == "nuqsgd")
    require(1 <= m <= 255, f"{m} magnitudes")
    if name == "nuqsgd":
        levels = powers(spec["p"], m)[::-1]
    else:
        levels = np.arange(1, m + 1, dtype=np.float32) / np.float32(m)  # one rounding: both are exact
    require((np.diff(levels) > 0).all() and levels[0] >= np.float32(2**-126), "levels that are equal, or not normal")
    if signed:
        return 2 * m, np.concatenate([-levels[::-1], levels]), m, True
    table = np.zeros(2 * m + 1, np.float32)
    table[1::2], table[2::2] = levels, -levels
    return 2 * m + 1, table, m, False


def shortest(number):
    """The digits that float() needs at least, as 0.00ddd or as d.dde-NN, the first where both are as long."""
    digits, exponent = "".join(map(str, Decimal(repr(number)).as_tuple().digits)).rstrip("0"), Decimal(repr(number)).adjusted()
    plain = "0." + "0" * (-exponent - 1) + digits
    scientific = f"{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e-{-exponent:02}"
    return min(plain, scientific, key=len)


def powers(text, count):
    """fl32(P_j) for j = 0 … count − 1: running products in binary64, one after the other."""
    require(0 < float(text) < 1 and text == shortest(float(text)), "p is not between 0 and 1, or not in its shortest spelling")
    factors = np.full(count, float(text))  # float() rounds decimal text to the nearest binary64
    factors[0] = 1
    with np.errstate(under="ignore"):
        return np.multiply.accumulate(factors).astype(np.float32)


def dequantize(spec, symbols, scales, lengths, dtype):
    """The values of symbols, as the dtype's storage. scales and lengths are per piece."""
    if (spec.quantizer, dtype) in (("fp16", "float16"), ("bf16", "bfloat16")):
        return symbols.view("<f2" if dtype == "float16" else "<u2")  # patterns stay, also those of NaNs
    with np.errstate(all="ignore"):
        if spec.quantizer == "fp16":
            values = symbols.view("<f2").astype(np.float32)
        elif spec.quantizer == "bf16":
            values = (symbols.astype("<u4") << 16).view("<f4")
        else:
            values = np.repeat(scales, lengths) * spec.table[symbols]  # float32 by float32: fl32
        return to_bfloat16(values) if dtype == "bfloat16" else values.astype({"float16": "<f2", "float64": "<f8"}.get(dtype, "<f4"))


def to_bfloat16(values):
    """To nearest, ties to even: a little less than half of the last place is added, or half of it where the last place is odd."""
    patterns = values.view("<u4")
    rounded = (patterns + 0x7FFF + (patterns >> 16 & 1)) >> 16
    return np.where(np.isnan(values), patterns >> 16 | 0x40, rounded).astype("<u2")


# ---- 9. Coders ----

FIXED, ELIAS, ZSTD, RANS = 1, 2, 3, 4
LONGEST = CHUNK + 1  # of the numbers that an Elias code stands for
DIGITS = LONGEST.bit_length()


def decode_fixed(code, count, alphabet):
    if alphabet == 3:
        return unpack_digits(code, count, 3, 5)
    width = (alphabet - 1).bit_length()
    require(len(code) == (count * width + 7) // 8, f"{len(code)} bytes of code for {count} symbols of {width} bits")
    bits = np.unpackbits(np.frombuffer(code, np.uint8), bitorder="little")
    require(not bits[count * width :].any(), "unused bits of the code are set")
    return bits[: count * width].reshape(count, width) @ (1 << np.arange(width, dtype=np.uint32))


def decode_zstd(code, count, alphabet):
    return unpack_content(lambda size: unzstd(code, size), count, alphabet)


def decode_rans(code, count, alphabet):
    return unpack_content(lambda size: unrans(code, size), count, alphabet)


def unpack_content(content, count, alphabet):
    """content: gives as many bytes as it is told to."""
    if alphabet > 256:
        low, high = np.frombuffer(content(2 * count), np.uint8).reshape(2, count).astype("<u2")
        return low | high << 8
    digits = next(g for g in range(8, 0, -1) if alphabet**g <= 256)
    return unpack_digits(content(-(-count // digits)), count, alphabet, digits)


def unrans(code, size):
    """Exactly `size` bytes from their code of order-0 rANS."""
    if size == 0:
        require(len(code) == 0, "bytes follow an empty code")
        return b""
    states = 32 if size > 1000 else 4
    form = 0x10 | (0x04 if states == 32 else 0)
    body = Reader(code)
    first = body.uint(1)
    if first == form | 0x20:
        content = body.rest()
        require(len(content) == size, f"{len(content)} bytes stored, not {size}")
        return bytes(content)
    require(first == form, f"a rANS code of form {first}")
    symbol, frequency, below = rans_table(body)
    state = np.array([body.uint(4) for _ in range(states)], np.uint64)
    require((state >= 1 << 15).all(), "a rANS state is too small")
    rest = bytes(body.rest())
    words, at = np.frombuffer(rest[: len(rest) // 2 * 2], "<u2").astype(np.uint64), 0
    rows = np.empty((-(-size // states), states), np.uint8)
    for row in range(len(rows)):
        slot = (state & 4095).astype(np.intp)
        rows[row] = symbol[slot]
        if (row + 1) * states > size:
            break  # the last bytes are those that the states name; they take no more words
        state = frequency[slot] * (state >> 12) + slot.astype(np.uint64) - below[slot]
        low = np.flatnonzero(state < 1 << 15)
        require(at + len(low) <= len(words), "a rANS code ends too early")
        state[low] = state[low] << 16 | words[at : at + len(low)]
        at += len(low)
    return rows.reshape(-1)[:size].tobytes()


def rans_table(body):
    """By slot of 4096: the byte, its frequency, the sum of the frequencies below it."""
    present, run, value = [], 0, body.uint(1)
    while True:
        present.append(value)
        if run > 0:
            run, value = run - 1, value + 1
            require(value <= 255, "a run of bytes of a rANS table is too long")
            continue
        following = body.uint(1)
        if following == value + 1:
            run = body.uint(1)
        require(following == 0 or following > value, "bytes of a rANS table do not ascend")
        value = following
        if value == 0:
            break
    counts = np.zeros(256, np.int64)
    for value in present:
        counts[value] = big_varint(body)
    total = int(counts.sum())
    require(0 < total <= 4096 and 4096 % total == 0, "frequencies of a rANS table do not add up")
    counts *= 4096 // total
    symbol = np.repeat(np.arange(256), counts)
    below = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return symbol.astype(np.uint8), counts[symbol].astype(np.uint64), below[symbol].astype(np.uint64)


def big_varint(body):
    """Seven bits a byte, the highest first, bit 7 set on all but the last."""
    value = 0
    for _ in range(5):
        byte = body.uint(1)
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value
    raise FormatError("a frequency of a rANS table is too long")


def unpack_digits(code, count, base, digits):
    """The digits of bytes, `digits` a byte, the lowest first."""
    require(len(code) == -(-count // digits), f"{len(code)} bytes of code for {count} symbols, {digits} a byte")
    values = np.frombuffer(code, np.uint8).astype(np.uint32)[:, None]
    require((values < base**digits).all(), f"a byte of the code is not below {base}^{digits}")
    symbols = (values // base ** np.arange(digits, dtype=np.uint32) % base).reshape(-1)
    require(not symbols[count:].any(), "unused digits of the code are not zero")
    return symbols[:count]


class Bits:
    """A cursor over bits, the highest of each byte first."""

    def __init__(self, data):
        self.data, self.at, self.size = data, 0, 8 * len(data)

    def take(self, count):
        """The number that the next `count` ≤ 57 bits spell."""
        require(count <= self.size - self.at, "the code ends too early")
        window = int.from_bytes(bytes(self.data[self.at >> 3 : (self.at >> 3) + 8]).ljust(8, b"\0"), "big")
        value = window >> (64 - (self.at & 7) - count) & ((1 << count) - 1)
        self.at += count
        return value

    def finish(self):
        left = self.size - self.at
        require(left < 8 and not self.take(left), "unused bits of the code are set, or bytes follow it")


def omega(bits):
    number = 1
    while bits.take(1):
        require(number < DIGITS, "a number of the code is too large")
        number = 1 << number | bits.take(number)
    return number


def gamma(bits):
    zeros = 0
    while not bits.take(1):
        zeros += 1
        require(zeros < DIGITS, "a number of the code is too large")
    return 1 << zeros | bits.take(zeros)


def delta(bits):
    digits = gamma(bits)
    require(digits <= DIGITS, "a number of the code is too large")
    return 1 << digits - 1 | bits.take(digits - 1)


def decode_elias(code, lengths, spec):
    """Scales per piece and symbols of all pieces."""
    require(spec.table is not None, f"coder elias for {spec.quantizer}")
    require(len(code) and code[0] < 3, "no known code of coder elias")
    read_code, bits = (omega, gamma, delta)[code[0]], Bits(code[1:])
    read_piece, zero = (signed_piece, spec.levels) if spec.signed else (sparse_piece, 0)
    patterns, symbols, begin = np.zeros(len(lengths), "<u4"), np.full(lengths.sum(), zero, "<u2"), 0

    def number(highest):
        value = read_code(bits)
        require(value <= min(highest, LONGEST), "a number of the code is too large")
        return value

    for i, length in enumerate(lengths.tolist()):
        patterns[i] = bits.take(32)
        if patterns[i]:
            read_piece(bits, number, symbols[begin : begin + length], spec.levels)
        begin += length
    bits.finish()
    return patterns.view("<f4"), symbols


def sparse_piece(bits, number, symbols, levels):
    """Distances between the places of non-zero symbols; the last leads to the place after the end, unless the one before is at the end."""
    place = 0
    while place < len(symbols):
        place += number(len(symbols) + 1 - place)
        if place <= len(symbols):
            negative = bits.take(1)
            symbols[place - 1] = 2 * number(levels) - 1 + negative


def signed_piece(bits, number, symbols, levels):
    for i in range(len(symbols)):
        negative, k = bits.take(1), number(levels)
        symbols[i] = levels - k if negative else levels + k - 1


# ---- The program ----


def visible(name):
    return "".join(chr(byte) if 33 <= byte <= 126 and byte != 92 else f"\\x{byte:02x}" for byte in name)


def describe(tensor):
    shape, digest = f"[{','.join(map(str, tensor.shape))}]", f"{xxh3(tensor.values.tobytes()):016x}"
    return "\t".join([visible(tensor.name), tensor.dtype, shape, tensor.spec, digest, str(tensor.step), str(tensor.worker)])


def save(path, tensors):
    """An .npz with names as printed, #N appended where tensor N has one that was there before."""
    arrays = {}
    for i, tensor in enumerate(tensors):
        name = visible(tensor.name)[:60000]
        while name in arrays or name == "file":  # savez has a parameter of this name
            name += f"#{i}"
        arrays[name] = tensor.values
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def main():
    parser = argparse.ArgumentParser(description="Decodes a gradz stream and prints a line per tensor.")
    parser.add_argument("file", metavar="FILE.grz")
    parser.add_argument("-o", "--output", metavar="OUT.npz", help="write the tensors here")
    parser.add_argument("--limit", metavar="BYTES", type=int, default=DEFAULT_LIMIT, help="refuse more content (default %(default)s)")
    arguments = parser.parse_args()
    try:
        with open(arguments.file, "rb") as file:
            tensors = [tensor for stream in decode(file.read(), arguments.limit) for tensor in stream.tensors]
        for tensor in tensors:
            print(describe(tensor))
        if arguments.output:
            save(arguments.output, tensors)
    except (FormatError, OSError, MemoryError) as error:
        print(f"{arguments.file}: {error or 'out of memory'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
