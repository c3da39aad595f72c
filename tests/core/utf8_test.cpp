// lib/core/utf8.hpp: the borders of the table of well-formed sequences.
#include "core/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace gradz;

TEST_CASE("lengths at the borders of the code space") {
    for (const char* good : {"\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                             "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        CHECK(utf8_length(good) == std::string(good).size());
    for (const char* bad :
         {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc2", "\xe1\x80", "\xf1\x80\x80", "\xc2\x41"})
        CHECK(utf8_length(bad) == 0);
    CHECK(utf8_length("") == 0);
}

TEST_CASE("texts") {
    CHECK(is_utf8(""));
    CHECK(is_utf8("fc.weight"));
    CHECK(is_ascii("fc.weight"));
    CHECK(is_utf8("\xe9\x87\x8d\xc3\xa9"));
    CHECK_FALSE(is_ascii("\xc3\xa9"));
    CHECK_FALSE(is_utf8("a\xff"));
    CHECK_FALSE(is_utf8("\xc3"));
}
