#!/usr/bin/python3
"""Checks who includes whom. Prints "FILE:LINE: rule" for each breach and exits with 1.

    tools/check_includes.py [ROOT]

Layers, from the bottom: core, kernels | quant, coder, container, stats, sparse, lowrank, transform | pipeline | formats | cli.
A quoted include names a file of the project, an angled one the system or a library of others; each such library has one place.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
SOURCES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
FOLDERS = ("lib", "formats", "cli", "plugins", "python", "tests", "bench")

# Layers that may be included, besides a layer's own files. "lib" is the public face, lib/gradz.h and lib/gradz.hpp.
CODEC = ("quant", "coder", "container", "stats", "sparse", "lowrank", "transform")
LIB = ("core", "kernels", *CODEC, "pipeline", "lib")
MAY_INCLUDE = {
    "core": (),
    "kernels": (),
    **{name: ("core", "kernels") for name in CODEC},
    "pipeline": LIB,
    "lib": LIB,
    "formats": ("core",),
    "cli": (*LIB, "formats"),
    "plugins": LIB,
    "python": (*LIB, "formats"),
    "tests": (*LIB, "formats", "plugins"),
    "bench": (*LIB, "formats"),
}
# (includer, included): single files that may look further, and why.
EXCEPTIONS = [
    (r"lib/kernels/dispatch\.[ch]pp|lib/kernels/cuda/engine\.hpp", r"lib/core/error\.hpp"),  # a target that cannot run is an error, not a crash
]

# Libraries of others: their headers, and the files that may include them.
LIBRARIES = [
    (r"(hdf5|hdf5_hl|H5\w+)\.h", r"(tests/)?formats/hdf5_[^/]*|plugins/hdf5/.*"),
    (r"htscodecs/.*", r"lib/core/rans\.cpp|tests/coder/rans_coder_test\.cpp"),
    (r"zstd(_errors)?\.h|zdict\.h", r"lib/core/zstd\.cpp"),
    (r"xxhash\.h|xxh3\.h|xxh_x86dispatch\.h", r"lib/core/hash\.cpp"),
    (r"zlib\.h", r"(tests/)?formats/.*"),
    (r"nlohmann/.*", r"(formats|cli|tests)/.*"),
    (r"CLI/.*", r"cli/.*"),
    (r"benchmark/.*", r"bench/.*"),
    (r"doctest/.*", r"tests/.*"),
    (r"omp\.h", r"(lib|tests)/core/parallel.*"),
    (r"(cuda|cub|thrust|nvtx3|cooperative_groups)([_/.].*)?", r"lib/kernels/cuda/.*"),
    (r"\w*intrin\.h|arm_neon\.h", r"lib/(kernels|core)/.*|formats/crc32\.cpp"),
]
# Headers of the operating system. C's and C++'s own have no dot or are of the form <cstdint>.
SYSTEM = re.compile(r"(sys|linux)/\w+\.h|(dirent|dlfcn|errno|fcntl|fnmatch|glob|locale|poll|pthread|sched|signal|stddef|stdint|"
                    r"stdio|stdlib|string|strings|termios|time|ucontext|unistd)\.h")
STANDARD = re.compile(r"[a-z0-9_]+")
# Kernels run on every target and on devices: what they include is the language's own or fixed-width.
KERNELS_SYSTEM = re.compile(r"[a-z0-9_]+|stdint\.h")


def layer_of(path):
    """The layer of a file, given by its path from the root, such as lib/core/hash.cpp."""
    parts = path.split("/")
    if parts[0] != "lib":
        return parts[0]
    return parts[1] if len(parts) > 2 else "lib"


def resolve(root, file, name):
    """The file that a quoted include names, as the include paths of the build find it; None if there is none."""
    for base in (file.parent, root / "lib", root, root / "tests"):
        for candidate in (base / name, base / (name + ".in")):  # .in: written by the configure step
            if candidate.is_file():
                return candidate.resolve().relative_to(root).as_posix()
    return None


def breach_of_own(path, target):
    here, there = layer_of(path), layer_of(target)
    if there == here or there in MAY_INCLUDE.get(here, ()):
        return None
    if any(re.fullmatch(a, path) and re.fullmatch(b, target) for a, b in EXCEPTIONS):
        return None
    if there in ("cli", "tests"):
        return f"nothing includes {there}/ but {there}/ itself"
    allowed = ", ".join(MAY_INCLUDE.get(here, ())) or "nothing"
    return f"{here} may include {allowed} and itself, not {target}"


def breach_of_system(path, name):
    for headers, places in LIBRARIES:
        if re.fullmatch(headers, name):
            return None if re.fullmatch(places, path) else f"<{name}> belongs in {places} alone"
    if layer_of(path) == "kernels" and "/cuda/" not in path and not path.endswith("dispatch.cpp"):
        return None if KERNELS_SYSTEM.fullmatch(name) else f"kernels include the language's own headers alone, not <{name}>"
    if STANDARD.fullmatch(name) or SYSTEM.fullmatch(name):
        return None
    return f"<{name}> is known to no rule: say in tools/check_includes.py where it belongs"


def breaches(root):
    files = sorted(f for folder in FOLDERS for f in (root / folder).rglob("*") if f.suffix in SOURCES and f.is_file())
    for file in files:
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            own, system = found.groups()
            if system:
                rule = breach_of_system(path, system)
            elif target := resolve(root, file, own):
                rule = breach_of_own(path, target)
            else:
                rule = f'"{own}" names no file of the project'
            if rule:
                yield f"{path}:{number}: {rule}"
    if not files:
        yield f"{root}: no source file found"


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()
    found = list(breaches(root))
    print("\n".join(found) if found else "every include keeps its direction")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
