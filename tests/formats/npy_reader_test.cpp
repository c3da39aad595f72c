// formats/npy_reader.cpp, raw_reader.cpp, flat_reader.cpp, open.cpp: the repository's npy
// files are read as their JSON says, from files and from pipes, and damage is refused.
#include <nlohmann/json.hpp>
#include <random>

#include "formats/npy_elements.hpp"
#include "formats/tensor_reader.hpp"
#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;
using nlohmann::json;

namespace {

json load(const fs::path& path) { return json::parse(slurp(path)); }

std::vector<std::uint64_t> shape_of(const json& j) { return j.get<std::vector<std::uint64_t>>(); }

// The manifest names big-endian types as NumPy does; the reader has swapped them.
std::string dtype_name(std::string name) {
    if (name[0] == '>') return name.ends_with("8") ? "float64" : "float32";
    return name;
}

void check_figures(const std::string& bytes, DType dtype, const json& want) {
    const auto got = figures_of(to_doubles(bytes, dtype));
    CHECK(got.count == want["count"]);
    CHECK(got.nan == want["nan"]);
    CHECK(got.inf == want["inf"]);
    CHECK(got.zeros == want["zeros"]);
    if (!want.contains("l2")) return;
    CHECK(got.l2 == doctest::Approx(want["l2"].get<double>()).epsilon(1e-12));
    CHECK(got.mean == doctest::Approx(want["mean"].get<double>()).epsilon(1e-9));
    CHECK(got.linf == want["linf"].get<double>());
    CHECK(got.min == want["min"].get<double>());
    CHECK(got.max == want["max"].get<double>());
}

// One tensor, read in chunks that fit nothing, so that every seam is crossed.
void check_tensor(TensorReader& reader, const json& want) {
    REQUIRE(reader.tensors().size() == 1);
    const auto& info = reader.tensors()[0];
    CHECK(info.shape == shape_of(want["shape"]));
    CHECK(row_of(info.dtype).name == dtype_name(want["dtype"]));
    const auto bytes = must(read_tensor(reader, 0, 997));
    CHECK(bytes.size() == must(info.numel()) * size_of(info.dtype));
    if (quantizable(info.dtype)) check_figures(bytes, info.dtype, want);
    CHECK(reader.finish());
}

template <class Use>
void for_each_npy(const fs::path& folder, const char* list, Use use) {
    const json all = load(folder / list);
    for (const auto& [file, entry] : all.items())
        if (file.ends_with(".npy")) {
            CAPTURE(file);
            use(folder / file, entry);
        }
}

std::string npy_of(const std::string& shape, bool fortran, const std::string& data, const std::string& descr = "<f4") {
    std::string dict =
        "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + "}";
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dict.size()) + '\0' + dict + data;
}

}  // namespace

TEST_CASE("npy reader: every edge case is read or refused as expected.json says") {
    std::size_t read = 0, refused = 0;
    for_each_npy(kData / "edge", "expected.json", [&](const fs::path& path, const json& want) {
        const bool trailing = path.filename() == "npy_trailing_bytes.npy";  // "either": we refuse
        if (want["result"] == "error" || trailing) {
            const auto done = read_to_end(path);
            REQUIRE_FALSE(done);
            CHECK_FALSE(done.error().what.empty());
            ++refused;
            return;
        }
        auto reader = must(open_tensors(path, {}));
        CHECK(reader->rereadable());
        CHECK(reader->tensors()[0].name == path.stem());
        check_tensor(*reader, want["tensors"][path.stem().string()]);
        check_tensor(*reader, want["tensors"][path.stem().string()]);  // once more
        ++read;
    });
    CHECK(read == 21);
    CHECK(refused == 14);
}

TEST_CASE("npy reader: real gradients against the manifest, from files and from pipes") {
    std::size_t files = 0;
    for_each_npy(kData / "gradients", "manifest.json", [&](const fs::path& path, const json& want) {
        const json& tensor = want["tensors"].front();
        auto reader = must(open_tensors(path, {}));
        CHECK(reader->tensors()[0].name == path.stem());
        check_tensor(*reader, tensor);
        const Pipe pipe(slurp(path));
        auto piped = must(open_tensors(pipe.path(), {}));
        CHECK(piped->tensors()[0].name == "data");
        check_tensor(*piped, tensor);
        ++files;
    });
    CHECK(files == 8);
}

TEST_CASE("npy reader: a pipe gives the bytes and the origin that the file gives") {
    for_each_npy(kData / "edge", "expected.json", [&](const fs::path& path, const json& want) {
        const Pipe pipe(slurp(path));
        ReadOptions options;
        options.name = path.stem();
        auto piped = open_tensors(pipe.path(), options);
        if (want["result"] == "error" || path.filename() == "npy_trailing_bytes.npy") {
            if (!piped) return;
            const auto bytes = read_tensor(**piped, 0);
            CHECK((!bytes || !(*piped)->finish()));
            return;
        }
        REQUIRE(piped);
        auto reader = must(open_tensors(path, {}));
        CHECK((*piped)->origin() == reader->origin());
        CHECK(must(read_tensor(**piped, 0)) == must(read_tensor(*reader, 0)));
        CHECK((*piped)->finish());
    });
}

TEST_CASE("npy reader: a pipe is forward only and read once") {
    const Pipe pipe(npy_of("(3,)", false, std::string(12, 'x')));
    auto reader = must(open_tensors(pipe.path(), {}));
    CHECK_FALSE(reader->rereadable());
    auto source = must(reader->open(0));
    CHECK(source->access() == Access::forward);
    CHECK_FALSE(reader->open(0));
}

TEST_CASE("npy reader: every strict prefix is refused, from files and from pipes") {
    const Folder dir;
    for (const char* name : {"npy_0d.npy", "npy_int32.npy", "npy_header_unpadded.npy", "npy_f16_extremes.npy"}) {
        const std::string whole = slurp(kData / "edge" / name);
        REQUIRE(read_to_end(kData / "edge" / name));
        for (std::size_t n = 0; n < whole.size(); ++n) {
            CAPTURE(n);
            spill(dir / "a.npy", whole.substr(0, n));
            const auto done = read_to_end(dir / "a.npy");
            REQUIRE_FALSE(done);
            CHECK((done.error().code == Errc::truncated || n < 6));
            if (n % 7) continue;
            const Pipe pipe(whole.substr(0, n));
            CHECK_FALSE(read_to_end(pipe.path()));
        }
        spill(dir / "a.npy", whole + "x");
        CHECK(read_to_end(dir / "a.npy").error().code == Errc::corrupt);
        const Pipe pipe(whole + "x");
        CHECK(read_to_end(pipe.path()).error().code == Errc::corrupt);
    }
    spill(dir / "empty", "");
    CHECK(read_to_end(dir / "empty").error().what == "empty file");
    const Pipe pipe("");
    CHECK(read_to_end(pipe.path()).error().what == "empty file");
}

TEST_CASE("npy reader: names, steps and workers") {
    const Folder dir;
    const auto info_of = [&](const std::string& file, const ReadOptions& options = {}) {
        spill(dir / file, npy_of("(1,)", false, "abcd"));
        return must(open_tensors(dir / file, options))->tensors()[0];
    };
    auto info = info_of("grad_step_000100_rank3.npy");
    CHECK(info.name == "grad");
    CHECK(info.step == 100);
    CHECK(info.worker == 3);
    info = info_of("step7.npy");
    CHECK(info.name == "data");
    CHECK(info.step == 7);
    info = info_of("step7.npy", {.name = "x", .step = {}, .worker = 5, .raw = {}});
    CHECK(info.name == "x");
    CHECK(info.step == 0);
    CHECK(info.worker == 5);
}

TEST_CASE("npy reader: Fortran order, big-endian, any chunk of any shape") {
    std::mt19937 gen(2);
    const Folder dir;
    for (int round = 0; round < 60; ++round) {
        std::vector<std::uint64_t> shape(gen() % 5);
        std::uint64_t count = 1;
        for (auto& d : shape) count *= d = 1 + gen() % 6;
        const bool big = round % 2;
        // Element i in C order is the number i; where it lies in the file follows from strides.
        std::string data(count * 2, '\0');
        for (std::uint64_t i = 0; i < count; ++i) {
            std::uint64_t rest = i, at = 0, stride = count;
            for (std::size_t k = shape.size(); k-- > 0; rest /= shape[k]) at += rest % shape[k] * (stride /= shape[k]);
            data[2 * at + (big ? 1 : 0)] = static_cast<char>(i & 255);
            data[2 * at + (big ? 0 : 1)] = static_cast<char>(i >> 8);
        }
        std::string text = "(";
        for (const auto d : shape) text += std::to_string(d) + ",";
        spill(dir / "a.npy", npy_of(text + ")", true, data, big ? ">u2" : "<u2"));
        auto reader = must(open_tensors(dir / "a.npy", {}));
        auto source = must(reader->open(0));
        CHECK(source->access() == Access::random);
        std::vector<std::byte> buffer;
        for (int chunk = 0; chunk < 10; ++chunk) {
            const std::uint64_t first = gen() % count, n = gen() % (count - first) + 1;
            const auto bytes = must(source->read({first, n}, buffer));
            REQUIRE(bytes.size() == 2 * n);
            bool same = true;
            for (std::uint64_t i = 0; i < n; ++i)
                same &= (std::to_integer<unsigned>(bytes[2 * i]) | std::to_integer<unsigned>(bytes[2 * i + 1]) << 8) ==
                        first + i;
            CHECK(same);
        }
    }
}

TEST_CASE("npy reader: Fortran order from a pipe is held up to --memory") {
    const std::string file = npy_of("(2, 3)", true, std::string(24, 'x'));
    ReadOptions options;
    options.memory = 24;
    const Pipe pipe(file);
    CHECK(read_to_end(pipe.path(), options));
    options.memory = 23;
    const Pipe other(file);
    const auto done = read_to_end(other.path(), options);
    REQUIRE_FALSE(done);
    CHECK(done.error().what.find("--memory") != std::string::npos);
    // What is only declared is not waited for or allocated.
    options.memory = std::uint64_t{1} << 40;
    const Pipe lie(npy_of("(200000, 200000)", true, "abcd"));
    CHECK(read_to_end(lie.path(), options).error().code == Errc::truncated);
}

TEST_CASE("npy reader: elements of a file are not copied") {
    const Folder dir;
    spill(dir / "a.npy", npy_of("(3,)", false, "abcdefghijkl"));
    auto reader = must(open_tensors(dir / "a.npy", {}));
    auto source = must(reader->open(0));
    std::vector<std::byte> buffer;
    CHECK(must(source->read({1, 2}, buffer)).size() == 8);
    CHECK(buffer.empty());
}

TEST_CASE("raw values: the size must be that of the shape") {
    const Folder dir;
    ReadOptions options;
    options.raw = RawLayout{DType::f32, {3, 4}};
    for (const std::size_t size : {47u, 48u, 49u, 0u}) {
        CAPTURE(size);
        spill(dir / "w_step_3.bin", std::string(size, 'x'));
        CHECK(bool(read_to_end(dir / "w_step_3.bin", options)) == (size == 48));
        const Pipe pipe(std::string(size, 'x'));
        CHECK(bool(read_to_end(pipe.path(), options)) == (size == 48));
    }
    spill(dir / "w_step_3.bin", std::string(48, 'x'));
    const auto reader = must(open_tensors(dir / "w_step_3.bin", options));
    CHECK(reader->tensors()[0].name == "w");
    CHECK(reader->tensors()[0].step == 3);
    CHECK(*reader->origin().find("", "format") == "raw");
    options.raw->shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
    CHECK(open_tensors(dir / "w_step_3.bin", options).error().code == Errc::invalid_argument);
    options.raw->shape = {0, 5};
    spill(dir / "none.bin", "");
    CHECK(read_to_end(dir / "none.bin", options));
}

TEST_CASE("open: what is no dump is named") {
    const Folder dir;
    const auto error_of = [&](const std::string& bytes) {
        spill(dir / "a", bytes);
        auto reader = open_tensors(dir / "a", {});
        REQUIRE_FALSE(reader);
        return reader.error();
    };
    CHECK(error_of("hello, world").what.find("no known format") != std::string::npos);
    CHECK(error_of(std::string("\x8fGRZ\r\n\x1a\n", 8)).code == Errc::unsupported);
    CHECK(error_of(std::string("\x80\2\x8a\nl\xfc\x9c", 7)).what.find("pickle") != std::string::npos);
    for (const auto& entry : fs::recursive_directory_iterator(kData))
        if (entry.path().extension() == ".pt" && entry.path().filename() != "pt_no_pickle.pt") {
            CAPTURE(entry.path());
            auto reader = open_tensors(entry.path(), {});
            REQUIRE_FALSE(reader);
            CHECK(reader.error().code == Errc::unsupported);
            CHECK(reader.error().what.find("safetensors.torch.save_file") != std::string::npos);
        }
    CHECK(open_tensors(dir / "absent", {}).error().code == Errc::io);
    // A wrong extension is no error.
    fs::copy_file(kData / "edge/npy_nan.npy", dir / "nan.h5");
    CHECK(read_to_end(dir / "nan.h5"));
}
