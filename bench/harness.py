"""Times whole processes, asks the machine what it is, and puts tables into documents. Standard library alone.

Peak memory is ru_maxrss of the child. Linux lets a child begin with the peak of the process that started it, so whatever uses this must stay
small itself: no NumPy here, inputs are made in a process of their own.
"""
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRADZ = os.environ.get("GRADZ", str(ROOT / "build/release/gradz"))


class Failed(Exception):
    """A command that should have worked did not."""


class Series:
    """Runs of one command; the median counts."""

    def __init__(self, argv, env=None):
        self.argv = [str(a) for a in argv]
        self.env = {**os.environ, **(env or {})}
        self.seconds, self.peak_mib = [], 0.0

    def run(self, keep=True):
        begin = time.perf_counter()
        child = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.env)
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise Failed(f"{' '.join(self.argv)}: {child.returncode}: {said.decode(errors='replace').strip()}")
        if keep:
            self.seconds.append(seconds)
            self.peak_mib = max(self.peak_mib, usage.ru_maxrss / 1024)

    @property
    def median(self):
        return statistics.median(self.seconds)


def round_robin(series, runs):
    """Every command once to warm up, then all of them in turn: what slows the machine down for a while slows down all."""
    for one in series:
        one.run(keep=False)
    for _ in range(runs):
        for one in series:
            one.run()


def known(spec):
    """Whether this gradz has all that the spec names."""
    return subprocess.run([GRADZ, "levels", spec], capture_output=True, check=False).returncode == 0


def output_of(argv):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True).stdout.strip()


def in_page_cache(path):
    with open(path, "rb", buffering=0) as f:
        while f.read(1 << 20):
            pass


def machine():
    """One line: what it is, how many cores, how wide its vectors are."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", info)
    flags = re.search(r"flags\s*: (.*)", info)
    flags = flags.group(1).split() if flags else []
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "neither AVX2 nor AVX-512"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kind = " (a virtual machine)" if "hypervisor" in flags else ""
    return (f"{len(os.sched_getaffinity(0))} cores of {model.group(1).strip() if model else 'an unknown CPU'}{kind}, {vectors}, "
            f"{memory:.0f} GiB of memory, Linux {os.uname().release}; load {os.getloadavg()[0]:.1f} at the start; {datetime.date.today()}")


def number(value, digits=3):
    """Plain, with `digits` significant ones; "–" where there is none."""
    if value is None:
        return "–"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text else text


def markdown(head, rows):
    cells = [head, ["---" if i == 0 else "---:" for i in range(len(head))], *rows]
    return "".join("| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |\n" for row in cells)


def parts_around(path, name):
    """What stands before and behind the text between <!-- name: begin --> and <!-- name: end -->, the markers included.

    Raises Failed where they are not there, so that it can be asked before a long run.
    """
    page = pathlib.Path(path).read_text(encoding="utf-8") if os.path.exists(path) else ""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise Failed(f"{path}: want the lines {begin.strip()} and {end}, once each")
    return page[:page.index(begin) + len(begin)], page[page.index(end):]


def write_between(path, name, text):
    before, after = parts_around(path, name)
    pathlib.Path(path).write_text(before + text + after, encoding="utf-8")
