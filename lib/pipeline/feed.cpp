#include "pipeline/feed.hpp"

#include <algorithm>
#include <cassert>

namespace gradz {

Error Feed::named(Error error, std::size_t tensor) const {
    const std::string place = "tensor " + source_.tensors()[tensor].name;
    if (error.where.find(place) == std::string::npos) error.where += (error.where.empty() ? "" : " < ") + place;
    return error;
}

Result<Done> Feed::begin(const Part& part, Load& load) {
    if (tensor_ != part.tensor) {
        open_.reset();  // before the next one: a forward reader has one place only
        auto opened = source_.open(part.tensor);
        if (!opened) return named(std::move(opened.error()), part.tensor);
        open_ = std::move(*opened);
        tensor_ = part.tensor;
        at_ = 0;
    }
    load.part_ = part;
    load.source_ = open_;
    load.loaded_ = false;
    if (open_->access() == Access::random) return Done{};
    GRADZ_TRY([[maybe_unused]] auto skipped, skip_to(part.first, load));
    at_ = part.first + part.count;
    return end(load);
}

// A slice begins anywhere, but a forward source has no gaps.
Result<Done> Feed::skip_to(std::uint64_t element, Load& load) {
    while (at_ < element) {
        const Chunk gap{at_, std::min(kChunkTarget, element - at_)};
        auto read = open_->read(gap, load.buffer_);
        if (!read) return named(std::move(read.error()), tensor_);
        auto released = open_->release(gap);
        if (!released) return named(std::move(released.error()), tensor_);
        at_ += gap.count;
    }
    return Done{};
}

Result<Done> Feed::end(Load& load) const {
    if (load.loaded_) return Done{};
    auto bytes = load.source_->read({load.part_.first, load.part_.count}, load.buffer_);
    if (!bytes) return named(std::move(bytes.error()), load.part_.tensor);
    assert(bytes->size() == load.part_.count * size_of(source_.tensors()[load.part_.tensor].dtype));
    load.bytes_ = *bytes;
    load.loaded_ = true;
    return Done{};
}

Result<Done> Feed::release(Load& load) const {
    auto released = load.source_->release({load.part_.first, load.part_.count});
    load.source_.reset();
    if (!released) return named(std::move(released.error()), load.part_.tensor);
    return Done{};
}

}  // namespace gradz
