// formats/zip_archive.cpp: what Python's zipfile reads is read, and no lie is believed.
#include "formats/zip_archive.hpp"

#include <doctest/doctest.h>

#include "support/hand_zip.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

HandZip two() {
    HandZip zip;
    zip.entries = {HandEntry("a", bytes_of("first member")), HandEntry("dir/b", bytes_of("second"))};
    return zip;
}

std::string read(const HandZip& zip) {
    const auto bytes = zip.print();
    const auto members = read_zip_directory(bytes);
    if (!members) return "error: " + members.error().what + " at " + members.error().where;
    std::string out;
    for (const auto& m : *members)
        out += m.name + "=" + std::string(reinterpret_cast<const char*>(bytes.data()) + m.data, m.stored) + ";";
    return out;
}

constexpr auto kGood = "a=first member;dir/b=second;";

// What reading says after `lie` was told of a good archive.
std::string after(const std::function<void(HandZip&)>& lie) {
    auto zip = two();
    lie(zip);
    return read(zip);
}

bool refused(const std::string& result, std::string_view because) {
    INFO(result);
    const bool ok = result.starts_with("error") && result.find(because) != std::string::npos;
    CHECK(ok);
    return ok;
}

}  // namespace

TEST_CASE("zip: plain, prefix, comment, zip64") {
    CHECK(read(two()) == kGood);
    CHECK(read(HandZip{}).empty());
    for (const bool zip64 : {false, true}) {
        CHECK(after([&](auto& z) { z.zip64 = zip64; }) == kGood);
        CHECK(after([&](auto& z) { z.zip64 = zip64, z.prefix = "#!/bin/sh\n", z.comment = "made by hand"; }) == kGood);
    }
    CHECK(after([](auto& z) {
              auto& e = z.entries[1];
              e.size = e.stored = e.local_size = e.local_stored = 0xffffffff;
              e.extra = e.local_extra = zip64_field({6, 6});
          }) == kGood);
    CHECK(after([](auto& z) {  // sizes behind the data
              auto& e = z.entries[0];
              e.flags = e.local_flags = kZipDescriptor, e.local_crc = e.local_size = e.local_stored = 0;
          }) == kGood);
}

TEST_CASE("zip: end records that lie") {
    refused(after([](auto& z) { z.count_lie = 1; }), "");
    refused(after([](auto& z) { z.count_lie = -1; }), "behind the last");
    refused(after([](auto& z) { z.count_lie = 5000; }), "cannot hold");
    refused(after([](auto& z) { z.size_lie = 1; }), "");
    refused(after([](auto& z) { z.size_lie = -1; }), "");
    refused(after([](auto& z) { z.size_lie = 1 << 30; }), "does not lie before");
    refused(after([](auto& z) { z.offset_lie = 1; }), "does not lie before");
    refused(after([](auto& z) { z.offset_lie = -1; }), "");
    refused(after([](auto& z) { z.disks = 1; }), "several parts");
    refused(after([](auto& z) { z.entries[0].disk = 3; }), "another part");
    // Another end record in the comment: which one counts is anybody's guess.
    const std::string end("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0more", 26);
    refused(after([&](auto& z) { z.comment = end; }), "comment of 0 bytes, but 4 follow");
}

TEST_CASE("zip: zip64 records that lie") {
    const auto lie = [](auto set) { return after([&](auto& z) { z.zip64 = true, set(z); }); };
    refused(lie([](auto& z) { z.count64_lie = 1; }), "");
    refused(lie([](auto& z) { z.count64_lie = std::uint64_t{1} << 60; }), "cannot hold");
    refused(lie([](auto& z) { z.size64_lie = ~std::uint64_t{0} - 10; }), "");
    refused(lie([](auto& z) { z.offset64_lie = ~std::uint64_t{0} - 10; }), "");
    refused(lie([](auto& z) { z.offset64_lie = std::uint64_t{1} << 63; }), "does not lie before");
    CHECK(lie([](auto& z) { z.locator_lie = 12345; }) == kGood);  // as prefix bytes shift it
    const auto field = [](Bytes central, Bytes local) {
        return after([&](auto& z) {
            auto& e = z.entries[1];
            e.size = e.stored = e.local_size = e.local_stored = 0xffffffff;
            e.extra = std::move(central), e.local_extra = std::move(local);
        });
    };
    refused(field({}, {}), "declares 4294967295 stored bytes");
    refused(field(zip64_field({6}), zip64_field({6, 6})), "too short");
    refused(field(zip64_field({6, 6}), zip64_field({6, 7})), "disagree on size");
    refused(field(zip64_field({6, ~std::uint64_t{0}}), zip64_field({6, ~std::uint64_t{0}})), "declares");
    refused(field(zip64_field({7, 6}), zip64_field({7, 6})), "declares 7");
    auto twice = zip64_field({6, 6});
    const auto more = zip64_field({5, 5});
    twice.insert(twice.end(), more.begin(), more.end());
    refused(field(twice, zip64_field({6, 6})), "two zip64");
    refused(after([](auto& z) { z.entries[0].extra = bytes_of("\1\1\1\1"); }), "runs past");
}

TEST_CASE("zip: local headers that disagree") {
    refused(after([](auto& z) { z.entries[0].local_name = "b"; }), "another name");
    refused(after([](auto& z) { z.entries[0].local_method = kZipDeflated; }), "the method");
    refused(after([](auto& z) { z.entries[0].local_crc ^= 1; }), "size or CRC");
    refused(after([](auto& z) { z.entries[0].local_size += 1; }), "size or CRC");
    refused(after([](auto& z) { z.entries[0].local_stored += 1; }), "size or CRC");
    refused(after([](auto& z) { z.entries[0].local_flags = kZipDescriptor; }), "flags");
    refused(after([](auto& z) { z.entries[0].flags = kZipEncrypted; }), "flags");
    refused(after([](auto& z) { z.entries[0].size += 1, z.entries[0].local_size += 1; }), "is stored with");
    refused(after([](auto& z) {
                for (auto& e : z.entries) e.method = e.local_method = kZipDeflated, e.size = e.local_size = 100000;
            }),
            "can hold");
}

TEST_CASE("zip: offsets outside and members that overlap") {
    refused(after([](auto& z) { z.entries[1].moved = 1; }), "no local header");
    refused(after([](auto& z) { z.entries[1].moved = 1 << 20; }), "past the members");
    refused(after([](auto& z) { z.entries[1].moved = 0xfffffff0u; }), "");  // wraps below zero
    refused(after([](auto& z) {
                z.entries[1].extra = zip64_field({~std::uint64_t{0} - 5});
                z.entries[1].moved = 0xffffffffu - 43;  // the field is then all ones: see the extra field
            }),
            "");
    // Two directory entries for one member, and a member inside another one's data.
    auto zip = two();
    zip.entries[1] = zip.entries[0];
    auto bytes = zip.print();
    CHECK(read_zip_directory(bytes));
    zip.entries[1].moved = static_cast<std::uint32_t>(-(30 + 1 + 12));
    refused(read(zip), "overlaps");
    HandZip inner;
    inner.entries = {HandEntry("x", bytes_of("inside"))};
    auto nested = two();
    nested.entries[0].data = inner.print();
    nested.entries[0] = HandEntry("a", nested.entries[0].data);
    nested.entries[1] = HandEntry("x", bytes_of("inside"));
    CHECK(read(nested).starts_with("a=PK"));
    nested.entries[1].moved = static_cast<std::uint32_t>(-static_cast<int>(nested.entries[0].data.size()));
    refused(read(nested), "overlaps");
    refused(after([](auto& z) {
                for (auto* s : {&z.entries[1].stored, &z.entries[1].size}) *s += 1;
                for (auto* s : {&z.entries[1].local_stored, &z.entries[1].local_size}) *s += 1;
            }),
            "precede the directory");
}

TEST_CASE("zip: no prefix of an archive is an archive") {
    auto zip = two();
    zip.zip64 = true, zip.comment = "a comment";
    const auto bytes = zip.print();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(read_zip_directory(part));
    }
}

TEST_CASE("zip: encryption and methods are named") {
    ZipMember m;
    CHECK(check_readable(m));
    m.name = "w.npy", m.method = 12;
    CHECK(check_readable(m).error().what.find("12 (bzip2)") != std::string::npos);
    m.flags = kZipEncrypted;
    CHECK(check_readable(m).error().what == "is encrypted");
    CHECK(check_readable(m).error().where == "member w.npy");
}
