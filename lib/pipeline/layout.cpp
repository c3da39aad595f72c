#include "pipeline/layout.hpp"

#include <algorithm>

namespace gradz {

std::span<const Planned> Layout::next_batch() {
    begin_ = at_ = end_;
    element_ = 0;
    std::uint64_t elements = 0;
    while (end_ < tensors_.size() && end_ - begin_ < kBatchTensors && elements < kBatchElements)
        elements += tensors_[end_++].elements;
    return tensors_.subspan(begin_, end_ - begin_);
}

bool Layout::next_block(BlockPlan& block) {
    while (at_ < end_ && tensors_[at_].elements == 0) ++at_;
    if (at_ == end_) return false;
    block.parts.clear();
    const Planned& first = tensors_[at_];
    if (first.elements >= kSmallTensor) {
        const std::uint64_t chunk = first.scheme->chunk(first.elements);
        block.chunk = element_ / chunk;
        block.tensors = 1;
        block.parts.push_back({at_, element_, std::min(chunk, first.elements - element_)});
        element_ += block.parts[0].count;
        if (element_ == first.elements) ++at_, element_ = 0;
        return true;
    }
    const std::size_t begin = at_;
    for (; at_ < end_ && tensors_[at_].elements < kSmallTensor && tensors_[at_].scheme == first.scheme &&
           tensors_[at_].info->dtype == first.info->dtype;
         ++at_)
        if (tensors_[at_].elements > 0) block.parts.push_back({at_, 0, tensors_[at_].elements});
    block.chunk = 0;
    block.tensors = at_ - begin;
    return true;
}

}  // namespace gradz
