#include "formats/hdf5_chunks.hpp"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "formats/hdf5_layout.hpp"
#include "formats/hdf5_tiling.hpp"
#include "formats/hdf5_types.hpp"

namespace gradz::formats {
namespace {

using Dims = std::vector<std::uint64_t>;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kSlack = 65536;  // a filter that does not gain adds a few bytes

std::uint64_t product(const Dims& dims) {
    std::uint64_t n = 1;
    for (const auto d : dims) n *= d;
    return n;
}

// Byte j of all elements stands together in a shuffled chunk.
template <std::size_t kElement>
void unshuffle(const std::byte* __restrict in, std::size_t n, std::byte* __restrict out) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < kElement; ++j) out[i * kElement + j] = in[j * n + i];
}

void unshuffle(std::span<const std::byte> in, std::size_t element, std::byte* out) {
    const std::size_t n = in.size() / element;
    switch (element) {
        case 2: return unshuffle<2>(in.data(), n, out);
        case 4: return unshuffle<4>(in.data(), n, out);
        case 8: return unshuffle<8>(in.data(), n, out);
        default: break;
    }
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < element; ++j) out[i * element + j] = in[j * n + i];
}

// Exactly `out`; bytes behind the end of the zlib stream do not matter.
bool inflate_into(std::span<const std::byte> in, std::span<std::byte> out) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return false;
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    return status == Z_STREAM_END && stream.avail_out == 0;
}

// Trailing axes of which a chunk has all become one: longer runs to copy.
void join_whole_axes(Hdf5Chunks& layout) {
    auto &shape = layout.shape, &chunk = layout.chunk;
    while (shape.size() > 1 && shape.back() == chunk.back()) {
        const std::uint64_t n = shape.back();
        shape.pop_back(), chunk.pop_back();
        shape.back() *= n, chunk.back() *= n;
    }
}

// A chunk of the dataset, decoded by the worker that wants it first.
struct DecodedChunk {
    std::mutex mutex;  // held while it is decoded
    bool done = false;
    std::optional<Error> error;
    Bytes bytes;
    std::atomic<std::uint64_t> left{0};  // elements that nobody has copied yet
};

class ChunkedSource final : public ChunkSource {
public:
    ChunkedSource(Hid dataset, Hdf5Chunks layout, std::size_t word, std::uint64_t file_bytes, std::string tensor)
        : dataset_(std::move(dataset)),
          layout_(std::move(layout)),
          stored_chunk_(layout_.chunk),
          word_(word),
          file_bytes_(file_bytes),
          tensor_(std::move(tensor)) {
        join_whole_axes(layout_);
        std::uint64_t row = 1;  // chunks of one row along axis 0
        for (std::size_t i = 1; i < layout_.shape.size(); ++i) row *= (layout_.shape[i] - 1) / layout_.chunk[i] + 1;
        chunk_bytes_ = product(layout_.chunk) * layout_.element;
        most_ = std::max(2 * row, kLargestBox / chunk_bytes_) + 2;
    }

    Access access() const override { return Access::random; }

    Result<std::span<const std::byte>> read(Chunk wanted, Bytes& buffer) override {
        const std::size_t bytes = wanted.count * layout_.element;
        if (buffer.size() < bytes) buffer.resize(bytes);
        std::unordered_map<std::uint64_t, std::shared_ptr<DecodedChunk>> mine;
        std::shared_ptr<DecodedChunk> chunk;
        std::uint64_t number = ~std::uint64_t{0};
        for (std::uint64_t done = 0; done < wanted.count;) {
            const Run run = run_at(wanted.first + done, wanted.count - done);
            if (run.chunk != number) {
                number = run.chunk;
                auto& known = mine[number];
                if (!known) { GRADZ_TRY(known, decoded(run)); }
                chunk = known;
            }
            const std::size_t element = layout_.element;
            std::memcpy(buffer.data() + done * element, chunk->bytes.data() + run.begin * element, run.count * element);
            if (chunk->left.fetch_sub(run.count) == run.count) forget(number);
            done += run.count;
        }
        swap_words(std::span(buffer.data(), bytes), word_);
        return std::span<const std::byte>(buffer.data(), bytes);
    }

private:
    // Neighbouring elements that lie in one chunk.
    struct Run {
        std::uint64_t chunk = 0;  // its number, row by row
        std::uint64_t begin = 0;  // of the run in the chunk
        std::uint64_t count = 0;
        Dims place;  // of the chunk's first element; filled in by decoded()
    };

    Run run_at(std::uint64_t element, std::uint64_t most) const {
        const auto &shape = layout_.shape, &chunk = layout_.chunk;
        Run run;
        std::uint64_t stride = 1, chunks = 1, left = element;
        for (std::size_t i = shape.size(); i-- > 0;) {
            const std::uint64_t at = left % shape[i], inside = at % chunk[i];
            left /= shape[i];
            if (i + 1 == shape.size()) run.count = std::min({most, shape[i] - at, chunk[i] - inside});
            run.begin += inside * stride, stride *= chunk[i];
            run.chunk += at / chunk[i] * chunks, chunks *= (shape[i] - 1) / chunk[i] + 1;
        }
        return run;
    }

    // Where a chunk begins, in the axes that the file has, and how many elements of the dataset it holds.
    Dims place_of(std::uint64_t number, std::uint64_t& elements) const {
        const auto &shape = layout_.shape, &chunk = layout_.chunk;
        Dims place(stored_chunk_.size(), 0);
        elements = 1;
        for (std::size_t i = shape.size(); i-- > 0;) {
            const std::uint64_t across = (shape[i] - 1) / chunk[i] + 1, at = number % across * chunk[i];
            number /= across;
            elements *= std::min(chunk[i], shape[i] - at);
            place[i] = i + 1 == shape.size() ? at / (chunk[i] / stored_chunk_[i]) : at;  // of joined axes the first
        }
        return place;
    }

    Result<std::shared_ptr<DecodedChunk>> decoded(const Run& run) {
        std::uint64_t elements = 0;
        const Dims place = place_of(run.chunk, elements);
        const auto chunk = entry(run.chunk, elements);
        const std::lock_guard lock(chunk->mutex);
        if (!chunk->done) {
            chunk->done = true;
            if (auto done = decode(place, chunk->bytes); !done) chunk->error = std::move(done.error());
        }
        if (chunk->error) return Error(*chunk->error);
        return chunk;
    }

    std::shared_ptr<DecodedChunk> entry(std::uint64_t number, std::uint64_t elements) {
        const std::lock_guard lock(mutex_);
        if (const auto at = live_.find(number); at != live_.end()) return at->second;
        auto chunk = std::make_shared<DecodedChunk>();
        chunk->left = elements;
        live_.emplace(number, chunk);
        order_.push_back(number);
        while (live_.size() > most_) {  // only where elements are not read in order
            live_.erase(order_.front());
            order_.pop_front();
        }
        return chunk;
    }

    // All of it was copied, or will have been when the last worker lets go of it.
    void forget(std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        live_.erase(number);
        if (const auto at = std::find(order_.begin(), order_.end(), number); at != order_.end()) order_.erase(at);
    }

    Error damaged(const Dims& place, const std::string& what, Errc code = Errc::corrupt) const {
        std::string at;
        for (const auto d : place) at += (at.empty() ? "" : ",") + std::to_string(d);
        return {code, "chunk at " + at + ": " + what, "tensor " + tensor_};
    }

    // Since a missing chunk beside stored ones is an error to H5Dget_chunk_storage_size. Slow: walks
    // over all chunks.
    bool is_stored(const std::vector<hsize_t>& offset) const {
        unsigned without = 0;
        haddr_t address = 0;
        hsize_t size = 0;
        return H5Dget_chunk_info_by_coord(dataset_.get(), offset.data(), &without, &address, &size) < 0 ||
               address != HADDR_UNDEF;
    }

    // The stored bytes of a chunk, and which filters it did without; none if it is not stored.
    Result<std::uint32_t> fetch(const Dims& place, Bytes& stored) {
        const Hdf5Session session;
        const std::vector<hsize_t> offset(place.begin(), place.end());
        hsize_t size = 0;
        stored.clear();
        if (H5Dget_chunk_storage_size(dataset_.get(), offset.data(), &size) < 0 && is_stored(offset))
            return hdf5_error(Errc::corrupt, "", "tensor " + tensor_);
        if (size == 0) return 0u;
        if (size > file_bytes_) return damaged(place, "longer than the file", Errc::truncated);
        if (size > 2 * chunk_bytes_ + kSlack) return damaged(place, std::to_string(size) + " bytes stored");
        stored.resize(size);
        std::uint32_t without = 0;
        if (H5Dread_chunk(dataset_.get(), H5P_DEFAULT, offset.data(), &without, stored.data()) < 0)
            return hdf5_error(Errc::corrupt, "", "tensor " + tensor_);
        return without;
    }

    Result<Done> decode(const Dims& place, Bytes& out) {
        thread_local Bytes stored, inflated;
        GRADZ_TRY(const std::uint32_t without, fetch(place, stored));
        out.resize(chunk_bytes_);
        if (stored.empty()) return fill(out);
        const bool shuffled = layout_.shuffled && !(without & 1u);
        const bool deflated = layout_.deflated && !(without >> (layout_.shuffled ? 1 : 0) & 1u);
        std::span<const std::byte> plain = stored;
        if (deflated) {
            Bytes& to = shuffled ? inflated : out;
            to.resize(chunk_bytes_);
            if (!inflate_into(stored, to))
                return damaged(place, "does not inflate to " + std::to_string(chunk_bytes_) + " bytes");
            plain = to;
        }
        if (plain.size() != chunk_bytes_)
            return damaged(place, std::to_string(plain.size()) + " bytes stored, want " + std::to_string(chunk_bytes_));
        if (shuffled) unshuffle(plain, layout_.element, out.data());
        else if (!deflated) out.swap(stored);
        return Done{};
    }

    Result<Done> fill(Bytes& out) const {
        for (std::size_t i = 0; i < out.size(); i += layout_.element)
            std::memcpy(out.data() + i, layout_.fill.data(), layout_.element);
        return Done{};
    }

    Hid dataset_;
    Hdf5Chunks layout_;  // whole trailing axes joined
    Dims stored_chunk_;  // as the file has it
    std::size_t word_, most_ = 0, chunk_bytes_ = 0;
    std::uint64_t file_bytes_;
    std::string tensor_;
    std::mutex mutex_;  // of what follows
    std::map<std::uint64_t, std::shared_ptr<DecodedChunk>> live_;
    std::deque<std::uint64_t> order_;
};

// Shuffle, deflate, both in that order, or none.
Result<bool> read_pipeline(hid_t properties, Hdf5Chunks& layout) {
    const int filters = H5Pget_nfilters(properties);
    if (filters < 0) return hdf5_error(Errc::corrupt, "", "");
    for (int i = 0; i < filters; ++i) {
        unsigned flags = 0, values[8] = {};
        std::size_t count = std::size(values);
        const H5Z_filter_t id =
            H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &count, values, 0, nullptr, nullptr);
        if (id == H5Z_FILTER_SHUFFLE && i == 0) layout.shuffled = count == 1 && values[0] == layout.element;
        else if (id == H5Z_FILTER_DEFLATE && i == (layout.shuffled ? 1 : 0)) layout.deflated = true;
        else return false;
    }
    return filters == (layout.shuffled ? 1 : 0) + (layout.deflated ? 1 : 0);
}

Result<Done> read_fill_value(hid_t properties, hid_t type, Hdf5Chunks& layout) {
    layout.fill.assign(layout.element, std::byte{0});
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(properties, &defined) < 0) return hdf5_error(Errc::corrupt, "", "");
    if (defined != H5D_FILL_VALUE_UNDEFINED && H5Pget_fill_value(properties, type, layout.fill.data()) < 0)
        return hdf5_error(Errc::corrupt, "", "");
    return Done{};
}

}  // namespace

Result<std::optional<Hdf5Chunks>> chunks_of(hid_t dataset, hid_t memory_type, const TensorInfo& info) {
    const std::optional<Hdf5Chunks> none;
    const Hid properties(H5Dget_create_plist(dataset)), type(H5Dget_type(dataset));
    if (!properties || !type) return hdf5_error(Errc::corrupt, "", "");
    Hdf5Chunks out;
    out.shape = info.shape, out.element = size_of(info.dtype);
    GRADZ_TRY(out.chunk, chunk_of(properties.get(), info.shape.size()));
    if (out.chunk.empty() || H5Tequal(type.get(), memory_type) <= 0) return none;
    unsigned options = 0;  // edges without filters are not told apart by their masks
    if (H5Pget_chunk_opts(properties.get(), &options) < 0 || options != 0) return none;
    std::uint64_t row = out.element * out.chunk[0], bytes = out.element;
    for (std::size_t i = 0; i < out.shape.size(); ++i) {
        if (__builtin_mul_overflow(bytes, out.chunk[i], &bytes)) return none;
        const std::uint64_t across = ((out.shape[i] - 1) / out.chunk[i] + 1) * out.chunk[i];
        if (i > 0 && __builtin_mul_overflow(row, across, &row)) return none;
    }
    if (row > kLargestBox) return none;
    GRADZ_TRY(const bool known, read_pipeline(properties.get(), out));
    if (!known) return none;
    GRADZ_TRY(Done{}, read_fill_value(properties.get(), memory_type, out));
    return std::optional<Hdf5Chunks>(std::move(out));
}

std::unique_ptr<ChunkSource> make_chunk_source(Hid dataset, Hdf5Chunks layout, std::size_t word,
                                               std::uint64_t file_bytes, std::string tensor) {
    return std::make_unique<ChunkedSource>(std::move(dataset), std::move(layout), word, file_bytes, std::move(tensor));
}

}  // namespace gradz::formats
