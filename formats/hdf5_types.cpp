#include "formats/hdf5_types.hpp"

#include <algorithm>
#include <cstring>

namespace gradz::formats {
namespace {

struct FloatFields {
    DType dtype;
    std::size_t sign, exponent, exponent_bits, mantissa_bits;  // bit positions; the mantissa starts at bit 0
    std::size_t bias;
};

constexpr FloatFields kFloats[] = {
    {DType::f32, 31, 23, 8, 23, 127},    {DType::f64, 63, 52, 11, 52, 1023},   {DType::f16, 15, 10, 5, 10, 15},
    {DType::bf16, 15, 7, 8, 7, 127},     {DType::f8_e4m3, 7, 3, 4, 3, 7},      {DType::f8_e5m2, 7, 2, 5, 2, 15},
    {DType::f8_e4m3fnuz, 7, 3, 4, 3, 8}, {DType::f8_e5m2fnuz, 7, 2, 5, 2, 16},
};

Result<Hid> copy_of(hid_t type) { return checked(H5Tcopy(type)); }

Error no_such_number(const std::string& what) {
    return {Errc::unsupported, what + " is no type that can be carried", ""};
}

// Errc::unsupported for the middle-endian order of VAX.
Result<bool> is_big_endian(hid_t type) {
    if (H5Tget_size(type) == 1) return false;  // H5T_STD_I8BE: one byte has no order
    const auto order = H5Tget_order(type);
    if (order == H5T_ORDER_BE) return true;
    if (order == H5T_ORDER_LE || order == H5T_ORDER_NONE) return false;
    return no_such_number("a number in VAX or mixed byte order");
}

Result<Hdf5Type> read_float(hid_t type) {
    std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
    if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
        return hdf5_error(Errc::corrupt, "bad floating-point type", "");
    const std::size_t size = H5Tget_size(type), bias = H5Tget_ebias(type);
    Hdf5Type out;
    for (const auto& f : kFloats) {
        if (size == size_of(f.dtype) && H5Tget_precision(type) == 8 * size && H5Tget_offset(type) == 0 &&
            H5Tget_norm(type) == H5T_NORM_IMPLIED && sign == f.sign && exponent == f.exponent &&
            exponent_bits == f.exponent_bits && mantissa == 0 && mantissa_bits == f.mantissa_bits && bias == f.bias)
            out.dtype = f.dtype;
    }
    if (!out.dtype)
        return no_such_number("a float of " + std::to_string(size) + " bytes with " + std::to_string(exponent_bits) +
                              " exponent and " + std::to_string(mantissa_bits) + " mantissa bits");
    GRADZ_TRY(out.big_endian, is_big_endian(type));
    GRADZ_TRY(out.memory, copy_of(type));
    return out;
}

std::optional<DType> integer_of(std::size_t size, bool is_signed) {
    switch (size) {
        case 1: return is_signed ? DType::i8 : DType::u8;
        case 2: return is_signed ? DType::i16 : DType::u16;
        case 4: return is_signed ? DType::i32 : DType::u32;
        case 8: return is_signed ? DType::i64 : DType::u64;
        default: return std::nullopt;
    }
}

Result<Hdf5Type> read_integer(hid_t type) {
    const std::size_t size = H5Tget_size(type), precision = H5Tget_precision(type);
    Hdf5Type out;
    out.dtype = integer_of(size, H5Tget_sign(type) == H5T_SGN_2);
    if (!out.dtype) return no_such_number("an integer of " + std::to_string(size) + " bytes");
    GRADZ_TRY(out.big_endian, is_big_endian(type));
    if (precision == 8 * size) {
        GRADZ_TRY(out.memory, copy_of(type));
        return out;
    }
    // Padding bits are no part of the value: libhdf5 extends the sign, which is exact.
    out.remark =
        "integers of " + std::to_string(precision) + " bits, carried as " + std::string(row_of(*out.dtype).name);
    GRADZ_TRY(out.memory, make_hdf5_type(*out.dtype, out.big_endian));
    return out;
}

bool has_member(hid_t type, unsigned index, std::string_view name) {
    char* const member = H5Tget_member_name(type, index);
    const bool same = member && member == name;
    if (member) H5free_memory(member);
    return same;
}

bool is_h5py_bool(hid_t type) {
    std::int8_t no = -1, yes = -1;
    return H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 && has_member(type, 0, "FALSE") &&
           has_member(type, 1, "TRUE") && H5Tget_member_value(type, 0, &no) >= 0 &&
           H5Tget_member_value(type, 1, &yes) >= 0 && no == 0 && yes == 1;
}

Result<Hdf5Type> read_enum(hid_t type) {
    const Hid base(H5Tget_super(type));
    if (!base) return hdf5_error(Errc::corrupt, "bad enumeration", "");
    GRADZ_TRY(auto out, read_integer(base.get()));
    GRADZ_TRY(out.memory, copy_of(type));
    if (out.dtype == DType::i8 && out.remark.empty() && is_h5py_bool(type)) out.dtype = DType::boolean;
    else if (out.remark.empty()) out.remark = "enumeration, carried as its integers";
    else return no_such_number("an enumeration over " + out.remark.substr(0, out.remark.find(',')));
    return out;
}

// h5py's complex numbers: {r, i}, two equal floats without padding.
Result<Hdf5Type> read_compound(hid_t type) {
    Hdf5Type other;
    other.skipped = "compound type";
    if (H5Tget_nmembers(type) != 2 || !has_member(type, 0, "r") || !has_member(type, 1, "i")) return other;
    const Hid real(H5Tget_member_type(type, 0)), imaginary(H5Tget_member_type(type, 1));
    if (!real || !imaginary || H5Tequal(real.get(), imaginary.get()) <= 0 || H5Tget_class(real.get()) != H5T_FLOAT)
        return other;
    GRADZ_TRY(auto out, read_float(real.get()));
    const std::size_t word = H5Tget_size(real.get());
    if ((out.dtype != DType::f32 && out.dtype != DType::f64) || H5Tget_size(type) != 2 * word ||
        H5Tget_member_offset(type, 0) != 0 || H5Tget_member_offset(type, 1) != word)
        return other;
    out.dtype = out.dtype == DType::f32 ? DType::c64 : DType::c128;
    GRADZ_TRY(out.memory, copy_of(type));
    return out;
}

Result<Hid> make_float(const FloatFields& f, bool big_endian) {
    GRADZ_TRY(auto type, copy_of(f.dtype == DType::f64 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE));
    const hid_t t = type.get();
    if (H5Tset_fields(t, f.sign, f.exponent, f.exponent_bits, 0, f.mantissa_bits) < 0 ||
        H5Tset_size(t, size_of(f.dtype)) < 0 || H5Tset_ebias(t, f.bias) < 0 ||
        H5Tset_order(t, big_endian ? H5T_ORDER_BE : H5T_ORDER_LE) < 0)
        return hdf5_error(Errc::io, "", "");
    return type;
}

Result<Hid> make_integer(DType dtype, bool big_endian) {
    const bool is_signed = dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
    GRADZ_TRY(auto type, copy_of(is_signed ? H5T_STD_I64LE : H5T_STD_U64LE));
    if (H5Tset_size(type.get(), size_of(dtype)) < 0 ||
        H5Tset_order(type.get(), big_endian ? H5T_ORDER_BE : H5T_ORDER_LE) < 0)
        return hdf5_error(Errc::io, "", "");
    return type;
}

Result<Hid> make_bool() {
    GRADZ_TRY(auto type, checked(H5Tenum_create(H5T_STD_I8LE)));
    constexpr std::int8_t kNo = 0, kYes = 1;
    if (H5Tenum_insert(type.get(), "FALSE", &kNo) < 0 || H5Tenum_insert(type.get(), "TRUE", &kYes) < 0)
        return hdf5_error(Errc::io, "", "");
    return type;
}

Result<Hid> make_complex(DType dtype, bool big_endian) {
    GRADZ_TRY(const auto part, make_hdf5_type(dtype == DType::c64 ? DType::f32 : DType::f64, big_endian));
    const std::size_t word = row_of(dtype).word;
    GRADZ_TRY(auto type, checked(H5Tcreate(H5T_COMPOUND, 2 * word)));
    if (H5Tinsert(type.get(), "r", 0, part.get()) < 0 || H5Tinsert(type.get(), "i", word, part.get()) < 0)
        return hdf5_error(Errc::io, "", "");
    return type;
}

std::string_view words_for(H5T_class_t type_class) {
    switch (type_class) {
        case H5T_STRING: return "string type";
        case H5T_VLEN: return "variable-length type";
        case H5T_REFERENCE: return "reference type";
        case H5T_OPAQUE: return "opaque type";
        case H5T_TIME: return "time type";
        case H5T_BITFIELD: return "bitfield type";
        case H5T_ARRAY: return "array type";
        default: return "unknown type";
    }
}

template <class Word>
void swap_each(std::span<std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
        Word word;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        if constexpr (sizeof word == 2) word = __builtin_bswap16(word);
        if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
        if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
        std::memcpy(bytes.data() + at, &word, sizeof word);
    }
}

}  // namespace

Result<Hdf5Type> read_hdf5_type(hid_t type) {
    const auto type_class = H5Tget_class(type);
    switch (type_class) {
        case H5T_FLOAT: return read_float(type);
        case H5T_INTEGER: return read_integer(type);
        case H5T_ENUM: return read_enum(type);
        case H5T_COMPOUND: return read_compound(type);
        default: break;
    }
    Hdf5Type other;
    other.skipped = words_for(type_class);
    return other;
}

Result<Hid> make_hdf5_type(DType dtype, bool big_endian) {
    for (const auto& f : kFloats)
        if (f.dtype == dtype) return make_float(f, big_endian);
    switch (dtype) {
        case DType::boolean: return make_bool();
        case DType::c64:
        case DType::c128: return make_complex(dtype, big_endian);
        case DType::f8_e8m0: return Error{Errc::unsupported, "HDF5 has no type for float8_e8m0fnu", ""};
        default: return make_integer(dtype, big_endian);
    }
}

void swap_words(std::span<std::byte> bytes, std::size_t word) {
    if (word == 2) swap_each<std::uint16_t>(bytes);
    if (word == 4) swap_each<std::uint32_t>(bytes);
    if (word == 8) swap_each<std::uint64_t>(bytes);
}

}  // namespace gradz::formats
