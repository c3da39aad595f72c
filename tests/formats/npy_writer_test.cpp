// formats/npy_writer.cpp: files come back byte for byte, several tensors make a folder.
#include <nlohmann/json.hpp>
#include <set>

#include "formats/names.hpp"
#include "formats/npy_header.hpp"
#include "formats/readers.hpp"
#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

Result<Done> copy_dump(const fs::path& from, const fs::path& to, const WriteOptions& options = {}) {
    GRADZ_TRY(auto reader, open_tensors(from, {}));
    GRADZ_TRY(auto writer, create_tensors(to, Format::npy, reader->origin(), options));
    return copy_tensors(*reader, *writer);
}

TensorInfo info(const std::string& name, std::vector<std::uint64_t> shape = {2}, std::uint64_t step = 0) {
    return {name, std::move(shape), DType::f32, step, 0};
}

// Each tensor in a batch of its own, added just before its elements; 8 bytes each.
Result<Done> write_all(TensorWriter& writer, const std::vector<TensorInfo>& infos) {
    for (std::size_t i = 0; i < infos.size(); ++i) {
        GRADZ_TRY([[maybe_unused]] auto added, writer.add({&infos[i], 1}));
        const std::string data(8, static_cast<char>('a' + i));
        GRADZ_TRY([[maybe_unused]] auto first, writer.write(i, 0, bytes_of(data).first(4)));
        GRADZ_TRY([[maybe_unused]] auto second, writer.write(i, 1, bytes_of(data).last(4)));
    }
    return writer.commit();
}

}  // namespace

TEST_CASE("npy writer: what NumPy wrote comes back byte for byte") {
    const Folder dir;
    std::size_t files = 0;
    for (const char* folder : {"edge", "gradients"})
        for (const auto& entry : fs::directory_iterator(kData / folder)) {
            const auto path = entry.path();
            if (path.extension() != ".npy" || !open_tensors(path, {})) continue;
            CAPTURE(path);
            REQUIRE(copy_dump(path, dir / path.filename().string()));
            const bool canonical =
                path.filename() != "npy_header_unpadded.npy" && path.filename() != "npy_header_70k.npy";
            CHECK((slurp(path) == slurp(dir / path.filename().string())) == canonical);
            CHECK(read_to_end(dir / path.filename().string()));
            ++files;
        }
    CHECK(files == 29);
    CHECK(dir.count() == files);
}

TEST_CASE("npy writer: Fortran order holds the tensor up to --memory") {
    const Folder dir;
    WriteOptions options;
    options.memory = 512 * 128 * 4;
    const fs::path file = kData / "gradients/gpt_s20_h.3.mlp.c_fc.weight_fortran.npy";
    CHECK(copy_dump(file, dir / "a.npy", options));
    --options.memory;
    const auto done = copy_dump(file, dir / "b.npy", options);
    REQUIRE_FALSE(done);
    CHECK(done.error().what.find("--memory") != std::string::npos);
    CHECK(dir.count() == 1);
}

TEST_CASE("npy writer: several tensors become a folder that reads back") {
    const Folder dir;
    const std::vector<TensorInfo> infos = {info("fc1.weight"), info("../../evil"),          info(""),
                                           info(".hidden"),    info(std::string(300, 'x')), info("a/b")};
    auto writer = must(create_tensors(dir / "out", Format::npy, {}, {}));
    REQUIRE(write_all(*writer, infos));
    CHECK(dir.count() == 1 + infos.size());
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir / "out")) names.insert(entry.path().filename());
    for (std::size_t i = 0; i < infos.size(); ++i) {
        const std::string name = encode_file_name(infos[i].name) + ".npy";
        REQUIRE(names.count(name) == 1);
        CHECK(slurp(dir / "out" / name).substr(128) == std::string(8, static_cast<char>('a' + i)));
    }
    CHECK(read_to_end(dir / "out"));
}

TEST_CASE("npy writer: steps and workers go into file names where they tell tensors apart") {
    const Folder dir;
    std::vector<TensorInfo> infos = {info("w", {2}, 1), info("w", {2}, 20), info("step_3/w", {2}, 3)};
    infos[1].worker = 4;
    REQUIRE(write_all(*must(create_tensors(dir / "out", Format::npy, {}, {})), infos));
    auto reader = must(open_tensors(dir / "out", {}));
    REQUIRE(reader->tensors().size() == 3);
    CHECK(fs::exists(dir / "out/w_step_1_rank_0.npy"));
    CHECK(fs::exists(dir / "out/w_step_20_rank_4.npy"));
    CHECK(fs::exists(dir / "out/step_3%2Fw_rank_0.npy"));
    // One step alone is no part of the names.
    REQUIRE(write_all(*must(create_tensors(dir / "one", Format::npy, {}, {})), {info("a", {2}, 7), info("b", {2}, 7)}));
    CHECK(fs::exists(dir / "one/a.npy"));
}

TEST_CASE("npy writer: tensors without elements are files too") {
    const Folder dir;
    const std::vector<TensorInfo> infos = {info("e1", {0}), info("w"), info("e2", {3, 0}), info("e3", {0})};
    auto writer = must(create_tensors(dir / "out", Format::npy, {}, {}));
    REQUIRE(writer->add(infos));
    REQUIRE(writer->write(1, 0, bytes_of("abcdefgh")));
    REQUIRE(writer->commit());
    CHECK(must(open_tensors(dir / "out", {}))->tensors().size() == 4);
    auto one = must(create_tensors(dir / "one.npy", Format::npy, {}, {}));
    REQUIRE(one->add({infos.data(), 1}));
    REQUIRE(one->commit());
    CHECK(fs::is_regular_file(dir / "one.npy"));
}

TEST_CASE("npy writer: nothing is left of what fails") {
    const Folder dir;
    const std::string data(8, 'x');
    const auto one = [&] { return must(create_tensors(dir / "out", Format::npy, {}, {})); };
    const std::vector<TensorInfo> pair = {info("a"), info("b")}, single = {info("a")};
    {
        auto w = one();
        REQUIRE(w->add(pair));
        CHECK_FALSE(w->write(0, 1, bytes_of(data).first(4)));  // a gap
        CHECK_FALSE(w->write(0, 0, bytes_of(data).first(3)));  // no whole element
        CHECK_FALSE(w->write(0, 0, bytes_of(data + data)));    // too many
        CHECK_FALSE(w->write(2, 0, bytes_of(data)));           // no such tensor
        CHECK_FALSE(w->write(1, 0, bytes_of(data)));           // the first one is not complete
    }
    {
        auto w = one();
        REQUIRE(w->add(single));
        CHECK_FALSE(w->commit());
    }
    {
        auto w = one();
        REQUIRE(w->add(single));
        CHECK(w->add(single).error().code == Errc::corrupt);
    }
    {
        auto w = one();
        CHECK_FALSE(w->commit());
    }
    {
        auto w = one();
        TensorInfo brain{"c", {2}, DType::bf16};
        CHECK(w->add({&brain, 1}).error().code == Errc::unsupported);
    }
    {
        auto w = one();
        REQUIRE(w->add(pair));
        REQUIRE(w->write(0, 0, bytes_of(data)));
    }
    CHECK(dir.count() == 0);
}

TEST_CASE("npy writer: what is there already") {
    const Folder dir;
    spill(dir / "file", "old");
    fs::create_directory(dir / "folder");
    fs::create_directory(dir / "empty");
    spill(dir / "folder/theirs", "old");
    WriteOptions force;
    force.force = true;
    const std::vector<TensorInfo> pair = {info("a"), info("b")};
    CHECK(create_tensors(dir / "file", Format::npy, {}, {}).error().code == Errc::exists);
    CHECK(create_tensors(dir / "folder", Format::npy, {}, force).error().code == Errc::exists);
    CHECK(create_tensors(dir / "empty", Format::npy, {}, {}).error().code == Errc::exists);
    CHECK(write_all(*must(create_tensors(dir / "file", Format::npy, {}, force)), pair).error().code == Errc::exists);
    CHECK(slurp(dir / "file") == "old");
    CHECK(slurp(dir / "folder/theirs") == "old");
    CHECK(write_all(*must(create_tensors(dir / "file", Format::npy, {}, force)), {info("a")}));
    CHECK(slurp(dir / "file").size() == 136);
    CHECK(write_all(*must(create_tensors(dir / "empty", Format::npy, {}, force)), pair));
    CHECK(fs::exists(dir / "empty/b.npy"));
    CHECK(dir.count() == 6);
}

TEST_CASE("npy writer: one tensor at most to where no folder can be") {
    const std::vector<TensorInfo> pair = {info("a"), info("b")};
    auto writer = must(create_tensors("/dev/null", Format::npy, {}, {}));
    REQUIRE(writer->add({pair.data(), 1}));
    REQUIRE(writer->write(0, 0, bytes_of("abcdefgh")));
    const auto second = writer->add({&pair[1], 1});
    REQUIRE_FALSE(second);
    CHECK(second.error().code == Errc::invalid_argument);
    CHECK(write_all(*must(create_tensors("/dev/null", Format::npy, {}, {})), {info("a")}));
    CHECK(fs::is_character_file("/dev/null"));
    CHECK_FALSE(write_all(*must(create_tensors("/dev/full", Format::npy, {}, {})), {info("a")}));
}

TEST_CASE("formats by name") {
    for (const Format f : {Format::npy, Format::npz, Format::hdf5, Format::safetensors})
        CHECK(must(format_of(name_of(f))) == f);
    CHECK(must(format_of("h5")) == Format::hdf5);
    CHECK(format_of("grz").error().code == Errc::invalid_argument);
}
