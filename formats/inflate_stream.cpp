#include "formats/inflate_stream.hpp"

#include <zlib.h>

#include <algorithm>

#include "formats/crc32.hpp"

namespace gradz::formats {

namespace {

constexpr int kRawDeflate = -MAX_WBITS;                  // zip members have no zlib header
constexpr std::uint64_t kStep = std::uint64_t{1} << 30;  // zlib counts in 32 bits

}  // namespace

struct InflateStream::State {
    explicit State(std::span<const std::byte> stored) : in(stored) { ready = inflateInit2(&z, kRawDeflate) == Z_OK; }
    ~State() { inflateEnd(&z); }
    State(const State&) = delete;

    // One call of inflate() with all the input and output that zlib can count.
    int step(std::span<std::byte> into, std::size_t& made) {
        const auto input = std::min<std::uint64_t>(in.size() - used, kStep);
        const auto output = std::min<std::uint64_t>(into.size(), kStep);
        z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + used));
        z.avail_in = static_cast<uInt>(input);
        z.next_out = reinterpret_cast<Bytef*>(into.data());
        z.avail_out = static_cast<uInt>(output);
        const int status = inflate(&z, Z_NO_FLUSH);
        used += input - z.avail_in;
        made = output - z.avail_out;
        return status;
    }

    z_stream z{};
    std::span<const std::byte> in;
    std::uint64_t used = 0;
    bool ready = false, ended = false;
};

InflateStream::InflateStream(std::span<const std::byte> stored, const ZipMember& member)
    : state_(std::make_unique<State>(stored)), left_(member.size), want_crc_(member.crc) {}

InflateStream::~InflateStream() = default;

std::uint64_t InflateStream::consumed() const { return state_->used; }

Result<Done> InflateStream::read_at(std::uint64_t, std::span<std::byte>) {
    return Error{Errc::io, "a deflated member cannot be read out of order", ""};
}

Result<std::size_t> InflateStream::read(std::span<std::byte> into) {
    into = into.first(std::min<std::uint64_t>(into.size(), left_));
    GRADZ_TRY([[maybe_unused]] const auto filled, fill(into));
    crc_ = crc32_of(crc_, into);
    left_ -= into.size();
    if (left_ == 0 && !checked_) {
        GRADZ_TRY([[maybe_unused]] const auto end, check_end());
        checked_ = true;
    }
    return into.size();
}

Result<Done> InflateStream::fill(std::span<std::byte> into) {
    if (!state_->ready) return Error{Errc::io, "out of memory", ""};
    while (!into.empty()) {
        std::size_t made = 0;
        const int status = state_->ended ? Z_BUF_ERROR : state_->step(into, made);
        state_->ended |= status == Z_STREAM_END;
        if (status == Z_MEM_ERROR) return Error{Errc::io, "out of memory", ""};
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            return Error{Errc::corrupt, std::string("damaged deflate stream: ") + (state_->z.msg ? state_->z.msg : "?"),
                         ""};
        if (made == 0 && (state_->ended || status == Z_BUF_ERROR))
            return Error{Errc::truncated, "deflate stream ends before its declared size", ""};
        into = into.subspan(made);
    }
    return Done{};
}

Result<Done> InflateStream::check_end() {
    // Of a full output zlib does not say whether it is the end: one byte more tells.
    std::byte more[1];
    for (std::size_t made = 0; !state_->ended;) {
        const int status = state_->ready ? state_->step(more, made) : Z_MEM_ERROR;
        if (made != 0) return Error{Errc::corrupt, "inflates to more bytes than it declares", ""};
        if (status != Z_OK && status != Z_STREAM_END) return Error{Errc::corrupt, "deflate stream has no end", ""};
        state_->ended = status == Z_STREAM_END;
    }
    if (state_->used != state_->in.size())
        return Error{Errc::corrupt,
                     std::to_string(state_->in.size() - state_->used) + " bytes follow the end of the deflate stream",
                     ""};
    if (crc_ != want_crc_) return Error{Errc::corrupt, "CRC does not match the data", ""};
    return Done{};
}

}  // namespace gradz::formats
