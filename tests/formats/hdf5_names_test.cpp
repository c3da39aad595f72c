// formats/hdf5_names.cpp: any tensor name finds a path, and different ones different paths.
#include "formats/hdf5_names.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace gradz;
using namespace gradz::formats;

namespace {

std::string path_of(const std::string& name, bool plain_dots = false) {
    Hdf5Names names(plain_dots);
    auto path = names.add_tensor(name);
    return path ? *path : "error: " + path.error().what;
}

}  // namespace

TEST_CASE("hdf5 names: what cannot be a path is percent-encoded") {
    CHECK(path_of("layer1.0.weight") == "layer1.0.weight");
    CHECK(path_of("a/b/c") == "a/b/c");
    CHECK(path_of("") == "%");
    CHECK(path_of("/") == "%2F");
    CHECK(path_of("/a") == "%2Fa");
    CHECK(path_of("a/") == "a%2F");
    CHECK(path_of("a//b") == "a/%2Fb");
    CHECK(path_of("a/./b") == "a/%2E/b");
    CHECK(path_of("../../evil") == "%2E%2E/%2E%2E/evil");
    CHECK(path_of("../x", true) == "../x");
    CHECK(path_of(std::string("a\0b", 3)) == "a%00b");
    CHECK(path_of("100%") == "100%");
    CHECK(path_of("重み") == "重み");
}

TEST_CASE("hdf5 names: a dataset in the way") {
    Hdf5Names names(false);
    CHECK(*names.add_tensor("a") == "a");
    CHECK(*names.add_tensor("a/b") == "a%2Fb");
    CHECK(*names.add_tensor("c/d/e") == "c/d/e");
    CHECK(*names.add_tensor("c/d") == "c%2Fd");
    CHECK(*names.add_tensor("c") == "%63");
    CHECK(*names.add_tensor("c/d/e/f") == "c%2Fd%2Fe%2Ff");
    CHECK(names.add_tensor("c").error().code == Errc::corrupt);
    CHECK(*names.find("c") == "%63");
    CHECK(*names.find("c/d") == "c%2Fd");
    CHECK(names.find("nothing") == nullptr);
    names.add_group("x/y");
    CHECK(*names.find("x") == "x");
    CHECK(*names.add_tensor("x/y") == "x%2Fy");
}

TEST_CASE("hdf5 names: any names get distinct paths that HDF5 can hold") {
    std::mt19937 gen(1);
    const std::string alphabet("/.%a2F\0", 7);
    for (int round = 0; round < 200; ++round) {
        Hdf5Names names(false);
        std::set<std::string> paths, all, groups;
        for (int i = 0; i < 40; ++i) {
            std::string name(gen() % 6, ' ');
            for (auto& c : name) c = alphabet[gen() % alphabet.size()];
            if (!all.insert(name).second) continue;
            auto path = names.add_tensor(name);
            if (!path) {
                CHECK(path.error().code == Errc::unsupported);
                continue;
            }
            INFO(*path);
            CHECK(paths.insert(*path).second);
            CHECK(path->find('\0') == std::string::npos);
            CHECK(("/" + *path + "/").find("//") == std::string::npos);
            CHECK(("/" + *path + "/").find("/./") == std::string::npos);
            CHECK(("/" + *path + "/").find("/../") == std::string::npos);
            for (auto end = path->rfind('/'); end != path->npos; end = path->rfind('/', end - 1))
                groups.insert(path->substr(0, end));
        }
        for (const auto& path : paths) CHECK(!groups.contains(path));
    }
}

TEST_CASE("hdf5 names: a deep name does not make deep groups") {
    std::string deep = "x";
    for (int i = 0; i < 100000; ++i) deep += "/x";
    const auto path = path_of(deep);
    CHECK(std::count(path.begin(), path.end(), '/') == 500);
}

TEST_CASE("hdf5 names: UTF-8 only where it is needed and valid") {
    CHECK(charset_of("plain") == H5T_CSET_ASCII);
    CHECK(charset_of("重み") == H5T_CSET_UTF8);
    CHECK(charset_of("\xf0\x9f\x98\x80") == H5T_CSET_UTF8);
    for (const auto* const bad : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "ab\xc3"})
        CHECK(charset_of(bad) == H5T_CSET_ASCII);
    CHECK(attribute_name("") == "%");
    CHECK(attribute_name(std::string("k\0", 2)) == "k%00");
}
