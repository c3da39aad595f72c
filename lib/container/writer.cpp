#include "container/writer.hpp"

#include <numeric>

#include "container/block_order.hpp"
#include "container/frame.hpp"
#include "container/origin_codec.hpp"
#include "container/tensor_codec.hpp"
#include "core/hash.hpp"

namespace gradz {

Result<Done> StreamWriter::put(std::span<const std::byte> bytes, std::uint64_t& count) {
    GRADZ_TRY(const auto done, sink_.write(bytes));
    count += bytes.size();
    return done;
}

Result<std::uint64_t> StreamWriter::put_record(std::uint64_t& count) {
    GRADZ_TRY(const auto record, record_.finish());
    GRADZ_TRY([[maybe_unused]] const auto done, put(record, count));
    const IndexEntry entry{static_cast<std::uint8_t>(record[0]), record.size()};
    if (!entry.is(RecordType::index)) index_.add(entry);
    return record.size();
}

Result<Done> StreamWriter::head() {
    std::vector<std::byte> bytes;
    StreamHead head;
    head.seed = seed_;
    write_head(head, bytes);
    return put(bytes, bytes_.head);
}

Result<Done> StreamWriter::origin(const Origin& origin) {
    budget_.input = bytes_.total();
    for (const auto& e : origin.entries) {
        GRADZ_TRY([[maybe_unused]] const auto fits,
                  budget_.spend(cost_of(e.object.size(), e.key.size(), e.value.size())));
    }
    for (std::span<const OriginEntry> left = origin.entries; !left.empty();) {
        record_.start(RecordType::origin);
        GRADZ_TRY(const auto written, write_origin(left, record_.bytes()));
        GRADZ_TRY([[maybe_unused]] const auto done, put_record(bytes_.origin));
        left = left.subspan(written);
    }
    return Done{};
}

Result<std::uint32_t> StreamWriter::spec(const std::string& text) {
    if (const auto known = specs_.find(text); known != specs_.end()) return known->second;
    GRADZ_TRY([[maybe_unused]] const auto bucket, bucket_of(text, 1));
    const auto number = static_cast<std::uint32_t>(specs_.size());
    record_.start(RecordType::spec);
    ByteWriter body(record_.bytes());
    body.varint(number);
    body.text(text);
    GRADZ_TRY([[maybe_unused]] const auto done, put_record(bytes_.spec));
    specs_.emplace(text, number);
    return number;
}

Result<Done> StreamWriter::tensors(std::span<const TensorHeader> headers, std::vector<std::uint64_t>* each) {
    if (headers.empty() || headers.size() > kBatchTensors)
        return Error{Errc::invalid_argument, std::to_string(headers.size()) + " tensors in a record, want 1..4096", ""};
    budget_.input = bytes_.total();
    for (const auto& h : headers) {
        if (h.key != tensor_key(seed_, h.info.step, h.info.worker, h.info.name) || h.spec >= specs_.size())
            return Error{Errc::invalid_argument, "key or spec are not of this stream", "tensor " + h.info.name};
        GRADZ_TRY([[maybe_unused]] const auto fits, budget_.spend(cost_of(h.info.name.size(), h.info.shape.size())));
    }
    record_.start(RecordType::tensors);
    std::vector<std::uint64_t> sizes;
    GRADZ_TRY([[maybe_unused]] const auto done, write_tensor_headers(headers, record_.bytes(), sizes));
    GRADZ_TRY(const auto length, put_record(bytes_.tensors));
    sizes[0] += length - std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    if (each) *each = std::move(sizes);
    return Done{};
}

Result<Done> StreamWriter::block(std::span<const std::byte> record, std::uint64_t tensor, std::uint64_t chunk) {
    GRADZ_TRY(const auto done, put(record, bytes_.blocks));
    index_.add({static_cast<std::uint8_t>(RecordType::block), record.size(), tensor, chunk});
    return done;
}

Result<Done> StreamWriter::finish() {
    StreamEnd end{bytes_.total(), 0};
    record_.start(RecordType::index);
    GRADZ_TRY([[maybe_unused]] const auto packed, write_index(index_, record_.bytes()));
    GRADZ_TRY([[maybe_unused]] const auto done, put_record(bytes_.index));
    end.length = bytes_.total() + kEndBytes;
    std::vector<std::byte> bytes;
    write_end(end, bytes);
    return put(bytes, bytes_.end);
}

}  // namespace gradz
