// An .npz archive: one .npy member a tensor, as NumPy's savez and savez_compressed write it.
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "formats/npy_elements.hpp"
#include "formats/npy_header.hpp"
#include "formats/readers.hpp"
#include "formats/zip_writer.hpp"

namespace gradz::formats {

namespace {

struct Layout {
    NpyHeader header;  // dtype and shape are the tensor's own
    std::uint16_t method = kZipStored;
};

Error in_tensor(Error error, const TensorInfo& info) {
    return {error.code, std::move(error.what), "tensor " + info.name};
}

class NpzWriter final : public TensorWriter {
public:
    NpzWriter(std::unique_ptr<Output> output, const Origin& origin, std::uint64_t memory)
        : output_(std::move(output)), zip_(*output_), memory_(memory) {
        const auto* format = origin.find("", "format");
        if (!format || *format != "npz") return;
        for (const auto& e : origin.entries) obey(e);
    }

    Result<Done> add(std::span<const TensorInfo> more) override {
        for (const auto& info : more) {
            auto header = print_npy_header(layout_of(info).header);  // now, not when all is half written
            if (!header) return in_tensor(std::move(header.error()), info);
            if (info.name.size() > kMaxZipName - 4)
                return Error{Errc::unsupported,
                             "name of " + std::to_string(info.name.size()) + " bytes does not fit a zip member",
                             "tensor " + info.name};
            if (!names_.insert(info.name).second)
                return Error{Errc::corrupt, "name comes twice", "tensor " + info.name};
            tensors_.push_back(info);
        }
        return Done{};
    }

    Result<Done> write(std::size_t index, std::uint64_t, std::span<const std::byte> bytes) override {
        GRADZ_TRY([[maybe_unused]] const auto begun, begin_up_to(index + 1));
        left_ -= std::min<std::uint64_t>(left_, bytes.size());
        auto written = elements_->write(bytes, zip_);
        if (!written) return in_tensor(std::move(written.error()), tensors_[index]);
        return Done{};
    }

    Result<Done> commit() override {
        GRADZ_TRY([[maybe_unused]] const auto begun, begin_up_to(tensors_.size()));
        GRADZ_TRY([[maybe_unused]] const auto ended, end());
        GRADZ_TRY([[maybe_unused]] const auto finished, zip_.finish());
        return output_->commit();
    }

private:
    void obey(const OriginEntry& e) {
        if (e.key == "byte_order") layouts_[e.object].header.big_endian = e.value == "big";
        if (e.key == "order") layouts_[e.object].header.fortran = e.value == "fortran";
        if (e.key == "npy.version" && (e.value == "2" || e.value == "3"))
            layouts_[e.object].header.major = static_cast<std::uint8_t>(e.value[0] - '0');
        if (e.key == "npz.method" && e.value == "deflate") layouts_[e.object].method = kZipDeflated;
    }

    Layout layout_of(const TensorInfo& info) const {
        const auto found = layouts_.find(info.name);
        Layout layout = found == layouts_.end() ? Layout{} : found->second;
        layout.header.dtype = info.dtype;
        layout.header.shape = info.shape;
        layout.header.big_endian &= row_of(info.dtype).word > 1;
        return layout;
    }

    // Begins the members of tensors before `count` that were not begun yet: those without
    // elements come with no call of their own.
    Result<Done> begin_up_to(std::size_t count) {
        for (; begun_ < count; ++begun_) {
            GRADZ_TRY([[maybe_unused]] const auto ended, end());
            const auto& info = tensors_[begun_];
            const auto layout = layout_of(info);
            GRADZ_TRY(const auto header, print_npy_header(layout.header));
            GRADZ_TRY(const auto numel, info.numel());
            GRADZ_TRY([[maybe_unused]] const auto member, zip_.begin(info.name + ".npy", layout.method));
            GRADZ_TRY([[maybe_unused]] const auto head, zip_.write(header));
            elements_ = std::make_unique<ElementWriter>(layout.header, memory_);
            left_ = numel * size_of(info.dtype);
        }
        return Done{};
    }

    // Ends the member that was begun last, if any.
    Result<Done> end() {
        if (!elements_) return Done{};
        const auto& info = tensors_[begun_ - 1];
        if (left_ != 0)
            return Error{Errc::truncated, std::to_string(left_) + " bytes of elements are missing",
                         "tensor " + info.name};
        GRADZ_TRY([[maybe_unused]] const auto elements, elements_->finish(zip_));
        elements_.reset();
        return zip_.end();
    }

    std::unique_ptr<Output> output_;
    ZipWriter zip_;
    std::uint64_t memory_;
    std::unordered_map<std::string, Layout> layouts_;  // of tensors that are not plain
    std::vector<TensorInfo> tensors_;
    std::unordered_set<std::string> names_;
    std::size_t begun_ = 0;
    std::unique_ptr<ElementWriter> elements_;  // of tensor begun_ - 1
    std::uint64_t left_ = 0;                   // its bytes to come
};

}  // namespace

Result<std::unique_ptr<TensorWriter>> create_npz(std::unique_ptr<Output> output, const Origin& origin,
                                                 const WriteOptions& options) {
    return std::unique_ptr<TensorWriter>(std::make_unique<NpzWriter>(std::move(output), origin, options.memory));
}

}  // namespace gradz::formats
