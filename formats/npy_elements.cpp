#include "formats/npy_elements.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace gradz::formats {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;  // bytes that are swapped or transposed at once

template <class T>
T swap_one(T v) {
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(v);
    else if constexpr (sizeof(T) == 4) return __builtin_bswap32(v);
    else return __builtin_bswap64(v);
}

template <class T>
void swap_all(std::byte* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; i += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes + i, sizeof value);
        value = swap_one(value);
        std::memcpy(bytes + i, &value, sizeof value);
    }
}

// Walks the positions of dimensions 1 to n-1 in C order; at() is their share of the place in
// Fortran order, counted in elements.
class Odometer {
public:
    Odometer(std::span<const std::uint64_t> shape, std::uint64_t position) : shape_(shape), digits_(shape.size()) {
        std::uint64_t stride = 1;
        for (const auto d : shape) strides_.push_back(stride), stride *= d;
        for (std::size_t k = shape.size(); k-- > 1; position /= shape[k]) {
            digits_[k] = position % shape[k];
            at_ += digits_[k] * strides_[k];
        }
    }
    std::uint64_t at() const { return at_; }
    void next() {
        for (std::size_t k = shape_.size(); k-- > 1;) {
            at_ += strides_[k];
            if (++digits_[k] < shape_[k]) return;
            at_ -= strides_[k] * shape_[k];
            digits_[k] = 0;
        }
    }

private:
    std::span<const std::uint64_t> shape_;
    std::vector<std::uint64_t> digits_, strides_;
    std::uint64_t at_ = 0;
};

// Rows are the slices along dimension 0, which is contiguous in Fortran order: of whole rows
// all elements of one column are copied together, so that source lines are read once.
template <std::size_t kSize>
void gather(std::span<const std::uint64_t> shape, const std::byte* source, Chunk chunk, std::byte* out) {
    std::uint64_t row_elements = 1;
    for (const auto d : shape.subspan(1)) row_elements *= d;
    while (chunk.count > 0) {
        const std::uint64_t row = chunk.first / row_elements, column = chunk.first % row_elements;
        const bool whole = column == 0 && chunk.count >= row_elements;
        const std::uint64_t rows = whole ? chunk.count / row_elements : 1;
        const std::uint64_t columns = whole ? row_elements : std::min(chunk.count, row_elements - column);
        Odometer odometer(shape, column);
        for (std::uint64_t c = 0; c < columns; ++c, odometer.next()) {
            const std::byte* from = source + (odometer.at() + row) * kSize;
            std::byte* to = out + c * kSize;
            for (std::uint64_t r = 0; r < rows; ++r, from += kSize, to += row_elements * kSize)
                std::memcpy(to, from, kSize);
        }
        out += rows * columns * kSize;
        chunk = {chunk.first + rows * columns, chunk.count - rows * columns};
    }
}

class MappedElements final : public ChunkSource {
public:
    MappedElements(std::shared_ptr<MappedFile> file, std::uint64_t offset, NpyHeader header)
        : file_(std::move(file)), offset_(offset), header_(std::move(header)), size_(size_of(header_.dtype)) {
        if (header_.shape.size() < 2) header_.fortran = false;  // both orders are the same
    }

    Access access() const override { return Access::random; }

    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
        const auto flat = file_->bytes().subspan(offset_);
        const std::size_t bytes = chunk.count * size_;
        if (!header_.fortran && !header_.big_endian) return flat.subspan(chunk.first * size_, bytes);
        if (buffer.size() < bytes) buffer.resize(bytes);
        const auto out = std::span(buffer).first(bytes);
        if (header_.fortran) {
            gather_fortran(header_.shape, size_, flat.data(), chunk, out.data());
        } else if (bytes > 0) {
            std::memcpy(out.data(), flat.data() + chunk.first * size_, bytes);
        }
        if (header_.big_endian) swap_words(out, row_of(header_.dtype).word);
        return std::span<const std::byte>(out);
    }

    // In Fortran order the bytes of a chunk lie all over the file and are needed again.
    Result<Done> release(Chunk chunk) override {
        if (header_.fortran) return file_->release(offset_, 0);
        return file_->release(offset_ + chunk.first * size_, chunk.count * size_);
    }

private:
    std::shared_ptr<MappedFile> file_;
    std::uint64_t offset_;
    NpyHeader header_;
    std::uint64_t size_;
};

}  // namespace

void swap_words(std::span<std::byte> bytes, unsigned word) {
    if (word == 2) swap_all<std::uint16_t>(bytes.data(), bytes.size());
    if (word == 4) swap_all<std::uint32_t>(bytes.data(), bytes.size());
    if (word == 8) swap_all<std::uint64_t>(bytes.data(), bytes.size());
}

void gather_fortran(std::span<const std::uint64_t> shape, std::uint64_t size, const std::byte* source, Chunk chunk,
                    std::byte* out) {
    static constexpr std::uint64_t kScalar[] = {1};
    if (shape.empty()) shape = kScalar;
    switch (size) {
        case 1: return gather<1>(shape, source, chunk, out);
        case 2: return gather<2>(shape, source, chunk, out);
        case 4: return gather<4>(shape, source, chunk, out);
        case 8: return gather<8>(shape, source, chunk, out);
        case 16: return gather<16>(shape, source, chunk, out);
    }
}

std::unique_ptr<ChunkSource> map_elements(std::shared_ptr<MappedFile> file, std::uint64_t offset, NpyHeader header) {
    return std::make_unique<MappedElements>(std::move(file), offset, std::move(header));
}

Result<Done> ElementWriter::write(std::span<const std::byte> bytes, ByteSink& sink) {
    if (!header_.fortran || header_.shape.size() < 2) return swapped(bytes, sink);
    if (held_.size() + bytes.size() > memory_)
        return Error{Errc::unsupported,
                     "Fortran order holds the tensor, and that is more than --memory " + std::to_string(memory_), ""};
    held_.insert(held_.end(), bytes.begin(), bytes.end());
    return Done{};
}

Result<Done> ElementWriter::finish(ByteSink& sink) {
    const std::vector<std::uint64_t> reversed(header_.shape.rbegin(), header_.shape.rend());
    const std::uint64_t size = size_of(header_.dtype), total = held_.size() / size;
    std::vector<std::byte> block;
    for (std::uint64_t first = 0; first < total; first += kBlock / size) {
        const std::uint64_t count = std::min(kBlock / size, total - first);
        block.resize(count * size);
        gather_fortran(reversed, size, held_.data(), {first, count}, block.data());
        GRADZ_TRY([[maybe_unused]] auto written, swapped(block, sink));
    }
    held_ = {};
    return Done{};
}

Result<Done> ElementWriter::swapped(std::span<const std::byte> bytes, ByteSink& sink) {
    if (!header_.big_endian) return sink.write(bytes);
    for (; !bytes.empty(); bytes = bytes.subspan(buffer_.size())) {
        const auto block = bytes.first(std::min<std::size_t>(kBlock, bytes.size()));
        buffer_.assign(block.begin(), block.end());
        swap_words(buffer_, row_of(header_.dtype).word);
        GRADZ_TRY([[maybe_unused]] auto written, sink.write(buffer_));
    }
    return Done{};
}

}  // namespace gradz::formats
