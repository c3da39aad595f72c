"""The decoder written from docs/FORMAT.md alone against the program: usage: cross_check.py GRADZ DATA.

Every stream that the program writes must be readable by tools/grz_decode.py, with the values that
`gradz decompress` gives, for every quantizer and coder, and every damage of one stream must be refused.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
    import grz_decode
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SPECS = ["nuqsgd", "nuqsgd:bits=2+fixed", "nuqsgd:bits=3,p=0.7+elias", "nuqsgd:bits=8,norm=linf", "nuqsgd:zero=no+fixed",
         "nuqsgd:bits=1,zero=no+elias:code=delta", "nuqsgd:s=6,bucket=1000+elias:code=gamma", "nuqsgd:rounding=nearest",
         "nuqsgd:bucket=tensor", "qsgd:bits=4+fixed", "qsgd:s=255+zstd:level=3", "qsgd:s=200+elias", "qsgdinf:bits=8",
         "nuqsgd+rans", "qsgdinf:bits=8+rans", "qsgd:s=200+rans", "fp16+rans", "fp16", "bf16+fixed", "none", "none+fixed"]
DUMPS = ["gradients/mlp_step1500_stored.npz", "gradients/resnet20_s120_layer2.0.conv1.weight_f64.npy",
         "gradients/resnet20_s120_layer2.0.conv1.weight_f16.npy", "gradients/gpt_s20_h.3.mlp.c_fc.bias_be_f32.npy",
         "edge/npy_nan.npy", "edge/npy_huge.npy", "edge/npy_subnormal.npy", "edge/npy_f64_beyond_f32.npy",
         "edge/npy_int32.npy", "edge/npy_complex64.npy", "edge/npy_empty_3x0x2.npy", "edge/npy_0d.npy"]


def check(gradz, dump, spec, folder):
    stream, back = folder / "x.grz", folder / "x.npz"
    subprocess.run([gradz, "compress", dump, "-q", spec, "-o", stream, "-f", "--quiet"], check=True)
    subprocess.run([gradz, "decompress", stream, "-o", back, "-f", "--quiet"], check=True)
    want = numpy.load(back)
    (decoded,) = grz_decode.decode(stream.read_bytes())
    assert len(decoded.tensors) == len(want.files), (dump, spec)
    for tensor in decoded.tensors:
        expected = want[tensor.name.decode()]
        values = numpy.asarray(tensor.values).reshape(expected.shape)
        assert values.tobytes() == expected.astype(values.dtype).tobytes(), (dump, spec, tensor.name)


def check_damage(gradz, dump, folder):
    stream = folder / "x.grz"
    subprocess.run([gradz, "compress", dump, "-o", stream, "-f", "--quiet"], check=True)
    good = stream.read_bytes()
    damaged = [good[:n] for n in range(0, len(good), 7)]
    damaged += [good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1:] for i in range(0, len(good), 3)]
    for bad in damaged:
        try:
            grz_decode.decode(bad)
        except grz_decode.FormatError:
            continue
        raise AssertionError("damage was accepted")


def main():
    gradz, data = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for dump in DUMPS:
            for spec in SPECS:
                check(gradz, data / dump, spec, folder)
        check_damage(gradz, data / "edge/npy_powers_of_two.npy", folder)
    print(f"{len(DUMPS) * len(SPECS)} streams agree")


main()
