// Elements bit for bit: the exponents of floats and the upper bytes of integers repeat, the
// lower bytes seldom do, so each byte of an element goes to zstd with its like.
#include <cassert>
#include <cstring>

#include "coder/check.hpp"
#include "coder/coder.hpp"
#include "core/bytes.hpp"
#include "core/zstd.hpp"

namespace gradz {
namespace {

constexpr std::uint8_t kRaw = 0, kPlanes = 1;  // on disk

// n elements of sizeof(Word) bytes; plane p begins at planes + p n.
template <class Word>
void part(const std::byte* elements, std::size_t n, std::byte* planes) {
    for (std::size_t p = 0; p < sizeof(Word); ++p) {
        std::byte* const plane = planes + p * n;
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) {
            Word x;
            std::memcpy(&x, elements + i * sizeof x, sizeof x);
            plane[i] = static_cast<std::byte>(x >> 8 * p);
        }
    }
}

template <class Word>
void join(const std::byte* planes, std::size_t n, std::byte* elements) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        Word x = 0;
        for (std::size_t p = 0; p < sizeof x; ++p)
            x = static_cast<Word>(x | static_cast<Word>(planes[p * n + i]) << 8 * p);
        std::memcpy(elements + i * sizeof x, &x, sizeof x);
    }
}

void part_any(std::span<const std::byte> elements, std::size_t width, std::byte* planes) {
    const std::size_t n = elements.size() / width;
    if (width == 2) return part<std::uint16_t>(elements.data(), n, planes);
    if (width == 4) return part<std::uint32_t>(elements.data(), n, planes);
    if (width == 8) return part<std::uint64_t>(elements.data(), n, planes);
    for (std::size_t p = 0; p < width; ++p)
        for (std::size_t i = 0; i < n; ++i) planes[p * n + i] = elements[i * width + p];
}

void join_any(const std::byte* planes, std::size_t width, std::span<std::byte> elements) {
    const std::size_t n = elements.size() / width;
    if (width == 2) return join<std::uint16_t>(planes, n, elements.data());
    if (width == 4) return join<std::uint32_t>(planes, n, elements.data());
    if (width == 8) return join<std::uint64_t>(planes, n, elements.data());
    for (std::size_t p = 0; p < width; ++p)
        for (std::size_t i = 0; i < n; ++i) elements[i * width + p] = planes[p * n + i];
}

// Appends the planes to `code`; false as soon as they are no shorter than the elements.
Result<bool> code_planes(std::span<const std::byte> elements, std::size_t width, int level,
                         std::vector<std::byte>& code) {
    thread_local std::vector<std::byte> frame;
    const std::size_t n = elements.size() / width;
    GRADZ_TRY(std::byte* const planes, thread_scratch(elements.size()));
    part_any(elements, width, planes);
    for (std::size_t p = 0; p < width; ++p) {
        const std::span<const std::byte> plane(planes + p * n, n);
        frame.clear();
        GRADZ_TRY([[maybe_unused]] const Done made, zstd_compress(plane, level, frame));
        const auto shorter = frame.size() < n ? std::span<const std::byte>(frame) : plane;
        if (code.size() + shorter.size() >= elements.size()) return false;
        ByteWriter writer(code);
        writer.varint(shorter.size());
        writer.bytes(shorter);
    }
    return code.size() < elements.size();
}

Result<Done> decode_planes(std::span<const std::byte> code, std::size_t width, std::span<std::byte> elements) {
    const std::size_t n = elements.size() / width;
    ByteReader in(code);
    GRADZ_TRY(std::byte* const planes, thread_scratch(elements.size()));
    for (std::size_t p = 0; p < width; ++p) {
        const std::string where = "plane " + std::to_string(p);
        auto bytes = [&]() -> Result<std::span<const std::byte>> {
            GRADZ_TRY(const std::uint64_t size, in.varint());
            return in.bytes(size);
        }();
        if (!bytes) return Error{bytes.error().code, bytes.error().what, where};
        if (bytes->size() == n) {
            std::memcpy(planes + p * n, bytes->data(), n);
        } else if (auto made = zstd_decompress(*bytes, {planes + p * n, n}); !made) {
            return Error{made.error().code, made.error().what, where};
        }
    }
    if (in.left() > 0)
        return Error{Errc::corrupt, std::to_string(in.left()) + " bytes after the last plane",
                     "byte " + std::to_string(in.at())};
    join_any(planes, width, elements);
    return Done{};
}

}  // namespace

Result<Done> encode_elements(std::span<const std::byte> bytes, std::size_t width, int level, ElementCode& out) {
    assert(width > 0 && bytes.size() % width == 0 && level >= 0 && level <= kZstdMaxLevel);
    constexpr std::size_t kVarint = 10;
    out.bytes.clear();
    // All the room that is needed, so that nothing below can fail half-way.
    GRADZ_TRY([[maybe_unused]] const auto* room, grow(out.bytes, bytes.size() + kVarint));
    out.bytes.clear();
    out.id = kPlanes;
    if (level > 0) {
        GRADZ_TRY(const bool gains, code_planes(bytes, width, level, out.bytes));
        if (gains) return Done{};
    }
    out.id = kRaw;
    out.bytes.assign(bytes.begin(), bytes.end());
    return Done{};
}

Result<Done> decode_elements(std::uint8_t id, std::span<const std::byte> code, std::size_t width,
                             std::span<std::byte> bytes) {
    assert(width > 0 && bytes.size() % width == 0);
    if (id == kPlanes) return decode_planes(code, width, bytes);
    if (id != kRaw)
        return Error{Errc::corrupt, "elements are coded by " + std::to_string(id) + ", want 0 or 1", "byte 0"};
    GRADZ_TRY([[maybe_unused]] const Done sized, check_length(code.size(), bytes.size()));
    if (!bytes.empty()) std::memcpy(bytes.data(), code.data(), bytes.size());
    return Done{};
}

}  // namespace gradz
