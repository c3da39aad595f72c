"""gradz beside other compressors on one file: see bench/peers/run.sh, which calls this."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from bench import harness

from . import child
from .contender import THREADS

OUT = harness.ROOT / "build/peers"
RUNS = 5
SPECS = [f"{scheme}:bits={bits}+{coder}" for bits in (4, 8) for scheme in ("nuqsgd", "qsgd", "qsgdinf") for coder in ("fixed", "zstd", "rans")]
ABOUT = f"""\
GB/s are 10^9 bytes of float32 a second. gradz, zstd and cat are timed as whole processes, from a file in the page cache to /dev/null, start of
the program included; libraries are timed inside Python, from memory to memory, the call alone. {THREADS} threads each where they can. Medians of {RUNS} runs
after one that warms up; {'a call of more than %g s runs 3 times, one of more than %g s once' % (child.LONG, child.VERY_LONG)}. Memory is the peak of the process, at least that of the script; that
of libraries has the input and the output in it. "gradz is" compares with the row of gradz in the column before: how many times as fast it encodes and decodes.
"× cat" and "× memcpy" are how many times as long encoding takes."""


def environment():
    return {"OMP_NUM_THREADS": str(THREADS), "OPENBLAS_NUM_THREADS": str(THREADS), "PYTHONPATH": str(harness.ROOT)}


def gradz_rows(path, specs):
    """The series to be timed of each spec, and its figures."""
    rows = []
    for spec in specs:
        stream, stats = OUT / "g.grz", OUT / "g.json"
        harness.output_of([harness.GRADZ, "compress", path, "-q", spec, "-o", stream, "-f", "--stats", stats, "--quiet"])
        total = json.loads(stats.read_text())["total"]
        kept = OUT / f"{len(rows)}.grz"
        stream.rename(kept)
        encode = harness.Series([harness.GRADZ, "compress", path, "-q", spec, "-c", "--quiet", f"-T{THREADS}"])
        decode = harness.Series([harness.GRADZ, "decompress", kept, "-c", "--to", "npy", "--quiet", f"-T{THREADS}"])
        rows.append({"name": f"gradz {spec}", "how": "process", "bits_per_element": total["bits_per_element"], "nmse": total["nmse"],
                     "encode": encode, "decode": decode, "spec": spec, "file": kept, "note": ""})
    return rows


def zstd_rows(path):
    rows = []
    for level in (1, 3):
        kept = OUT / f"{level}.zst"
        harness.output_of(["zstd", "-q", "-f", f"-{level}", f"-T{THREADS}", path, "-o", kept])
        rows.append({"name": f"zstd -{level}", "how": "process", "bits_per_element": 8 * kept.stat().st_size / elements(path), "nmse": 0.0,
                     "encode": harness.Series(["zstd", "-q", f"-{level}", f"-T{THREADS}", "-c", path]),
                     "decode": harness.Series(["zstd", "-q", "-d", "-c", kept]), "against": "none+zstd", "file": kept, "note": "decode on 1 thread"})
    return rows


HEADER = 128  # bytes of what NumPy writes before the elements of a one-dimensional array


def check_input(path):
    with open(path, "rb") as f:
        head = f.read(HEADER)
    right = head[:8] == b"\x93NUMPY\x01\x00" and head[8:10] == (HEADER - 10).to_bytes(2, "little")
    if not right or b"'<f4'" not in head or b"'fortran_order': False" not in head:
        raise harness.Failed(f"{path}: want a .npy of float32 in C order with a header of {HEADER} bytes")


def elements(path):
    return (os.path.getsize(path) - HEADER) // 4


def processes(path, keep):
    """All that is a process of its own, in turn with cat."""
    specs = ["none+zstd", *(s for s in SPECS if harness.known(s))]
    rows = [r for r in [*gradz_rows(path, specs), *zstd_rows(path)] if keep(r)]
    cat = {"name": "cat", "how": "process", "bits_per_element": 32.0, "nmse": 0.0, "encode": harness.Series(["cat", path]), "note": ""}
    series = [cat["encode"]]
    for row in rows:
        series += [row["encode"], row["decode"]]
    harness.round_robin(series, RUNS)
    gigabytes = 4 * elements(path) * 1e-9
    for row in [cat, *rows]:
        encode, decode = row.pop("encode"), row.pop("decode", None)
        row["encode_gb_s"] = gigabytes / encode.median
        row["decode_gb_s"] = gigabytes / decode.median if decode else None
        row["peak_mib"] = max(encode.peak_mib, decode.peak_mib if decode else 0)
        row["runs"] = RUNS
        if "file" in row:
            row.pop("file").unlink()
    return cat, rows


def in_child(name, path, target=None):
    argv = [sys.executable, "-m", "bench.peers.child", name, path, str(RUNS), *([str(target)] if target else [])]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **environment()}, cwd=harness.ROOT, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return {"missing": f"ended with {done.returncode}: {lines[-1] if lines else 'nothing said'}"}
    row = json.loads(done.stdout.splitlines()[-1])
    if "missing" in row:
        return row
    for way in ("encode", "decode"):
        seconds = row.pop(f"{way}_seconds", None)
        row[f"{way}_gb_s"] = row["bytes"] * 1e-9 / statistics.median(seconds) if seconds else None
        row["runs"] = min(row.get("runs", RUNS), len(seconds) if seconds else RUNS)
    return row


def library_rows(path, keep, bits):
    rows, left_out = [], []
    for contender in child.all_contenders():
        row = {"name": contender.name, "how": "library", "against": contender.against}
        if not keep(row):
            continue
        print(f"  {contender.name}", file=sys.stderr, flush=True)
        row.update(in_child(contender.name, path, bits.get(contender.against)))
        (left_out if "missing" in row else rows).append(row)
    return rows, left_out


def compare(rows, cat, copy):
    by_spec = {r["spec"]: r for r in rows if "spec" in r}
    for row in rows:
        row["cat"] = cat["encode_gb_s"] / row["encode_gb_s"]
        row["memcpy"] = copy["encode_gb_s"] / row["encode_gb_s"]
        ours = by_spec.get(row.get("against"))
        for way in ("encode_gb_s", "decode_gb_s"):
            row["gradz_" + way[:6]] = ours[way] / row[way] if ours and row.get(way) else None


def table(rows):
    head = ["", "bits/element", "NMSE", "encode GB/s", "decode GB/s", "MiB", "× cat", "× memcpy", "against", "gradz is: encode", "decode", "note"]
    n = harness.number
    body = [[r["name"], n(r.get("bits_per_element"), 4), n(r.get("nmse")), n(r["encode_gb_s"]), n(r.get("decode_gb_s")), f"{r['peak_mib']:.0f}",
             n(r["cat"]), n(r["memcpy"]), r.get("against", ""), n(r["gradz_encode"]), n(r["gradz_decode"]),
             "; ".join(filter(None, [r.get("note", ""), f"{r['runs']} runs" if r.get("runs", RUNS) != RUNS else ""]))] for r in rows]
    return harness.markdown(head, body)


def lead(rows):
    """By how much gradz is ahead of the fastest of those that lose something, each beside the row of gradz that has at least as many bits."""
    bits = {r["spec"]: r["bits_per_element"] for r in rows if "spec" in r}
    peers = [r for r in rows if r["name"].split()[0] in ("zfp", "SZ3", "blosc2") and r["nmse"] and r["bits_per_element"] <= bits.get(r["against"], 0)]
    if not peers:
        return ""
    text = "Ahead of the fastest of zfp, SZ3 and blosc2 at the same or fewer bits: "
    for way, wanted in (("encode", 5), ("decode", 3)):
        closest = min(peers, key=lambda r: r["gradz_" + way])
        text += f"{way} {harness.number(closest['gradz_' + way])} × ({closest['name']}; wanted {wanted} ×){', ' if way == 'encode' else '.'}"
    return text + "\n\n"


def versions():
    from importlib import metadata
    names = [line.split("==")[0] for line in (pathlib.Path(__file__).parent / "requirements.txt").read_text().split()]
    out = {"gradz": harness.output_of([harness.GRADZ, "-V"]), "zstd": harness.output_of(["zstd", "-V"]).strip("* "), "Python": sys.version.split()[0]}
    for name in names:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            out[name] = None
    return out


def page(result):
    used = ", ".join(f"{k} {v}" if k not in ("gradz", "zstd") else v for k, v in result["versions"].items() if v)
    gone = "".join(f"Left out: {r['name']} ({r['missing']}).\n" for r in result["left_out"])
    return (f"`{result['command']}` on {result['machine']}; {result['bytes'] / 2**20:.0f} MiB of float32.\n{used}.\n\n{table(result['rows'])}\n"
            + lead(result["rows"]) + (gone + "\n" if gone else "") + ABOUT + "\n")


def main():
    parser = argparse.ArgumentParser(prog="bench/peers/run.sh", description="gradz beside other compressors, on one file")
    parser.add_argument("file", help="a float32 .npy in C order")
    parser.add_argument("--write", metavar="DOC", help="put the table between the `peers` markers of DOC")
    parser.add_argument("--only", metavar="WORD", action="append", help="only rows whose name has WORD in it (and those of gradz)")
    parser.add_argument("--command", default="bench/peers/run.sh", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        harness.parts_around(args.write, "peers")
    check_input(args.file)
    OUT.mkdir(parents=True, exist_ok=True)
    machine = harness.machine()
    harness.in_page_cache(args.file)
    keep = lambda row: "spec" in row or not args.only or any(word in row["name"] for word in args.only)
    print("whole processes, in turn", file=sys.stderr, flush=True)
    cat, ours = processes(args.file, keep)
    print("libraries", file=sys.stderr, flush=True)
    copy = {"name": f"memcpy, {THREADS} threads", "how": "library", **in_child("memcpy", args.file)}
    theirs, left_out = library_rows(args.file, keep, {r["spec"]: r["bits_per_element"] for r in ours if "spec" in r})
    rows = [cat, copy, *ours, *theirs]
    compare(rows, cat, copy)
    result = {"command": args.command, "machine": machine, "versions": versions(), "bytes": 4 * elements(args.file), "rows": rows, "left_out": left_out}
    (OUT / "peers.json").write_text(json.dumps(result, indent=2) + "\n")
    text = page(result)
    (OUT / "peers.md").write_text(text)
    print(text)
    for row in left_out:
        print(f"left out: {row['name']}: {row['missing']}", file=sys.stderr)
    if args.write:
        harness.write_between(args.write, "peers", text)


if __name__ == "__main__":
    try:
        main()
    except harness.Failed as error:
        sys.exit(f"peers: {error}")
