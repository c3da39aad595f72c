// formats/hdf5_origin.cpp: attributes of every kind there and back.
#include "formats/hdf5_origin.hpp"

#include "formats/hdf5_types.hpp"
#include "hdf5_support.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

// In memory only.
Hid scratch_file() {
    const Hid access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fapl_core(access.get(), 1 << 16, false);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110);  // for large attributes
    return Hid(H5Fcreate("gradz_attributes.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
}

Origin attributes_of(hid_t object, std::vector<std::string>* warnings = nullptr) {
    Origin origin;
    std::vector<std::string> ignored;
    CHECK_DONE(read_attributes(object, "", origin, warnings ? *warnings : ignored));
    return origin;
}

std::string with(const std::string& head, const Bytes& data) {
    return head + "\n" + std::string(reinterpret_cast<const char*>(data.data()), data.size());
}

}  // namespace

TEST_CASE("hdf5 attributes: every value that is written is read back the same") {
    const Hdf5Session session;
    const std::string values[] = {
        with("<float32 scalar", bytes_of<float>({1.5f})),
        with("<float64 2,3", bytes_of<double>({1, 2, 3, 4, 5, 6})),
        with(">int16 2", bytes_of<std::uint16_t>({0x0100, 0x0200})),
        with("<float16 3", bytes_of<std::uint16_t>({0x3c00, 0x7e01, 0x8000})),
        with("<bfloat16 1", bytes_of<std::uint16_t>({0x3f80})),
        with(">bfloat16 1", bytes_of<std::uint16_t>({0x803f})),
        with("<bool 2", bytes_of<std::uint8_t>({1, 0})),
        with("<complex64 1", bytes_of<float>({1, -1})),
        with("<float8_e5m2 2", bytes_of<std::uint8_t>({1, 255})),
        with("<uint64 scalar", bytes_of<std::uint64_t>({~std::uint64_t{0}})),
        "<float32 null\n",
        "<float32 0\n",
        "<int8 2,0,3\n",
        "string:variable:null-terminated:utf-8 scalar\n\x03\xe9\x87\x8d",
        "string:variable:null-terminated:utf-8 scalar\n" + std::string(1, '\0'),
        "string:variable:null-terminated:ascii 3\n\x01"
        "a" +
            std::string(1, '\0') +
            "\x02"
            "bc",
        "string:variable:null-terminated:utf-8 null\n",
        "string:4:null-terminated:ascii scalar\n" + std::string("abc\0", 4),
        "string:4:null-padded:ascii 2\n" + std::string("abcda\0\0\0", 8),
        "string:5:space-padded:utf-8 1\n"
        "ab   ",
        with("<float32 50000", Bytes(200000, std::byte{7})),  // beyond an object header message
    };
    for (const auto& value : values) {
        INFO(value.substr(0, value.find('\n')));
        const auto file = scratch_file();
        CHECK_DONE(write_attribute(file.get(), "/", "name", value));
        const auto origin = attributes_of(file.get());
        REQUIRE(origin.entries.size() == 1);
        CHECK(origin.entries[0].key == "attribute:name");
        CHECK((origin.entries[0].value == value));
    }
}

TEST_CASE("hdf5 attributes: values that contradict themselves are corrupt, whatever is cut") {
    const Hdf5Session session;
    const auto file = scratch_file();
    for (const std::string value :
         {"", "\n", "<float32", "<float32 scalar\n", "<float32 2\nabcd", "float32 scalar\nabcd",
          "<float33 scalar\nabcd", "<float32 \nabcd", "<float32 1,\n", "<float32 4294967296,4294967296\n",
          "<float32 null\nabcd", "string:0:null-padded:ascii scalar\n", "string:x:null-padded:ascii scalar\n",
          "string:4:padded:ascii scalar\nabcd", "string:4:null-padded:latin scalar\nabcd",
          "string:variable:null-terminated:ascii scalar\n\x05"
          "a",
          "string:variable:null-terminated:ascii scalar\n\x01"
          "ab",
          "string:variable:null-terminated:ascii 99999999999\n"}) {
        INFO(value);
        CHECK_FALSE(write_attribute(file.get(), "/", "a", value));
        H5Adelete(file.get(), "a");
    }
}

TEST_CASE("hdf5 attributes: what has no encoding is named") {
    const Hdf5Session session;
    const auto file = scratch_file();
    const Hid scalar(H5Screate(H5S_SCALAR)), pair(H5Tcreate(H5T_COMPOUND, 8)), vlen(H5Tvlen_create(H5T_IEEE_F32LE));
    H5Tinsert(pair.get(), "a", 0, H5T_IEEE_F32LE), H5Tinsert(pair.get(), "b", 4, H5T_IEEE_F32LE);
    for (const auto& [name, type] : {std::pair("pair", pair.get()),
                                     {"ragged", vlen.get()},
                                     {"ref", H5T_STD_REF_OBJ},
                                     {"long", H5T_NATIVE_LDOUBLE}})
        REQUIRE(Hid(H5Acreate2(file.get(), name, type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT)));
    std::vector<std::string> warnings;
    CHECK(attributes_of(file.get(), &warnings).entries.empty());
    REQUIRE(warnings.size() == 4);
    CHECK(warnings[0].starts_with("attribute long of /: a float of 16 bytes"));
    CHECK(warnings[1] == "attribute pair of /: compound type, dropped");
    CHECK(warnings[2] == "attribute ragged of /: variable-length type, dropped");
    CHECK(warnings[3] == "attribute ref of /: reference type, dropped");
}

TEST_CASE("hdf5 attributes: texts, with a NUL inside or without") {
    const Hdf5Session session;
    const auto file = scratch_file();
    CHECK_DONE(write_text_attribute(file.get(), "a", ""));
    CHECK_DONE(write_text_attribute(file.get(), "b", "step 3"));
    CHECK_DONE(write_text_attribute(file.get(), "c", std::string("x\0y", 3)));
    const auto origin = attributes_of(file.get());
    CHECK(*origin.find("", "attribute:b") == "string:variable:null-terminated:utf-8 scalar\n\x06step 3");
    CHECK(*origin.find("", "attribute:c") == "string:3:null-padded:utf-8 scalar\n" + std::string("x\0y", 3));
}
