#include "pipeline/stream_source.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "container/frame.hpp"
#include "pipeline/block_decoder.hpp"

namespace gradz {
namespace {

using Elements = std::shared_ptr<const std::vector<std::byte>>;

// Decoded blocks, the last few: a run of small tensors is asked for tensor by tensor, and a
// slice may end inside a block.
class Blocks {
public:
    Blocks(std::shared_ptr<ByteSource> source, const IndexedStream& stream)
        : source_(std::move(source)), stream_(stream) {}

    // Elements of block `index`, and where those of `tensor` begin in it (bytes).
    Result<Elements> elements(std::size_t index, std::uint64_t tensor, std::uint64_t& begin) {
        GRADZ_TRY(const auto found, find(index));
        begin = 0;
        for (const auto& [t, bytes] : found.starts)
            if (t == tensor) begin = bytes;
        return found.elements;
    }

    // The block that holds element `element` of `tensor`: the last that begins at or before it.
    std::size_t block_of(std::uint64_t tensor, std::uint64_t element, std::uint64_t chunk) const {
        const auto after = std::upper_bound(
            stream_.blocks.begin(), stream_.blocks.end(), std::pair(tensor, element / chunk),
            [](const auto& place, const IndexedBlock& b) { return place < std::pair(b.tensor, b.chunk); });
        return static_cast<std::size_t>(after - stream_.blocks.begin()) - 1;
    }

    SchemeCache schemes;

private:
    struct Decoded {
        std::size_t index = static_cast<std::size_t>(-1);
        Elements elements;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> starts;  // tensor, byte
    };

    Result<Decoded> find(std::size_t index) {
        {
            const std::lock_guard lock(mutex_);
            for (const auto& d : recent_)
                if (d.index == index) return d;
        }
        GRADZ_TRY(auto decoded, decode(index));
        const std::lock_guard lock(mutex_);
        recent_[next_++ % std::size(recent_)] = decoded;
        return decoded;
    }

    Result<Decoded> decode(std::size_t index) {
        const IndexedBlock& entry = stream_.blocks[index];
        std::vector<std::byte> buffer;
        GRADZ_TRY(const auto record, read_record_at(*source_, entry.offset, entry.length, buffer));
        auto decoded = decode_record(index, record);
        if (decoded) return decoded;
        Error error = std::move(decoded.error());
        error.where.clear();  // the caller knows which of the block's tensors it wanted
        return in_body(std::move(error), entry.offset);
    }

    Result<Decoded> decode_record(std::size_t index, const Record& record) {
        const IndexedBlock& entry = stream_.blocks[index];
        if (!record.is(RecordType::block))
            return Error{Errc::corrupt, "a record of type " + std::to_string(record.type) + ", INDEX says BLOCK", ""};
        ByteReader body(record.body);
        GRADZ_TRY(const auto head, read_block_head(body));
        // The index was held to the headers when it was read; here the block to the index.
        if (head.tensor != entry.tensor || head.chunk != entry.chunk || head.tensors != entry.tensors)
            return Error{Errc::corrupt, "block is not the one that the index names", ""};
        GRADZ_TRY(const auto task, make_task(head, entry.elements, stream_.state, schemes));
        auto elements = std::make_shared<std::vector<std::byte>>();
        BlockDecoder decoder;
        GRADZ_TRY([[maybe_unused]] auto done, decoder.decode(task, record.body.subspan(body.at()), *elements));
        Decoded decoded{index, elements, {}};
        std::uint64_t at = 0;
        for (const auto& part : task.parts) {
            decoded.starts.emplace_back(part.tensor, at);
            at += part.count * size_of(task.dtype);
        }
        return decoded;
    }

    std::shared_ptr<ByteSource> source_;
    const IndexedStream& stream_;
    std::mutex mutex_;
    Decoded recent_[4];
    std::size_t next_ = 0;
};

class StreamChunks : public ChunkSource {
public:
    StreamChunks(std::shared_ptr<Blocks> blocks, std::uint64_t tensor, std::uint64_t chunk, std::size_t width)
        : blocks_(std::move(blocks)), tensor_(tensor), chunk_(chunk), width_(width) {}

    Access access() const override { return Access::random; }

    Result<std::span<const std::byte>> read(Chunk wanted, std::vector<std::byte>& buffer) override {
        buffer.resize(std::max<std::size_t>(buffer.size(), wanted.count * width_));
        for (std::uint64_t done = 0; done < wanted.count;) {
            const std::uint64_t element = wanted.first + done;
            std::uint64_t begin = 0;
            GRADZ_TRY(const auto elements,
                      blocks_->elements(blocks_->block_of(tensor_, element, chunk_), tensor_, begin));
            const std::uint64_t inside = element % chunk_, count = std::min(chunk_ - inside, wanted.count - done);
            std::memcpy(buffer.data() + done * width_, elements->data() + begin + inside * width_, count * width_);
            done += count;
        }
        return std::span<const std::byte>(buffer.data(), wanted.count * width_);
    }

private:
    std::shared_ptr<Blocks> blocks_;
    std::uint64_t tensor_, chunk_;
    std::size_t width_;
};

class Source : public StreamSource {
public:
    Source(std::shared_ptr<ByteSource> source, IndexedStream stream)
        : stream_(std::move(stream)), blocks_(std::make_shared<Blocks>(std::move(source), stream_)) {
        for (const auto& header : stream_.state.tensors) tensors_.push_back(header.info);
    }

    const std::vector<TensorInfo>& tensors() const override { return tensors_; }
    const IndexedStream& stream() const override { return stream_; }
    bool rereadable() const override { return true; }

    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override {
        const auto& state = stream_.state;
        GRADZ_TRY(const auto scheme, blocks_->schemes.get(state.specs[state.tensors[index].spec]));
        return std::unique_ptr<ChunkSource>(std::make_unique<StreamChunks>(
            blocks_, index, scheme->chunk(state.elements[index]), size_of(tensors_[index].dtype)));
    }

private:
    IndexedStream stream_;
    std::shared_ptr<Blocks> blocks_;
    std::vector<TensorInfo> tensors_;
};

}  // namespace

std::unique_ptr<StreamSource> StreamSource::make(std::shared_ptr<ByteSource> source, IndexedStream stream) {
    return std::make_unique<Source>(std::move(source), std::move(stream));
}

}  // namespace gradz
