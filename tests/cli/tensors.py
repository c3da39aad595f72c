"""Reads tensor files with their own libraries, never with gradz, and compares.

    tensors.py same A B [--nmse X] [--any-dtype]   the same names, shapes and values; with --nmse up to that relative squared error
    tensors.py expect FILE EXPECTED.json KEY       FILE holds what EXPECTED.json says of KEY: shapes, dtypes and statistics
    tensors.py format FILE                         npy, npz, h5, safetensors or folder, by content
    tensors.py names FILE                          one name a line, as JSON strings

Exit status 0 if it holds, 1 with a line on stderr if not.
"""
import argparse
import json
import math
import pathlib
import sys

import h5py
import ml_dtypes
import numpy as np
import safetensors

SAFETENSORS_DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "I64": np.int64, "I32": np.int32, "I16": np.int16,
    "I8": np.int8, "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
}


def read_hdf5(path):
    found = {}

    def visit(name, item):
        if not isinstance(item, h5py.Dataset) or item.shape is None or item.dtype.kind not in "fiub":
            return
        found[name] = item[()] if item.shape else np.asarray(item[()])

    with h5py.File(path, "r") as f:
        f.visititems(visit)
    return found


def read_safetensors(path):
    read = safetensors.deserialize(pathlib.Path(path).read_bytes())
    return {n: np.frombuffer(t["data"], SAFETENSORS_DTYPES[t["dtype"]]).reshape(t["shape"]) for n, t in read}


def read_npz(path):
    with np.load(path, allow_pickle=False) as z:
        return {n: z[n] for n in z.files}


READERS = {
    "folder": lambda path: {f.relative_to(path).as_posix(): np.load(f) for f in sorted(path.rglob("*.npy"))},
    "npy": lambda path: {"": np.load(path, allow_pickle=False)},
    "npz": read_npz,
    "h5": read_hdf5,
    "safetensors": read_safetensors,
}


def format_of(path):
    if path.is_dir():
        return "folder"
    with path.open("rb") as f:
        head = f.read(8)
    if head[:6] == b"\x93NUMPY":
        return "npy"
    if head[:4] in (b"PK\3\4", b"PK\5\6"):
        return "npz"
    return "h5" if h5py.is_hdf5(path) else "safetensors"


def read(path):
    """name -> array, by content. The tensor of an .npy file has the empty name; a folder is read as its .npy files."""
    path = pathlib.Path(path)
    return READERS[format_of(path)](path)


def bits(a):
    """The bytes of the values in C order, little-endian, so that NaN and -0 count."""
    a = np.ascontiguousarray(a)
    return a.astype(a.dtype.newbyteorder("<")).tobytes()


def nmse(a, b):
    """Relative squared error of b against a over the elements that are finite in a; the others must agree."""
    x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    finite = np.isfinite(x)
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return math.inf
    x, y = x[finite], y[finite]
    top = float(np.abs(x).max(initial=0.0))
    if top == 0:
        return 0.0 if not y.any() else math.inf
    return float(np.square((y - x) / top).sum() / np.square(x / top).sum())


def same(a, b, limit, any_dtype):
    if sorted(a) != sorted(b):
        return f"names differ: {sorted(set(a) ^ set(b))}"
    for name in a:
        x, y = a[name], b[name]
        if x.shape != y.shape:
            return f"{name!r}: shape {y.shape}, want {x.shape}"
        if not any_dtype and x.dtype.newbyteorder("=") != y.dtype.newbyteorder("="):
            return f"{name!r}: dtype {y.dtype}, want {x.dtype}"
        is_float = x.dtype.kind == "f" or x.dtype == ml_dtypes.bfloat16
        if limit is None or not is_float:
            if bits(x) != bits(y.astype(x.dtype) if any_dtype else y):
                return f"{name!r}: values differ"
        elif (error := nmse(x, y)) > limit:
            return f"{name!r}: nmse {error}, want at most {limit}"
    return None


def agrees(name, a, want):
    """What of `want`, statistics in the manner of expected.json, does not hold for the array, as text."""
    if list(a.shape) != want["shape"]:
        return f"{name!r}: shape {list(a.shape)}, want {want['shape']}"
    if want.get("lossless"):
        return None
    x = a.astype(np.float64).ravel()
    y = x[np.isfinite(x)]
    got = {"count": x.size, "nan": int(np.isnan(x).sum()), "inf": int(np.isinf(x).sum()), "zeros": int((x == 0).sum())}
    if y.size:
        got.update(linf=float(np.abs(y).max()), mean=math.fsum(y.tolist()) / y.size, min=float(y.min()), max=float(y.max()))
    for key, value in got.items():
        if not math.isclose(value, want[key], rel_tol=1e-12):
            return f"{name!r}: {key} is {value}, want {want[key]}"
    return None


def expect(found, want):
    if set(found) == {""} and len(want) == 1:  # an .npy file does not know its tensor's name
        found = {next(iter(want)): found[""]}
    if sorted(found) != sorted(want):
        return f"names {sorted(found)}, want {sorted(want)}"
    return next(filter(None, (agrees(n, found[n], want[n]) for n in want)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("same")
    command.add_argument("a")
    command.add_argument("b")
    command.add_argument("--nmse", type=float)
    command.add_argument("--any-dtype", action="store_true")
    command = commands.add_parser("expect")
    command.add_argument("file")
    command.add_argument("expected")
    command.add_argument("key")
    commands.add_parser("format").add_argument("file")
    commands.add_parser("names").add_argument("file")
    given = parser.parse_args()

    problem = None
    if given.command == "same":
        problem = same(read(given.a), read(given.b), given.nmse, given.any_dtype)
    elif given.command == "expect":
        expected = json.loads(pathlib.Path(given.expected).read_text(encoding="utf-8"))
        problem = expect(read(given.file), expected[given.key]["tensors"])
    elif given.command == "format":
        print(format_of(pathlib.Path(given.file)))
    else:
        print("\n".join(json.dumps(n) for n in read(given.file)))
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
