"""QSGD and NUQSGD as research code writes them: whole-tensor expressions, decoded floats as the result.

Ours, from the definitions in docs/SCHEMES.md; the levels are gradz's at the same number of bits. Nothing is packed, so bits are what packing would take: the
symbol at ceil(log2(symbols)) bits and 32 for the scale of every 512 elements.
"""
import math

from .contender import BUCKET, THREADS, Contender


class Research(Contender):
    decodes = False

    def __init__(self, scheme, width):
        self.scheme, self.width = scheme, width
        self.levels = 2 ** (width - 1) - 1  # other than zero
        self.against = f"{scheme}:bits={width}+fixed"
        self.name = f"{self.library} {scheme.upper()}, {width} bit"

    def bits(self, code, x):
        return x.size * math.ceil(math.log2(2 * self.levels + 1)) + 32 * math.ceil(x.size / BUCKET)

    def decompress(self, code, x):
        return code[:x.size]

    def note(self):
        return "floats come back, nothing is packed; bits as if it were"


class NumPyResearch(Research):
    library = "NumPy"
    needs = ("numpy",)

    def prepare(self, x):
        import numpy as np
        self.np, self.rng = np, np.random.default_rng(1)

    def compress(self, x):
        np, m = self.np, self.levels
        v = np.pad(x, (0, -x.size % BUCKET)).reshape(-1, BUCKET)
        norm = np.linalg.norm(v, axis=1, keepdims=True)
        r = np.abs(v) / np.where(norm > 0, norm, 1)
        draw = self.rng.random(v.shape, dtype=np.float32)
        if self.scheme == "qsgd":
            low = np.floor(r * m)
            level = (low + (draw < r * m - low)) / np.float32(m)
        else:
            table = np.concatenate([[0], 0.5 ** np.arange(m - 1, -1, -1.0)]).astype(np.float32)
            index = np.clip(np.searchsorted(table, r, side="right") - 1, 0, m - 1)
            low, high = table[index], table[index + 1]
            level = np.where(draw < (r - low) / (high - low), high, low)
        return (np.sign(v) * level * norm).reshape(-1)


class TorchResearch(Research):
    library = "torch"
    needs = ("torch",)

    def prepare(self, x):
        import torch
        self.torch = torch
        torch.set_num_threads(THREADS)
        torch.manual_seed(1)

    def compress(self, x):
        torch, m = self.torch, self.levels
        v = torch.nn.functional.pad(torch.from_numpy(x), (0, -x.size % BUCKET)).view(-1, BUCKET)
        norm = v.norm(dim=1, keepdim=True)
        r = v.abs() / norm.clamp_min(torch.finfo(torch.float32).tiny)
        draw = torch.rand_like(v)
        if self.scheme == "qsgd":
            low = torch.floor(r * m)
            level = (low + (draw < r * m - low).float()) / m
        else:
            table = torch.cat([torch.zeros(1), 0.5 ** torch.arange(m - 1, -1, -1.0)])
            index = (torch.bucketize(r, table, right=True) - 1).clamp_(0, m - 1)
            low, high = table[index], table[index + 1]
            level = torch.where(draw < (r - low) / (high - low), high, low)
        return (v.sign() * level * norm).view(-1).numpy()


def contenders():
    return [kind(scheme, width) for kind in (TorchResearch, NumPyResearch) for scheme in ("qsgd", "nuqsgd") for width in (4, 8)]
