"""tools/check_includes.py on trees of a few files: what it must pass and what it must find."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_includes  # noqa: E402

BASE = {  # one header per layer to include
    "lib/core/error.hpp": "", "lib/core/tensor.hpp": "", "lib/kernels/element.hpp": "", "lib/quant/spec.hpp": "", "lib/coder/coder.hpp": "",
    "lib/pipeline/encode.hpp": "", "formats/reader.hpp": "", "cli/command.hpp": "", "tests/support/gen.hpp": "",
}
ALLOWED = [
    ("lib/core/a.cpp", '"core/tensor.hpp"'), ("lib/core/a.cpp", "<vector>"), ("lib/core/a.cpp", "<sys/mman.h>"),
    ("lib/core/zstd.cpp", "<zstd.h>"), ("lib/core/hash.cpp", "<xxhash.h>"), ("lib/kernels/a-inl.hpp", '"kernels/element.hpp"'),
    ("lib/kernels/dispatch.hpp", '"core/error.hpp"'), ("lib/kernels/cuda/a.cu", "<cuda_runtime.h>"), ("lib/quant/a.cpp", '"kernels/element.hpp"'),
    ("lib/pipeline/a.cpp", '"coder/coder.hpp"'), ("formats/hdf5_a.cpp", "<hdf5.h>"), ("formats/hdf5_a.cpp", "<H5Ppublic.h>"),
    ("formats/a.cpp", "<zlib.h>"), ("formats/a.cpp", '"core/tensor.hpp"'), ("cli/a.cpp", '"formats/reader.hpp"'), ("cli/a.cpp", '"command.hpp"'),
    ("cli/a.cpp", "<CLI/CLI.hpp>"), ("tests/core/a_test.cpp", "<doctest/doctest.h>"), ("tests/core/a_test.cpp", '"support/gen.hpp"'),
]
FORBIDDEN = [
    ("lib/core/a.cpp", '"kernels/element.hpp"'), ("lib/core/a.cpp", '"quant/spec.hpp"'), ("lib/kernels/a.hpp", '"core/error.hpp"'),
    ("lib/kernels/dispatch.hpp", '"core/tensor.hpp"'), ("lib/kernels/a.hpp", "<unistd.h>"), ("lib/quant/a.cpp", '"coder/coder.hpp"'),
    ("lib/coder/a.cpp", '"quant/spec.hpp"'), ("lib/coder/a.cpp", '"pipeline/encode.hpp"'), ("lib/pipeline/a.cpp", '"formats/reader.hpp"'),
    ("formats/a.cpp", '"quant/spec.hpp"'), ("formats/a.cpp", "<hdf5.h>"), ("formats/a.cpp", '"cli/command.hpp"'),
    ("tests/a.cpp", '"cli/command.hpp"'), ("lib/coder/a.cpp", "<zstd.h>"), ("lib/core/a.cpp", "<xxhash.h>"), ("lib/core/a.cpp", "<zlib.h>"),
    ("lib/core/a.cpp", "<nlohmann/json.hpp>"), ("formats/a.cpp", "<CLI/CLI.hpp>"), ("lib/kernels/a.cpp", "<cuda_runtime.h>"),
    ("lib/core/a.cpp", "<doctest/doctest.h>"), ("lib/core/a.cpp", "<boost/any.hpp>"), ("lib/core/a.cpp", '"core/missing.hpp"'),
    ("formats/a.cpp", '"support/gen.hpp"'),
]


def check(file, include):
    """What the checker finds in BASE with one more file whose third line includes `include`."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**BASE, file: f"#pragma once\n\n#  include {include}\n"}.items():
            target = pathlib.Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return list(check_includes.breaches(pathlib.Path(root).resolve()))


class CheckIncludes(unittest.TestCase):
    def test_allowed(self):
        for file, include in ALLOWED:
            with self.subTest(file=file, include=include):
                self.assertEqual(check(file, include), [])

    def test_forbidden_are_named_by_file_and_line(self):
        for file, include in FORBIDDEN:
            with self.subTest(file=file, include=include):
                found = check(file, include)
                self.assertEqual(len(found), 1)
                self.assertTrue(found[0].startswith(f"{file}:3: "), found)

    def test_a_tree_without_sources_is_no_pass(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(check_includes.main([root]), 1)


if __name__ == "__main__":
    unittest.main()
