// A safetensors file. Its header comes first and knows all tensors, while headers come in
// batches: the elements wait in an unlinked temporary file.
#include <string>
#include <unordered_set>
#include <utility>

#include "formats/readers.hpp"
#include "formats/safetensors_header.hpp"
#include "formats/spool.hpp"

namespace gradz::formats {

namespace {

constexpr std::string_view kMetadataKey = "metadata:";

class SafetensorsWriter final : public TensorWriter {
public:
    SafetensorsWriter(std::unique_ptr<Output> output, std::unique_ptr<Spool> spool, const Origin& origin)
        : output_(std::move(output)), spool_(std::move(spool)) {
        std::unordered_set<std::string> keys;  // a stream joined of several has one set for each; the first counts
        for (const auto& e : origin.entries)
            if (e.object.empty() && e.key.starts_with(kMetadataKey) && keys.insert(e.key).second)
                metadata_.emplace_back(e.key.substr(kMetadataKey.size()), e.value);
    }

    Result<Done> add(std::span<const TensorInfo> more) override {
        // Now rather than at commit(), when everything was decoded for nothing.
        GRADZ_TRY([[maybe_unused]] const auto printable, print_safetensors(more, metadata_));
        for (const auto& info : more) {
            if (!names_.insert(info.name).second)
                return Error{Errc::corrupt, "name comes twice", "tensor " + info.name};
            tensors_.push_back(info);
        }
        return Done{};
    }

    Result<Done> write(std::size_t, std::uint64_t, std::span<const std::byte> bytes) override {
        written_ += bytes.size();
        return spool_->write(bytes);
    }

    Result<Done> commit() override {
        GRADZ_TRY(const auto header, print_safetensors(tensors_, metadata_));
        std::uint64_t want = 0;  // cannot overflow: print_safetensors() added them up
        for (const auto& t : tensors_) want += *t.numel() * size_of(t.dtype);
        if (written_ != want)
            return Error{Errc::truncated, std::to_string(written_) + " bytes of elements, want " + std::to_string(want),
                         ""};
        GRADZ_TRY([[maybe_unused]] const auto head, output_->write(std::as_bytes(std::span(header))));
        GRADZ_TRY([[maybe_unused]] const auto data, spool_->copy_to(*output_));
        return output_->commit();
    }

private:
    std::unique_ptr<Output> output_;
    std::unique_ptr<Spool> spool_;
    Metadata metadata_;
    std::vector<TensorInfo> tensors_;
    std::unordered_set<std::string> names_;
    std::uint64_t written_ = 0;  // bytes in the spool
};

}  // namespace

Result<std::unique_ptr<TensorWriter>> create_safetensors(std::unique_ptr<Output> output, const Origin& origin,
                                                         const WriteOptions&) {
    GRADZ_TRY(auto spool, Spool::create());
    return std::unique_ptr<TensorWriter>(
        std::make_unique<SafetensorsWriter>(std::move(output), std::move(spool), origin));
}

}  // namespace gradz::formats
