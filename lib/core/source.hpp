// Where tensors come from: what the codec asks of a dump, and every reader provides.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/tensor.hpp"

namespace gradz {

enum class Access : std::uint8_t {
    random,   // any chunk, in any order, by several workers at once
    forward,  // every chunk once, in ascending order without gaps, one call at a time
};

// The elements of one tensor, little-endian in its dtype, in C order whatever the file has.
class ChunkSource {
public:
    virtual ~ChunkSource() = default;

    virtual Access access() const = 0;

    // The bytes of elements [chunk.first, chunk.first + chunk.count), which lie inside the
    // tensor; no other alignment is promised by the caller, and none of the result. Mapped
    // memory where the bytes lie flat, else decoded into `buffer`, which is resized but
    // never shrunk. Valid until the buffer is used again or the source dies. Fails with
    // Errc::truncated, corrupt or io; `where` names what the reader knows beyond the file.
    virtual Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) = 0;

    // The caller has used the bytes of `chunk` and will not touch them again: mapped pages
    // may be given back. Errc::io if the file shrank under the mapping meanwhile, so that
    // what was seen may be zeros. Called by several workers at once.
    virtual Result<Done> release(Chunk) { return Done{}; }
};

// A dump: its tensors, known before any element is read.
class TensorSource {
public:
    virtual ~TensorSource() = default;

    // No two agree in name, step and worker; numel() has been checked. In file order.
    virtual const std::vector<TensorInfo>& tensors() const = 0;

    // The elements of tensors()[index]; must not outlive this object. Tensors are opened in
    // ascending order, and only one with Access::forward is in use at a time.
    virtual Result<std::unique_ptr<ChunkSource>> open(std::size_t index) = 0;

    // Whether open() may be called once more for a tensor that was read already, as the
    // two passes of whole-tensor schemes need; false for a pipe.
    virtual bool rereadable() const = 0;

    // After the last element: Errc::io if the file changed while it was read.
    virtual Result<Done> finish() { return Done{}; }
};

}  // namespace gradz
