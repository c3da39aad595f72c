// formats/hdf5_writer.cpp, hdf5_target.cpp, hdf5_layout.cpp: what was read is written back.
#include <algorithm>
#include <cstring>

#include <sys/resource.h>

#include <csignal>

#include "formats/spool.hpp"
#include "hdf5_support.hpp"
#include "support/gen.hpp"
#include "support/memory_file.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

const std::string kEdge = GRADZ_TEST_DATA "/edge/", kGradients = GRADZ_TEST_DATA "/gradients/";

Dump one_tensor(const std::string& name, std::vector<std::uint64_t> shape, DType dtype, Bytes values) {
    Dump dump;
    dump.tensors.push_back({name, std::move(shape), dtype});
    dump.values.push_back(std::move(values));
    dump.origin.set("", "format", "hdf5");
    return dump;
}

// Reader to writer to reader, twice: all of the Origin is restored, and the bytes repeat.
void check_round_trip(const std::string& path) {
    INFO(path);
    TempFolder folder;
    auto first = read_h5(path);
    CHECK_DONE(first);
    if (!first) return;
    CHECK_DONE(write_h5(folder / "a.h5", *first));
    auto again = read_h5(folder / "a.h5");
    CHECK_DONE(again);
    if (!again) return;
    check_same_tensors(*first, *again);
    CHECK((first->origin == again->origin));
    CHECK_DONE(write_h5(folder / "b.h5", *first, 333));
    CHECK((slurp(folder / "a.h5") == slurp(folder / "b.h5")));
}

}  // namespace

TEST_CASE("hdf5 writer: real dumps and edge cases come back with all of their origin") {
    for (const auto* const name :
         {"resnet20_steps.h5", "resnet20_nested_f16.h5", "mlp_bigendian.h5", "logreg_timeaxis.h5"})
        check_round_trip(kGradients + name);
    for (const auto* const name :
         {"h5_scalar.h5", "h5_zero_rows.h5", "h5_bigendian.h5", "h5_bfloat16.h5", "h5_userblock.h5", "h5_unwritten.h5",
          "h5_mixed_types.h5", "h5_compound.h5", "h5_softlink_cycle.h5", "h5_group_cycle.h5", "h5_dangling.h5"})
        check_round_trip(kEdge + name);
}

TEST_CASE("hdf5 writer: every dtype in both orders, every filter") {
    TempFolder folder;
    for (const std::string filters : {"", "deflate=4", "shuffle deflate=9", "shuffle", "fletcher32", "szip=4,8",
                                      "szip=32,16", "nbit", "shuffle deflate=1 fletcher32"})
        for (std::size_t i = 0; i < std::size(kDTypes); ++i) {
            const auto dtype = static_cast<DType>(i);
            if (dtype == DType::f8_e8m0) continue;
            if (filters.starts_with("szip") && row_of(dtype).word < size_of(dtype)) continue;  // compounds
            Bytes values(40 * 30 * size_of(dtype));
            for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<std::byte>(k * k >> 3);
            auto dump = one_tensor("w", {40, 30}, dtype, values);
            const bool big = row_of(dtype).word > 1 && i % 2;
            if (big) dump.origin.set("w", "byte_order", "big");
            dump.origin.set("w", "hdf5.chunk", "7,16");
            dump.origin.set("w", "hdf5.maxshape", "inf,100");
            if (!filters.empty()) dump.origin.set("w", "hdf5.filters", filters);
            INFO(row_of(dtype).name, " ", filters);
            CHECK_DONE(write_h5(folder / "a.h5", dump));
            auto again = read_h5(folder / "a.h5");
            CHECK_DONE(again);
            if (!again) continue;
            check_same_tensors(dump, *again);
            CHECK((again->origin == dump.origin));
        }
}

TEST_CASE("hdf5 writer: float8_e8m0 is refused by name") {
    TempFolder folder;
    const auto done = write_h5(folder / "a.h5", one_tensor("scales", {2}, DType::f8_e8m0, Bytes(2)));
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Errc::unsupported);
    CHECK(done.error().where == "tensor scales");
    CHECK_FALSE(std::filesystem::exists(folder / "a.h5"));
}

TEST_CASE("hdf5 writer: groups, attributes, links, fill values, compact data, user block") {
    TempFolder folder;
    Dump dump = one_tensor("a/w", {3}, DType::f32, bytes_of<float>({1, 2, 3}));
    auto& o = dump.origin;
    o.set("", "hdf5.userblock", "1024");
    o.set("", "hdf5.userblock_data", "#!/bin/sh\n" + std::string(1014, 'x'));
    o.set("", "attribute:note", "string:variable:null-terminated:utf-8 scalar\n\x02hi");
    o.set("", "attribute:zz", "<float16 1\nab");
    o.set("a", "hdf5.group", "");
    o.set("a", "attribute:n", "<int8 2\nab");
    o.set("a/empty", "hdf5.group", "");
    o.set("a/w", "hdf5.fill", std::string("\0\0\x80\x3f", 4));
    o.set("a/w", "hdf5.layout", "compact");
    o.set("a/w", "attribute:units", "string:3:null-padded:ascii scalar\nm/s");
    o.set("again", "hdf5.alias", "a/w");
    o.set("nowhere", "hdf5.soft_link", "/no/such");
    o.set("root", "hdf5.alias", "");
    o.set("same", "hdf5.alias", "a");
    o.set("soft", "hdf5.soft_link", "a/w");
    o.set("重み", "hdf5.group", "");
    CHECK_DONE(write_h5(folder / "a.h5", dump));
    auto again = read_h5(folder / "a.h5");
    CHECK_DONE(again);
    check_same_tensors(dump, *again);
    REQUIRE(again->origin.entries.size() == o.entries.size());
    for (std::size_t i = 0; i < o.entries.size(); ++i) {
        INFO(o.entries[i].object, " ", o.entries[i].key);
        CHECK((again->origin.entries[i] == o.entries[i]));
    }
    CHECK(slurp(folder / "a.h5").starts_with("#!/bin/sh\n"));
}

TEST_CASE("hdf5 writer: attributes beyond 64 KiB, and the same bytes again") {
    TempFolder folder;
    Dump dump = one_tensor("g/w", {1}, DType::f32, bytes_of<float>({1}));
    dump.origin.set("", "attribute:big", "<uint8 100000\n" + std::string(100000, 'z'));
    dump.origin.set("g", "hdf5.group", "");
    std::string names = "string:variable:null-terminated:utf-8 5000\n";
    for (int i = 0; i < 5000; ++i) names += "\x01n";
    dump.origin.set("g/w", "attribute:names", names);
    CHECK_DONE(write_h5(folder / "a.h5", dump));
    CHECK_DONE(write_h5(folder / "b.h5", dump));
    CHECK((slurp(folder / "a.h5") == slurp(folder / "b.h5")));
    auto again = read_h5(folder / "a.h5");
    CHECK_DONE(again);
    CHECK((again->origin == dump.origin));
}

TEST_CASE("hdf5 writer: tensors of other formats are contiguous, metadata becomes attributes") {
    TempFolder folder;
    Dump dump;
    for (const std::string name : {"../up", "", "a", "a/b", "deep/er/w"}) {
        dump.tensors.push_back({name, {2}, DType::f32});
        dump.values.push_back(bytes_of<float>({1, static_cast<float>(name.size())}));
    }
    dump.origin.set("", "format", "safetensors");
    dump.origin.set("", "metadata:", "empty key");
    dump.origin.set("", "metadata:format", "pt");
    dump.origin.set("", "attribute:x", "not one of ours");
    dump.origin.set("a", "byte_order", "big");
    dump.origin.set("a", "hdf5.chunk", "1");
    CHECK_DONE(write_h5(folder / "a.h5", dump));
    auto again = read_h5(folder / "a.h5");
    CHECK_DONE(again);
    std::vector<std::string> names;
    for (const auto& t : again->tensors) names.push_back(t.name);
    CHECK(names == std::vector<std::string>{"%", "%2E%2E/up", "a", "a%2Fb", "deep/er/w"});
    CHECK(again->values[2] == dump.values[2]);
    CHECK(*again->origin.find("", "attribute:format") == "string:variable:null-terminated:utf-8 scalar\n\x02pt");
    CHECK(again->origin.find("", "attribute:%") != nullptr);
    CHECK(again->origin.find("", "attribute:x") == nullptr);
    CHECK(again->origin.find("a", "byte_order") == nullptr);
    CHECK(again->origin.find("a", "hdf5.chunk") == nullptr);
}

TEST_CASE("hdf5 writer: an origin that does not fit a slice or another dtype is followed as far as it goes") {
    TempFolder folder;
    for (const std::string shape : {"3,5", "0,5", "15", ""}) {
        std::vector<std::uint64_t> dims;
        std::uint64_t count = 1;
        for (std::size_t at = 0; at < shape.size(); at = std::min(shape.find(',', at), shape.size() - 1) + 1)
            dims.push_back(std::stoull(shape.substr(at))), count *= dims.back();
        auto dump = one_tensor("w", dims, DType::f16, Bytes(count * 2, std::byte{1}));
        dump.origin.set("w", "byte_order", "big");
        dump.origin.set("w", "hdf5.chunk", "64,64");
        dump.origin.set("w", "hdf5.maxshape", "100,5");
        dump.origin.set("w", "hdf5.filters", "shuffle szip=32,32 unheard=of");
        dump.origin.set("w", "hdf5.fill", "eightbyt");
        dump.origin.set("gone", "hdf5.alias", "left out");
        dump.origin.set("left out", "attribute:a", "<int8 scalar\na");
        INFO(shape);
        CHECK_DONE(write_h5(folder / "a.h5", dump));
        auto again = read_h5(folder / "a.h5");
        CHECK_DONE(again);
        check_same_tensors(dump, *again);
    }
}

TEST_CASE("hdf5 writer: an origin cannot make a file far larger than its data") {
    TempFolder folder;
    auto dump = one_tensor("w", {4}, DType::f32, Bytes(16, std::byte{1}));
    dump.origin.set("", "hdf5.userblock", "1099511627776");
    dump.origin.set("w", "hdf5.chunk", "268435456");
    dump.origin.set("w", "hdf5.maxshape", "inf");
    dump.origin.set("w", "hdf5.filters", "shuffle deflate=9");
    CHECK_DONE(write_h5(folder / "a.h5", dump));
    CHECK(std::filesystem::file_size(folder / "a.h5") < 100'000);
    auto again = read_h5(folder / "a.h5");
    CHECK_DONE(again);
    if (again) check_same_tensors(dump, *again);
}

TEST_CASE("hdf5 writer: through a pipe it is the same file") {
    TempFolder folder;
    auto dump = read_h5(kEdge + "h5_userblock.h5");
    REQUIRE(dump);
    Bytes piped;
    CHECK_DONE(write_h5(std::make_unique<MemoryOutput>(piped, false), *dump));
    CHECK_DONE(write_h5(folder / "a.h5", *dump));
    CHECK((piped == read_file(folder / "a.h5")));
    const auto spool = Spool::create();
    REQUIRE(spool);
    CHECK_DONE((*spool)->write(piped));
    const auto again = read_h5((*spool)->path());
    CHECK_DONE(again);
    if (again) check_same_tensors(*dump, *again);
}

TEST_CASE("hdf5 writer: large rows, boxes cut anywhere") {
    TempFolder folder;
    const auto x = laplace(3 * 2'500'000, 1.0f, 5);
    for (const bool big : {false, true}) {
        auto dump = one_tensor("w", {3, 2'500'000}, DType::f32, bytes_of(x));
        dump.origin.set("w", "hdf5.chunk", "2,300000");
        if (big) dump.origin.set("w", "byte_order", "big");
        CHECK_DONE(write_h5(folder / "a.h5", dump, big ? 1'000'003 : 6'000'000));
        auto again = read_h5(folder / "a.h5", {}, 1 << 20);
        CHECK_DONE(again);
        CHECK((again->values[0] == dump.values[0]));
    }
}

TEST_CASE("hdf5 writer: headers may come late; gaps, overlaps and missing ends are refused") {
    TempFolder folder;
    Origin origin;
    origin.set("", "format", "npz");
    const std::vector<TensorInfo> first{{"a", {2}, DType::f32}, {"none", {0}, DType::f32}},
        second{{"b", {2}, DType::f32}};
    const auto two = bytes_of<float>({1, 2});
    const auto make = [&] { return std::move(*create_hdf5(std::move(*create(folder / "a.h5", true)), origin, {})); };
    {
        const auto writer = make();
        CHECK_DONE(writer->add(first));
        CHECK_DONE(writer->write(0, 0, std::span(two).first(4)));
        CHECK_DONE(writer->add(second));
        CHECK_DONE(writer->write(0, 1, std::span(two).first(4)));
        CHECK_DONE(writer->write(2, 0, two));
        CHECK_DONE(writer->commit());
        auto dump = read_h5(folder / "a.h5");
        CHECK_DONE(dump);
        CHECK(dump->tensors.size() == 3);
        CHECK(dump->values[0] == bytes_of<float>({1, 1}));
    }
    std::filesystem::remove(folder / "a.h5");
    {
        const auto writer = make();
        CHECK_DONE(writer->add(first));
        CHECK_DONE(writer->write(0, 0, std::span(two).first(4)));
        CHECK_FALSE(writer->write(0, 0, std::span(two).first(4)));
        CHECK_FALSE(writer->write(0, 1, two));
        CHECK(writer->commit().error().what == "1 elements, want 2");
        CHECK(writer->add(first).error().code == Errc::corrupt);  // names that came before
    }
    {
        const auto writer = make();
        CHECK_DONE(writer->add(first));
        CHECK(writer->commit().error().where == "tensor a");
    }
    CHECK(std::filesystem::is_empty(std::filesystem::path(folder / "a.h5").parent_path()));
}

TEST_CASE("hdf5 writer: a full disk is an error, and the next file is written") {
    TempFolder folder;
    auto dump = read_h5(kGradients + "logreg_timeaxis.h5");
    REQUIRE(dump);
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    for (const rlim_t size : {100, 5000, 30000, 90000}) {
        const rlimit small{size, limit.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        const auto done = write_h5(folder / "a.h5", *dump);
        setrlimit(RLIMIT_FSIZE, &limit);
        INFO(size);
        REQUIRE_FALSE(done);
        CHECK(done.error().code == Errc::io);
        CHECK(done.error().what.find("time =") == std::string::npos);  // libhdf5's own page of numbers
        CHECK(done.error().what.find("descriptor") == std::string::npos);
        CHECK(std::filesystem::is_empty(std::filesystem::path(folder / "a.h5").parent_path()));
    }
    std::signal(SIGXFSZ, before);
    CHECK_DONE(write_h5(folder / "a.h5", *dump));
    auto again = read_h5(folder / "a.h5");
    CHECK_DONE(again);
    if (again) check_same_tensors(*dump, *again);
}
