"""How fast the program is beside `cat` of the same file, whole processes: see bench/acceptance.sh, which calls this."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from bench import harness
from bench.harness import GRADZ, Series

OUT = harness.ROOT / "build/bench"
ABOUT = """\
Medians of {runs} runs after one that warms up, in turn with each other; whole processes, their start included, from a file in the page cache to /dev/null.
A ratio of times is to the row or command that the line names. Peak memory is that of the process (at least that of the script, {floor:.0f} MiB).
"""


class Rows:
    """Lines of the table; each is written when all has run."""

    def __init__(self):
        self.series, self.lines = {}, []

    def add(self, key, argv, env=None):
        self.series[key] = Series(argv, env)
        return key

    def compress(self, key, path, spec, *options, env=None, threads=2):
        options = options or ("--quiet",)
        return self.add(key, [GRADZ, "compress", path, "-q", spec, "-c", f"-T{threads}", *options], env)

    def seconds(self, key):
        return self.series[key].median

    def line(self, text, wanted, measured):
        """measured: called when all has run; returns what to print and whether it is as wanted (None: nothing is wanted)."""
        self.lines.append((text, wanted, measured))

    def ratio(self, text, key, to, most, digits=3):
        """Times of `key` over those of `to`; most: what it may be, or None."""
        def measured():
            value = self.seconds(key) / self.seconds(to)
            return f"{harness.number(value, digits)} × {to} ({self.seconds(key):.3f} s)", None if most is None else value <= most
        self.line(text, "" if most is None else f"≤ {most} ×", measured)

    def table(self):
        body = []
        for text, wanted, measured in self.lines:
            value, met = measured()
            body.append([text, wanted, value, "" if met is None else "yes" if met else "**no**"])
        return harness.markdown(["", "wanted", "measured", "met"], body)


def has_target(name):
    return subprocess.run([GRADZ, "levels", "nuqsgd"], capture_output=True, env={**os.environ, "GRADZ_TARGET": name}, check=False).returncode == 0


def speed_lines(rows, path):
    rows.add("cat", ["cat", path])
    wanted = {"fixed": (1.3, 1.6, 3), "zstd": (2.0, 2.3, 3.5), "rans": (None, None, None)}
    for coder, most in wanted.items():
        spec = f"nuqsgd:bits=4+{coder}"
        if not harness.known(spec):
            continue
        ways = {"--quiet": ("--quiet",), "default line": ("--no-progress",), "--stats": ("--quiet", "--stats", "/dev/null")}
        for (way, options), limit in zip(ways.items(), most):
            rows.ratio(f"compress {spec}, {way}", rows.compress(f"{coder} {way}", path, spec, *options), "cat", limit)
    for target, most in (("avx2", 1.8), ("scalar", None)):
        if has_target(target):
            key = rows.compress(f"fixed {target}", path, "nuqsgd:bits=4+fixed", env={"GRADZ_TARGET": target})
            rows.ratio(f"compress nuqsgd:bits=4+fixed, --quiet, GRADZ_TARGET={target}", key, "cat", most)


def scheme_lines(rows, path):
    for coder in ("fixed", "zstd"):
        for scheme in ("qsgd", "qsgdinf"):
            key = rows.compress(f"{scheme} {coder}", path, f"{scheme}:bits=4+{coder}")
            rows.ratio(f"compress {scheme}:bits=4+{coder}, --quiet", key, f"{coder} --quiet", 1.25)
    rows.compress("8 bits", path, "nuqsgd:bits=8+fixed")
    for bits, p, base, most in ((4, 0.6, "fixed --quiet", 2), (8, 0.9, "8 bits", 4)):
        key = rows.compress(f"p={p}", path, f"nuqsgd:bits={bits},p={p}+fixed")
        rows.ratio(f"compress nuqsgd:bits={bits},p={p}+fixed, --quiet", key, base, most)


def decompress_lines(rows, path, folder):
    for coder in ("fixed", "zstd", "rans"):
        if not harness.known(f"nuqsgd:bits=4+{coder}"):
            continue
        stream = folder / f"{coder}.grz"
        harness.output_of([GRADZ, "compress", path, "-q", f"nuqsgd:bits=4+{coder}", "-o", stream, "-f", "--quiet"])
        key = rows.add(f"decompress {coder}", [GRADZ, "decompress", stream, "-c", "--to", "npy", "--quiet", "-T2"])
        rows.ratio(f"decompress nuqsgd:bits=4+{coder}", key, f"{coder} --quiet", 1)


def thread_lines(rows, path):
    for coder in ("fixed", "zstd"):
        one = rows.compress(f"{coder} -T1", path, f"nuqsgd:bits=4+{coder}", threads=1)
        two = f"{coder} --quiet"

        def measured(one=one, two=two):
            gain, cat = rows.seconds(one) / rows.seconds(two), rows.seconds(two) / rows.seconds("cat")
            return f"{harness.number(gain)} × ({harness.number(cat)} × cat)", gain >= 1.8 or cat <= 1.1
        rows.line(f"compress nuqsgd:bits=4+{coder}, --quiet: one thread → two", "≥ 1.8 ×, or ≤ 1.1 × cat", measured)


def memory_line(rows, text, key):
    rows.line(text, "≤ 64 MiB", lambda: (f"{rows.series[key].peak_mib:.0f} MiB", rows.series[key].peak_mib <= 64))


def many_lines(rows, count):
    for kind in ("npz", "h5"):
        path = OUT / f"many-{count}.{kind}"
        if not path.exists() and not make(kind, path, count):
            rows.line(f"{count} tensors of 1000 elements in one {kind}", "≤ 1 s", lambda: ("not measured: no h5py", None))
            continue
        for spec in ("nuqsgd:bits=4+fixed", "nuqsgd:bits=4+zstd"):
            key = rows.compress(f"many {kind} {spec}", path, spec)
            rows.line(f"compress {count} tensors of 1000 elements in one {kind}, {spec}", "≤ 1 s",
                      lambda key=key: (f"{rows.seconds(key):.3f} s", rows.seconds(key) <= 1))


def start_line(rows):
    rows.add("start", [GRADZ, "--version"])
    rows.line("gradz --version", "≤ 10 ms", lambda: (f"{rows.seconds('start') * 1e3:.1f} ms", rows.seconds("start") <= 0.010))


def make(kind, path, size):
    """In a process of its own, so that this one stays small. False where a module is missing."""
    module = ["bench.gradients"] if kind == "gradient" else ["bench.inputs", kind]
    part = path.with_name(f"{path.name}.{os.getpid()}")
    made = subprocess.run([sys.executable, "-m", *module, str(part), str(size)], cwd=harness.ROOT, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        if "No module named 'h5py'" in made.stderr:
            return False
        sys.exit(f"{path}: {made.stderr.strip().splitlines()[-1]}")
    part.rename(path)
    return True


def large_memory(rows, size, folder):
    """Last, since it pushes the other inputs out of the page cache."""
    path = folder / "sparse.npy"
    make("sparse", path, size)
    for coder in ("fixed", "zstd"):
        rows.compress(f"large {coder}", path, f"nuqsgd:bits=4+{coder}")
        rows.series[f"large {coder}"].run()


def human(size):
    return f"{size >> 30} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"


def main():
    parser = argparse.ArgumentParser(prog="bench/acceptance.sh", description="gradz beside cat, whole processes")
    parser.add_argument("--tiny", action="store_true", help="small inputs and one run: whether this works, not how fast anything is")
    parser.add_argument("--runs", type=int, help="runs of each command (default 5)")
    parser.add_argument("--write", metavar="DOC", help="put the table between the `acceptance` markers of DOC")
    args = parser.parse_args()
    size, large, count = (4 << 20, 32 << 20, 100) if args.tiny else (1 << 30, 8 << 30, 10000)
    runs = args.runs or (1 if args.tiny else 5)
    if args.write:
        harness.parts_around(args.write, "acceptance")
    OUT.mkdir(parents=True, exist_ok=True)
    machine = harness.machine()
    path = OUT / f"gradient-{size}.npy"
    if not path.exists():
        make("gradient", path, size)
    harness.in_page_cache(path)
    rows = Rows()
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        measure(rows, path, pathlib.Path(folder), runs, (size, large, count))
    report(args, rows, machine, runs, size)


def measure(rows, path, folder, runs, sizes):
    """folder: for what goes away again."""
    size, large, count = sizes
    speed_lines(rows, path)
    scheme_lines(rows, path)
    decompress_lines(rows, path, folder)
    thread_lines(rows, path)
    for coder in ("fixed", "zstd"):
        memory_line(rows, f"peak memory, compress nuqsgd:bits=4+{coder}, --quiet, {human(size)}", f"{coder} --quiet")
        memory_line(rows, f"peak memory, the same, {human(large)} (sparse)", f"large {coder}")
    many_lines(rows, count)
    start_line(rows)
    harness.round_robin(list(rows.series.values()), runs)
    large_memory(rows, large, folder)


def report(args, rows, machine, runs, size):
    command = "bench/acceptance.sh" + (" --tiny" if args.tiny else "") + (f" --runs {runs}" if args.runs else "")
    gigabytes = size * 1e-9 / rows.seconds("cat")
    text = (f"`{command}` on {machine}; {harness.output_of([GRADZ, '-V'])}; {human(size)} of float32. "
            f"`cat FILE > /dev/null`: {rows.seconds('cat'):.3f} s, {gigabytes:.1f} GB/s.\n\n{rows.table()}\n"
            + ABOUT.format(runs=runs, floor=rows.series["cat"].peak_mib))
    print(text)
    if args.write:
        harness.write_between(args.write, "acceptance", text)


if __name__ == "__main__":
    try:
        main()
    except harness.Failed as error:
        sys.exit(f"acceptance: {error}")
