// The value of an "attribute:NAME" entry:
//
//     value   = type " " space LF data
//     type    = order dtype | "string:" length ":" padding ":" charset
//     order   = "<" little-endian | ">" big-endian        (always "<" for types of one byte)
//     dtype   = as NumPy and ml_dtypes call it: float32 float64 float16 bfloat16 int8 … uint64 bool
//               complex64 complex128 float8_…
//     length  = bytes of each string in decimal, at least 1 | "variable"
//     padding = "null-terminated" | "null-padded" | "space-padded"
//     charset = "ascii" | "utf-8"
//     space   = "scalar" | "null" | dims                   dims = decimals joined by ","
//
// data is empty for a null space. Else it holds the elements in C order: numbers and strings
// of fixed length as the file has them, padding included; each variable-length string as a
// LEB128 varint of its length and its bytes. Two examples: "<int64 scalar" LF and 8 bytes;
// "string:variable:null-terminated:utf-8 2" LF 01 'a' 02 'b' 'c'.
#include "formats/hdf5_origin.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/bytes.hpp"
#include "formats/hdf5_names.hpp"
#include "formats/hdf5_types.hpp"

namespace gradz::formats {
namespace {

constexpr std::uint64_t kLargestAttribute = std::uint64_t{16} << 20;  // bytes; larger ones are dropped
constexpr std::string_view kPaddings[] = {"null-terminated", "null-padded", "space-padded"};  // H5T_STR_*
constexpr std::string_view kCharsets[] = {"ascii", "utf-8"};                                  // H5T_CSET_*

struct StringType {
    std::uint64_t length = 0;  // 0: variable
    std::size_t padding = 0, charset = 0;
};

struct AttributeType {
    std::optional<StringType> string;
    DType dtype = DType::u8;
    bool big_endian = false;
};

std::string print(const AttributeType& type) {
    if (!type.string) return (type.big_endian ? ">" : "<") + std::string(row_of(type.dtype).name);
    const auto& s = *type.string;
    return "string:" + (s.length ? std::to_string(s.length) : std::string("variable")) + ":" +
           std::string(kPaddings[s.padding]) + ":" + std::string(kCharsets[s.charset]);
}

std::string print(const std::vector<hsize_t>& dims) {
    std::string out;
    for (const auto d : dims) out += (out.empty() ? "" : ",") + std::to_string(d);
    return out;
}

// ---- reading

// Nothing and `why` for what has no encoding.
Result<std::optional<AttributeType>> classify(hid_t type, std::string& why) {
    AttributeType out;
    if (H5Tget_class(type) == H5T_STRING) {
        const auto padding = H5Tget_strpad(type);
        const auto charset = H5Tget_cset(type);
        if (padding < 0 || padding > 2 || charset < 0 || charset > 1) {
            why = "string type with unknown padding or character set";
            return std::optional<AttributeType>{};
        }
        out.string = StringType{H5Tis_variable_str(type) > 0 ? 0 : H5Tget_size(type), static_cast<std::size_t>(padding),
                                static_cast<std::size_t>(charset)};
        return std::optional(out);
    }
    auto number = read_hdf5_type(type);
    if (!number) {
        if (number.error().code != Errc::unsupported) return std::move(number.error());
        why = number.error().what;
        return std::optional<AttributeType>{};
    }
    if (!number->dtype || !number->remark.empty()) {
        why = number->dtype ? number->remark.substr(0, number->remark.find(',')) : number->skipped;
        return std::optional<AttributeType>{};
    }
    out.dtype = *number->dtype, out.big_endian = number->big_endian;
    return std::optional(out);
}

struct Shape {
    std::string text;  // as the encoding spells it
    std::uint64_t elements = 0;
};

Result<Shape> read_shape(hid_t attribute) {
    const Hid space(H5Aget_space(attribute));
    if (!space) return hdf5_error(Errc::corrupt, "", "");
    const auto kind = H5Sget_simple_extent_type(space.get());
    if (kind == H5S_NULL) return Shape{"null", 0};
    if (kind == H5S_SCALAR) return Shape{"scalar", 1};
    const int rank = H5Sget_simple_extent_ndims(space.get());
    const auto points = H5Sget_simple_extent_npoints(space.get());
    if (rank <= 0 || points < 0) return hdf5_error(Errc::corrupt, "", "");
    std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
    if (H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) < 0) return hdf5_error(Errc::corrupt, "", "");
    return Shape{print(dims), static_cast<std::uint64_t>(points)};
}

// The strings are libhdf5's: it gets them back whatever happens.
Result<Done> read_variable(hid_t attribute, hid_t type, std::uint64_t count, std::vector<std::byte>& out) {
    std::vector<char*> strings(count, nullptr);
    const Hid space(H5Aget_space(attribute));
    if (!space || H5Aread(attribute, type, strings.data()) < 0) return hdf5_error(Errc::corrupt, "", "");
    ByteWriter writer(out);
    for (const char* const s : strings) {
        const std::string_view text(s ? s : "");
        writer.varint(text.size());
        writer.text(text);
    }
    H5Dvlen_reclaim(type, space.get(), H5P_DEFAULT, strings.data());
    return Done{};
}

class AttributeReader {
public:
    AttributeReader(std::string where, Origin& origin, std::vector<std::string>& warnings)
        : where_(std::move(where)), origin_(origin), warnings_(warnings) {}

    Result<Done> read(hid_t object, const char* name) {
        auto done = read_value(object, name);
        if (!done && done.error().where.empty())
            done.error().where = "attribute " + std::string(name) + " of /" + where_;
        return done;
    }

    static herr_t visit(hid_t object, const char* name, const H5A_info_t*, void* self) {
        auto& reader = *static_cast<AttributeReader*>(self);
        return guarded(reader.failure, [&] { return reader.read(object, name); });
    }

    std::optional<Error> failure;

private:
    Result<Done> read_value(hid_t object, const char* name) {
        const Hid attribute(H5Aopen(object, name, H5P_DEFAULT));
        const Hid type(attribute ? H5Aget_type(attribute.get()) : H5I_INVALID_HID);
        if (!type) return hdf5_error(Errc::corrupt, "", "");
        std::string why;
        GRADZ_TRY(const auto known, classify(type.get(), why));
        if (!known) return drop(name, why);
        GRADZ_TRY(const auto shape, read_shape(attribute.get()));
        std::uint64_t bytes = 0;
        if (__builtin_mul_overflow(shape.elements, H5Tget_size(type.get()), &bytes) || bytes > kLargestAttribute)
            return drop(name, "more than " + std::to_string(kLargestAttribute) + " bytes");
        std::vector<std::byte> data;
        if (known->string && known->string->length == 0) {
            GRADZ_TRY(Done{}, read_variable(attribute.get(), type.get(), shape.elements, data));
        } else {
            data.resize(bytes);
            if (bytes > 0 && H5Aread(attribute.get(), type.get(), data.data()) < 0)
                return hdf5_error(Errc::corrupt, "", "");
        }
        std::string value = print(*known) + " " + shape.text + "\n";
        value.append(reinterpret_cast<const char*>(data.data()), data.size());
        origin_.set(where_, "attribute:" + std::string(name), std::move(value));
        return Done{};
    }

    Result<Done> drop(const std::string& name, const std::string& why) {
        warnings_.push_back("attribute " + name + " of /" + where_ + ": " + why + ", dropped");
        return Done{};
    }

    std::string where_;
    Origin& origin_;
    std::vector<std::string>& warnings_;
};

// ---- writing

Error bad_value(const std::string& what) { return {Errc::corrupt, "attribute value with a bad " + what, ""}; }

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string_view cut(std::string_view& text, char at) {
    const auto end = std::min(text.find(at), text.size());
    const auto head = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return head;
}

Result<AttributeType> parse_type(std::string_view text) {
    AttributeType out;
    if (!text.starts_with("string:")) {
        const auto* const row = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                             [&](const auto& r) { return r.name == text.substr(!text.empty()); });
        if (row == std::end(kDTypes) || (text[0] != '<' && text[0] != '>')) return bad_value("type");
        out.dtype = static_cast<DType>(row - kDTypes), out.big_endian = text[0] == '>';
        return out;
    }
    cut(text, ':');
    const auto length = cut(text, ':'), padding = cut(text, ':');
    const auto* const p = std::find(std::begin(kPaddings), std::end(kPaddings), padding);
    const auto* const c = std::find(std::begin(kCharsets), std::end(kCharsets), text);
    const auto bytes = length == "variable" ? std::optional<std::uint64_t>(0) : number(length);
    if (!bytes || (*bytes == 0 && length != "variable") || p == std::end(kPaddings) || c == std::end(kCharsets))
        return bad_value("string type");
    out.string = StringType{*bytes, static_cast<std::size_t>(p - kPaddings), static_cast<std::size_t>(c - kCharsets)};
    return out;
}

Result<Hid> make_type(const AttributeType& type) {
    if (!type.string) return make_hdf5_type(type.dtype, type.big_endian);
    const auto& s = *type.string;
    GRADZ_TRY(auto made, checked(H5Tcopy(H5T_C_S1)));
    if (H5Tset_size(made.get(), s.length ? s.length : H5T_VARIABLE) < 0 ||
        H5Tset_strpad(made.get(), static_cast<H5T_str_t>(s.padding)) < 0 ||
        H5Tset_cset(made.get(), static_cast<H5T_cset_t>(s.charset)) < 0)
        return hdf5_error(Errc::corrupt, "", "");
    return made;
}

struct Space {
    Hid id;
    std::uint64_t elements = 0;
};

Result<Space> make_space(std::string_view text) {
    Space out;
    if (text == "null" || text == "scalar") {
        out.elements = text == "scalar";
        GRADZ_TRY(out.id, checked(H5Screate(text == "scalar" ? H5S_SCALAR : H5S_NULL)));
        return out;
    }
    std::vector<hsize_t> dims;
    out.elements = 1;
    do {
        const auto dim = number(cut(text, ','));
        if (!dim || dims.size() == H5S_MAX_RANK || __builtin_mul_overflow(out.elements, *dim, &out.elements))
            return bad_value("shape");
        dims.push_back(*dim);
    } while (!text.empty());
    GRADZ_TRY(out.id, checked(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr)));
    return out;
}

Result<Done> put_variable(hid_t attribute, hid_t type, std::uint64_t count, std::string_view data) {
    if (count > data.size()) return bad_value("number of strings");  // each has a length byte
    ByteReader in(std::as_bytes(std::span(data.data(), data.size())));
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; i < count; ++i) {
        GRADZ_TRY(const auto length, in.varint());
        GRADZ_TRY(auto text, in.text(length));
        texts.push_back(std::move(text));
    }
    if (in.left() > 0) return bad_value("length");
    std::vector<const char*> strings;
    for (const auto& text : texts) strings.push_back(text.c_str());
    if (count > 0 && H5Awrite(attribute, type, strings.data()) < 0) return hdf5_error(Errc::io, "", "");
    return Done{};
}

Result<Hid> create(hid_t file, const std::string& path, const std::string& name, hid_t type, hid_t space) {
    GRADZ_TRY(const auto properties, checked(H5Pcreate(H5P_ATTRIBUTE_CREATE)));
    H5Pset_char_encoding(properties.get(), charset_of(name));
    return checked(
        H5Acreate_by_name(file, path.c_str(), name.c_str(), type, space, properties.get(), H5P_DEFAULT, H5P_DEFAULT));
}

}  // namespace

Result<Done> read_attributes(hid_t object, const std::string& where, Origin& origin,
                             std::vector<std::string>& warnings) {
    AttributeReader reader(where, origin, warnings);
    hsize_t at = 0;
    const auto status = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, &AttributeReader::visit, &reader);
    if (reader.failure) return std::move(*reader.failure);
    if (status < 0) return hdf5_error(Errc::corrupt, "attributes cannot be read", "/" + where);
    return Done{};
}

Result<Done> write_attribute(hid_t file, const std::string& path, const std::string& name, std::string_view value) {
    auto data = value;
    auto head = cut(data, '\n');
    const auto type_text = cut(head, ' ');
    GRADZ_TRY(const auto parsed, parse_type(type_text));
    GRADZ_TRY(const auto type, make_type(parsed));
    GRADZ_TRY(const auto space, make_space(head));
    const bool variable = parsed.string && parsed.string->length == 0;
    std::uint64_t bytes = 0;
    if (!variable && (__builtin_mul_overflow(space.elements, H5Tget_size(type.get()), &bytes) || bytes != data.size()))
        return bad_value("length");
    GRADZ_TRY(const auto attribute, create(file, path, name, type.get(), space.id.get()));
    if (variable) return put_variable(attribute.get(), type.get(), space.elements, data);
    if (bytes > 0 && H5Awrite(attribute.get(), type.get(), data.data()) < 0) return hdf5_error(Errc::io, "", "");
    return Done{};
}

Result<Done> write_text_attribute(hid_t file, const std::string& name, std::string_view text) {
    std::vector<std::byte> data;
    const bool fixed = text.find('\0') != text.npos;
    if (!fixed) ByteWriter(data).varint(text.size());
    std::string value = fixed ? "string:" + std::to_string(text.size()) + ":null-padded:utf-8 scalar\n"
                              : "string:variable:null-terminated:utf-8 scalar\n";
    value.append(reinterpret_cast<const char*>(data.data()), data.size());
    return write_attribute(file, "/", name, value.append(text));
}

}  // namespace gradz::formats
