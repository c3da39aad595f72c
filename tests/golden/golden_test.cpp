// Streams of every released format decode to what an independent decoder made of them, are
// refused where they must be, and are written again byte for byte.
#include <doctest/doctest.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "formats/tensor_reader.hpp"
#include "golden/describe.hpp"
#include "support/dumps.hpp"
#include "support/files.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

const fs::path kTests = kData.parent_path(), kGolden = kTests / "golden";

std::vector<fs::path> streams_in(const fs::path& folder) {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".grz") out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

std::string text_beside(fs::path stream) { return slurp(stream.replace_extension(".txt")); }

// A line of recipes.txt.
struct Recipe {
    std::string name, spec, include = "*";
    std::vector<std::string> inputs;
    EncodeOptions encode;
    formats::ReadOptions read;

    explicit Recipe(const std::string& line) {
        std::istringstream words(line);
        words >> name >> spec;
        encode = options_of(spec);
        for (std::string word; words >> word;) word.starts_with("--") ? option(word) : inputs.push_back(word);
    }

    bool by_library() const { return spec.find("+fixed") == spec.npos && spec.find("+elias") == spec.npos; }

private:
    void option(const std::string& word) {
        const std::string key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
        std::uint64_t number = 0;
        std::from_chars(value.data(), value.data() + value.size(), number);
        if (key == "--include") include = value;
        else if (key == "--seed") encode.seed = number;
        else if (key == "--step") read.step = number;
        else if (key == "--worker") read.worker = number;
        else if (key == "--min-elements") encode.min_elements = number;
        else FAIL("no option " << word);
    }
};

std::vector<Recipe> recipes() {
    std::vector<Recipe> out;
    std::istringstream lines(slurp(kGolden / "recipes.txt"));
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with("#")) out.emplace_back(line);
    return out;
}

// The tensors of a dump that a recipe asks for.
class Included : public TensorSource {
public:
    Included(TensorSource& source, const std::string& glob) : source_(source) {
        for (std::size_t i = 0; i < source.tensors().size(); ++i) {
            const TensorInfo& info = source.tensors()[i];
            if (fnmatch(glob.c_str(), info.name.c_str(), 0) != 0) continue;
            infos_.push_back(info);
            indices_.push_back(i);
        }
    }
    const std::vector<TensorInfo>& tensors() const override { return infos_; }
    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override { return source_.open(indices_[index]); }
    bool rereadable() const override { return source_.rereadable(); }
    Result<Done> finish() override { return source_.finish(); }

private:
    TensorSource& source_;
    std::vector<TensorInfo> infos_;
    std::vector<std::size_t> indices_;
};

test::Bytes encode(const Recipe& recipe) {
    MemorySink sink;
    for (const auto& input : recipe.inputs) {
        CAPTURE(input);
        auto reader = must(formats::open_tensors(kTests / input, recipe.read));
        Included included(*reader, recipe.include);
        must(encode_dump(included, {}, recipe.encode, sink));
    }
    return std::move(sink.bytes);
}

// Of all that does not depend on where the tensors came from.
std::string digest_of(std::span<const std::byte> bytes) {
    MemorySource source(bytes);
    Collected ignored;
    Digest digest;
    must(decode_streams(source, ignored, 2, &digest));
    return digest.hex();
}

}  // namespace

TEST_CASE("golden streams hold what an independent decoder found in them") {
    const auto streams = streams_in(kGolden / "1.0");
    CHECK(streams.size() >= recipes().size());
    for (const auto& path : streams)
        for (const int threads : {1, 3}) {
            CAPTURE(path.filename().string());
            CAPTURE(threads);
            const std::string bytes = slurp(path);
            const auto lines = describe(bytes_of(bytes), threads);
            REQUIRE_MESSAGE(lines, said(lines.error()));
            CHECK(*lines == text_beside(path));
        }
}

TEST_CASE("golden errors are refused with their text, on any number of threads") {
    const auto streams = streams_in(kGolden / "errors" / "1.0");
    CHECK(streams.size() >= 140);
    for (const auto& path : streams)
        for (const int threads : {1, 3}) {
            CAPTURE(path.filename().string());
            CAPTURE(threads);
            const std::string bytes = slurp(path);
            const auto decoded = try_decode(bytes_of(bytes), threads);
            REQUIRE_FALSE(decoded);
            CHECK(said(decoded.error()) + '\n' == text_beside(path));
        }
}

TEST_CASE("what fixed and elias wrote is written again byte for byte") {
    int encoded = 0;
    for (const auto& recipe : recipes()) {
        if (recipe.by_library()) continue;  // bytes of zstd and rans change with their libraries
        CAPTURE(recipe.name);
        const std::string golden = slurp(kGolden / "1.0" / (recipe.name + ".grz"));
        CHECK(digest_of(encode(recipe)) == digest_of(bytes_of(golden)));
        ++encoded;
    }
    CHECK(encoded >= 30);
}
