// formats/npz_reader.cpp and npz_member.cpp: real and hostile archives.
#include <doctest/doctest.h>
#include <zlib.h>

#include <memory>
#include <random>

#include "formats/npy_header.hpp"
#include "formats/readers.hpp"
#include "support/hand_zip.hpp"
#include "support/memory_file.hpp"
#include "support/tensor_facts.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

const std::string kData = GRADZ_TEST_DATA;

Result<std::unique_ptr<TensorReader>> open(std::span<const std::byte> bytes, const ReadOptions& options = {},
                                           const FileIdentity& identity = {"x.npz", "x", {}, {}}) {
    return open_npz(std::make_shared<MemoryFile>(bytes), identity, options);
}

// Every element of every tensor, one string; whatever fails says so.
Result<std::string> read_whole(std::span<const std::byte> archive, std::uint64_t step = 100) {
    GRADZ_TRY(const auto reader, open(archive));
    std::string all;
    for (std::size_t i = 0; i < reader->tensors().size(); ++i) {
        GRADZ_TRY(const auto bytes, read_elements(*reader, i, step));
        all +=
            reader->tensors()[i].name + '\0' + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    GRADZ_TRY([[maybe_unused]] const auto finished, reader->finish());
    return all;
}

Bytes deflated(std::span<const std::byte> bytes) {
    z_stream z{};
    deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    Bytes out(deflateBound(&z, bytes.size()));
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

// An .npy file of float32 0, 1, 2, ... in the order that it lies.
Bytes npy(std::vector<std::uint64_t> shape, bool big_endian = false, bool fortran = false) {
    NpyHeader header;
    header.shape = std::move(shape), header.big_endian = big_endian, header.fortran = fortran;
    Bytes out = *print_npy_header(header);
    const auto numel = *TensorInfo{"", header.shape}.numel();
    for (std::uint64_t i = 0; i < numel; ++i) {
        const auto value = static_cast<float>(i);
        std::uint32_t bits;
        std::memcpy(&bits, &value, 4);
        ByteWriter(out).little(big_endian ? __builtin_bswap32(bits) : bits);
    }
    return out;
}

HandEntry entry(const std::string& name, const Bytes& member, bool deflate) {
    HandEntry e(name, member);
    if (!deflate) return e;
    e.data = deflated(member);
    e.method = e.local_method = 8;
    e.stored = e.local_stored = static_cast<std::uint32_t>(e.data.size());
    return e;
}

std::vector<float> floats(std::span<const std::byte> bytes) {
    std::vector<float> out(bytes.size() / 4);
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

}  // namespace

TEST_CASE("npz: every edge case as expected.json says") {
    const auto expected = read_json(kData + "/edge/expected.json");
    int seen = 0;
    for (const auto& [file, want] : expected.items()) {
        if (!file.starts_with("npz_")) continue;
        INFO(file);
        ++seen;
        const auto bytes = read_file(kData + "/edge/" + file);
        const auto whole = read_whole(bytes);
        if (want["result"] == "error") CHECK_FALSE(whole);
        if (want["result"] == "ok") CHECK(whole);
        if (!whole) continue;
        const auto reader = std::move(*open(bytes));
        CHECK(reader->tensors().size() == want["tensors"].size());
        CHECK(reader->skipped().size() == (want.contains("skipped") ? want["skipped"].size() : 0));
        for (std::size_t i = 0; i < reader->tensors().size(); ++i) {
            const auto& info = reader->tensors()[i];
            REQUIRE(want["tensors"].contains(info.name));
            check_facts(want["tensors"][info.name], info, *read_elements(*reader, i, 1 << 18));
        }
    }
    CHECK(seen >= 14);
}

TEST_CASE("npz: what is wrong is named") {
    const auto error = [](const char* file) {
        auto whole = read_whole(read_file(kData + "/edge/" + file));
        REQUIRE_FALSE(whole);
        return whole.error().what + " | " + whole.error().where;
    };
    CHECK(error("npz_encrypted.npz") == "is encrypted | member a.npy");
    CHECK(error("npz_bad_crc.npz") == "CRC does not match the data | member a.npy");
    CHECK(error("npz_bzip2.npz").find("12 (bzip2)") != std::string::npos);
    CHECK(error("npz_truncated.npz").find("cut off") != std::string::npos);
    CHECK(error("npz_object_member.npz").find("member o.npy") != std::string::npos);
    CHECK(error("npz_duplicate_names.npz").find("tensor a") != std::string::npos);
    CHECK(error("npz_size_lie.npz").find("member a.npy") != std::string::npos);
}

TEST_CASE("npz: real dumps have the values that the manifest states, in any pieces") {
    const auto manifest = read_json(kData + "/gradients/manifest.json");
    for (const auto* file : {"gpt_step200_embeddings.npz", "mlp_step1500_stored.npz", "mlp_slashes.npz"}) {
        INFO(file);
        const auto reader = std::move(*open(read_file(kData + "/gradients/" + file)));
        const auto& want = manifest[file]["tensors"];
        CHECK(reader->tensors().size() == want.size());
        for (std::size_t i = 0; i < reader->tensors().size(); ++i) {
            const auto& info = reader->tensors()[i];
            check_facts(want[info.name], info, *read_elements(*reader, i, 1000));
        }
        CHECK(reader->finish());
    }
}

TEST_CASE("npz: orders and byte orders, stored and deflated, and what the origin keeps") {
    for (const bool deflate : {false, true}) {
        HandZip zip;
        zip.entries = {entry("c.npy", npy({2, 3}), deflate), entry("big.npy", npy({2, 3}, true), deflate),
                       entry("f.npy", npy({2, 3}, true, true), deflate), entry("none.npy", npy({0, 5}), deflate),
                       entry("scalar.npy", npy({}), deflate)};
        const auto reader = std::move(*open(zip.print()));
        const std::vector<float> c = {0, 1, 2, 3, 4, 5}, f = {0, 2, 4, 1, 3, 5};
        for (const std::uint64_t step : {1, 4, 100}) {
            CHECK(floats(*read_elements(*reader, 0, step)) == c);
            CHECK(floats(*read_elements(*reader, 1, step)) == c);
            CHECK(floats(*read_elements(*reader, 2, step)) == f);
            CHECK(read_elements(*reader, 3, step)->empty());
            CHECK(floats(*read_elements(*reader, 4, step)) == std::vector<float>{0});
        }
        CHECK((*reader->open(0))->access() == (deflate ? Access::forward : Access::random));
        CHECK((*reader->open(2))->access() == Access::random);
        const auto& origin = reader->origin();
        CHECK(origin.entries[0] == OriginEntry{"", "format", "npz"});
        CHECK(*origin.find("f", "order") == "fortran");
        CHECK(*origin.find("big", "byte_order") == "big");
        CHECK_FALSE(origin.find("c", "byte_order"));
        CHECK((origin.find("c", "npz.method") != nullptr) == deflate);
    }
}

TEST_CASE("npz: steps and workers by the options, the member's name, the file's name") {
    HandZip zip;
    zip.entries = {entry("step_7/w.npy", npy({2}), false), entry("w.npy", npy({2}), false)};
    const auto bytes = zip.print();
    const FileIdentity identity{"step_30_rank2.npz", "", 30, 2};
    auto reader = std::move(*open(bytes, {}, identity));
    CHECK(reader->tensors()[0].name == "step_7/w");
    CHECK(reader->tensors()[0].step == 7);
    CHECK(reader->tensors()[1].step == 30);
    CHECK(reader->tensors()[0].worker == 2);
    ReadOptions options;
    options.step = 1, options.worker = 0;
    reader = std::move(*open(bytes, options, identity));
    CHECK(reader->tensors()[0].step == 1);
    CHECK(reader->tensors()[1].worker == 0);
}

TEST_CASE("npz: arrays without numbers are skipped, pickles are not") {
    const auto typed = [](const std::string& type) {  // five characters, as '<f4' with its quotes has
        auto bytes = npy({1});
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        const auto at = static_cast<std::ptrdiff_t>(text.find("'<f4'"));
        const auto room = bytes_of(type);
        std::copy(room.begin(), room.end(), bytes.begin() + at);
        return bytes;
    };
    for (const auto* type : {"'<U1'", "'|S4'", "'<M8'"}) {
        HandZip zip;
        zip.entries = {entry("label.npy", typed(type), false), entry("w.npy", npy({2}), false)};
        const auto reader = open(zip.print());
        REQUIRE(reader);
        CHECK((*reader)->tensors().size() == 1);
        REQUIRE((*reader)->skipped().size() == 1);
        CHECK((*reader)->skipped()[0].name == "label.npy");
    }
    for (const auto* type : {"'|O' ", "'<g4'", "'|V4'"}) {
        HandZip zip;
        zip.entries = {entry("label.npy", typed(type), false), entry("w.npy", npy({2}), false)};
        CHECK_FALSE(open(zip.print()));
    }
}

TEST_CASE("npz: the CRC of a stored member is seen whatever part is read, in any order") {
    HandZip zip;
    zip.entries = {entry("w.npy", npy({1000}), false)};
    const auto sound = zip.print();
    zip.entries[0].data.back() ^= std::byte{1};
    const auto damaged = zip.print();
    std::vector<std::byte> buffer;
    const auto run = [&](const Bytes& bytes, const std::vector<Chunk>& chunks) {
        const auto reader = std::move(*open(bytes));
        const auto source = std::move(*reader->open(0));
        bool ok = true;
        for (const auto chunk : chunks) ok &= static_cast<bool>(source->read(chunk, buffer));
        return std::pair(ok, static_cast<bool>(reader->finish()));
    };
    const std::vector<std::vector<Chunk>> orders = {
        {{0, 1000}}, {{600, 400}, {0, 600}}, {{0, 500}, {0, 500}}, {{0, 500}, {0, 500}, {500, 500}}, {{3, 1}}, {}};
    for (const auto& chunks : orders) {
        CHECK(run(sound, chunks) == std::pair(true, true));
        CHECK_FALSE(run(damaged, chunks).second);
    }
    CHECK_FALSE(run(damaged, orders[0]).first);
    CHECK_FALSE(run(damaged, orders[1]).first);
}

TEST_CASE("npz: deflated sizes that lie") {
    auto member = npy({1000});
    auto honest = entry("w.npy", member, true);
    const auto read = [](const HandEntry& e) {
        HandZip zip;
        zip.entries = {e};
        return read_whole(zip.print());
    };
    CHECK(read(honest));
    auto more = member;  // one byte that nobody declares
    more.push_back(std::byte{0});
    auto e = honest;
    e.data = deflated(more), e.stored = e.local_stored = static_cast<std::uint32_t>(e.data.size());
    CHECK(read(e).error().what == "inflates to more bytes than it declares");
    auto less = member;
    less.pop_back();
    e.data = deflated(less), e.stored = e.local_stored = static_cast<std::uint32_t>(e.data.size());
    CHECK(read(e).error().what == "deflate stream ends before its declared size");
    e = honest;
    e.data.push_back(std::byte{0}), ++e.stored, ++e.local_stored;
    CHECK(read(e).error().what == "1 bytes follow the end of the deflate stream");
    e = honest;
    ++e.size, ++e.local_size;
    CHECK(read(e).error().what.find("its shape wants") != std::string::npos);
    e = honest;
    e.crc ^= 1, e.local_crc ^= 1;
    CHECK(read(e).error().what == "CRC does not match the data");
}

TEST_CASE("npz: bombs and memory limits name the option") {
    const auto zeros = [](bool fortran) {
        auto bytes = npy({1000, 1000}, false, fortran);
        std::fill(bytes.begin() + 128, bytes.end(), std::byte{0});
        HandZip zip;
        zip.entries = {entry("w.npy", bytes, true)};
        return zip.print();
    };
    ReadOptions options;
    options.max_output = 1 << 20;
    CHECK(open(zeros(false)));
    const auto bomb = open(zeros(false), options);
    REQUIRE_FALSE(bomb);
    CHECK(bomb.error().what.find("--max-output") != std::string::npos);
    options = {};
    options.memory = 1 << 20;
    const auto reader = open(zeros(true), options);
    REQUIRE(reader);
    const auto held = (*reader)->open(0);
    REQUIRE_FALSE(held);
    CHECK(held.error().what.find("--memory") != std::string::npos);
    CHECK(read_elements(**open(zeros(true)), 0, 99999)->size() == 4000000);
}

TEST_CASE("npz: every prefix is refused, and damage is seen or harmless") {
    std::mt19937 gen(11);
    for (const bool deflate : {false, true}) {
        HandZip zip;
        zip.zip64 = deflate;
        zip.entries = {entry("a.npy", npy({40}), deflate), entry("b/c.npy", npy({3, 5}, true, true), deflate)};
        const auto bytes = zip.print();
        const auto want = read_whole(bytes, 7);
        REQUIRE(want);
        for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(read_whole(std::span(bytes).first(size)));
        for (int i = 0; i < 2000; ++i) {
            auto flipped = bytes;
            flipped[gen() % bytes.size()] ^= static_cast<std::byte>(1 << gen() % 8);
            const auto got = read_whole(flipped, 7);
            // Without a flip in a member's name in both places the values must be the same.
            if (got) CHECK(*got == *want);
        }
    }
}
