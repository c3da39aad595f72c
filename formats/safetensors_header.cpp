#include "formats/safetensors_header.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/bytes.hpp"

namespace gradz::formats {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

// By DType; the format has no 128-bit complex.
constexpr std::string_view kNames[] = {"F32", "F64",     "F16",     "BF16",    "I8",          "U8",         "I16",
                                       "U16", "I32",     "U32",     "I64",     "U64",         "BOOL",       "C64",
                                       "",    "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};
static_assert(std::size(kNames) == std::size(kDTypes));

Error corrupt(std::string what, std::string where = "") { return {Errc::corrupt, std::move(what), std::move(where)}; }

Result<DType> dtype_of(std::string_view name) {
    const auto* row = name.empty() ? std::end(kNames) : std::find(std::begin(kNames), std::end(kNames), name);
    if (row != std::end(kNames)) return static_cast<DType>(row - kNames);
    const bool narrow = name == "F4" || name.starts_with("F6_");
    return Error{Errc::unsupported,
                 "dtype " + std::string(name) + (narrow ? ": elements narrower than a byte" : " is unknown"), ""};
}

struct Entry {
    TensorInfo info;
    std::vector<std::uint64_t> offsets;
};

// Takes the JSON event by event, so that neither depth nor size builds a tree. Whatever is
// not the next thing of this one shape ends the parse with an Error:
//   { "__metadata__": { text: text }, name: { "dtype": text, "shape": [n], "data_offsets": [n, n] } }
class Handler final : public nlohmann::json_sax<Json> {
public:
    std::vector<Entry> entries;
    Metadata metadata;
    std::optional<Error> error;

    bool start_object(std::size_t) override {
        if (at_ == At::start) return go(At::top);
        if (at_ != At::top) return unexpected("an object");
        if (key_ != kMetadata) {
            entries.emplace_back().info.name = key_;
            seen_ = 0;
            return go(At::entry);
        }
        if (std::exchange(has_metadata_, true)) return fail("__metadata__ comes twice");
        return go(At::metadata);
    }

    bool key(std::string& text) override {
        key_ = std::move(text);
        if (at_ != At::entry) return true;
        const unsigned bit = key_ == "dtype" ? 1 : key_ == "shape" ? 2 : key_ == "data_offsets" ? 4 : 0;
        if (bit == 0) return fail("unknown key " + key_);
        if (seen_ & bit) return fail("key " + key_ + " comes twice");
        seen_ |= bit;
        return true;
    }

    bool end_object() override {
        if (at_ == At::entry && seen_ != 7) return fail("dtype, shape or data_offsets is missing");
        return go(At::top);
    }

    bool start_array(std::size_t) override {
        if (at_ != At::entry || key_ == "dtype") return unexpected("an array");
        return go(key_ == "shape" ? At::shape : At::offsets);
    }

    bool end_array() override {
        if (at_ == At::offsets && entries.back().offsets.size() != 2) return fail("data_offsets are not two numbers");
        return go(At::entry);
    }

    bool string(std::string& text) override {
        if (at_ == At::metadata) {
            metadata.emplace_back(std::move(key_), std::move(text));
            return true;
        }
        if (at_ != At::entry || key_ != "dtype") return unexpected("a string");
        auto dtype = dtype_of(text);
        if (!dtype) return fail(dtype.error().what, dtype.error().code);
        entries.back().info.dtype = *dtype;
        return true;
    }

    bool number_unsigned(std::uint64_t value) override {
        if (at_ == At::shape) {
            entries.back().info.shape.push_back(value);
            return true;
        }
        if (at_ != At::offsets) return unexpected("a number");
        if (entries.back().offsets.size() == 2) return fail("data_offsets are not two numbers");
        entries.back().offsets.push_back(value);
        return true;
    }

    bool null() override { return unexpected("null"); }
    bool boolean(bool) override { return unexpected("a boolean"); }
    bool number_integer(std::int64_t value) override { return fail("negative number " + std::to_string(value)); }
    bool number_float(double, const std::string& text) override {
        return fail("number " + text + " is no 64-bit integer");
    }
    bool binary(Json::binary_t&) override { return unexpected("binary data"); }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        if (!error) error = corrupt("header is no valid JSON at its byte " + std::to_string(position));
        return false;
    }

private:
    enum class At { start, top, metadata, entry, shape, offsets };

    bool go(At at) {
        at_ = at;
        return true;
    }
    bool fail(std::string what, Errc code = Errc::corrupt) {
        const bool inside = at_ == At::entry || at_ == At::shape || at_ == At::offsets;
        error = Error{code, std::move(what), inside ? "tensor " + entries.back().info.name : "header"};
        return false;
    }
    bool unexpected(const char* what) { return fail(std::string(what) + " is out of place"); }

    At at_ = At::start;
    std::string key_;
    unsigned seen_ = 0;  // keys of the entry: bits 1, 2, 4
    bool has_metadata_ = false;
};

// The JSON between the length and the data.
Result<std::span<const std::byte>> find_json(std::span<const std::byte> file) {
    ByteReader in(file);
    if (file.size() < 8)
        return Error{Errc::truncated,
                     std::to_string(file.size()) + " bytes, want at least the 8 of the header's length", ""};
    GRADZ_TRY(const auto length, in.little<std::uint64_t>());
    if (length > kMaxSafetensorsHeader)
        return corrupt("header of " + std::to_string(length) + " bytes, at most " +
                       std::to_string(kMaxSafetensorsHeader) + " are allowed");
    if (length > in.left())
        return Error{Errc::truncated,
                     "header of " + std::to_string(length) + " bytes, " + std::to_string(in.left()) + " are there", ""};
    GRADZ_TRY(const auto json, in.bytes(length));
    if (json.empty() || json[0] != std::byte{'{'}) return corrupt("header does not begin with {");
    return json;
}

// Errc::corrupt if a string comes twice.
Result<Done> check_unique(std::vector<std::string_view> names, const char* what) {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return corrupt(std::string(what) + std::string(*twice) + " comes twice", "header");
    return Done{};
}

Result<Done> check_names(const Handler& header) {
    std::vector<std::string_view> names, keys;
    for (const auto& e : header.entries) names.push_back(e.info.name);
    for (const auto& [key, value] : header.metadata) keys.push_back(key);
    GRADZ_TRY([[maybe_unused]] const auto tensors, check_unique(std::move(names), "tensor "));
    return check_unique(std::move(keys), "metadata key ");
}

// Each entry against its shape, all of them against the data: they must tile it.
Result<Done> check_layout(const std::vector<Entry>& entries, std::uint64_t data_size) {
    std::uint64_t at = 0;
    for (const auto& e : entries) {
        const auto where = "tensor " + e.info.name;
        const auto begin = e.offsets[0], end = e.offsets[1];
        const auto text = std::to_string(begin) + ".." + std::to_string(end);
        if (begin > end || end > data_size)
            return Error{begin > end ? Errc::corrupt : Errc::truncated,
                         "bytes " + text + ", the file has " + std::to_string(data_size) + " bytes of data", where};
        GRADZ_TRY(const auto numel, e.info.numel());
        if (end - begin != numel * size_of(e.info.dtype))
            return corrupt("shape needs " + std::to_string(numel * size_of(e.info.dtype)) + " bytes, offsets give " +
                               std::to_string(end - begin),
                           where);
        if (begin < at) return corrupt("bytes " + text + " overlap another tensor", where);
        if (begin > at)
            return corrupt("bytes " + std::to_string(at) + ".." + std::to_string(begin) + " belong to no tensor",
                           where);
        at = end;
    }
    if (at != data_size) return corrupt(std::to_string(data_size - at) + " bytes after the last tensor");
    return Done{};
}

// As a JSON string; nothing if it is not UTF-8, which nlohmann checks as it prints.
std::optional<std::string> quote(const std::string& text) {
    try {
        return Json(text).dump();
    } catch (const Json::exception&) { return std::nullopt; }
}

Result<std::string> print_metadata(const Metadata& metadata) {
    std::string json;
    for (const auto& [key, value] : metadata) {
        const auto k = quote(key), v = quote(value);
        if (!k || !v) return Error{Errc::unsupported, "metadata of safetensors must be UTF-8", "metadata " + key};
        json += (json.empty() ? "" : ",") + *k + ":" + *v;
    }
    return json.empty() ? json : quote(std::string(kMetadata)).value() + ":{" + json + "}";
}

// at: where the tensor begins in the data; moved to its end.
Result<std::string> print_entry(const TensorInfo& t, std::uint64_t& at) {
    const auto where = "tensor " + t.name;
    const auto dtype = kNames[static_cast<std::size_t>(t.dtype)];
    const auto name = quote(t.name);
    if (dtype.empty())
        return Error{Errc::unsupported, "safetensors has no " + std::string(row_of(t.dtype).name), where};
    if (!name) return Error{Errc::unsupported, "names in safetensors must be UTF-8", where};
    if (t.name == kMetadata) return corrupt("safetensors keeps this name for itself", where);
    GRADZ_TRY(const auto numel, t.numel());
    const auto begin = at;
    if (__builtin_add_overflow(at, numel * size_of(t.dtype), &at)) return corrupt("more than 2^64 bytes", where);
    return *name + ":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + Json(t.shape).dump() +
           ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(at) + "]}";
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file) {
    GRADZ_TRY(const auto json, find_json(file));
    Handler handler;
    const auto* text = reinterpret_cast<const char*>(json.data());
    if (!Json::sax_parse(text, text + json.size(), &handler))
        return handler.error ? *handler.error : corrupt("header is no valid JSON");
    GRADZ_TRY([[maybe_unused]] const auto unique, check_names(handler));
    // One without elements comes before the one that begins at the same byte.
    std::stable_sort(handler.entries.begin(), handler.entries.end(),
                     [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
    const std::uint64_t data = 8 + json.size();
    GRADZ_TRY([[maybe_unused]] const auto tiled, check_layout(handler.entries, file.size() - data));
    SafetensorsHeader header;
    for (auto& e : handler.entries) {
        header.tensors.push_back(std::move(e.info));
        header.offsets.push_back(data + e.offsets[0]);
    }
    header.metadata = std::move(handler.metadata);
    return header;
}

Result<std::string> print_safetensors(std::span<const TensorInfo> tensors, const Metadata& metadata) {
    GRADZ_TRY(std::string json, print_metadata(metadata));
    json.insert(0, "{");
    std::uint64_t at = 0;
    for (const auto& t : tensors) {
        GRADZ_TRY(const auto entry, print_entry(t, at));
        json += (json.size() == 1 ? "" : ",") + entry;
    }
    json += "}";
    json.append((8 - json.size() % 8) % 8, ' ');
    if (json.size() > kMaxSafetensorsHeader)
        return Error{Errc::unsupported,
                     "header of " + std::to_string(json.size()) + " bytes, safetensors allows " +
                         std::to_string(kMaxSafetensorsHeader),
                     ""};
    const std::uint64_t length = json.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + json;
}

}  // namespace gradz::formats
