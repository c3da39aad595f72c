"""Makes a float32 .npy that is like a gradient: python -m bench.gradients FILE BYTES

The gradients of a small GPT (tests/data/gradients/gpt_step200_h0_f32.safetensors) end to end, again and again; each time scaled by exp(g / 4), g normal,
and with noise of Student's t with 3 degrees of freedom, 1/20 of the rms of each 512 elements, so that no two copies are the same and the tails
stay heavy. The seed is fixed: the same bytes with the same NumPy. One-dimensional; BYTES counts elements alone.
"""
import json
import pathlib
import struct
import sys

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "tests/data/gradients/gpt_step200_h0_f32.safetensors"
BUCKET = 512


def real_gradients():
    data = SOURCE.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    body = data[8 + length:]
    rows = sorted((t["data_offsets"] for name, t in header.items() if name != "__metadata__" and t["dtype"] == "F32"))
    values = np.concatenate([np.frombuffer(body[a:b], "<f4") for a, b in rows])
    return values[:values.size // BUCKET * BUCKET]


def main(path, size):
    count = size // 4
    base = real_gradients()
    rms = np.sqrt(np.mean(base.reshape(-1, BUCKET).astype(np.float64) ** 2, axis=1)).repeat(BUCKET) / 20
    rng = np.random.default_rng(20201)
    out = np.lib.format.open_memmap(path, mode="w+", dtype="<f4", shape=(count,))
    for at in range(0, count, base.size):
        scale = np.exp(rng.standard_normal() / 4)
        made = (base * scale + rms * rng.standard_t(3, base.size)).astype("<f4")
        out[at:at + base.size] = made[:count - at]
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
