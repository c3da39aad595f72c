#include "container/stream_check.hpp"

#include <numeric>
#include <string>
#include <tuple>

#include "container/origin_codec.hpp"
#include "container/tensor_codec.hpp"
#include "core/hash.hpp"

namespace gradz {
bool StreamCheck::Before::operator()(std::uint64_t a, std::uint64_t b) const {
    const auto order = [](const TensorHeader& h) { return std::tie(h.key, h.info.step, h.info.worker, h.info.name); };
    return order(state->tensors[a]) < order(state->tensors[b]);
}

void StreamCheck::start(const StreamHead& head) {
    seen_.clear();
    texts_.clear();
    state_ = StreamState{};
    state_.head = head;
    order_ = BlockOrder();
    past_origin_ = false;
}

Result<Done> StreamCheck::record(std::uint8_t type, std::span<const std::byte> body, std::uint64_t record_length) {
    constexpr std::uint8_t kSkippable = 0x80;
    switch (RecordType{type}) {
        case RecordType::origin: return origin(body);
        case RecordType::spec: return spec(body);
        case RecordType::tensors: return tensors(body, record_length);
        case RecordType::block:
        case RecordType::index: return corrupt("record type " + std::to_string(type) + " has no place here");
    }
    if (type & kSkippable) return Done{};
    return Error{Errc::incompatible, "record type " + std::to_string(type) + " is unknown to this reader", ""};
}

Result<Done> StreamCheck::finish() {
    if (state_.tensors.empty()) return corrupt("a stream without tensors");
    return order_.complete(state_);
}

Result<Done> StreamCheck::origin(std::span<const std::byte> body) {
    if (past_origin_) return corrupt("ORIGIN after other records");
    return read_origin(body, budget_, state_.origin);
}

Result<Done> StreamCheck::spec(std::span<const std::byte> body) {
    past_origin_ = true;
    ByteReader in(body);
    GRADZ_TRY(const auto number, in.varint());
    if (number != state_.specs.size())
        return corrupt("spec " + std::to_string(number) + " where spec " + std::to_string(state_.specs.size()) +
                       " is due");
    GRADZ_TRY(auto text, in.text(in.left()));
    GRADZ_TRY([[maybe_unused]] const auto known, bucket_of(text, 1));
    if (!texts_.insert(text).second) return corrupt("spec '" + text + "' has two numbers");
    state_.specs.push_back(std::move(text));
    return Done{};
}

Result<Done> StreamCheck::tensors(std::span<const std::byte> body, std::uint64_t record_length) {
    past_origin_ = true;
    GRADZ_TRY([[maybe_unused]] const auto complete, order_.complete(state_));
    const std::size_t first = state_.tensors.size();
    GRADZ_TRY([[maybe_unused]] const auto read,
              read_tensor_headers(body, budget_, state_.tensors, state_.header_bytes));
    std::uint64_t before = 0;  // bounds a run, and so the memory that a block takes
    for (std::uint64_t i = first; i < state_.tensors.size(); ++i) {
        if (before >= kBatchElements)
            return corrupt("a record of tensors goes on after " + std::to_string(before) + " elements");
        GRADZ_TRY([[maybe_unused]] const auto checked, tensor(i));
        before += state_.elements.back();
    }
    const auto begin = state_.header_bytes.begin() + static_cast<std::ptrdiff_t>(first);
    *begin += record_length - std::accumulate(begin, state_.header_bytes.end(), std::uint64_t{0});
    return Done{};
}

Result<Done> StreamCheck::tensor(std::uint64_t index) {
    const TensorHeader& header = state_.tensors[index];
    const std::string where = "tensor " + header.info.name;
    if (header.key != tensor_key(state_.head.seed, header.info.step, header.info.worker, header.info.name))
        return corrupt("key does not follow from seed, step, worker and name", where);
    if (!seen_.insert(index).second) return corrupt("name, step and worker occur twice", where);
    if (header.spec >= state_.specs.size())
        return corrupt("spec " + std::to_string(header.spec) + " of " + std::to_string(state_.specs.size()), where);
    const std::string& spec = state_.specs[header.spec];
    if (!quantizable(header.info.dtype) && quantizer_of(spec) != "none")
        return corrupt("dtype " + std::string(row_of(header.info.dtype).name) + " under spec '" + spec + "'", where);
    GRADZ_TRY(const auto elements, header.info.numel());
    state_.elements.push_back(elements);
    return Done{};
}

}  // namespace gradz
