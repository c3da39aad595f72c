"""nuqsgd, qsgd and qsgdinf once more in NumPy, transcribed from docs/FORMAT.md and docs/SCHEMES.md, fed the same random words.

round_trip(values, spec, key) is what `gradz compress` and `decompress` make of a float32 array whose buckets can all be represented.
Nothing here is shared with the program: that they agree bit for bit is the test."""
import numpy as np

F32, F64, U32, U64 = np.float32, np.float64, np.uint32, np.uint64


def parse(spec):
    """The quantizer of a spec with its keys, defaults filled in."""
    name, _, text = spec.partition("+")[0].partition(":")
    keys = dict(pair.split("=") for pair in text.split(",") if pair)
    defaults = {"norm": "linf" if name == "qsgdinf" else "l2", "bucket": "512", "rounding": "stochastic", "zero": "yes", "p": "0.5"}
    if "s" not in keys:
        defaults["bits"] = "4"
    return {**defaults, **keys, "name": name}


# ---- Random words ----


def philox4x32_10(counter, key):
    """counter: four uint32 arrays. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011."""
    c0, c1, c2, c3 = (np.asarray(c, U64) for c in counter)
    k0, k1, mask = key & 0xFFFFFFFF, key >> 32, U64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = U64(0xD2511F53) * c0, U64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = p1 >> U64(32) ^ c1 ^ U64(k0), p1 & mask, p0 >> U64(32) ^ c3 ^ U64(k1), p0 & mask
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3])


def random_bits(count, key):
    """32 bits an element: the upper 16 from domain 0, the lower ones from domain 1."""
    i = np.arange(count, dtype=U64)
    block, slot = U64(16) * (i // U64(128)) + i % U64(16), (i % U64(128) // U64(16)).astype(np.intp)

    def half(domain):
        words = philox4x32_10((block & U64(0xFFFFFFFF), block >> U64(32), np.full(count, domain), np.zeros(count)), key)
        return words[slot // 2, np.arange(count)] >> (slot % 2 * 16).astype(U64) & U64(0xFFFF)

    return half(0) << U64(16) | half(1)


# ---- Levels ----


def levels_of(keys):
    """Ascending float32: magnitudes from 0 on, or the signed table of zero=no."""
    uniform, with_zero = keys["name"] != "nuqsgd", keys["zero"] == "yes"
    if "s" in keys:
        m = int(keys["s"]) + (0 if uniform else 1)
    else:
        m = 2 ** (int(keys["bits"]) - 1) - (1 if with_zero else 0)
    if uniform:
        up = np.arange(1, m + 1, dtype=F32) / F32(m)
    else:
        powers = np.multiply.accumulate(np.r_[F64(1), np.full(m - 1, F64(keys["p"]))])
        up = powers[::-1].astype(F32)
    return np.r_[F32(0), up] if with_zero else np.r_[-up[::-1], up]


# ---- Scales ----


def square_sum(x):
    """In double: spans of 65 536, in each 32 lanes in order, folded in halves; spans in order."""
    total = F64(0)
    for begin in range(0, len(x), 65536):
        squares = x[begin : begin + 65536].astype(F64) ** 2
        rows = np.r_[squares, np.zeros(-len(squares) % 32)].reshape(-1, 32)
        lanes = np.add.accumulate(rows, axis=0)[-1]  # one row after another, unlike sum()
        for width in (16, 8, 4, 2, 1):
            lanes = lanes[:width] + lanes[width : 2 * width]
        total += lanes[0]
    return total


def scale_of(x, norm):
    return np.abs(x).max() if norm == "linf" else np.sqrt(square_sum(x)).astype(F32)


# ---- Rounding ----


def split(f):
    """f in [0, 1) to the threshold 2^16 hi + lo."""
    g = f * F32(65536)
    hi = np.floor(g)
    return hi.astype(U64) << U64(16) | np.floor((g - hi) * F32(65536)).astype(U64)


def place_of(r, levels, keys):
    """k and T: r lies between level k and k + 1, and goes up with probability T / 2^32."""
    if keys["name"] != "nuqsgd":
        q = r * F32(len(levels) - 1)
        k = np.floor(q)
        return k.astype(np.intp), split(q - k)
    k = np.searchsorted(levels, r, side="right") - 1
    if keys["zero"] == "yes" and float(keys["p"]) == 0.5:
        m = len(levels) - 1
        mantissa = r.view(U32) & U32(0x7FFFFF)
        below = split(np.minimum(r * F32(2.0 ** (m - 1)), np.nextafter(F32(1), F32(0))))
        return k, np.where(k > 0, mantissa.astype(U64) << U64(9), below)
    gaps = np.diff(levels.astype(F64))
    weights = np.r_[(1 / gaps).astype(F32), F32(0)]
    f = np.minimum((r - levels[k]) * weights[k], np.nextafter(F32(1), F32(0)))
    return k, split(f)


def quantize(x, S, levels, bits, keys):
    """What the elements of one bucket come back as. bits: 32 random ones each."""
    if S == 0:
        return np.zeros_like(x)
    r = np.minimum(np.abs(x) / S, levels[-1])
    if keys["zero"] == "no":
        r = np.copysign(r, x)
    k, threshold = place_of(r, levels, keys)
    if keys["rounding"] == "nearest":
        bits = U64(2**31) - (k & 1).astype(U64)
    k = k + (bits < threshold)
    if keys["zero"] == "no":
        return S * levels[k]
    return np.where(k == 0, F32(0), S * np.where(np.signbit(x), -levels[k], levels[k]))


def round_trip(values, spec, key):
    x = np.ascontiguousarray(values, F32).reshape(-1)
    keys = parse(spec)
    levels, bits, out = levels_of(keys), random_bits(len(x), key), np.empty_like(x)
    bucket = len(x) if keys["bucket"] == "tensor" else int(keys["bucket"])
    for begin in range(0, len(x), bucket):
        part = slice(begin, begin + bucket)
        out[part] = quantize(x[part], scale_of(x[part], keys["norm"]), levels, bits[part], keys)
    return out.reshape(np.shape(values))
