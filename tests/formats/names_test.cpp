// formats/names.cpp: what names say, in which order they come, and how they become files.
#include "formats/names.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;

namespace {

struct Case {
    const char *name, *rest;
    std::optional<std::uint64_t> step, worker;
};

}  // namespace

TEST_CASE("names: step and rank patterns") {
    const std::optional<std::uint64_t> no;
    const Case cases[] = {
        {"grad_step_000100_rank3", "grad", 100, 3},
        {"step_000010/layer1.weight", "layer1.weight", 10, no},
        {"a/step_10/b", "a/b", 10, no},
        {"a/step_10_b", "a/b", 10, no},
        {"a_step_10/b", "a/b", 10, no},
        {"global_step_7", "", 7, no},
        {"my_global_step7.x", "my.x", 7, no},
        {"iter-12.iteration13", "", 13, no},
        {"worker1.rank-2", "", no, 2},
        {"grads-step5-worker_0.fc", "grads.fc", 5, 0},
        {"mlp_s5_fc2.weight_v2", "mlp_s5_fc2.weight_v2", no, no},
        {"footstep_5", "footstep_5", no, no},
        {"step", "step", no, no},
        {"step_", "step_", no, no},
        {"step_5x", "step_5x", no, no},
        {"steps_5", "steps_5", no, no},
        {"step__5", "step__5", no, no},
        {"Step_5", "Step_5", no, no},
        {"crank3", "crank3", no, no},
        {"step_18446744073709551615", "", 18446744073709551615u, no},
        {"step_18446744073709551616", "step_18446744073709551616", no, no},
        {"", "", no, no},
    };
    for (const auto& c : cases) {
        CAPTURE(c.name);
        const auto got = split_name(c.name);
        CHECK(got.rest == c.rest);
        CHECK(got.step == c.step);
        CHECK(got.worker == c.worker);
    }
}

TEST_CASE("names: a file's identity, and --name in its place") {
    const auto file = identify("runs/step_9/grad_step_000100_rank3.npy", {});
    CHECK(file.stem == "grad");
    CHECK(file.step == 100);
    CHECK(file.worker == 3);
    CHECK(identify("fc1.weight", {}).stem == "fc1.weight");
    CHECK(identify("fc1.weight.NPY", {}).stem == "fc1.weight");
    CHECK(identify("step_5.h5", {}).stem == "");
    ReadOptions options;
    options.name = "x";
    const auto named = identify("grad_step_000100.npy", options);
    CHECK(named.stem == "x");
    CHECK_FALSE(named.step);

    TensorInfo info{"step_20/fc.weight", {}};
    place_tensor(info, file, {});
    CHECK(info.step == 20);  // its own name says more than the file's
    CHECK(info.worker == 3);
    options.step = 0;
    place_tensor(info, file, options);
    CHECK(info.step == 0);
}

TEST_CASE("names: natural order is a strict total order") {
    const std::vector<std::string> sorted = {"",
                                             "a",
                                             "a1",
                                             "a01",
                                             "a2",
                                             "a10",
                                             "a10b",
                                             "a10b2",
                                             "a10b10",
                                             "a99999999999999999999",
                                             "a100000000000000000000",
                                             "b",
                                             "step2",
                                             "step10",
                                             "\x80"};
    // "a1" before "a01": equal by value, so bytes decide, and '0' < '1'.
    for (std::size_t i = 0; i < sorted.size(); ++i)
        for (std::size_t j = 0; j < sorted.size(); ++j) {
            if ((sorted[i] == "a1" && sorted[j] == "a01") || (sorted[i] == "a01" && sorted[j] == "a1")) continue;
            CAPTURE(sorted[i]);
            CAPTURE(sorted[j]);
            CHECK(compare_natural(sorted[i], sorted[j]) == (i <=> j));
        }
    CHECK(compare_natural("a01", "a1") < 0);
    CHECK(compare_natural("a1", "a01") > 0);
}

TEST_CASE("names: any bytes become a flat file name and come back") {
    CHECK(encode_file_name("fc1.weight") == "fc1.weight");
    CHECK(encode_file_name("../../evil") == "%2E.%2F..%2Fevil");
    CHECK(encode_file_name("..") == "%2E.");
    CHECK(encode_file_name("") == "%");
    CHECK(encode_file_name("%") == "%25");
    CHECK(encode_file_name(std::string("a\0b", 3)) == "a%00b");
    CHECK(encode_file_name("\xc3\xbc") == "%C3%BC");

    std::mt19937 gen(1);
    std::set<std::string> seen_names, seen_files;
    for (int i = 0; i < 5000; ++i) {
        std::string name(gen() % (i % 50 == 0 ? 400 : 4), ' ');
        for (auto& c : name) c = static_cast<char>(gen() % (i % 3 ? 256 : 3) + (i % 3 ? 0 : 45));  // "-./" often
        const std::string file = encode_file_name(name);
        CHECK(file.size() <= 200);
        CHECK(file.find('/') == std::string::npos);
        CHECK(file[0] != '.');
        if (file.find("%-") == std::string::npos) CHECK(decode_file_name(file) == name);
        seen_names.insert(name);
        seen_files.insert(file);
    }
    CHECK(seen_names.size() == seen_files.size());

    const std::string prefix(500, 'a');
    CHECK(encode_file_name(prefix + "1") != encode_file_name(prefix + "2"));
    CHECK(encode_file_name(prefix).size() == 200);
    for (const char* bad : {"%2", "%2e", "%zz", "%-0123456789ABCDEF", ".a", "a/b", "%41"})
        CHECK_FALSE(decode_file_name(bad));
}

TEST_CASE("names: twins are named") {
    std::vector<TensorInfo> tensors = {{"a", {}}, {"b", {}}, {"a", {}}};
    tensors[2].step = 1;
    CHECK(check_distinct(tensors));
    tensors[2].step = 0;
    const auto twins = check_distinct(tensors);
    REQUIRE_FALSE(twins);
    CHECK(twins.error().where == "tensor a");
}
