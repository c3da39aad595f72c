// Elements of a TensorSource for a parallel loop: forward-only sources are read in order
// where the loop takes units, all others by the workers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/source.hpp"
#include "pipeline/layout.hpp"

namespace gradz {

// Some elements on their way to a worker.
class Load {
public:
    // bytes() after Feed::begin() and end(); valid until release().
    std::span<const std::byte> bytes() const { return bytes_; }
    const Part& part() const { return part_; }

private:
    friend class Feed;
    Part part_{};
    std::shared_ptr<ChunkSource> source_;
    std::vector<std::byte> buffer_;
    std::span<const std::byte> bytes_;
    bool loaded_ = false;
};

class Feed {
public:
    explicit Feed(TensorSource& source) : source_(source) {}

    // In order, one call at a time: opens the tensor if it is not open yet, and reads if it
    // must be read forward, also what lies before the part. The buffer of `load` is reused.
    Result<Done> begin(const Part& part, Load& load);

    // In parallel: bytes() are there afterwards. `where` of an error names the tensor.
    Result<Done> end(Load& load) const;

    // In parallel, after the last use of bytes().
    Result<Done> release(Load& load) const;

    // Errors of sources know their place in the file; this adds the tensor, once.
    Error named(Error error, std::size_t tensor) const;

private:
    Result<Done> skip_to(std::uint64_t element, Load& load);

    TensorSource& source_;
    std::shared_ptr<ChunkSource> open_;
    std::size_t tensor_ = static_cast<std::size_t>(-1);
    std::uint64_t at_ = 0;  // the element that a forward source reads next
};

}  // namespace gradz
