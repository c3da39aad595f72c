#include "formats/npy_header.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gradz::formats {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMaxHeader = std::uint64_t{16} << 20;  // shapes need a few hundred bytes
constexpr std::size_t kMaxRank = 64;                           // NumPy's own limit

Error bad(Errc code, std::string what) { return {code, std::move(what), "npy header"}; }
Error bad(std::string what) { return bad(Errc::corrupt, std::move(what)); }

// What a header can name; the order character stands before it.
struct Descr {
    std::string_view code;
    DType dtype;
};
constexpr Descr kDescrs[] = {
    {"f4", DType::f32}, {"f8", DType::f64}, {"f2", DType::f16},   {"i1", DType::i8},      {"u1", DType::u8},
    {"i2", DType::i16}, {"u2", DType::u16}, {"i4", DType::i32},   {"u4", DType::u32},     {"i8", DType::i64},
    {"u8", DType::u64}, {"c8", DType::c64}, {"c16", DType::c128}, {"b1", DType::boolean},
};

// Why NumPy's other types are refused, by their letter.
std::string_view refusal(std::string_view code) {
    switch (code.empty() ? ' ' : code[0]) {
        case 'O': return "an object array is a pickle, which is never read";
        case 'V': return "void bytes may mean anything (bfloat16 among others): save as float32 or in safetensors";
        case 'S':
        case 'a':
        case 'U': return "strings have no numeric value";
        case 'M':
        case 'm': return "dates are no gradients";
        case 'f':
        case 'c': return "only the 16, 32 and 64-bit floats of IEEE 754 are read (no long double)";
        default: return "no such type is known";
    }
}

// The literal of the header: one dict of strings, booleans and tuples of integers. A parser
// and not an evaluator: what is no such literal is refused, whatever Python would make of it.
class Literal {
public:
    explicit Literal(std::string_view text) : text_(text) {}

    bool accept(char c) {
        skip_spaces();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    Result<Done> expect(char c) {
        if (accept(c)) return Done{};
        return here(std::string("'") + c + "' wanted");
    }
    bool at_end() {
        skip_spaces();
        return at_ == text_.size();
    }

    Result<std::string> string() {
        skip_spaces();
        const char quote = at_ < text_.size() ? text_[at_] : ' ';
        if (quote != '\'' && quote != '"') return here("a string wanted");
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == std::string_view::npos) return here("a string does not end");
        std::string out(text_.substr(at_ + 1, end - at_ - 1));
        if (out.find_first_of("\\\n") != std::string::npos) return here("an escape in a string");
        at_ = end + 1;
        return out;
    }

    Result<bool> boolean() {
        skip_spaces();
        for (const std::string_view word : {"True", "False"})
            if (text_.substr(at_, word.size()) == word) {
                at_ += word.size();
                return word == "True";
            }
        return here("True or False wanted");
    }

    // "()", "(3,)", "(3, 4)": "(3)" is an integer to Python and no shape.
    Result<std::vector<std::uint64_t>> shape() {
        std::vector<std::uint64_t> out;
        GRADZ_TRY([[maybe_unused]] auto open, expect('('));
        bool comma = true;
        while (!accept(')')) {
            if (!comma) return here("',' wanted");
            GRADZ_TRY(const auto size, dimension());
            out.push_back(size);
            if (out.size() > kMaxRank) return bad("more than " + std::to_string(kMaxRank) + " dimensions");
            comma = accept(',');
        }
        if (out.size() == 1 && !comma) return here("a tuple wanted");
        return out;
    }

    Error here(const std::string& what) const { return bad(what + " at byte " + std::to_string(at_) + " of the dict"); }

private:
    void skip_spaces() {
        while (at_ < text_.size() && std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) ++at_;
    }

    Result<std::uint64_t> dimension() {
        if (accept('-')) return here("a negative dimension");
        skip_spaces();
        const std::size_t begin = at_;
        std::uint64_t value = 0;
        bool overflow = false;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            overflow |= __builtin_mul_overflow(value, std::uint64_t{10}, &value);
            overflow |= __builtin_add_overflow(value, static_cast<std::uint64_t>(text_[at_] - '0'), &value);
        }
        const std::string digits(text_.substr(begin, std::min<std::size_t>(at_ - begin, 40)));
        if (digits.empty()) return here("a dimension wanted");
        if (digits.size() > 1 && digits[0] == '0') return here("a dimension that starts with 0");
        if (overflow) return bad("dimension " + digits + " does not fit 64 bits");
        if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

Result<Done> parse_descr(Literal& literal, NpyHeader& header) {
    if (literal.accept('[')) return bad(Errc::unsupported, "a structured type is no tensor of numbers");
    if (literal.accept('(')) return bad(Errc::unsupported, "a type of subarrays is no tensor of numbers");
    GRADZ_TRY(const auto descr, literal.string());
    const bool ordered = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
    const std::string_view code = std::string_view(descr).substr(ordered ? 1 : 0);
    const auto row =
        std::find_if(std::begin(kDescrs), std::end(kDescrs), [&](const auto& r) { return r.code == code; });
    if (!ordered || row == std::end(kDescrs))
        return bad(Errc::unsupported, "type '" + descr.substr(0, 40) + "': " + std::string(refusal(code)));
    header.dtype = row->dtype;
    header.big_endian = descr[0] == '>' && row_of(row->dtype).word > 1;
    return Done{};
}

Result<Done> parse_value(Literal& literal, const std::string& key, NpyHeader& header) {
    if (key == "descr") return parse_descr(literal, header);
    if (key == "fortran_order") {
        GRADZ_TRY(header.fortran, literal.boolean());
    } else {
        GRADZ_TRY(header.shape, literal.shape());
    }
    return Done{};
}

Result<Done> parse_dict(std::string_view text, NpyHeader& header) {
    static constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order", "shape"};
    std::array<bool, 3> seen{};
    Literal literal(text);
    GRADZ_TRY([[maybe_unused]] auto open, literal.expect('{'));
    for (bool comma = true; !literal.accept('}'); comma = literal.accept(',')) {
        if (!comma) return literal.here("',' wanted");
        GRADZ_TRY(const auto key, literal.string());
        const auto known = static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin());
        if (known == kKeys.size()) return bad("unknown key '" + key.substr(0, 40) + "'");
        if (std::exchange(seen[known], true)) return bad("key '" + key + "' comes twice");
        GRADZ_TRY([[maybe_unused]] auto colon, literal.expect(':'));
        GRADZ_TRY([[maybe_unused]] auto value, parse_value(literal, key, header));
    }
    for (std::size_t i = 0; i < kKeys.size(); ++i)
        if (!seen[i]) return bad("key '" + std::string(kKeys[i]) + "' is missing");
    if (!literal.at_end()) return literal.here("nothing more wanted");
    return Done{};
}

std::uint64_t byte_at(std::span<const std::byte> bytes, std::size_t i) {
    return std::to_integer<std::uint64_t>(bytes[i]);
}

std::string print_dict(const NpyHeader& header, std::string_view descr) {
    std::string shape = "(";
    for (std::size_t i = 0; i < header.shape.size(); ++i) shape += (i ? ", " : "") + std::to_string(header.shape[i]);
    shape += header.shape.size() == 1 ? ",)" : ")";
    std::string out = "{'descr': '" + std::string(descr) +
                      "', 'fortran_order': " + (header.fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
    // NumPy leaves room for the axis along which an array grows to become 21 digits long.
    if (header.shape.empty()) return out;
    const auto digits = std::to_string(header.fortran ? header.shape.back() : header.shape.front()).size();
    return out + std::string(21 - digits, ' ');
}

}  // namespace

Result<std::uint64_t> npy_header_size(std::span<const std::byte> start) {
    for (std::size_t i = 0; i < std::min(kMagic.size(), start.size()); ++i)
        if (byte_at(start, i) != static_cast<unsigned char>(kMagic[i])) return bad("no npy magic");
    if (start.size() < 8) return bad(Errc::truncated, "file of " + std::to_string(start.size()) + " bytes");
    const auto major = byte_at(start, 6), minor = byte_at(start, 7);
    if (major < 1 || major > 3 || minor != 0)
        return bad("unknown npy version " + std::to_string(major) + "." + std::to_string(minor));
    const std::size_t width = major == 1 ? 2 : 4;
    if (start.size() < 8 + width) return bad(Errc::truncated, "file of " + std::to_string(start.size()) + " bytes");
    std::uint64_t length = 0;
    for (std::size_t i = width; i-- > 0;) length = length << 8 | byte_at(start, 8 + i);
    if (length > kMaxHeader) return bad("header of " + std::to_string(length) + " bytes");
    return 8 + width + length;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> start) {
    GRADZ_TRY(const auto size, npy_header_size(start));
    if (start.size() < size)
        return bad(Errc::truncated,
                   "header of " + std::to_string(size) + " bytes, " + std::to_string(start.size()) + " left");
    NpyHeader header;
    header.major = static_cast<std::uint8_t>(byte_at(start, 6));
    header.data_offset = size;
    const auto dict = start.first(size).subspan(header.major == 1 ? 10 : 12);
    GRADZ_TRY([[maybe_unused]] auto parsed,
              parse_dict({reinterpret_cast<const char*>(dict.data()), dict.size()}, header));
    const TensorInfo info{"", header.shape, header.dtype};
    if (!info.numel()) return bad("shape has more than 2^63 bytes");
    return header;
}

Result<std::vector<std::byte>> print_npy_header(const NpyHeader& header) {
    const auto row =
        std::find_if(std::begin(kDescrs), std::end(kDescrs), [&](const auto& r) { return r.dtype == header.dtype; });
    const auto& type = row_of(header.dtype);
    if (row == std::end(kDescrs)) return bad(Errc::unsupported, "npy has no type for " + std::string(type.name));
    const char order = type.word == 1 ? '|' : header.big_endian ? '>' : '<';
    std::string dict = print_dict(header, order + std::string(row->code));
    const auto prefix = [](int major) { return std::size_t{major == 1 ? 10u : 12u}; };
    int major = std::clamp<int>(header.major, 1, 3);
    const auto padded = [&] { return dict.size() + 1 + (64 - (prefix(major) + dict.size() + 1) % 64); };
    if (major == 1 && padded() > 0xffff) major = 2;
    dict.resize(padded(), ' ');
    dict.back() = '\n';
    std::string out(kMagic);
    out += {static_cast<char>(major), '\0'};
    for (std::size_t i = 0; i < prefix(major) - 8; ++i) out += static_cast<char>(dict.size() >> (8 * i) & 0xff);
    out += dict;
    const auto bytes = std::as_bytes(std::span(out));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace gradz::formats
