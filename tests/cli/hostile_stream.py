"""Feeds damaged copies of a stream to `gradz test`, and some to `gradz decompress`: hostile_stream.py GRADZ FILE.grz

Each must end with status 1 within seconds, with exactly one line on stderr that begins with "gradz: ", and leave no output.
"""
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile

MAX_PREFIXES, FLIPS, SECONDS = 1500, 400, 20


def damaged(stream):
    """(what, bytes) of every prefix, of a flip in every byte of the two ends, and of flips spread over the rest."""
    cuts = range(len(stream))
    if len(stream) > MAX_PREFIXES:  # every one near the ends, where the structure is densest
        rest = range(200, len(stream) - 200)
        cuts = [*range(200), *rest[::len(rest) // (MAX_PREFIXES - 400) + 1], *range(len(stream) - 200, len(stream))]
    for cut in cuts:
        yield f"the first {cut} bytes", stream[:cut]
    chance = random.Random(1)
    places = [*range(min(64, len(stream))), *range(max(0, len(stream) - 64), len(stream))]
    places += [chance.randrange(len(stream)) for _ in range(FLIPS - len(places))]
    for place in places:
        bit = chance.randrange(8)
        broken = bytearray(stream)
        broken[place] ^= 1 << bit
        yield f"bit {bit} of byte {place} flipped", bytes(broken)


def problem_of(done, folder):
    if done.returncode != 1:
        return f"exit status {done.returncode}, want 1"
    if done.stdout:
        return f"{len(done.stdout)} bytes on stdout"
    if done.stderr.count(b"\n") != 1 or not done.stderr.startswith(b"gradz: "):
        return f"stderr is {done.stderr[:300]!r}, want one line"
    if os.listdir(folder) != ["x.grz"]:
        return f"left behind: {os.listdir(folder)}"
    return None


def tried(gradz, what, stream, ways):
    """What went wrong with this damaged stream, as text, or None."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "x.grz").write_bytes(stream)
        for arguments, given in ways:
            try:
                done = subprocess.run([gradz, *arguments], cwd=folder, input=stream if given else b"", capture_output=True,
                                      timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return f"{what}: {arguments}: still running after {SECONDS} s"
            if problem := problem_of(done, folder):
                return f"{what}: {arguments}: {problem}"
    return None


def main(gradz, file):
    stream = pathlib.Path(file).read_bytes()
    always = [(("test", "x.grz"), False)]
    sometimes = [*always, (("test", "-"), True), (("decompress", "x.grz", "-o", "out.npz"), False), (("decompress", "-", "-o", "out.npz"), True)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(tried, gradz, what, data, sometimes if i % 8 == 0 else always) for i, (what, data) in enumerate(damaged(stream))]
        problems = [p for p in (run.result() for run in runs) if p]
    print(f"{len(runs)} damaged copies of a stream of {len(stream)} bytes, {len(problems)} not refused as they should be")
    print("\n".join(problems[:20]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
