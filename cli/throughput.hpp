// How fast dumps are encoded to memory and decoded from it, with what comes back checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "dump.hpp"
#include "pipeline/encode.hpp"
#include "quant/spec.hpp"
#include "stats/figures.hpp"

namespace gradz::cli {

// Of several runs, in 10^9 bytes of input a second.
struct Rate {
    double median = 0, min = 0, max = 0;
};

struct Throughput {
    std::uint64_t tensors = 0, container_bytes = 0;
    Bytes bytes;  // of all streams, what belongs to no tensor included
    Sums sums;    // at the level of statistics asked for, at least StatsLevel::error
    Rate encode, decode;
};

struct ThroughputOptions {
    EncodeOptions encode;  // all but spec
    int runs = 5;          // timed ones, after one that is not
    std::function<void(std::uint64_t input_bytes)> progress = [](std::uint64_t) {};  // after each pass over the input
};

// Dumps that can be read again and again at the speed of memory.
class Workload {
public:
    // What lies flat in a file stays mapped; else it is read into memory once, and Errc::unsupported names --memory
    // if the dumps need more than `memory` bytes together.
    static Result<Workload> make(std::vector<Dump> dumps, std::uint64_t memory);

    std::uint64_t bytes() const { return bytes_; }  // elements times their size

    // Passes over the input that one measure() makes; copy_rate() makes runs + 1.
    static std::uint64_t passes(const ThroughputOptions& options);

    // Every run gives the same streams, or it is Errc::corrupt; so it is if they decode to other values at the end than
    // at the beginning, or, where the quantizer is `none`, than those of the dumps.
    Result<Throughput> measure(const Spec& spec, const ThroughputOptions& options);

    // memcpy of the same bytes on as many threads, into at most 256 MiB, which are written again and again.
    Result<Rate> copy_rate(const ThroughputOptions& options);

private:
    Result<std::vector<DumpReport>> encode(const EncodeOptions& options, std::vector<std::byte>& out);
    Result<Done> time_runs(const EncodeOptions& how, const ThroughputOptions& options, std::vector<std::byte>& streams,
                           Throughput& out);
    Result<std::string> digest_input(int threads);

    std::vector<Dump> dumps_;
    std::vector<std::unique_ptr<TensorSource>> held_;  // null where dumps_[i].source is mapped
    std::uint64_t bytes_ = 0;
};

}  // namespace gradz::cli
