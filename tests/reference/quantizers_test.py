"""What the program decodes is, bit for bit, what quantizers.py computes. Arguments: the program, the folder of test data. Exit status 77: skipped."""
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    import xxhash
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import quantizers

GRADZ, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
FILES = ["mlp_s300_flat.npy", "resnet20_s400_layer3.1.conv2.weight_f32.npy", "mlp_s5_fc2.weight_v2.npy"]
SPECS = [
    "nuqsgd",
    "nuqsgd:bits=2",
    "nuqsgd:bits=8,bucket=100",
    "nuqsgd:bits=3,norm=linf,bucket=tensor",
    "nuqsgd:s=40,bucket=777",
    "nuqsgd:bits=4,p=0.7",
    "nuqsgd:bits=5,p=0.9,norm=linf,rounding=nearest",
    "nuqsgd:bits=4,rounding=nearest",
    "nuqsgd:bits=4,zero=no",
    "nuqsgd:bits=1,zero=no,bucket=64",
    "nuqsgd:bits=3,p=0.3,zero=no,norm=linf,rounding=nearest",
    "qsgd",
    "qsgd:bits=8,bucket=8192",
    "qsgd:s=255,rounding=nearest",
    "qsgd:bits=3,norm=linf,bucket=1000",
    "qsgdinf:bits=2",
    "qsgdinf:s=200,bucket=tensor",
]


def tensor_key(seed, step, worker, name):
    return xxhash.xxh3_64_intdigest(struct.pack("<QQQ", seed, step, worker) + name.encode())


def program(values, spec, seed, step, worker, name):
    """values through compress and decompress."""
    with tempfile.TemporaryDirectory() as folder:
        source, stream, back = (f"{folder}/{file}" for file in ("in.npy", "s.grz", "out.npy"))
        np.save(source, values)
        options = ["--seed", str(seed), "--step", str(step), "--worker", str(worker), "--name", name]
        subprocess.run([GRADZ, "compress", "--quiet", source, "-o", stream, "-q", spec, *options], check=True)
        subprocess.run([GRADZ, "decompress", "--quiet", stream, "-o", back], check=True)
        return np.load(back)


class Quantizers(unittest.TestCase):
    def same(self, values, spec, seed=0, step=0, worker=0, name="w"):
        got = program(values, spec + "+fixed", seed, step, worker, name)
        want = quantizers.round_trip(values, spec, tensor_key(seed, step, worker, name))
        self.assertEqual((got.shape, got.dtype), (want.shape, np.dtype("<f4")))
        differ = np.flatnonzero(got.view(np.uint32) != want.view(np.uint32))
        self.assertEqual(differ.size, 0, f"{spec}: {differ.size} of {values.size} differ, first {differ[:5]}")
        self.assertTrue((got != values).any(), "nothing was quantized")

    def test_real_gradients(self):
        for turn, spec in enumerate(SPECS):
            with self.subTest(spec=spec):
                values = np.load(DATA / "gradients" / FILES[turn % len(FILES)])
                self.assertEqual(values.dtype, np.dtype("<f4"))
                self.same(values, spec, seed=turn, step=5 * turn, worker=turn % 4, name=f"layer{turn}.weight")

    def test_every_octave(self):
        random = np.random.default_rng(1)
        values = (random.standard_normal(40000) * 2.0 ** random.integers(-60, 60, 40000)).astype("<f4")
        values[::17] = 0
        values[1::170] = -0.0
        for spec in ("nuqsgd:s=126,norm=linf,bucket=50", "nuqsgd:bits=8", "qsgd:s=255,bucket=10", "nuqsgd:bits=7,zero=no"):
            with self.subTest(spec=spec):
                self.same(values, spec, seed=2**64 - 1, step=2**40, worker=7, name="größe")

    def test_long_bucket(self):
        values = np.random.default_rng(2).laplace(size=300001).astype("<f4")
        for spec in ("nuqsgd:bucket=tensor", "nuqsgd:bucket=270000,p=0.6"):
            with self.subTest(spec=spec):
                self.same(values, spec, seed=3)

    def test_philox_as_published(self):
        """Known answers of Random123, kat_vectors."""
        zero = quantizers.philox4x32_10([[0], [0], [0], [0]], 0)[:, 0]
        self.assertEqual([f"{word:08x}" for word in zero.tolist()], ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"])
        ones = quantizers.philox4x32_10([[2**32 - 1]] * 4, 2**64 - 1)[:, 0]
        self.assertEqual([f"{word:08x}" for word in ones.tolist()], ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
