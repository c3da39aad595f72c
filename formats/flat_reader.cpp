#include "formats/flat_reader.hpp"

#include <algorithm>
#include <string>

#include "formats/names.hpp"
#include "formats/npy_elements.hpp"

namespace gradz::formats {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  // bytes that are read from a pipe at once

// One tensor, and what is known of it before any element is read.
class FlatReader : public TensorReader {
public:
    FlatReader(NpyHeader header, std::string_view format, const FileIdentity& identity, const ReadOptions& options)
        : header_(std::move(header)) {
        TensorInfo info{identity.stem.empty() ? "data" : identity.stem, header_.shape, header_.dtype};
        place_tensor(info, identity, options);
        origin_.set("", "format", std::string(format));
        if (header_.big_endian) origin_.set(info.name, "byte_order", "big");
        if (header_.fortran) origin_.set(info.name, "order", "fortran");
        if (header_.major > 1) origin_.set(info.name, "npy.version", std::to_string(header_.major));
        tensors_.push_back(std::move(info));
    }

    const std::vector<TensorInfo>& tensors() const override { return tensors_; }
    const std::vector<Skipped>& skipped() const override { return skipped_; }
    const Origin& origin() const override { return origin_; }
    const std::vector<std::string>& warnings() const override { return warnings_; }

protected:
    std::string where() const { return "tensor " + tensors_[0].name; }
    // Cannot fail: headers and layouts are checked where they are made.
    std::uint64_t elements() const { return *tensors_[0].numel(); }
    std::uint64_t bytes() const { return elements() * size_of(header_.dtype); }
    Error truncated(std::uint64_t got) const {
        return {Errc::truncated, "truncated data: " + std::to_string(got) + " bytes, want " + std::to_string(bytes()),
                where()};
    }
    Error trailing(const std::string& count) const { return {Errc::corrupt, count + " after the data", where()}; }

    NpyHeader header_;

private:
    std::vector<TensorInfo> tensors_;
    std::vector<Skipped> skipped_;
    Origin origin_;
    std::vector<std::string> warnings_;
};

class MappedReader final : public FlatReader {
public:
    MappedReader(std::shared_ptr<MappedFile> file, NpyHeader header, std::string_view format,
                 const FileIdentity& identity, const ReadOptions& options)
        : FlatReader(std::move(header), format, identity, options), file_(std::move(file)) {}

    Result<Done> check_size() const {
        const std::uint64_t left = file_->bytes().size() - header_.data_offset;
        if (left < bytes()) return truncated(left);
        if (left > bytes()) return trailing(std::to_string(left - bytes()) + " bytes");
        return Done{};
    }

    Result<std::unique_ptr<ChunkSource>> open(std::size_t) override {
        return map_elements(file_, header_.data_offset, header_);
    }
    bool rereadable() const override { return true; }
    Result<Done> finish() override { return file_->unchanged(); }

private:
    std::shared_ptr<MappedFile> file_;
};

class StreamReader final : public FlatReader {
public:
    StreamReader(std::unique_ptr<ByteSource> pipe, NpyHeader header, std::string_view format,
                 const FileIdentity& identity, const ReadOptions& options)
        : FlatReader(std::move(header), format, identity, options), pipe_(std::move(pipe)) {}

    Result<std::unique_ptr<ChunkSource>> open(std::size_t) override {
        if (opened_) return Error{Errc::invalid_argument, "a pipe is read only once", where()};
        opened_ = true;
        return std::unique_ptr<ChunkSource>(std::make_unique<Elements>(*this));
    }
    bool rereadable() const override { return false; }

    // Bytes after the data are only seen once the data were read.
    Result<Done> finish() override {
        if (got_ < bytes()) return Done{};
        std::byte more;
        GRADZ_TRY(const std::size_t n, pipe_->read({&more, 1}));
        if (n > 0) return trailing("bytes");
        return Done{};
    }

private:
    class Elements final : public ChunkSource {
    public:
        explicit Elements(StreamReader& reader) : reader_(reader) {}
        Access access() const override { return Access::forward; }
        Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
            return reader_.next(chunk.count * size_of(reader_.header_.dtype), buffer);
        }

    private:
        StreamReader& reader_;
    };

    Result<std::span<const std::byte>> next(std::uint64_t count, std::vector<std::byte>& buffer) {
        if (buffer.size() < count) buffer.resize(count);  // a chunk, whatever the header declares
        const auto out = std::span(buffer).first(count);
        GRADZ_TRY(const std::size_t n, pipe_->read(out));
        got_ += n;
        if (n < count) return truncated(got_);
        if (header_.big_endian) swap_words(out, row_of(header_.dtype).word);
        return std::span<const std::byte>(out);
    }

    std::unique_ptr<ByteSource> pipe_;
    std::uint64_t got_ = 0;
    bool opened_ = false;
};

// Bytes in memory behind the interface of a file.
class HeldFile final : public MappedFile {
public:
    explicit HeldFile(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
    std::span<const std::byte> bytes() const override { return bytes_; }
    Result<Done> release(std::uint64_t, std::uint64_t) override { return Done{}; }
    Result<Done> unchanged() const override { return Done{}; }

private:
    std::vector<std::byte> bytes_;
};

// At most limit + 1 bytes: one too many tells of more. Grows with what really comes.
Result<std::vector<std::byte>> read_all(ByteSource& pipe, std::uint64_t limit) {
    std::vector<std::byte> out;
    for (;;) {
        const std::size_t had = out.size(), want = std::min(kPiece, limit + 1 - had);
        out.resize(had + want);
        GRADZ_TRY(const std::size_t n, pipe.read(std::span(out).subspan(had)));
        out.resize(had + n);
        if (n < want || out.size() > limit) return out;
    }
}

}  // namespace

Result<std::unique_ptr<TensorReader>> open_flat(std::shared_ptr<MappedFile> file, NpyHeader header,
                                                std::string_view format, const FileIdentity& identity,
                                                const ReadOptions& options) {
    auto reader = std::make_unique<MappedReader>(std::move(file), std::move(header), format, identity, options);
    GRADZ_TRY([[maybe_unused]] auto size, reader->check_size());
    return std::unique_ptr<TensorReader>(std::move(reader));
}

Result<std::unique_ptr<TensorReader>> open_flat_stream(std::unique_ptr<ByteSource> pipe, NpyHeader header,
                                                       std::string_view format, const FileIdentity& identity,
                                                       const ReadOptions& options) {
    if (!header.fortran || header.shape.size() < 2)
        return std::unique_ptr<TensorReader>(
            std::make_unique<StreamReader>(std::move(pipe), std::move(header), format, identity, options));
    GRADZ_TRY(const std::uint64_t elements, (TensorInfo{"", header.shape, header.dtype}.numel()));
    const std::uint64_t bytes = elements * size_of(header.dtype);
    if (bytes > options.memory)
        return Error{Errc::unsupported,
                     "Fortran order in a pipe is held whole: " + std::to_string(bytes) + " bytes, --memory is " +
                         std::to_string(options.memory),
                     ""};
    GRADZ_TRY(auto held, read_all(*pipe, bytes));
    header.data_offset = 0;
    return open_flat(std::make_shared<HeldFile>(std::move(held)), std::move(header), format, identity, options);
}

}  // namespace gradz::formats
