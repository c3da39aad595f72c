// Dumps in memory, and what decoding gives back: for tests of lib/pipeline.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/source.hpp"
#include "pipeline/decode.hpp"
#include "pipeline/encode.hpp"
#include "pipeline/scheme.hpp"
#include "support/memory_io.hpp"

namespace gradz::test {

using Bytes = std::vector<std::byte>;

// Tensors in memory that can be read like a mapped file or like a pipe. Holds the codec to
// the contract of core/source.hpp: a chunk that may not be asked for is Errc::io.
class MemoryDump : public TensorSource {
public:
    Access access = Access::random;
    bool again = true;                                  // rereadable()
    std::size_t broken = static_cast<std::size_t>(-1);  // this tensor cannot be read
    std::atomic<std::uint64_t> elements_read = 0, elements_released = 0;
    int finished = 0;

    MemoryDump() = default;

    void add(TensorInfo info, Bytes elements) {
        REQUIRE(*info.numel() * size_of(info.dtype) == elements.size());
        elements.insert(elements.begin(), std::byte{});  // nothing promises an alignment
        infos_.push_back(std::move(info));
        elements_.push_back(std::move(elements));
        opened_.push_back(0);
    }
    template <class T>
    void add(std::string name, DType dtype, const std::vector<T>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        add({std::move(name), {values.size() * sizeof(T) / size_of(dtype)}, dtype}, Bytes(bytes.begin(), bytes.end()));
    }
    std::span<const std::byte> elements(std::size_t tensor) const { return std::span(elements_[tensor]).subspan(1); }

    const std::vector<TensorInfo>& tensors() const override { return infos_; }
    bool rereadable() const override { return again; }
    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override {
        if (opened_[index]++ > 0 && !again) return Error{Errc::io, "read twice", ""};
        return std::unique_ptr<ChunkSource>(std::make_unique<Chunks>(*this, index));
    }
    Result<Done> finish() override {
        ++finished;
        return Done{};
    }

private:
    class Chunks : public ChunkSource {
    public:
        Chunks(MemoryDump& dump, std::size_t tensor) : dump_(dump), tensor_(tensor) {}

        Access access() const override { return dump_.access; }
        Result<std::span<const std::byte>> read(Chunk chunk, Bytes& buffer) override {
            const std::uint64_t width = size_of(dump_.infos_[tensor_].dtype);
            const auto all = dump_.elements(tensor_);
            if (tensor_ == dump_.broken) return Error{Errc::io, "cannot be read", ""};
            if (chunk.first * width > all.size() || chunk.count * width > all.size() - chunk.first * width)
                return Error{Errc::io, "outside the tensor", ""};
            dump_.elements_read += chunk.count;
            const auto bytes = all.subspan(chunk.first * width, chunk.count * width);
            if (access() == Access::random) return bytes;
            if (chunk.first != next_) return Error{Errc::io, "not in order", ""};
            next_ += chunk.count;
            buffer.resize(std::max(buffer.size(), bytes.size()));
            std::copy(bytes.begin(), bytes.end(), buffer.begin());
            return std::span<const std::byte>(buffer.data(), bytes.size());
        }
        Result<Done> release(Chunk chunk) override {
            dump_.elements_released += chunk.count;
            return Done{};
        }

    private:
        MemoryDump& dump_;
        std::size_t tensor_;
        std::uint64_t next_ = 0;
    };

    std::vector<TensorInfo> infos_;
    std::vector<Bytes> elements_;
    std::vector<int> opened_;
};

// What decode_streams() tells, all streams one after another.
class Collected : public DecodeSink {
public:
    std::vector<TensorHeader> headers;
    std::vector<Bytes> elements;
    int streams = 0, ended = 0;

    Result<Done> begin(const StreamHead&, const Origin&) override {
        base_ = headers.size();
        ++streams;
        return Done{};
    }
    Result<Done> add(std::span<const TensorHeader> more) override {
        for (const auto& h : more) {
            headers.push_back(h);
            elements.emplace_back();
        }
        return Done{};
    }
    bool wants(std::uint64_t) const override { return true; }
    Result<Done> write(std::uint64_t tensor, std::uint64_t first, std::span<const std::byte> bytes) override {
        Bytes& to = elements[base_ + tensor];
        if (first * size_of(headers[base_ + tensor].info.dtype) != to.size())
            return Error{Errc::io, "elements came out of order", ""};
        to.insert(to.end(), bytes.begin(), bytes.end());
        return Done{};
    }
    Result<Done> end() override {
        ++ended;
        return Done{};
    }

private:
    std::size_t base_ = 0;
};

struct Encoded {
    Bytes bytes;
    DumpReport report;
};

inline EncodeOptions options_of(const std::string& spec, std::uint64_t seed = 0, int threads = 2) {
    EncodeOptions options;
    auto resolved = resolve_spec(spec);
    if (!resolved) FAIL(resolved.error().what);
    options.spec = *resolved;
    options.seed = seed;
    options.threads = threads;
    options.stats = StatsLevel::full;
    return options;
}

inline Encoded encoded(TensorSource& dump, const EncodeOptions& options) {
    MemorySink sink;
    auto report = encode_dump(dump, {}, options, sink);
    if (!report) FAIL(report.error().what << " (" << report.error().where << ")");
    return {std::move(sink.bytes), std::move(*report)};
}

inline Result<Collected> try_decode(std::span<const std::byte> bytes, int threads = 2) {
    MemorySource source(bytes, false);
    Collected out;
    GRADZ_TRY([[maybe_unused]] auto done, decode_streams(source, out, threads));
    return out;
}

inline Collected decoded(std::span<const std::byte> bytes, int threads = 2) {
    auto out = try_decode(bytes, threads);
    if (!out) FAIL(out.error().what << " (" << out.error().where << ")");
    return std::move(*out);
}

inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace gradz::test
