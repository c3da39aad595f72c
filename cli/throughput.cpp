#include "throughput.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/hash.hpp"
#include "core/parallel.hpp"
#include "pipeline/copy.hpp"
#include "pipeline/decode.hpp"
#include "pipeline/held_source.hpp"
#include "version.hpp"

namespace gradz::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kCopyWindow = std::uint64_t{256} << 20;  // beyond any cache, below any memory

class MemorySink : public ByteSink {
public:
    explicit MemorySink(std::vector<std::byte>& bytes) : bytes_(bytes) {}
    Result<Done> write(std::span<const std::byte> more) override {
        bytes_.insert(bytes_.end(), more.begin(), more.end());
        return Done{};
    }

private:
    std::vector<std::byte>& bytes_;
};

class MemorySource : public ByteSource {
public:
    explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
    Result<std::size_t> read(std::span<std::byte> into) override {
        const std::size_t n = std::min(into.size(), bytes_.size() - at_);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), n, into.begin());
        at_ += n;
        return n;
    }
    std::optional<std::uint64_t> size() const override { return bytes_.size(); }
    Result<Done> read_at(std::uint64_t offset, std::span<std::byte> into) override {
        if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
            return Error{Errc::truncated, "stream ends at byte " + std::to_string(bytes_.size()), ""};
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return Done{};
    }

private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

// Takes all elements; a digest, if given, sees them in order.
class Elements : public DecodeSink {
public:
    explicit Elements(Digest* digest) : digest_(digest) {}
    Result<Done> add(std::span<const TensorHeader>) override { return Done{}; }
    bool wants(std::uint64_t) const override { return true; }
    Result<Done> write(std::uint64_t, std::uint64_t, std::span<const std::byte> bytes) override {
        if (digest_) digest_->update(bytes);
        return Done{};
    }

private:
    Digest* digest_;
};

Result<std::string> decoded_digest(std::span<const std::byte> streams, int threads,
                                   const Device& device = cpu_device()) {
    MemorySource source(streams);
    Digest digest;
    Elements sink(&digest);
    GRADZ_TRY([[maybe_unused]] auto decoded, decode_streams(source, sink, threads, nullptr, device));
    return digest.hex();
}

// Whether elements come as they lie in mapped memory: then the buffer stays empty.
Result<bool> lies_flat(TensorSource& source) {
    if (!source.rereadable()) return false;
    for (std::size_t t = 0; t < source.tensors().size(); ++t) {
        GRADZ_TRY(const auto elements, source.tensors()[t].numel());
        GRADZ_TRY(const auto chunks, source.open(t));
        if (chunks->access() != Access::random) return false;
        std::vector<std::byte> buffer;
        if (elements == 0) continue;
        GRADZ_TRY([[maybe_unused]] auto first, chunks->read({0, 1}, buffer));
        if (!buffer.empty()) return false;
    }
    return true;
}

Result<std::uint64_t> size_in_bytes(const TensorSource& source) {
    std::uint64_t bytes = 0;
    for (const auto& info : source.tensors()) {
        GRADZ_TRY(const auto elements, info.numel());
        bytes += elements * size_of(info.dtype);
    }
    return bytes;
}

struct CopyUnit : WorkUnit {
    std::shared_ptr<ChunkSource> source;
    Chunk chunk{};
    std::size_t width = 0;
    std::uint64_t at = 0;  // in the input
    std::vector<std::byte> buffer;
};

class Copy : public OrderedWork {
public:
    // window: whole chunks, written round and round.
    Copy(TensorSource& source, std::span<std::byte> window) : source_(source), window_(window) {}

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit>) override {
        while (!chunks_ || first_ == elements_) {
            if (tensor_ == source_.tensors().size()) return std::unique_ptr<WorkUnit>{};
            GRADZ_TRY(elements_, source_.tensors()[tensor_].numel());
            GRADZ_TRY(chunks_, source_.open(tensor_));
            width_ = size_of(source_.tensors()[tensor_++].dtype);
            first_ = 0;
        }
        auto unit = std::make_unique<CopyUnit>();
        unit->source = chunks_, unit->width = width_, unit->at = at_;
        unit->chunk = {first_, std::min(kChunkTarget, elements_ - first_)};
        first_ += unit->chunk.count, at_ += unit->chunk.count * width_;
        return std::unique_ptr<WorkUnit>(std::move(unit));
    }
    Result<Done> work(WorkUnit& base) override {
        auto& unit = static_cast<CopyUnit&>(base);
        GRADZ_TRY(const auto bytes, unit.source->read(unit.chunk, unit.buffer));
        const std::uint64_t place = unit.at % window_.size();
        const std::size_t ahead = std::min<std::size_t>(bytes.size(), window_.size() - place);
        std::memcpy(window_.data() + place, bytes.data(), ahead);
        std::memcpy(window_.data(), bytes.data() + ahead, bytes.size() - ahead);
        return unit.source->release(unit.chunk);
    }
    Result<Done> deliver(WorkUnit&) override { return Done{}; }

private:
    TensorSource& source_;
    std::span<std::byte> window_;
    std::shared_ptr<ChunkSource> chunks_;
    std::size_t tensor_ = 0, width_ = 0;
    std::uint64_t first_ = 0, elements_ = 0, at_ = 0;
};

Rate rate_of(std::vector<double> seconds, std::uint64_t bytes) {
    std::sort(seconds.begin(), seconds.end());
    const std::size_t middle = seconds.size() / 2;
    const double median = seconds.size() % 2 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
    const double gigabytes = static_cast<double>(bytes) * 1e-9;
    return {gigabytes / median, gigabytes / seconds.back(), gigabytes / seconds.front()};
}

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void add_report(const DumpReport& dump, Throughput& total) {
    for (const auto& t : dump.tensors) total.sums.add_tensor(t.sums), total.bytes.add(t.bytes);
    total.tensors += dump.tensors.size();
    total.container_bytes += dump.container_bytes, total.bytes.output += dump.container_bytes;
}

}  // namespace

Result<Workload> Workload::make(std::vector<Dump> dumps, std::uint64_t memory) {
    Workload out;
    std::uint64_t left = memory;
    for (auto& dump : dumps) {
        GRADZ_TRY(const auto bytes, size_in_bytes(*dump.source));
        GRADZ_TRY(const auto flat, lies_flat(*dump.source));
        std::unique_ptr<TensorSource> held;
        if (!flat) {
            if (bytes > left)
                return Error{
                    Errc::unsupported,
                    "what is not mapped is held, and does not fit " + std::to_string(memory) + " bytes: raise --memory",
                    dump.file};
            left -= bytes;
            GRADZ_TRY(held, hold(*dump.source, bytes));
            GRADZ_TRY([[maybe_unused]] auto unchanged, dump.source->finish());
        }
        dump.origin.set("", "writer", std::string("gradz ") + kVersion);  // as compress does: the same bytes
        out.bytes_ += bytes;
        out.held_.push_back(std::move(held));
        out.dumps_.push_back(std::move(dump));
    }
    return out;
}

Result<std::vector<DumpReport>> Workload::encode(const EncodeOptions& options, std::vector<std::byte>& out) {
    out.clear();  // keeps its pages, so that only the first run pays for them
    MemorySink sink(out);
    std::vector<DumpReport> reports;
    for (std::size_t i = 0; i < dumps_.size(); ++i) {
        TensorSource& source = held_[i] ? *held_[i] : *dumps_[i].source;
        auto encoded = encode_dump(source, dumps_[i].origin, options, sink);
        if (!encoded) {
            encoded.error().where += (encoded.error().where.empty() ? "" : " < ") + dumps_[i].file;
            return encoded.error();
        }
        reports.push_back(std::move(*encoded));
    }
    return reports;
}

Result<std::string> Workload::digest_input(int threads) {
    Digest digest;
    const ElementSink sink = [&](std::size_t, std::uint64_t, std::span<const std::byte> bytes) -> Result<Done> {
        digest.update(bytes);
        return Done{};
    };
    for (std::size_t i = 0; i < dumps_.size(); ++i) {
        TensorSource& source = held_[i] ? *held_[i] : *dumps_[i].source;
        GRADZ_TRY([[maybe_unused]] auto copied, copy_elements(source, {}, sink, threads));
    }
    return digest.hex();
}

std::uint64_t Workload::passes(const ThroughputOptions& options) {
    return 2 * static_cast<std::uint64_t>(options.runs) + 3;
}

Result<Throughput> Workload::measure(const Spec& spec, const ThroughputOptions& options) {
    Throughput out;
    EncodeOptions how = options.encode;
    how.spec = spec;
    how.stats = std::max(options.encode.stats, StatsLevel::error);
    std::vector<std::byte> streams;
    GRADZ_TRY(const auto reports, encode(how, streams));  // the warm-up, which measures errors too
    for (const auto& report : reports) add_report(report, out);
    options.progress(bytes_);
    GRADZ_TRY(const auto expected, decoded_digest(streams, how.threads));
    options.progress(bytes_);
    how.stats = options.encode.stats;
    GRADZ_TRY([[maybe_unused]] auto timed, time_runs(how, options, streams, out));
    GRADZ_TRY(const auto found, decoded_digest(streams, how.threads, *how.device));
    options.progress(bytes_);
    bool same = found == expected;
    if (spec.front().name == "none") {
        GRADZ_TRY(const auto input, digest_input(how.threads));
        same = same && found == input;
    }
    if (!same) return Error{Errc::corrupt, "what comes back is not what went in", print_spec(spec)};
    return out;
}

Result<Done> Workload::time_runs(const EncodeOptions& how, const ThroughputOptions& options,
                                 std::vector<std::byte>& streams, Throughput& out) {
    const std::uint64_t hash = xxh3_64(streams);
    std::vector<double> encode_seconds, decode_seconds;
    for (int run = 0; run < options.runs; ++run) {
        auto begin = Clock::now();
        GRADZ_TRY([[maybe_unused]] const auto again, encode(how, streams));
        encode_seconds.push_back(since(begin));
        if (xxh3_64(streams) != hash) return Error{Errc::corrupt, "another run gave other bytes", print_spec(how.spec)};
        options.progress(bytes_);
        MemorySource source(streams);
        Elements sink(nullptr);
        begin = Clock::now();
        GRADZ_TRY([[maybe_unused]] const auto decoded, decode_streams(source, sink, how.threads, nullptr, *how.device));
        decode_seconds.push_back(since(begin));
        options.progress(bytes_);
    }
    out.encode = rate_of(std::move(encode_seconds), bytes_);
    out.decode = rate_of(std::move(decode_seconds), bytes_);
    return Done{};
}

Result<Rate> Workload::copy_rate(const ThroughputOptions& options) {
    if (bytes_ == 0) return Rate{};
    // At least one chunk of the widest elements (complex128), so that no chunk overlaps itself.
    std::vector<std::byte> window(std::max(std::min(bytes_, kCopyWindow), kChunkTarget * 16));
    std::vector<double> seconds;
    for (int run = 0; run <= options.runs; ++run) {
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < dumps_.size(); ++i) {
            Copy copy(held_[i] ? *held_[i] : *dumps_[i].source, window);
            GRADZ_TRY([[maybe_unused]] auto copied, run_ordered(copy, options.encode.threads));
        }
        if (run > 0) seconds.push_back(since(begin));
        options.progress(bytes_);
    }
    return rate_of(std::move(seconds), bytes_);
}

}  // namespace gradz::cli
