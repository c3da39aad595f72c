// formats/npz_writer.cpp and zip_writer.cpp: archives as NumPy writes them.
#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "formats/readers.hpp"
#include "formats/zip_archive.hpp"
#include "formats/zip_writer.hpp"
#include "support/memory_file.hpp"
#include "support/tensor_facts.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

const std::string kData = GRADZ_TEST_DATA;

std::unique_ptr<TensorReader> open(const Bytes& bytes) {
    return std::move(*open_npz(std::make_shared<MemoryFile>(bytes), {"x.npz", "x", {}, {}}, {}));
}

// The whole dump through the writer: headers in two batches, elements in pieces.
Result<Bytes> rewrite(TensorReader& reader, bool seekable, const Origin& origin, std::uint64_t memory = 1 << 30) {
    Bytes out;
    WriteOptions options;
    options.memory = memory;
    GRADZ_TRY(const auto writer, create_npz(std::make_unique<MemoryOutput>(out, seekable), origin, options));
    const std::span all(reader.tensors());
    const auto half = all.size() / 2;
    for (const auto& [begin, end] : {std::pair(std::size_t{0}, half), std::pair(half, all.size())}) {
        GRADZ_TRY([[maybe_unused]] const auto added, writer->add(all.subspan(begin, end - begin)));
        for (std::size_t i = begin; i < end; ++i) {
            GRADZ_TRY(const auto bytes, read_elements(reader, i, 1 << 18));
            const auto piece = 1000 * size_of(all[i].dtype);
            for (std::size_t at = 0; at < bytes.size(); at += piece) {
                const auto part = std::span(bytes).subspan(at, std::min<std::size_t>(piece, bytes.size() - at));
                GRADZ_TRY([[maybe_unused]] const auto written, writer->write(i, at / size_of(all[i].dtype), part));
            }
        }
    }
    GRADZ_TRY([[maybe_unused]] const auto done, writer->commit());
    return out;
}

void check_same(TensorReader& a, TensorReader& b) {
    REQUIRE(a.tensors().size() == b.tensors().size());
    for (std::size_t i = 0; i < a.tensors().size(); ++i) {
        CHECK(a.tensors()[i].name == b.tensors()[i].name);
        CHECK(a.tensors()[i].shape == b.tensors()[i].shape);
        CHECK(a.tensors()[i].dtype == b.tensors()[i].dtype);
        CHECK(*read_elements(a, i, 777) == *read_elements(b, i, 1 << 20));
    }
    CHECK(a.origin() == b.origin());
}

}  // namespace

TEST_CASE("npz writer: the bytes of NumPy itself") {
    for (const auto* file : {"mlp_step1500_stored.npz", "mlp_slashes.npz", "gpt_step200_embeddings.npz"}) {
        INFO(file);
        const auto bytes = read_file(kData + "/gradients/" + file);
        const auto reader = open(bytes);
        const bool same = *rewrite(*reader, true, reader->origin()) == bytes;
        // What zlib makes of a deflated member is its own affair; stored ones leave no choice.
        if (std::string(file).find("stored") != std::string::npos) CHECK(same);
    }
}

TEST_CASE("npz writer: files and pipes come back as they were") {
    std::vector<std::string> files;
    for (const auto* f : {"mlp_step1500_stored.npz", "mlp_slashes.npz", "gpt_step200_embeddings.npz"})
        files.push_back("/gradients/" + std::string(f));
    for (const auto* f : {"npz_zip64.npz", "npz_unicode_names.npz", "npz_long_name.npz", "npz_dotdot_name.npz"})
        files.push_back("/edge/" + std::string(f));
    for (const auto& file : files)
        for (const bool seekable : {true, false}) {
            INFO(file);
            const auto reader = open(read_file(kData + file));
            const auto out = rewrite(*reader, seekable, reader->origin());
            REQUIRE(out);
            check_same(*reader, *open(*out));
            CHECK(*rewrite(*reader, seekable, reader->origin()) == *out);
        }
}

TEST_CASE("npz writer: byte order, Fortran order, versions and empty tensors") {
    const std::vector<TensorInfo> infos = {{"empty", {0, 3}},
                                           {"f", {4, 3, 2}},
                                           {"big", {5}, DType::c128},
                                           {"", {}, DType::boolean},
                                           {"last", {2, 0}, DType::i16}};
    Origin origin;
    origin.set("", "format", "npz");
    origin.set("f", "order", "fortran");
    origin.set("f", "byte_order", "big");
    origin.set("f", "npz.method", "deflate");
    origin.set("big", "byte_order", "big");
    origin.set("big", "npy.version", "3");
    std::vector<std::vector<std::byte>> elements;
    for (const auto& info : infos) {
        elements.emplace_back(*info.numel() * size_of(info.dtype));
        for (std::size_t i = 0; i < elements.back().size(); ++i) elements.back()[i] = static_cast<std::byte>(i * 7);
    }
    for (const bool seekable : {true, false}) {
        Bytes out;
        const auto writer = std::move(*create_npz(std::make_unique<MemoryOutput>(out, seekable), origin, {}));
        REQUIRE(writer->add(infos));
        for (std::size_t i = 0; i < infos.size(); ++i)
            if (!elements[i].empty()) REQUIRE(writer->write(i, 0, elements[i]));
        REQUIRE(writer->commit());
        const auto reader = open(out);
        REQUIRE(reader->tensors().size() == infos.size());
        for (std::size_t i = 0; i < infos.size(); ++i) {
            CHECK(reader->tensors()[i].name == infos[i].name);
            CHECK(reader->tensors()[i].shape == infos[i].shape);
            CHECK(*read_elements(*reader, i, 3) == elements[i]);
        }
        // The same facts, though not in the order that the origin was given in.
        std::set<std::string> want, got;
        for (const auto& e : origin.entries) want.insert(e.object + ':' + e.key + ':' + e.value);
        for (const auto& e : reader->origin().entries) got.insert(e.object + ':' + e.key + ':' + e.value);
        CHECK(got == want);
    }
}

TEST_CASE("npz writer: what it cannot write is named") {
    Bytes out;
    const auto fresh = [&] {
        out.clear();
        return std::move(*create_npz(std::make_unique<MemoryOutput>(out, true), {}, {}));
    };
    const std::vector<TensorInfo> bf16 = {{"w", {2}, DType::bf16}}, twice = {{"w", {2}}, {"w", {3}}},
                                  endless = {{std::string(65532, 'n'), {2}}}, fits = {{std::string(65531, 'n'), {0}}};
    CHECK(fresh()->add(bf16).error().where == "tensor w");
    CHECK(fresh()->add(twice).error().code == Errc::corrupt);
    CHECK(fresh()->add(endless).error().code == Errc::unsupported);
    auto writer = fresh();
    CHECK(writer->add(fits));
    CHECK(writer->commit());
    CHECK(open(out)->tensors()[0].name.size() == 65531);
    writer = fresh();
    REQUIRE(writer->add(std::span(twice).first(1)));
    CHECK(writer->commit().error().code == Errc::truncated);  // no elements came
    // Fortran order beyond the memory that is allowed.
    Origin origin;
    origin.set("", "format", "npz");
    origin.set("w", "order", "fortran");
    WriteOptions options;
    options.memory = 10;
    writer = std::move(*create_npz(std::make_unique<MemoryOutput>(out, true), origin, options));
    const std::vector<TensorInfo> square = {{"w", {2, 2}}};
    REQUIRE(writer->add(square));
    const std::vector<std::byte> bytes(16);
    const auto result = writer->write(0, 0, bytes);
    CHECK(result.error().what.find("--memory") != std::string::npos);
}

TEST_CASE("npz writer: an origin of another format is not obeyed") {
    Origin origin;
    origin.set("", "format", "npy");
    origin.set("w", "byte_order", "big");
    Bytes out;
    const auto writer = std::move(*create_npz(std::make_unique<MemoryOutput>(out, true), origin, {}));
    const std::vector<TensorInfo> infos = {{"w", {1}}};
    REQUIRE(writer->add(infos));
    REQUIRE(writer->write(0, 0, std::vector<std::byte>(4)));
    REQUIRE(writer->commit());
    CHECK(open(out)->origin().entries.size() == 1);
}

TEST_CASE("zip writer: more members than 16 bits count") {
    Bytes out;
    MemoryOutput output(out, false);
    ZipWriter zip(output);
    for (int i = 0; i < 70000; ++i) {
        REQUIRE(zip.begin(std::to_string(i), kZipStored));
        REQUIRE(zip.end());
    }
    REQUIRE(zip.finish());
    auto members = read_zip_directory(out);
    REQUIRE(members);
    CHECK(members->size() == 70000);
    CHECK(members->back().name == "69999");
}

namespace {

// Keeps the last bytes only, and counts the others: a member of 4 GiB needs no 4 GiB here.
class TailOutput final : public Output {
public:
    Result<Done> write(std::span<const std::byte> bytes) override {
        total += bytes.size();
        if (bytes.size() > 4096) return Done{};
        tail.insert(tail.end(), bytes.begin(), bytes.end());
        return Done{};
    }
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        patches.emplace_back(offset, Bytes(bytes.begin(), bytes.end()));
        return Done{};
    }
    bool seekable() const override { return true; }
    std::filesystem::path staging() const override { return {}; }
    void copy_times(const std::filesystem::path&) override {}
    void redirect(const std::filesystem::path&) override {}
    Result<Done> commit() override { return Done{}; }

    std::uint64_t total = 0;
    Bytes tail;  // of all writes that were no large ones
    std::vector<std::pair<std::uint64_t, Bytes>> patches;
};

}  // namespace

TEST_CASE("zip writer: sizes and offsets over 4 GiB") {
    TailOutput output;
    ZipWriter zip(output);
    const std::uint64_t size = (std::uint64_t{1} << 32) + (1 << 26);
    const std::vector<std::byte> zeros(1 << 26);
    REQUIRE(zip.begin("large", kZipStored));
    for (std::uint64_t at = 0; at < size; at += zeros.size()) REQUIRE(zip.write(zeros));
    REQUIRE(zip.end());
    REQUIRE(zip.begin("behind", kZipStored));
    REQUIRE(zip.end());
    REQUIRE(zip.finish());
    // Directory and end records, moved to where the large member ends in an empty file.
    const auto field64 = [&](std::size_t from_end) {
        return load_as<std::uint64_t>(output.tail.data() + output.tail.size() - from_end);
    };
    const std::uint64_t first = 30 + 5 + 20 + size, directory = first + 30 + 6 + 20;
    CHECK(field64(22 + 20 + 56 - 48) == directory);                               // zip64 end record: offset
    CHECK(field64(22 + 20 + 56 - 32) == 2);                                       // entries
    CHECK(field64(22 + 20 - 8) == output.total - 22 - 20 - 56);                   // locator
    CHECK(load_as<std::uint64_t>(output.patches[0].second.data() + 39) == size);  // local header: size
    CHECK(load_as<std::uint64_t>(output.patches[0].second.data() + 47) == size);  // and stored size
    CHECK(output.patches[1].first == first);
}
