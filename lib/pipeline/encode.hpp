// A dump into a stream, in one pass over its elements on all threads: neither the bytes nor
// the statistics depend on how many there are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "container/writer.hpp"
#include "core/byte_io.hpp"
#include "core/error.hpp"
#include "core/origin.hpp"
#include "core/source.hpp"
#include "pipeline/device.hpp"
#include "pipeline/nonfinite.hpp"
#include "quant/spec.hpp"
#include "stats/figures.hpp"
#include "stats/sums.hpp"

namespace gradz {

struct EncodeOptions {
    Spec spec;                                      // as resolve_spec() returns it
    std::uint64_t seed = 0;                         // with step, worker and name it keys the random words
    int threads = 0;                                // 0: all that affinity and cgroup allow
    std::uint64_t memory = std::uint64_t{1} << 30;  // for a tensor that must be held whole
    std::uint64_t min_elements = 0;                 // tensors with fewer stay lossless
    NonFinite nonfinite = NonFinite::keep;
    StatsLevel stats = StatsLevel::error;
    const Device* device = &cpu_device();                     // outlives the call
    std::function<void(std::uint64_t input_bytes)> progress;  // after each block; on any thread, one at a time
};

struct TensorReport {
    TensorInfo info;
    std::string spec;            // canonical
    std::uint64_t rule = 0;      // of TensorHeader
    std::uint32_t alphabet = 0;  // 0: lossless
    bool unbiased = false;
    Bytes bytes;  // its share of records
    Sums sums;    // as far as EncodeOptions::stats asked
};

struct DumpReport {
    std::vector<TensorReport> tensors;
    std::uint64_t container_bytes = 0;  // with the tensors' output bytes: all of the stream
};

// Encodes source.tensors() into one stream; calls source.finish() before INDEX is written.
// Fails with the error of `source` or `sink`, Errc::nonfinite under that policy,
// Errc::invalid_argument for no tensor at all, or Errc::unsupported naming --memory where a
// pipe must be read twice and does not fit.
Result<DumpReport> encode_dump(TensorSource& source, const Origin& origin, const EncodeOptions& options,
                               ByteSink& sink);

}  // namespace gradz
