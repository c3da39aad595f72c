// tests/golden: streams of every released format decode to what an independent decoder made
// of them, and damaged ones are refused with the text beside them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "pipeline/decode.hpp"
#include "support/memory_io.hpp"

using namespace gradz;

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::byte> bytes_of(const fs::path& path) {
    const std::string text = text_of(path);
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

std::vector<fs::path> streams_in(const fs::path& folder) {
    std::vector<fs::path> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".grz") out.push_back(entry.path());
    return out;
}

// Dtype and hash of every tensor in order, with what tells it apart.
class Hashes : public DecodeSink {
public:
    std::vector<std::string> lines;

    Result<Done> add(std::span<const TensorHeader> more) override {
        headers_.insert(headers_.end(), more.begin(), more.end());
        bytes_.resize(headers_.size());
        return Done{};
    }
    bool wants(std::uint64_t) const override { return true; }
    Result<Done> write(std::uint64_t tensor, std::uint64_t, std::span<const std::byte> bytes) override {
        bytes_[tensor].insert(bytes_[tensor].end(), bytes.begin(), bytes.end());
        return Done{};
    }
    Result<Done> end() override {
        for (std::size_t t = 0; t < headers_.size(); ++t) {
            const TensorInfo& info = headers_[t].info;
            std::ostringstream line;
            line << row_of(info.dtype).name << ' ' << std::hex << xxh3_64(bytes_[t]) << std::dec << ' ' << info.step
                 << ' ' << info.worker;
            lines.push_back(line.str());
        }
        headers_.clear(), bytes_.clear();
        return Done{};
    }

private:
    std::vector<TensorHeader> headers_;
    std::vector<std::vector<std::byte>> bytes_;
};

// name \t dtype \t shape \t spec \t hash \t step \t worker
std::vector<std::string> expected(const fs::path& text) {
    std::vector<std::string> out;
    std::istringstream lines(text_of(text));
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string> cells;
        std::istringstream columns(line);
        for (std::string cell; std::getline(columns, cell, '\t');) cells.push_back(cell);
        REQUIRE(cells.size() == 7);
        std::string hash = cells[4];
        hash.erase(0, std::min(hash.find_first_not_of('0'), hash.size() - 1));
        out.push_back(cells[1] + ' ' + hash + ' ' + cells[5] + ' ' + cells[6]);
    }
    return out;
}

const fs::path kGolden = fs::path(GRADZ_TEST_DATA).parent_path() / "golden";

}  // namespace

TEST_CASE("golden streams decode to what they did when they were made") {
    const auto streams = streams_in(kGolden / "1.0");
    CHECK(streams.size() >= 29);
    for (const auto& path : streams)
        for (int threads : {1, 3}) {
            CAPTURE(path.string());
            const auto bytes = bytes_of(path);
            test::MemorySource source(bytes, threads == 1);
            Hashes hashes;
            auto decoded = decode_streams(source, hashes, threads);
            REQUIRE_MESSAGE(decoded, decoded.error().what);
            CHECK(hashes.lines == expected(fs::path(path).replace_extension(".txt")));
        }
}

TEST_CASE("golden errors are refused with their text") {
    const auto streams = streams_in(kGolden / "errors");
    CHECK(streams.size() >= 15);
    for (const auto& path : streams) {
        CAPTURE(path.string());
        const auto bytes = bytes_of(path);
        test::MemorySource source(bytes);
        Hashes hashes;
        auto decoded = decode_streams(source, hashes, 2);
        REQUIRE_FALSE(decoded);
        CHECK(decoded.error().what + '\n' == text_of(fs::path(path).replace_extension(".txt")));
    }
}
