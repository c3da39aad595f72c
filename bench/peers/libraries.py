"""Compressors of others, as their documentation says to call them."""
import ctypes
import glob
import importlib
import os

from .contender import MARGIN, SAMPLE, THREADS, Contender, smallest

FOUR, FOUR_ZSTD = "nuqsgd:bits=4+fixed", "nuqsgd:bits=4+zstd"
EIGHT, EIGHT_ZSTD = "nuqsgd:bits=8+fixed", "nuqsgd:bits=8+zstd"
LOSSLESS = "none+zstd"


class Zfp(Contender):
    """Fixed rate. zfpy cannot ask for OpenMP, the library inside it can (encoding only), so it is called directly."""

    needs = ("zfpy",)

    def __init__(self, rate, against):
        self.rate, self.against = rate, against
        self.name = f"zfp rate={rate}"
        self.openmp = False

    def prepare(self, x):
        import zfpy
        folder = os.path.dirname(zfpy.__file__)
        self.lib = ctypes.CDLL(glob.glob(os.path.join(folder, "zfpy.libs", "libzfp*"))[0])
        for function in ("zfp_stream_open", "zfp_field_1d", "stream_open"):
            getattr(self.lib, function).restype = ctypes.c_void_p
        for function in ("zfp_stream_maximum_size", "zfp_compress", "zfp_decompress"):
            getattr(self.lib, function).restype = ctypes.c_size_t
        self.lib.zfp_stream_set_rate.restype = ctypes.c_double

    def open(self, values, code, parallel):
        lib, pointer = self.lib, ctypes.c_void_p
        field = pointer(lib.zfp_field_1d(pointer(values.ctypes.data), ctypes.c_int(3), ctypes.c_size_t(values.size)))
        stream = pointer(lib.zfp_stream_open(None))
        lib.zfp_stream_set_rate(stream, ctypes.c_double(self.rate), ctypes.c_int(3), ctypes.c_uint(1), ctypes.c_int(0))
        if parallel and lib.zfp_stream_set_execution(stream, ctypes.c_int(1)):
            self.openmp = True
            lib.zfp_stream_set_omp_threads(stream, ctypes.c_uint(THREADS))
        if code is None:
            import numpy as np
            code = np.empty(lib.zfp_stream_maximum_size(stream, field), np.uint8)
        bits = pointer(lib.stream_open(pointer(code.ctypes.data), ctypes.c_size_t(code.nbytes)))
        lib.zfp_stream_set_bit_stream(stream, bits)
        lib.zfp_stream_rewind(stream)
        return field, stream, bits, code

    def close(self, field, stream, bits):
        self.lib.zfp_field_free(field), self.lib.zfp_stream_close(stream), self.lib.stream_close(bits)

    def compress(self, x):
        field, stream, bits, code = self.open(x, None, True)
        size = self.lib.zfp_compress(stream, field)
        self.close(field, stream, bits)
        assert size > 0, "zfp_compress failed"
        return code[:size]

    def bits(self, code, x):
        return 8 * code.nbytes

    def decompress(self, code, x):
        import numpy as np
        y = np.empty_like(x)
        field, stream, bits, _ = self.open(y, code, False)
        assert self.lib.zfp_decompress(stream, field) > 0, "zfp_decompress failed"
        self.close(field, stream, bits)
        return y

    def note(self):
        return f"encode on {THREADS if self.openmp else 1} threads, decode on 1"


class Sz3(Contender):
    """The smallest absolute error bound with no more bits than gradz, without prediction: nothing predicts gradients, and it is the fastest."""

    needs = ("pysz",)

    def __init__(self, against):
        self.against = against
        self.name = f"SZ3 abs, bits of {against}"

    def prepare(self, x):
        import numpy as np
        import pysz
        self.sz = pysz
        os.environ["OMP_NUM_THREADS"] = str(THREADS)
        sample = x[:SAMPLE]
        top = float(np.abs(sample).max())

        def fits(bound):
            self.bound = bound
            return self.bits(self.compress(sample), sample) <= MARGIN * self.target * sample.size

        self.bound = smallest(top * 1e-6, top, fits)

    def compress(self, x):
        config = self.sz.szConfig((x.size,))
        config.errorBoundMode = self.sz.szErrorBoundMode.ABS
        config.absErrorBound = self.bound
        config.cmprAlgo = self.sz.szAlgorithm.NOPRED
        config.openmp = True
        return self.sz.sz.compress(x, config)[0]

    def bits(self, code, x):
        return 8 * code.nbytes

    def decompress(self, code, x):
        return self.sz.sz.decompress(code, x.dtype, x.shape)[0]

    def note(self):
        return f"bound {self.bound:.3g}"


class Pcodec(Contender):
    name, needs, against = "pcodec", ("pcodec",), LOSSLESS

    def prepare(self, x):
        import pcodec
        self.pcodec = pcodec

    def compress(self, x):
        return self.pcodec.standalone.simple_compress(x, self.pcodec.ChunkConfig())

    def bits(self, code, x):
        return 8 * len(code)

    def decompress(self, code, x):
        return self.pcodec.standalone.simple_decompress(code)

    def note(self):
        return "1 thread"


class Blosc2(Contender):
    needs = ("blosc2",)

    def __init__(self, codec, filters, level, against=LOSSLESS):
        self.codec, self.filters, self.level, self.against = codec, filters, level, against
        self.name = f"blosc2 {codec.lower()}-{level} {'+'.join(filters).lower()}"
        self.precision = 0

    def prepare(self, x):
        import blosc2
        self.blosc2 = blosc2
        if "TRUNC_PREC" not in self.filters:
            return
        sample = x[:SAMPLE]
        for self.precision in range(23, 0, -1):  # the most bits of the mantissa that fit, 1 at least
            if self.bits(self.compress(sample), sample) <= MARGIN * self.target * sample.size:
                return

    def compress(self, x):
        b = self.blosc2
        meta = [self.precision if f == "TRUNC_PREC" else 0 for f in self.filters]
        return b.compress2(x, codec=b.Codec[self.codec], clevel=self.level, typesize=4, nthreads=THREADS,
                           filters=[b.Filter[f] for f in self.filters], filters_meta=meta)

    def bits(self, code, x):
        return 8 * len(code)

    def decompress(self, code, x):
        import numpy as np
        y = np.empty_like(x)
        self.blosc2.decompress2(code, dst=y, nthreads=THREADS)
        return y

    def note(self):
        return f"{self.precision} bits of mantissa" if self.precision else ""


class BitsAndBytes(Contender):
    """Blockwise on the CPU: nf4 in blocks of 64, the dynamic 8-bit table in blocks of 256; scales are float32."""

    needs = ("torch", "bitsandbytes")

    def __init__(self, width, against):
        self.width, self.against = width, against
        self.name = f"bitsandbytes {width} bit (CPU)"

    def prepare(self, x):
        import torch
        self.torch = torch
        self.f = importlib.import_module("bitsandbytes.functional")
        torch.set_num_threads(THREADS)

    def compress(self, x):
        tensor = self.torch.from_numpy(x)
        if self.width == 4:
            return self.f.quantize_4bit(tensor, blocksize=64, quant_type="nf4")
        return self.f.quantize_blockwise(tensor, blocksize=256)

    def bits(self, code, x):
        values, state = code
        return 8 * values.numel() * values.element_size() + 8 * state.absmax.numel() * state.absmax.element_size()

    def decompress(self, code, x):
        decode = self.f.dequantize_4bit if self.width == 4 else self.f.dequantize_blockwise
        return decode(*code).numpy().reshape(-1)


def contenders():
    return [Zfp(4, FOUR), Zfp(8, EIGHT), Sz3(FOUR_ZSTD), Sz3(EIGHT_ZSTD),
            Blosc2("ZSTD", ["TRUNC_PREC", "SHUFFLE"], 1, EIGHT), Blosc2("LZ4", ["SHUFFLE"], 1),
            Blosc2("ZSTD", ["SHUFFLE"], 1), Blosc2("ZSTD", ["BITSHUFFLE"], 1), Pcodec(),
            BitsAndBytes(4, FOUR), BitsAndBytes(8, EIGHT)]
