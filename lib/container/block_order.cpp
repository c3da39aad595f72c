#include "container/block_order.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gradz {
namespace {

constexpr std::uint64_t kByKey = 0;
constexpr std::pair<std::string_view, std::uint64_t> kBuckets[] = {
    {"nuqsgd", kByKey}, {"qsgd", kByKey}, {"qsgdinf", kByKey}, {"fp16", 512}, {"bf16", 512}, {"none", kChunkTarget},
};

Error bad_bucket(const std::string& spec) { return {Errc::corrupt, "spec '" + spec + "' has no valid bucket", ""}; }

// The value of `bucket` in "name:key=value,key=value"; nothing unless it stands there once.
std::optional<std::string_view> bucket_text(std::string_view stage) {
    constexpr std::string_view kKey = "bucket=";
    std::optional<std::string_view> found;
    std::size_t at = stage.find(':');
    while (at != stage.npos) {
        const std::string_view rest = stage.substr(at + 1);
        const std::size_t comma = rest.find(',');
        if (rest.starts_with(kKey)) {
            if (found) return std::nullopt;
            found = rest.substr(0, comma).substr(kKey.size());
        }
        at = comma == rest.npos ? stage.npos : at + 1 + comma;
    }
    return found;
}

std::string name_of(std::uint64_t tensor, std::uint64_t chunk) {
    return "block of tensor " + std::to_string(tensor) + ", chunk " + std::to_string(chunk);
}

Error unexpected(const std::string& found, const std::optional<BlockPlace>& place) {
    return {Errc::corrupt,
            found + (place ? " where " + name_of(place->tensor, place->chunk) + " is due" : " where no block is due"),
            ""};
}

// A run takes in everything small that follows, elements or not, up to the end of the record.
BlockPlace run_from(std::uint64_t first, const StreamState& state) {
    const TensorHeader& head = state.tensors[first];
    BlockPlace run{first, 0, 0, {0, 0}};
    for (std::uint64_t t = first; t < state.tensors.size(); ++t) {
        const TensorHeader& header = state.tensors[t];
        if (header.spec != head.spec || header.info.dtype != head.info.dtype || state.elements[t] >= kSmallTensor)
            break;
        run.elements.count += state.elements[t];
        ++run.tensors;
    }
    return run;
}

}  // namespace

std::string_view quantizer_of(std::string_view spec) {
    const std::string_view stage = spec.substr(0, spec.find('+'));
    return stage.substr(0, stage.find(':'));
}

Result<std::uint64_t> bucket_of(const std::string& spec, std::uint64_t elements) {
    const std::string_view name = quantizer_of(spec);
    const auto row = std::find_if(std::begin(kBuckets), std::end(kBuckets), [&](auto& r) { return r.first == name; });
    if (row == std::end(kBuckets))
        return Error{Errc::incompatible, "quantizer '" + std::string(name) + "' is unknown to this reader", ""};
    if (row->second != kByKey) return row->second;
    const auto text = bucket_text(std::string_view(spec).substr(0, spec.find('+')));
    if (!text) return bad_bucket(spec);
    if (*text == "tensor") return std::max<std::uint64_t>(elements, 1);
    std::uint64_t bucket = 0;
    const auto [stop, ec] = std::from_chars(text->data(), text->data() + text->size(), bucket);
    if (ec != std::errc{} || stop != text->data() + text->size() || bucket == 0) return bad_bucket(spec);
    return bucket;
}

Result<std::optional<BlockPlace>> BlockOrder::expected(const StreamState& state) {
    while (tensor_ < state.tensors.size() && state.elements[tensor_] == 0) ++tensor_;
    if (tensor_ == state.tensors.size()) return std::optional<BlockPlace>{};
    const std::uint64_t elements = state.elements[tensor_];
    if (elements < kSmallTensor) return std::optional(run_from(tensor_, state));
    GRADZ_TRY(const auto bucket, bucket_of(state.specs[state.tensors[tensor_].spec], elements));
    const std::uint64_t chunk = chunk_elements(bucket);
    return std::optional(BlockPlace{tensor_, 1, element_ / chunk, {element_, std::min(chunk, elements - element_)}});
}

void BlockOrder::advance(const BlockPlace& place, const StreamState& state) {
    element_ += place.elements.count;
    if (element_ < state.elements[tensor_]) return;
    tensor_ += place.tensors;
    element_ = 0;
}

Result<BlockPlace> BlockOrder::next(std::uint64_t tensor, std::uint64_t chunk, const StreamState& state) {
    GRADZ_TRY(const auto place, expected(state));
    if (!place || tensor != place->tensor || chunk != place->chunk) return unexpected(name_of(tensor, chunk), place);
    advance(*place, state);
    return *place;
}

Result<Chunk> BlockOrder::next(const BlockHead& head, const StreamState& state) {
    GRADZ_TRY(const auto place, next(head.tensor, head.chunk, state));
    if (head.tensors != place.tensors)
        return Error{Errc::corrupt,
                     name_of(head.tensor, head.chunk) + " holds " + std::to_string(head.tensors) + " tensors, want " +
                         std::to_string(place.tensors),
                     ""};
    return place.elements;
}

Result<Done> BlockOrder::complete(const StreamState& state) {
    GRADZ_TRY(const auto place, expected(state));
    if (place) return Error{Errc::corrupt, name_of(place->tensor, place->chunk) + " is missing", ""};
    return Done{};
}

}  // namespace gradz
