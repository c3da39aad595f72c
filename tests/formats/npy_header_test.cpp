// formats/npy_header.cpp: a parser of one dict literal, strict about everything else.
#include "formats/npy_header.hpp"

#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

std::string npy(const std::string& dict, int major = 1) {
    std::string out = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
    for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(dict.size() >> (8 * i) & 0xff);
    return out + dict;
}

Result<NpyHeader> parse(const std::string& dict, int major = 1) {
    const std::string file = npy(dict, major);
    return parse_npy_header(bytes_of(file));
}

std::string dict(const std::string& descr, const std::string& shape = "(3, 4)") {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string text(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("npy header: keys in any order, spaces, quotes, no last comma") {
    for (const char* d : {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }          \n",
                          "{\"shape\":(3,4),'fortran_order':True,'descr':\"<f4\"}",
                          " { 'shape' : ( 3L , 4L , ) , 'descr' : '=f4' ,\n'fortran_order' : True , } \t\n"})
        for (int major : {1, 2, 3}) {
            CAPTURE(d);
            auto h = parse(d, major);
            REQUIRE(h);
            CHECK(h->shape == std::vector<std::uint64_t>{3, 4});
            CHECK(h->dtype == DType::f32);
            CHECK(h->fortran);
            CHECK_FALSE(h->big_endian);
            CHECK(h->major == major);
            CHECK(h->data_offset == npy(d, major).size());
        }
}

TEST_CASE("npy header: shapes") {
    CHECK(parse(dict("<f4", "()"))->shape.empty());
    CHECK(parse(dict("<f4", "(7,)"))->shape == std::vector<std::uint64_t>{7});
    CHECK(parse(dict("<f4", "(3, 0, 2)"))->shape == std::vector<std::uint64_t>{3, 0, 2});
    for (const char* bad :
         {"(7)", "7", "[7]", "(,)", "(7,,)", "(7 8)", "(-7,)", "(+7,)", "(07,)", "(7.0,)", "(0x7,)", "(1_0,)",
          "(True,)", "(18446744073709551616,)", "(4294967296, 4294967296, 4)", "(7,", "("}) {
        CAPTURE(bad);
        auto h = parse(dict("<f4", bad));
        REQUIRE_FALSE(h);
        CHECK(h.error().code == Errc::corrupt);
    }
    std::string deep = "(";
    for (int i = 0; i < 65; ++i) deep += "1, ";
    CHECK_FALSE(parse(dict("<f4", deep + ")")));
}

TEST_CASE("npy header: types that are read print as they were") {
    for (const char* d : {"<f2", "<f4", "<f8", ">f2", ">f4", ">f8", "|b1", "|i1", "|u1", "<i2", ">u2", "<i4", ">u4",
                          "<i8", ">u8", "<c8", ">c8", "<c16", ">c16"}) {
        CAPTURE(d);
        auto h = parse(dict(d));
        REQUIRE(h);
        CHECK(h->big_endian == (d[0] == '>'));
        CHECK(text(*print_npy_header(*h)).find("'descr': '" + std::string(d) + "'") != std::string::npos);
    }
    CHECK_FALSE(parse(dict(">i1"))->big_endian);
    for (const DType t : {DType::bf16, DType::f8_e4m3, DType::f8_e8m0}) {
        NpyHeader h;
        h.dtype = t;
        const auto printed = print_npy_header(h);
        REQUIRE_FALSE(printed);
        CHECK(printed.error().code == Errc::unsupported);
        CHECK(printed.error().what.find(row_of(t).name) != std::string::npos);
    }
}

TEST_CASE("npy header: types that are refused, each with its reason") {
    const std::pair<const char*, const char*> cases[] = {
        {"'|O'", "pickle"},
        {"[('a', '<f4')]", "structured"},
        {"('<f4', (2,))", "subarrays"},
        {"'<f16'", "long double"},
        {"'<c32'", "long double"},
        {"'|V2'", "bfloat16"},
        {"'<V2'", "bfloat16"},
        {"'<U5'", "strings"},
        {"'|S5'", "strings"},
        {"'<M8[ns]'", "dates"},
        {"'bfloat16'", "no such type"},
        {"'f4'", "type 'f4'"},
        {"''", "type ''"},
        {"'<f3'", "type '<f3'"},
        {"'<'", "type '<'"},
        {"'<f4,<f4'", "type"},
    };
    for (const auto& [descr, reason] : cases) {
        CAPTURE(descr);
        auto h = parse("{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (3,), }");
        REQUIRE_FALSE(h);
        CHECK(h.error().code == Errc::unsupported);
        CHECK(h.error().what.find(reason) != std::string::npos);
    }
}

TEST_CASE("npy header: what is no such dict is refused") {
    const std::string good = "'descr': '<f4', 'fortran_order': False, 'shape': (3,)";
    for (const std::string& bad : std::initializer_list<std::string>{
             "", "{", "}", "{}", "{" + good, good + "}", "{" + good + "} x", "{" + good + "}}",
             "{" + good + ", 'more': 1}", "{" + good + ", 'shape': (3,)}", "{'descr': '<f4', 'shape': (3,)}",
             "{'fortran_order': False, 'shape': (3,)}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
             "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
             "{'descr': '<\\x66' , 'fortran_order': False, 'shape': (3,)}",
             "dict(descr='<f4', fortran_order=False, shape=(3,))", "{'descr': '<f4"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse(bad));
    }
}

TEST_CASE("npy header: sizes, versions and prefixes") {
    const std::string file = npy(dict("<f4"));
    for (std::size_t n = 0; n < file.size(); ++n) {
        auto h = parse_npy_header(bytes_of(file).first(n));
        REQUIRE_FALSE(h);
        CHECK(h.error().code == Errc::truncated);
    }
    CHECK(*npy_header_size(bytes_of(file).first(12)) == file.size());
    for (int version : {0, 4, 9}) CHECK(parse(dict("<f4"), version).error().code == Errc::corrupt);
    std::string minor = file;
    minor[7] = 1;
    CHECK_FALSE(parse_npy_header(bytes_of(minor)));
    const std::string huge = std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12);
    CHECK(npy_header_size(bytes_of(huge)).error().code == Errc::corrupt);
}

TEST_CASE("npy header: printed as NumPy does, in the oldest version that fits") {
    NpyHeader h;
    h.shape = {3, 4};
    const std::string got = text(*print_npy_header(h));
    CHECK(got.size() == 128);
    CHECK(got == npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" + std::string(58, ' ') + "\n"));
    for (std::uint64_t n = 1; n < 100; ++n) {
        h.shape.assign(1 + n % 50, 1);
        h.shape[0] = n * n * n;
        const auto printed = must(print_npy_header(h));
        CHECK(printed.size() % 64 == 0);
        CHECK(must(parse_npy_header(printed)).shape == h.shape);
    }
    h.shape = {3};
    for (std::uint8_t major : {2, 3}) {
        h.major = major;
        CHECK(parse_npy_header(*print_npy_header(h))->major == major);
    }
}
