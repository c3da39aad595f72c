// formats/hdf5_reader.cpp, hdf5_visit.cpp, hdf5_source.cpp: real dumps, edge cases, damage.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "formats/hdf5_handle.hpp"
#include "formats/hdf5_types.hpp"
#include "hdf5_support.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

// libhdf5 asks for as many bytes as damaged files say, and forgets some where it fails.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace {

constexpr int kValues = 40, kRefused = 41;  // exit codes that neither a sanitizer nor a signal has

// Reads the whole file in a process of its own, since it may be libhdf5 that a damaged file
// brings down; returns how that ended.
int read_apart(const std::string& path, const ReadOptions& options) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(read_h5(path, options) ? kValues : kRefused);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

const std::string kEdge = GRADZ_TEST_DATA "/edge/", kGradients = GRADZ_TEST_DATA "/gradients/";

DType dtype_of(std::string name) {
    if (name[0] == '>') name = name == ">f4" ? "float32" : "float64";
    for (std::size_t i = 0; i < std::size(kDTypes); ++i)
        if (kDTypes[i].name == name) return static_cast<DType>(i);
    FAIL("no such dtype: ", name);
    return {};
}

void check_tensors(const nlohmann::json& want, const Dump& dump) {
    CHECK(want.size() == dump.tensors.size());
    for (std::size_t i = 0; i < dump.tensors.size(); ++i) {
        const auto& info = dump.tensors[i];
        INFO("tensor ", info.name);
        REQUIRE(want.contains(info.name));
        CHECK(info.dtype == dtype_of(want[info.name]["dtype"].get<std::string>()));
        check_facts(want[info.name], info, dump.values[i]);
    }
}

// A file made by libhdf5 itself.
struct Maker {
    explicit Maker(const std::string& path) : file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
    Hid dataset(const char* name, hid_t type, std::vector<hsize_t> dims, const void* values,
                hid_t properties = H5P_DEFAULT) {
        const Hid space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
        Hid made(H5Dcreate2(file.get(), name, type, space.get(), H5P_DEFAULT, properties, H5P_DEFAULT));
        REQUIRE(made);
        if (values) REQUIRE(H5Dwrite(made.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        return made;
    }
    Hdf5Session session;
    Hid file;
};

std::vector<float> counting(std::size_t n) {
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i);
    return out;
}

}  // namespace

TEST_CASE("hdf5 reader: every edge case is read or refused as stated") {
    const auto expected = read_json(kEdge + "expected.json");
    int files = 0;
    for (const auto& [name, want] : expected.items()) {
        if (!name.ends_with(".h5") || name == "h5_npy_inside.h5") continue;
        INFO(name);
        ++files;
        auto dump = read_h5(kEdge + name);
        if (want["result"] == "error") CHECK_FALSE(dump);
        if (want["result"] == "ok") CHECK_DONE(dump);
        if (!dump) {
            CHECK(dump.error().what.size() > 8);
            continue;
        }
        if (!want["tensors"].empty()) check_tensors(want["tensors"], *dump);
        std::vector<std::string> skipped;
        for (const auto& s : dump->skipped) skipped.push_back(s.name);
        if (want.contains("skipped")) CHECK(skipped == want["skipped"].get<std::vector<std::string>>());
        if (!want.contains("skipped")) CHECK(skipped.empty());
    }
    CHECK(files == 20);
}

TEST_CASE("hdf5 reader: refusals say why") {
    const auto error = [](const std::string& name) { return read_h5(kEdge + name).error(); };
    CHECK(error("h5_lzf.h5").what.starts_with("filter 32000 (lzf, h5py) is not available"));
    CHECK(error("h5_lzf.h5").where == "tensor w");
    CHECK(error("h5_unknown_filter.h5").what.starts_with("filter 32999 (nosuch) is not available"));
    CHECK(error("h5_exabytes.h5").what ==
          "declares 4503599627370496 bytes and stores 0: refused unless --max-output allows it");
    CHECK(error("h5_truncated.h5").code == Errc::truncated);
    CHECK(error("h5_truncated.h5").what.starts_with("HDF5: truncated file: eof = 9000"));
    CHECK(error("h5_zero_length.h5").code == Errc::truncated);
    CHECK(error("h5_vlen_string.h5").what == "no tensor in the HDF5 file; 1 skipped: s (string type)");
    CHECK(error("h5_npy_inside.h5").code == Errc::corrupt);
    CHECK(error("h5_external_storage.h5").what.find("h5_raw_storage.bin") != std::string::npos);
    CHECK(read_h5(kEdge + "no_such_file.h5").error().code == Errc::io);
    CHECK(read_h5(kEdge).error().code == Errc::unsupported);  // a folder
}

TEST_CASE("hdf5 reader: real gradients are what their manifest says") {
    const auto manifest = read_json(kGradients + "manifest.json");
    for (const auto* const name :
         {"resnet20_steps.h5", "resnet20_nested_f16.h5", "mlp_bigendian.h5", "logreg_timeaxis.h5"}) {
        INFO(name);
        auto dump = read_h5(kGradients + name);
        CHECK_DONE(dump);
        if (dump) check_tensors(manifest[name]["tensors"], *dump);
    }
}

TEST_CASE("hdf5 reader: pieces of any size give the same values") {
    for (const auto* const name : {"logreg_timeaxis.h5", "mlp_bigendian.h5"}) {
        auto whole = read_h5(kGradients + name, {}, 1 << 20);
        auto parts = read_h5(kGradients + name, {}, 777);
        REQUIRE(whole);
        REQUIRE(parts);
        check_same_tensors(*whole, *parts);
    }
}

TEST_CASE("hdf5 reader: flat values are mapped, chunks are decoded by whoever wants them; all can be read again") {
    auto reader = open_h5(kGradients + "resnet20_steps.h5");
    REQUIRE(reader);
    int mapped = 0, decoded = 0;
    for (std::size_t i = 0; i < (*reader)->tensors().size(); ++i) {
        const auto& info = (*reader)->tensors()[i];
        const auto source = (*reader)->open(i);
        REQUIRE(source);
        CHECK((*source)->access() == Access::random);
        std::vector<std::byte> buffer;
        const auto once = (*source)->read({0, *info.numel()}, buffer);
        REQUIRE(once);
        CHECK(buffer.empty() == (*info.numel() < 1024));  // no copy: as the dump was made
        ++(buffer.empty() ? mapped : decoded);
    }
    CHECK(mapped > 100);
    CHECK(decoded > 50);
    CHECK((*reader)->rereadable());
    CHECK(*read_elements(**reader, 2, 100) == *read_elements(**reader, 2, 1000));
    CHECK_DONE((*reader)->finish());
}

TEST_CASE("hdf5 reader: steps and workers come from groups, options and the file's name") {
    auto steps = read_h5(kGradients + "resnet20_steps.h5");
    REQUIRE(steps);
    for (const auto& t : steps->tensors) {
        CHECK(std::to_string(t.step) == std::to_string(std::stoi(t.name.substr(5, 6))));
        CHECK(t.worker == 0);
    }
    ReadOptions options;
    options.step = 7, options.worker = 3;
    auto told = read_h5(kGradients + "resnet20_nested_f16.h5", options);
    REQUIRE(told);
    CHECK(told->tensors[0].step == 7);
    CHECK(told->tensors[0].worker == 3);
    TempFolder folder;
    std::filesystem::copy_file(kEdge + "h5_scalar.h5", folder / "g_step12_rank4.h5");
    auto named = read_h5(folder / "g_step12_rank4.h5");
    CHECK(named->tensors[0].name == "s");
    CHECK(named->tensors[0].step == 12);
    CHECK(named->tensors[0].worker == 4);
}

TEST_CASE("hdf5 reader: the origin of a real dump") {
    auto dump = read_h5(kGradients + "resnet20_steps.h5");
    REQUIRE(dump);
    const auto& o = dump->origin;
    CHECK(o.entries.front() == OriginEntry{"", "format", "hdf5"});
    CHECK(*o.find("latest", "hdf5.soft_link") == "/step_000400");
    CHECK(o.find("step_000120", "hdf5.group") != nullptr);
    CHECK(*o.find("step_000120", "attribute:step") == std::string("<int64 scalar\n\x78\0\0\0\0\0\0\0", 22));
    CHECK(*o.find("", "attribute:model") == "string:variable:null-terminated:utf-8 scalar\n\bresnet20");
    CHECK(*o.find("step_000010/layer1.0.conv1.weight", "hdf5.filters") == "shuffle deflate=6");
    CHECK(dump->warnings.empty());
    auto time = read_h5(kGradients + "logreg_timeaxis.h5");
    CHECK(*time->origin.find("weight", "hdf5.chunk") == "10,10,64");
    CHECK(*time->origin.find("weight", "hdf5.maxshape") == "inf,10,64");
    CHECK(*read_h5(kGradients + "mlp_bigendian.h5")->origin.find("step_000300/fc1.bias", "byte_order") == "big");
    CHECK(*read_h5(kEdge + "h5_unwritten.h5")->origin.find("w", "hdf5.fill") == std::string("\0\0\0\x3f", 4));
    CHECK(*read_h5(kEdge + "h5_userblock.h5")->origin.find("", "hdf5.userblock") == "512");
    CHECK(*read_h5(kEdge + "h5_group_cycle.h5")->origin.find("g/again", "hdf5.alias") == "g");
}

TEST_CASE("hdf5 reader: other files are opened only when told to") {
    ReadOptions follow;
    follow.follow_external = true;
    auto linked = read_h5(kEdge + "h5_external_link.h5", follow);
    REQUIRE(linked);
    CHECK(linked->skipped.empty());
    REQUIRE(linked->tensors.size() == 2);
    CHECK(linked->tensors[0].name == "other");
    CHECK(linked->values[0] == bytes_of<float>({2.5f}));
    auto stored = read_h5(kEdge + "h5_external_storage.h5", follow);
    CHECK_DONE(stored);
    CHECK(stored->values[0] == bytes_of<float>({9, 9, 9, 9}));
    CHECK(stored->warnings.size() == 1);
}

TEST_CASE("hdf5 reader: external groups, soft links through them, virtual datasets") {
    TempFolder folder;
    const auto values = counting(6);
    {
        Maker inner(folder / "inner.h5");
        const Hid group(H5Gcreate2(inner.file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        inner.dataset("g/w", H5T_IEEE_F32LE, {6}, values.data());
        H5Lcreate_external("outer.h5", "/", group.get(), "back", H5P_DEFAULT, H5P_DEFAULT);
    }
    {
        Maker outer(folder / "outer.h5");
        outer.dataset("own", H5T_IEEE_F32LE, {6}, values.data());
        H5Lcreate_external("inner.h5", "/g", outer.file.get(), "out", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_external("nowhere.h5", "/g", outer.file.get(), "gone", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_soft("/out/w", outer.file.get(), "soft", H5P_DEFAULT, H5P_DEFAULT);
        const Hid properties(H5Pcreate(H5P_DATASET_CREATE));
        const hsize_t dims[] = {6};
        const Hid space(H5Screate_simple(1, dims, nullptr));
        H5Pset_virtual(properties.get(), space.get(), (folder / "inner.h5").c_str(), "/g/w", space.get());
        outer.dataset("view", H5T_IEEE_F32LE, {6}, nullptr, properties.get());
    }
    auto closed = read_h5(folder / "outer.h5");
    REQUIRE(closed);
    REQUIRE(closed->tensors.size() == 1);
    CHECK(closed->tensors[0].name == "own");
    std::string skipped;
    for (const auto& s : closed->skipped) skipped += s.name + ": " + s.reason + "\n";
    CHECK(skipped ==
          "gone: external link to /g of nowhere.h5\nout: external link to /g of inner.h5\n"
          "soft: soft link to /out/w, which leads nowhere\n"
          "view: virtual dataset, its values lie in " +
              (folder / "inner.h5") + "\n");
    ReadOptions follow;
    follow.follow_external = true;
    auto open = read_h5(folder / "outer.h5", follow);
    CHECK_DONE(open);
    std::string names;
    for (std::size_t i = 0; i < open->tensors.size(); ++i) {
        names += open->tensors[i].name + " ";
        CHECK(open->values[i] == bytes_of(values));
    }
    CHECK(names == "out/w own view ");
    CHECK(open->skipped.size() == 2);  // gone, and out/back, which is the file itself
}

TEST_CASE("hdf5 reader: aliases are read once, hostile names are only names") {
    TempFolder folder;
    const auto values = counting(3);
    {
        Maker maker(folder / "a.h5");
        const Hid group(H5Gcreate2(maker.file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        maker.dataset("g/w", H5T_IEEE_F32LE, {3}, values.data());
        H5Lcreate_hard(maker.file.get(), "g/w", maker.file.get(), "again", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_hard(maker.file.get(), "/", maker.file.get(), "g/root", H5P_DEFAULT, H5P_DEFAULT);
        maker.dataset("..", H5T_IEEE_F32LE, {3}, values.data());
        maker.dataset("\xff\n", H5T_IEEE_F32LE, {3}, values.data());
    }
    auto dump = read_h5(folder / "a.h5");
    CHECK_DONE(dump);
    REQUIRE(dump->tensors.size() == 3);
    CHECK(dump->tensors[0].name == "..");
    CHECK(dump->tensors[1].name == "again");
    CHECK(dump->tensors[2].name == "\xff\n");
    CHECK(*dump->origin.find("g/w", "hdf5.alias") == "again");
    CHECK(*dump->origin.find("g/root", "hdf5.alias") == "");
}

TEST_CASE("hdf5 reader: integers of odd precision and enumerations become whole integers") {
    TempFolder folder;
    {
        Maker maker(folder / "a.h5");
        const Hid narrow(H5Tcopy(H5T_STD_I32BE)), colours(H5Tenum_create(H5T_STD_I16BE)), full(H5Tcopy(H5T_STD_I32LE));
        H5Tset_precision(narrow.get(), 17);
        std::int16_t red = 0x0102;
        H5Tenum_insert(colours.get(), "RED", &red);
        const Hid properties(H5Pcreate(H5P_DATASET_CREATE));
        const hsize_t chunk = 2;
        H5Pset_chunk(properties.get(), 1, &chunk);
        H5Pset_nbit(properties.get());
        const std::vector<std::int32_t> values{-1, 5, -65536};
        const Hid made = maker.dataset("narrow", narrow.get(), {3}, nullptr, properties.get());
        H5Dwrite(made.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        maker.dataset("red", colours.get(), {1}, &red);
    }
    auto dump = read_h5(folder / "a.h5");
    CHECK_DONE(dump);
    REQUIRE(dump->tensors.size() == 2);
    CHECK(dump->values[0] == bytes_of<std::int32_t>({-1, 5, -65536}));
    CHECK(dump->values[1] == bytes_of<std::int16_t>({0x0201}));  // the file's bytes are big-endian
    CHECK(dump->warnings == std::vector<std::string>{"/narrow: integers of 17 bits, carried as int32",
                                                     "/red: enumeration, carried as its integers"});
}

TEST_CASE("hdf5 reader: long double refuses the file") {
    TempFolder folder;
    {
        Maker maker(folder / "a.h5");
        const std::vector<long double> values(2, 1.0L);
        maker.dataset("w", H5T_NATIVE_LDOUBLE, {2}, values.data());
    }
    auto dump = read_h5(folder / "a.h5");
    REQUIRE_FALSE(dump);
    CHECK(dump.error().code == Errc::unsupported);
    CHECK(dump.error().where == "tensor w");
}

TEST_CASE("hdf5 reader: a chunk whose checksum is wrong names its tensor") {
    TempFolder folder;
    const auto values = counting(1000);
    {
        Maker maker(folder / "a.h5");
        const Hid properties(H5Pcreate(H5P_DATASET_CREATE));
        const hsize_t chunk = 100;
        H5Pset_chunk(properties.get(), 1, &chunk);
        H5Pset_fletcher32(properties.get());
        maker.dataset("w", H5T_IEEE_F32LE, {1000}, values.data(), properties.get());
    }
    CHECK_DONE(read_h5(folder / "a.h5"));
    auto bytes = slurp(folder / "a.h5");
    const auto at = bytes.find(std::string(reinterpret_cast<const char*>(&values[500]), 40));
    REQUIRE(at != std::string::npos);
    bytes[at] ^= 1;
    spill(folder / "b.h5", bytes);
    auto dump = read_h5(folder / "b.h5");
    REQUIRE_FALSE(dump);
    CHECK(dump.error().where == "tensor w");
    CHECK(dump.error().what.find("Fletcher32") != std::string::npos);
}

TEST_CASE("hdf5 reader: chunks that share rows are each read right") {
    TempFolder folder;
    constexpr hsize_t kRows = 6, kColumns = 3'000'000;  // 12 MB a row, chunks four rows high
    std::vector<float> values(kRows * kColumns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1009);
    {
        Maker maker(folder / "a.h5");
        const Hid properties(H5Pcreate(H5P_DATASET_CREATE));
        const hsize_t chunk[] = {4, 700'000};
        H5Pset_chunk(properties.get(), 2, chunk);
        H5Pset_deflate(properties.get(), 1);
        maker.dataset("w", H5T_IEEE_F32LE, {kRows, kColumns}, values.data(), properties.get());
    }
    auto dump = read_h5(folder / "a.h5", {}, 1 << 18);
    CHECK_DONE(dump);
    CHECK((dump->values[0] == bytes_of(values)));
}

TEST_CASE("hdf5 reader: no prefix is taken for the file") {
    TempFolder folder;
    for (const auto* const name : {"h5_bfloat16.h5", "h5_mixed_types.h5", "h5_unwritten.h5"}) {
        const auto bytes = slurp(kEdge + name);
        for (std::size_t size = 0; size < bytes.size(); size += 37) {
            spill(folder / "cut.h5", std::string_view(bytes).substr(0, size));
            INFO(name, " cut at ", size);
            CHECK_FALSE(read_h5(folder / "cut.h5"));
        }
    }
}

TEST_CASE("hdf5 reader: flipped bits give an error or values, never more") {
    TempFolder folder;
    ReadOptions options;
    options.max_output = 1 << 24;
    std::mt19937 gen(3);
    int refused = 0, rounds = 0;
    for (const auto* const name : {"h5_bigendian.h5", "h5_mixed_types.h5", "h5_unwritten.h5", "h5_group_cycle.h5"}) {
        const auto bytes = slurp(kEdge + name);
        for (int round = 0; round < 150; ++round, ++rounds) {
            auto bad = bytes;
            bad[gen() % bad.size()] ^= static_cast<char>(1 << gen() % 8);
            spill(folder / "bad.h5", bad);
            const int end = read_apart(folder / "bad.h5", options);
            INFO(name, " round ", round);
            CHECK((end == kValues || end == kRefused));
            refused += end == kRefused;
        }
    }
    CHECK(refused > 20);
    CHECK(refused < rounds);
}
