// formats/safetensors_header.cpp, safetensors_reader.cpp and safetensors_writer.cpp.
#include "formats/safetensors_header.hpp"

#include <doctest/doctest.h>

#include <random>

#include "formats/readers.hpp"
#include "support/memory_file.hpp"
#include "support/tensor_facts.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

const std::string kData = GRADZ_TEST_DATA;

Result<std::unique_ptr<TensorReader>> open(std::span<const std::byte> bytes) {
    return open_safetensors(std::make_shared<MemoryFile>(bytes), {"x.safetensors", "x", {}, {}}, {});
}

// A file of this header and `data` bytes of zeros.
Bytes file(const std::string& json, std::size_t data) {
    const std::uint64_t length = json.size();
    Bytes out(8 + json.size() + data);
    std::memcpy(out.data(), &length, 8);
    std::memcpy(out.data() + 8, json.data(), json.size());
    return out;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& at) {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + at + "}";
}

std::string why(const std::string& json, std::size_t data) {
    auto header = parse_safetensors(file(json, data));
    if (header) return "";
    return header.error().what;
}

bool refused(const std::string& json, std::size_t data, const std::string& because) {
    const auto text = why(json, data);
    INFO(text);
    const bool ok = !text.empty() && text.find(because) != std::string::npos;
    CHECK(ok);
    return ok;
}

Result<Bytes> rewrite(TensorReader& reader, bool seekable) {
    Bytes out;
    GRADZ_TRY(const auto writer,
              create_safetensors(std::make_unique<MemoryOutput>(out, seekable), reader.origin(), {}));
    for (std::size_t i = 0; i < reader.tensors().size(); ++i) {
        GRADZ_TRY([[maybe_unused]] const auto added, writer->add(std::span(reader.tensors()).subspan(i, 1)));
        GRADZ_TRY(const auto bytes, read_elements(reader, i, 1 << 16));
        GRADZ_TRY([[maybe_unused]] const auto written, writer->write(i, 0, bytes));
    }
    GRADZ_TRY([[maybe_unused]] const auto done, writer->commit());
    return out;
}

}  // namespace

TEST_CASE("safetensors: every edge case as expected.json says") {
    const auto expected = read_json(kData + "/edge/expected.json");
    int seen = 0;
    for (const auto& [name, want] : expected.items()) {
        if (!name.starts_with("st_")) continue;
        INFO(name);
        ++seen;
        const auto opened = open(read_file(kData + "/edge/" + name));
        CHECK(static_cast<bool>(opened) == (want["result"] == "ok"));
        if (!opened) continue;
        auto& reader = **opened;
        CHECK(reader.tensors().size() == want["tensors"].size());
        for (std::size_t i = 0; i < reader.tensors().size(); ++i) {
            const auto& info = reader.tensors()[i];
            REQUIRE(want["tensors"].contains(info.name));
            check_facts(want["tensors"][info.name], info, *read_elements(reader, i, 3));
        }
    }
    CHECK(seen >= 17);
}

TEST_CASE("safetensors: real dumps have the values of the manifest and come back byte for byte") {
    const auto manifest = read_json(kData + "/gradients/manifest.json");
    for (const auto* name :
         {"gpt_step600_bf16.safetensors", "gpt_step200_h0_f32.safetensors", "mlp_step5_mixed.safetensors"}) {
        INFO(name);
        const auto reader = std::move(*open(read_file(kData + "/gradients/" + name)));
        const auto& want = manifest[name]["tensors"];
        CHECK(reader->tensors().size() == want.size());
        for (std::size_t i = 0; i < reader->tensors().size(); ++i) {
            const auto& info = reader->tensors()[i];
            check_facts(want[info.name], info, *read_elements(*reader, i, 12345));
        }
        CHECK(reader->finish());
        for (const bool seekable : {true, false}) {
            const auto out = rewrite(*reader, seekable);
            REQUIRE(out);
            const auto again = std::move(*open(*out));
            CHECK(again->origin() == reader->origin());
            REQUIRE(again->tensors().size() == reader->tensors().size());
            for (std::size_t i = 0; i < again->tensors().size(); ++i) {
                CHECK(again->tensors()[i].name == reader->tensors()[i].name);
                CHECK(again->tensors()[i].shape == reader->tensors()[i].shape);
                CHECK(*read_elements(*again, i, 1 << 20) == *read_elements(*reader, i, 1 << 20));
            }
            CHECK(*rewrite(*again, seekable) == *out);
        }
    }
    const auto reader = std::move(*open(read_file(kData + "/gradients/gpt_step600_bf16.safetensors")));
    REQUIRE(reader->origin().find("", "metadata:step"));
    CHECK(*reader->origin().find("", "metadata:step") == "600");
}

TEST_CASE("safetensors: order is that of the data, then of the header") {
    auto header = parse_safetensors(
        file("{" + entry("b", "F32", "[1]", "[4,8]") + "," + entry("e1", "F32", "[0]", "[4,4]") + "," +
                 entry("a", "F32", "[1]", "[0,4]") + "," + entry("e0", "F32", "[7,0]", "[4,4]") + "}",
             8));
    REQUIRE(header);
    std::string order;
    for (const auto& t : header->tensors) order += t.name + " ";
    CHECK(order == "a e1 e0 b ");
    CHECK(header->offsets[3] - header->offsets[0] == 4);
}

TEST_CASE("safetensors: every dtype there and back") {
    std::vector<TensorInfo> infos;
    for (std::uint8_t id = 0; is_dtype(id); ++id)
        if (static_cast<DType>(id) != DType::c128)
            infos.push_back({"t" + std::to_string(id), {3, 2}, static_cast<DType>(id)});
    auto text = print_safetensors(infos, {{"k\"\n", "\xc3\xa9"}});
    REQUIRE(text);
    CHECK(text->size() % 8 == 0);
    for (const auto& t : infos) text->append(6 * size_of(t.dtype), 'x');
    auto header = parse_safetensors(std::as_bytes(std::span(*text)));
    REQUIRE(header);
    REQUIRE(header->tensors.size() == infos.size());
    for (std::size_t i = 0; i < infos.size(); ++i) CHECK(header->tensors[i].dtype == infos[i].dtype);
    CHECK(header->metadata == Metadata{{"k\"\n", "\xc3\xa9"}});
}

TEST_CASE("safetensors: headers that are not of the one shape") {
    const std::string good = entry("a", "F32", "[1]", "[0,4]");
    CHECK(why("{" + good + "}", 4).empty());
    CHECK(why("{" + good + "}  \n", 4).empty());
    CHECK(why("{}", 0).empty());
    refused(" {" + good + "}", 4, "begin with {");
    refused("[" + good + "]", 4, "begin with {");
    refused("", 4, "begin with {");
    refused("{" + good + "} x", 4, "JSON");
    refused("{" + good + ",}", 4, "JSON");
    refused("{" + good + "}\0", 4 + 1, "");
    refused("{" + good + "," + good + "}", 4, "comes twice");
    refused(R"({"a":[1]})", 4, "an array is out of place");
    refused(R"({"a":"x"})", 4, "a string is out of place");
    refused(R"({"a":null})", 4, "null");
    refused(R"({"a":{"b":{}}})", 4, "unknown key b");
    refused(R"({"a":{"dtype":{}}})", 4, "an object is out of place");
    refused(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4, "array");
    refused(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "dtype comes twice");
    refused(R"({"a":{"dtype":"F32","shape":[1]}})", 4, "missing");
    refused(R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4, "a number is out of place");
    refused("{" + entry("a", "F32", "[-1]", "[0,4]") + "}", 4, "negative number -1");
    refused("{" + entry("a", "F32", "[1.0]", "[0,4]") + "}", 4, "1.0 is no 64-bit integer");
    refused("{" + entry("a", "F32", "[1e0]", "[0,4]") + "}", 4, "no 64-bit integer");
    refused("{" + entry("a", "F32", "[18446744073709551616]", "[0,4]") + "}", 4, "no 64-bit integer");
    refused("{" + entry("a", "F32", "[true]", "[0,4]") + "}", 4, "boolean");
    refused("{" + entry("a", "F32", "[\"1\"]", "[0,4]") + "}", 4, "string");
    refused("{" + entry("a", "F32", "1", "[0,4]") + "}", 4, "number");
    for (const auto* at : {"[0]", "[]", "[0,4,4]"})
        refused("{" + entry("a", "F32", "[1]", at) + "}", 4, "data_offsets are not two numbers");
    refused("{" + entry("a", "F4", "[2]", "[0,1]") + "}", 1, "narrower than a byte");
    refused("{" + entry("a", "F6_E2M3", "[4]", "[0,3]") + "}", 3, "narrower than a byte");
    refused("{" + entry("a", "f32", "[1]", "[0,4]") + "}", 4, "dtype f32 is unknown");
    refused("{" + entry("a", "", "[1]", "[0,4]") + "}", 4, "is unknown");
    refused("{\"\xff\":{}}", 4, "JSON");
    refused(R"({"__metadata__":{"a":1}})", 0, "a number is out of place");
    refused(R"({"__metadata__":{"a":"1","a":"2"}})", 0, "metadata key a comes twice");
    refused(R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__ comes twice");
    refused(R"({"__metadata__":"x"})", 0, "string");
    refused(R"({"__metadata__":{"a":{}}})", 0, "object");
}

TEST_CASE("safetensors: layouts that do not tile the data") {
    const auto one = [](const char* shape, const char* at) { return "{" + entry("a", "F32", shape, at) + "}"; };
    refused(one("[1]", "[4,8]"), 8, "belong to no tensor");
    refused(one("[1]", "[0,4]"), 5, "1 bytes after the last");
    refused(one("[1]", "[0,4]"), 3, "3 bytes of data");
    refused(one("[2]", "[0,4]"), 4, "shape needs 8");
    refused(one("[4611686018427387904,4]", "[0,0]"), 0, "2^63");
    refused(one("[]", "[0,0]"), 0, "shape needs 4");
    refused(one("[1]", "[18446744073709551612,0]"), 4, "data");
    refused("{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F32", "[1]", "[4,8]") + "}", 8, "overlap");
    refused("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", "[0,4]") + "}", 4, "overlap");
    refused("{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F32", "[0]", "[4,4]") + "}", 8, "overlap");
    CHECK(why(one("[4611686018427387904,4,0]", "[0,0]"), 0).empty());
}

TEST_CASE("safetensors: every prefix is refused, no flipped bit does harm") {
    std::mt19937 gen(5);
    for (const auto* name : {"st_names.safetensors", "st_fp8.safetensors", "st_escaped_name.safetensors"}) {
        const auto bytes = read_file(kData + "/edge/" + std::string(name));
        for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(open(std::span(bytes).first(size)));
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            auto flipped = bytes;
            flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
            const auto opened = open(flipped);
            if (!opened) continue;
            std::size_t total = 0;  // whatever it says now, the tensors still tile the data
            for (std::size_t i = 0; i < (*opened)->tensors().size(); ++i)
                total += read_elements(**opened, i, 2)->size();
            CHECK(total + 8 + load_as<std::uint64_t>(flipped.data()) == flipped.size());
        }
    }
}

TEST_CASE("safetensors writer: what it cannot write is named") {
    Bytes out;
    Origin origin;
    origin.set("", "metadata:a", "1");
    origin.set("", "metadata:a", "2");  // of a second file in the stream
    const auto fresh = [&] {
        return std::move(*create_safetensors(std::make_unique<MemoryOutput>(out, true), origin, {}));
    };
    const std::vector<TensorInfo> complex = {{"w", {2}, DType::c128}}, latin = {{"\xe9", {2}}},
                                  twice = {{"w", {2}}, {"w", {3}}}, reserved = {{"__metadata__", {1}}};
    CHECK(fresh()->add(complex).error().what == "safetensors has no complex128");
    CHECK(fresh()->add(latin).error().what == "names in safetensors must be UTF-8");
    CHECK(fresh()->add(twice).error().code == Errc::corrupt);
    CHECK(fresh()->add(reserved).error().code == Errc::corrupt);
    const auto writer = fresh();
    REQUIRE(writer->add(std::span(twice).first(1)));
    CHECK(writer->commit().error().code == Errc::truncated);
    REQUIRE(writer->write(0, 0, std::vector<std::byte>(8)));
    REQUIRE(writer->commit());
    auto header = parse_safetensors(out);
    REQUIRE(header);
    CHECK(header->metadata == Metadata{{"a", "1"}});
}
