#include "formats/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <tuple>

#include "core/hash.hpp"

namespace gradz::formats {
namespace {

constexpr std::string_view kStepWords[] = {"step",        "iter",        "iteration",
                                           "global_step", "global_iter", "global_iteration"};
constexpr std::string_view kWorkerWords[] = {"rank", "worker"};
constexpr std::string_view kExtensions[] = {".npy", ".npz", ".h5", ".hdf5", ".hdf", ".safetensors", ".raw", ".bin"};
constexpr std::size_t kMaxFileName = 200;

bool is_delimiter(char c) { return c == '/' || c == '.' || c == '_' || c == '-'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Number {
    std::size_t end;
    std::uint64_t value;
};

// Digits from `at` up to a delimiter or the end; nothing if they do not fit 64 bits.
std::optional<Number> number_at(std::string_view name, std::size_t at) {
    const std::size_t begin = at;
    std::uint64_t value = 0;
    for (; at < name.size() && is_digit(name[at]); ++at)
        if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
            __builtin_add_overflow(value, static_cast<std::uint64_t>(name[at] - '0'), &value))
            return std::nullopt;
    if (at == begin || (at < name.size() && !is_delimiter(name[at]))) return std::nullopt;
    return Number{at, value};
}

std::optional<Number> pattern_at(std::string_view name, std::size_t at, std::span<const std::string_view> words) {
    for (const auto word : words) {
        if (name.substr(at, word.size()) != word) continue;
        std::size_t digits = at + word.size();
        if (digits < name.size() && (name[digits] == '_' || name[digits] == '-')) ++digits;
        if (auto number = number_at(name, digits)) return number;
    }
    return std::nullopt;
}

std::string_view without_extension(std::string_view file) {
    for (const auto extension : kExtensions) {
        if (file.size() <= extension.size()) continue;
        const auto tail = file.substr(file.size() - extension.size());
        const bool same = std::equal(tail.begin(), tail.end(), extension.begin(),
                                     [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
        if (same) return file.substr(0, file.size() - extension.size());
    }
    return file;
}

std::string hex(std::uint64_t value, int digits) {
    std::string out;
    for (int i = digits; i-- > 0;) out += "0123456789ABCDEF"[value >> (4 * i) & 15];
    return out;
}

std::optional<unsigned> hex_digit(char c) {
    if (is_digit(c)) return static_cast<unsigned>(c - '0');
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    return std::nullopt;
}

bool is_plain(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

}  // namespace

NameParts split_name(std::string_view name) {
    NameParts out;
    for (std::size_t at = 0; at < name.size();) {
        const bool begins = at == 0 || is_delimiter(name[at - 1]);
        const auto step = begins ? pattern_at(name, at, kStepWords) : std::nullopt;
        const auto worker = begins && !step ? pattern_at(name, at, kWorkerWords) : std::nullopt;
        if (!step && !worker) {
            out.rest += name[at++];
            continue;
        }
        (step ? out.step : out.worker) = (step ? step : worker)->value;
        at = (step ? step : worker)->end;
        // One delimiter goes too, but never the '/' before what stays of a component.
        const bool component_goes_on = at < name.size() && name[at] != '/';
        if (out.rest.empty() || (out.rest.back() == '/' && component_goes_on)) {
            if (at < name.size()) ++at;
        } else {
            out.rest.pop_back();
        }
    }
    return out;
}

FileIdentity identify(const std::filesystem::path& path, const ReadOptions& options) {
    if (!options.name.empty()) return {path.string(), options.name, std::nullopt, std::nullopt};
    const auto file = path.filename().string();
    auto parts = split_name(without_extension(file));
    return {path.string(), std::move(parts.rest), parts.step, parts.worker};
}

void place_tensor(TensorInfo& info, const FileIdentity& identity, const ReadOptions& options) {
    const auto own = split_name(info.name);
    const auto pick = [](const auto& a, const auto& b, const auto& c) { return a ? *a : b ? *b : c.value_or(0); };
    info.step = pick(options.step, own.step, identity.step);
    info.worker = pick(options.worker, own.worker, identity.worker);
}

Result<Done> check_distinct(const std::vector<TensorInfo>& tensors) {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto key = [&](std::size_t i) {
        const auto& t = tensors[i];
        return std::tuple<const std::string&, std::uint64_t, std::uint64_t>(t.name, t.step, t.worker);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    const auto twin = std::adjacent_find(order.begin(), order.end(), [&](auto a, auto b) { return key(a) == key(b); });
    if (twin == order.end()) return Done{};
    const auto& t = tensors[*twin];
    return Error{
        Errc::corrupt,
        "two tensors have this name at step " + std::to_string(t.step) + ", worker " + std::to_string(t.worker),
        "tensor " + t.name};
}

std::strong_ordering compare_natural(std::string_view a, std::string_view b) {
    std::size_t i = 0, j = 0;
    const auto digits = [](std::string_view s, std::size_t& at) {  // without leading zeros
        while (at < s.size() && s[at] == '0') ++at;
        const std::size_t begin = at;
        while (at < s.size() && is_digit(s[at])) ++at;
        return s.substr(begin, at - begin);
    };
    while (i < a.size() && j < b.size()) {
        if (is_digit(a[i]) && is_digit(b[j])) {
            const auto x = digits(a, i), y = digits(b, j);
            if (x.size() != y.size()) return x.size() <=> y.size();
            if (x != y) return x <=> y;
            continue;
        }
        const auto x = static_cast<unsigned char>(a[i++]), y = static_cast<unsigned char>(b[j++]);
        if (x != y) return x <=> y;
    }
    if (i < a.size() || j < b.size()) return i < a.size() ? std::strong_ordering::greater : std::strong_ordering::less;
    return a <=> b;  // "01" and "1"
}

std::string encode_file_name(std::string_view name) {
    if (name.empty()) return "%";
    std::string out;
    std::size_t whole = 0;  // where a cut name may end: no escape is cut in two
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto byte = static_cast<unsigned char>(name[i]);
        if (is_plain(name[i]) && !(i == 0 && name[i] == '.')) out += name[i];
        else out += '%' + hex(byte, 2);
        if (out.size() <= kMaxFileName - 18) whole = out.size();
    }
    if (out.size() <= kMaxFileName) return out;
    // "%-" is no escape, so that no short name can look like a cut one.
    return out.substr(0, whole) + "%-" + hex(xxh3_64(std::as_bytes(std::span(name))), 16);
}

std::optional<std::string> decode_file_name(std::string_view text) {
    if (text == "%") return std::string();
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
        if (!high || !low) return std::nullopt;
        out += static_cast<char>(*high << 4 | *low);
        i += 2;
    }
    return encode_file_name(out) == text ? std::optional(out) : std::nullopt;
}

}  // namespace gradz::formats
