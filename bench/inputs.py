"""Makes what bench/acceptance.py compresses, beside bench/gradients.py: python -m bench.inputs KIND FILE SIZE

KIND is sparse (an .npy of SIZE bytes of zeros that take no room on disk), npz or h5 (SIZE tensors of 1000 elements).
"""
import sys

import numpy as np

from bench.gradients import real_gradients

ELEMENTS = 1000


def sparse(path, size):
    with open(path, "wb") as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "<f4", "fortran_order": False, "shape": (size // 4,)})
        f.truncate(f.tell() + size)


def tensors(count):
    base = real_gradients()
    for i in range(count):
        yield f"layer{i // 100}/block{i % 100}/weight", base[i * 37 % (base.size - ELEMENTS):][:ELEMENTS]


def npz(path, count):
    with open(path, "wb") as f:
        np.savez(f, **dict(tensors(count)))


def h5(path, count):
    import h5py
    with h5py.File(path, "w") as f:
        for name, values in tensors(count):
            f.create_dataset(name, data=values)


if __name__ == "__main__":
    {"sparse": sparse, "npz": npz, "h5": h5}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
