// A stream that can be read out of order, as a dump: its tensors, and any of their elements.
#pragma once

#include <memory>
#include <vector>

#include "container/reader.hpp"
#include "core/byte_io.hpp"
#include "core/source.hpp"

namespace gradz {

class StreamSource : public TensorSource {
public:
    // One stream of `source` as read_index() found it; both are shared with open chunk sources.
    // Only blocks that are asked for are read, and each is verified when it is.
    static std::unique_ptr<StreamSource> make(std::shared_ptr<ByteSource> source, IndexedStream stream);

    virtual const IndexedStream& stream() const = 0;
};

}  // namespace gradz
