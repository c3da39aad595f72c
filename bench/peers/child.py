"""Measures one contender: python -m bench.peers.child NAME FILE RUNS [TARGET]; JSON on stdout.

The calls alone are timed, not imports, the loading of the file or the choice of parameters. Runs get fewer where one takes long.
"""
import importlib
import json
import resource
import sys
import time

from . import libraries, research
from .contender import THREADS

LONG, VERY_LONG = 5.0, 30.0  # seconds of one run from which 3, or 1, are enough


def all_contenders():
    return [*libraries.contenders(), *research.contenders()]


def missing(contender):
    for module in contender.needs:
        try:
            importlib.import_module(module)
        except Exception as error:  # a wheel that does not load is no reason to stop
            return f"{module}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return None


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(call, runs):
    """The result of the last run and the seconds of each; the first, which warms up, counts only where it is very long."""
    begin = time.perf_counter()
    result = call()
    first = time.perf_counter() - begin
    if first > VERY_LONG:
        return result, [first]
    seconds = []
    for _ in range(min(runs, 3) if first > LONG else runs):
        result = None  # one code at a time in memory
        begin = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begin)
    return result, seconds


def nmse(x, y):
    import numpy as np
    error = norm = 0.0
    for at in range(0, x.size, 1 << 22):
        v = x[at:at + (1 << 22)].astype(np.float64)
        error += float(np.sum((y[at:at + (1 << 22)] - v) ** 2))
        norm += float(np.sum(v * v))
    return error / norm


def measure(contender, path, runs):
    import numpy as np
    x = np.ascontiguousarray(np.load(path).reshape(-1), dtype=np.float32)
    contender.prepare(x)
    code, encode = timed(lambda: contender.compress(x), runs)
    row = {"bits_per_element": contender.bits(code, x) / x.size, "encode_seconds": encode, "bytes": x.nbytes}
    if contender.decodes:
        values, row["decode_seconds"] = timed(lambda: contender.decompress(code, x), runs)
    else:
        values = contender.decompress(code, x)
    row["peak_mib"] = peak_mib()
    row["nmse"] = nmse(x, values)
    row["note"] = contender.note()
    return row


def copy(path, runs):
    """memcpy of the same bytes on as many threads."""
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    x = np.load(path).reshape(-1)
    y = np.empty_like(x)
    parts = [slice(x.size * i // THREADS, x.size * (i + 1) // THREADS) for i in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        _, seconds = timed(lambda: list(pool.map(lambda part: np.copyto(y[part], x[part]), parts)), runs)
    return {"encode_seconds": seconds, "bytes": x.nbytes, "peak_mib": peak_mib()}


def main(name, path, runs, target=None):
    if name == "memcpy":
        print(json.dumps(copy(path, int(runs))))
        return
    contender = next(c for c in all_contenders() if c.name == name)
    reason = missing(contender)
    if reason:
        print(json.dumps({"missing": reason}))
        return
    contender.target = float(target) if target else None
    print(json.dumps(measure(contender, path, int(runs))))


if __name__ == "__main__":
    main(*sys.argv[1:])
