"""tools/grz_decode.py on the golden streams: the same lines as beside each, and a refusal of each that must be refused.

Exit status 77 with the reason where its modules are missing, unless GRADZ_REQUIRE_PYTHON is set.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent

try:
    sys.path.insert(0, str(HERE.parents[1] / "tools"))
    import grz_decode
except ImportError as missing:
    print(f"skipped: {sys.executable}: {missing}")
    sys.exit(1 if os.environ.get("GRADZ_REQUIRE_PYTHON") else 77)


def problem_of(path):
    """What is wrong with what the decoder makes of a stream that is to be read, as text, or None."""
    try:
        tensors = [tensor for stream in grz_decode.decode(path.read_bytes()) for tensor in stream.tensors]
    except grz_decode.FormatError as error:
        return f"refused: {error}"
    lines = "".join(grz_decode.describe(tensor) + "\n" for tensor in tensors)
    return None if lines == path.with_suffix(".txt").read_text() else f"other lines than expected:\n{lines}"


def problem_of_error(path):
    try:
        grz_decode.decode(path.read_bytes())
    except grz_decode.FormatError as error:
        return None if str(error) and "\n" not in str(error) else f"{str(error)!r} is no line"
    return "not refused"


def main():
    good, errors = sorted(HERE.glob("[0-9]*/*.grz")), sorted(HERE.glob("errors/*/*.grz"))
    problems = [(path, problem_of(path)) for path in good] + [(path, problem_of_error(path)) for path in errors]
    for path, problem in problems:
        if problem:
            print(f"{path.relative_to(HERE)}: {problem}")
    print(f"{len(good)} streams read, {len(errors)} refused")
    return len(good) < 50 or len(errors) < 140 or any(problem for _, problem in problems)


if __name__ == "__main__":
    sys.exit(main())
