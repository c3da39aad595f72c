#!/usr/bin/env python3
"""Checks with NumPy, zipfile and safetensors that files hold the same tensors as a reference.

read_back.py REFERENCE FILE...    .npz or .safetensors each; exit status 1 names what differs
"""
import sys
import zipfile

import numpy as np

try:
    import ml_dtypes  # noqa: F401 - lets NumPy know bfloat16 and the 8-bit floats
except ImportError:
    pass


def load(path):
    if path.endswith(".safetensors"):
        from safetensors.numpy import load_file

        return load_file(path)
    with zipfile.ZipFile(path) as archive:
        bad = archive.testzip()
        if bad is not None:
            sys.exit(f"{path}: CRC of {bad} is wrong")
    with np.load(path, mmap_mode="r", allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files if isinstance(arrays[name], np.ndarray)}


def check(path, want):
    got = load(path)
    if sorted(got) != sorted(want):
        sys.exit(f"{path}: tensors {sorted(set(got) ^ set(want))[:5]} are in one of both only")
    for name, a in want.items():
        b = got[name]
        if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
            sys.exit(f"{path}: {name} is {b.dtype}{b.shape}, want {a.dtype}{a.shape}")
        if a.astype(a.dtype.newbyteorder("<")).tobytes() != b.astype(b.dtype.newbyteorder("<")).tobytes():
            sys.exit(f"{path}: {name} has other values")


if len(sys.argv) < 3:
    sys.exit(__doc__)
reference = load(sys.argv[1])
for file in sys.argv[2:]:
    check(file, reference)
