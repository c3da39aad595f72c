// formats/hdf5_types.cpp: every dtype there and back, and what is refused or skipped.
#include "formats/hdf5_types.hpp"

#include <doctest/doctest.h>

using namespace gradz;
using namespace gradz::formats;

TEST_CASE("hdf5 types: every dtype in both byte orders") {
    const Hdf5Session session;
    for (std::size_t i = 0; i < std::size(kDTypes); ++i) {
        const auto dtype = static_cast<DType>(i);
        INFO(row_of(dtype).name);
        for (const bool big : {false, true}) {
            auto made = make_hdf5_type(dtype, big);
            if (dtype == DType::f8_e8m0) {
                CHECK(made.error().code == Errc::unsupported);
                continue;
            }
            REQUIRE(made);
            CHECK(H5Tget_size(made->get()) == size_of(dtype));
            auto read = read_hdf5_type(made->get());
            REQUIRE(read);
            CHECK(read->dtype == dtype);
            CHECK(read->big_endian == (big && row_of(dtype).word > 1));
            CHECK(read->remark.empty());
            CHECK(H5Tequal(read->memory.get(), made->get()) > 0);
        }
    }
}

TEST_CASE("hdf5 types: the ones of libhdf5") {
    const Hdf5Session session;
    CHECK(read_hdf5_type(H5T_IEEE_F32LE)->dtype == DType::f32);
    CHECK(read_hdf5_type(H5T_IEEE_F64BE)->big_endian);
    CHECK(read_hdf5_type(H5T_STD_U16BE)->dtype == DType::u16);
    CHECK(read_hdf5_type(H5T_STD_I8BE)->dtype == DType::i8);
    CHECK(H5Tequal(make_hdf5_type(DType::f64, true)->get(), H5T_IEEE_F64BE) > 0);
    CHECK(H5Tequal(make_hdf5_type(DType::i32, false)->get(), H5T_STD_I32LE) > 0);
    CHECK(H5Tequal(make_hdf5_type(DType::u64, true)->get(), H5T_STD_U64BE) > 0);
}

TEST_CASE("hdf5 types: no number of ours") {
    const Hdf5Session session;
    CHECK(read_hdf5_type(H5T_NATIVE_LDOUBLE).error().code == Errc::unsupported);
    CHECK(read_hdf5_type(H5T_VAX_F32).error().code == Errc::unsupported);
    const Hid odd(H5Tcopy(H5T_IEEE_F32LE));
    H5Tset_ebias(odd.get(), 120);
    CHECK(read_hdf5_type(odd.get()).error().what.find("4 bytes") != std::string::npos);
    const Hid three(H5Tcopy(H5T_STD_I32LE));
    H5Tset_size(three.get(), 3);
    CHECK(read_hdf5_type(three.get()).error().what.find("3 bytes") != std::string::npos);
}

TEST_CASE("hdf5 types: skipped by name") {
    const Hdf5Session session;
    const auto reason = [](hid_t type) { return read_hdf5_type(type)->skipped; };
    CHECK(reason(H5T_C_S1) == "string type");
    CHECK(reason(H5T_STD_B8LE) == "bitfield type");
    CHECK(reason(H5T_STD_REF_OBJ) == "reference type");
    CHECK(reason(H5T_UNIX_D32LE) == "time type");
    const hsize_t two = 2;
    CHECK(reason(Hid(H5Tvlen_create(H5T_IEEE_F32LE)).get()) == "variable-length type");
    CHECK(reason(Hid(H5Tarray_create2(H5T_IEEE_F32LE, 1, &two)).get()) == "array type");
    CHECK(reason(Hid(H5Tcreate(H5T_OPAQUE, 2)).get()) == "opaque type");
    const Hid pair(H5Tcreate(H5T_COMPOUND, 8));
    H5Tinsert(pair.get(), "r", 0, H5T_IEEE_F32LE), H5Tinsert(pair.get(), "x", 4, H5T_IEEE_F32LE);
    CHECK(reason(pair.get()) == "compound type");
    const Hid padded(H5Tcreate(H5T_COMPOUND, 12));
    H5Tinsert(padded.get(), "r", 0, H5T_IEEE_F32LE), H5Tinsert(padded.get(), "i", 8, H5T_IEEE_F32LE);
    CHECK(reason(padded.get()) == "compound type");
}

TEST_CASE("hdf5 types: enumerations and padded integers are carried with a remark") {
    const Hdf5Session session;
    const Hid colours(H5Tenum_create(H5T_STD_I16BE));
    std::int16_t red = 1;
    H5Tenum_insert(colours.get(), "RED", &red);
    auto enumeration = read_hdf5_type(colours.get());
    REQUIRE(enumeration);
    CHECK(enumeration->dtype == DType::i16);
    CHECK(enumeration->big_endian);
    CHECK(enumeration->remark == "enumeration, carried as its integers");
    const Hid narrow(H5Tcopy(H5T_STD_I32LE));
    H5Tset_precision(narrow.get(), 17);
    auto padded = read_hdf5_type(narrow.get());
    REQUIRE(padded);
    CHECK(padded->dtype == DType::i32);
    CHECK(padded->remark == "integers of 17 bits, carried as int32");
    CHECK(H5Tequal(padded->memory.get(), H5T_STD_I32LE) > 0);
}

TEST_CASE("hdf5 types: bytes are swapped word by word") {
    const auto swapped = [](std::string text, std::size_t word) {
        swap_words(std::as_writable_bytes(std::span(text)), word);
        return text;
    };
    CHECK(swapped("abcdefgh", 1) == "abcdefgh");
    CHECK(swapped("abcdefgh", 2) == "badcfehg");
    CHECK(swapped("abcdefgh", 4) == "dcbahgfe");
    CHECK(swapped("abcdefgh", 8) == "hgfedcba");
    CHECK(swapped("", 8).empty());
}
