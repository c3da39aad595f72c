#include "formats/hdf5_layout.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gradz::formats {
namespace {

constexpr std::uint64_t kLargestCompact = 60000;                       // an object header message has 16-bit lengths
constexpr std::uint64_t kLargestChunk = (std::uint64_t{1} << 32) - 1;  // bytes
constexpr unsigned kSzipMask = H5_SZIP_EC_OPTION_MASK | H5_SZIP_NN_OPTION_MASK;  // the others libhdf5 sets itself

template <class Dims>
std::string print_dims(const Dims& dims) {
    std::string out;
    for (const auto d : dims) {
        if (!out.empty()) out += ',';
        out += d == H5S_UNLIMITED ? std::string("inf") : std::to_string(d);
    }
    return out;
}

// ---- reading

struct Filter {
    H5Z_filter_t id = 0;
    unsigned values[8] = {};
    std::string name;
};

Result<Filter> filter_at(hid_t properties, unsigned index) {
    Filter out;
    unsigned flags = 0, config = 0;
    std::size_t count = std::size(out.values);
    char name[64] = "";
    out.id = H5Pget_filter2(properties, index, &flags, &count, out.values, sizeof name - 1, name, &config);
    if (out.id < 0) return hdf5_error(Errc::corrupt, "", "");
    out.name = name;
    return out;
}

// As the entry spells it; "" for what cannot be kept.
std::string print(const Filter& filter) {
    switch (filter.id) {
        case H5Z_FILTER_DEFLATE: return "deflate=" + std::to_string(filter.values[0]);
        case H5Z_FILTER_SHUFFLE: return "shuffle";
        case H5Z_FILTER_FLETCHER32: return "fletcher32";
        case H5Z_FILTER_NBIT: return "nbit";
        case H5Z_FILTER_SZIP:
            return "szip=" + std::to_string(filter.values[0] & kSzipMask) + "," + std::to_string(filter.values[1]);
        default: return "";
    }
}

Result<Done> read_filters(hid_t properties, const TensorInfo& info, Origin& origin,
                          std::vector<std::string>& warnings) {
    const int count = H5Pget_nfilters(properties);
    if (count < 0) return hdf5_error(Errc::corrupt, "", "");
    std::string text;
    for (int i = 0; i < count; ++i) {
        GRADZ_TRY(const auto filter, filter_at(properties, static_cast<unsigned>(i)));
        const auto word = print(filter);
        if (!word.empty()) text += (text.empty() ? "" : " ") + word;
        if (word.empty())
            warnings.push_back("filter " + std::to_string(filter.id) + " (" + filter.name + ") of /" + info.name +
                               ": read, but not kept");
    }
    if (!text.empty()) origin.set(info.name, "hdf5.filters", text);
    return Done{};
}

Result<Done> read_fill(hid_t properties, const TensorInfo& info, const Hdf5Type& type, Origin& origin) {
    H5D_fill_value_t state = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(properties, &state) < 0) return hdf5_error(Errc::corrupt, "", "");
    if (state != H5D_FILL_VALUE_USER_DEFINED) return Done{};
    std::vector<std::byte> fill(size_of(*type.dtype));
    if (H5Pget_fill_value(properties, type.memory.get(), fill.data()) < 0)
        return hdf5_error(Errc::corrupt, "bad fill value", "");
    if (type.big_endian) swap_words(fill, row_of(*type.dtype).word);
    origin.set(info.name, "hdf5.fill", std::string(reinterpret_cast<const char*>(fill.data()), fill.size()));
    return Done{};
}

Result<Done> read_maxshape(hid_t dataset, const TensorInfo& info, Origin& origin) {
    if (info.shape.empty()) return Done{};
    const Hid space(H5Dget_space(dataset));
    std::vector<hsize_t> limits(info.shape.size());
    if (!space || H5Sget_simple_extent_dims(space.get(), nullptr, limits.data()) < 0)
        return hdf5_error(Errc::corrupt, "", "");
    if (!std::equal(limits.begin(), limits.end(), info.shape.begin()))
        origin.set(info.name, "hdf5.maxshape", print_dims(limits));
    return Done{};
}

// ---- writing

const std::string* find(const Hdf5Facts& facts, std::string_view key) {
    for (const auto* const fact : facts)
        if (fact->key == key) return &fact->value;
    return nullptr;
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> out;
    for (;;) {
        const auto end = std::min(text.find(at), text.size());
        out.push_back(text.substr(0, end));
        if (end == text.size()) return out;
        text.remove_prefix(end + 1);
    }
}

// Nothing unless it has `rank` dims.
std::optional<std::vector<hsize_t>> parse_dims(const std::string* text, std::size_t rank) {
    if (!text || rank == 0) return std::nullopt;
    std::vector<hsize_t> out;
    for (const auto part : split(*text, ',')) {
        const auto dim = part == "inf" ? std::optional<std::uint64_t>(H5S_UNLIMITED) : number(part);
        if (!dim) return std::nullopt;
        out.push_back(*dim);
    }
    if (out.size() != rank) return std::nullopt;
    return out;
}

std::vector<hsize_t> limits_of(const TensorInfo& info, const Hdf5Facts& facts) {
    const std::vector<hsize_t> shape(info.shape.begin(), info.shape.end());
    const auto limits = parse_dims(find(facts, "hdf5.maxshape"), shape.size());
    if (!limits) return shape;
    for (std::size_t i = 0; i < shape.size(); ++i)
        if ((*limits)[i] < shape[i]) return shape;
    return *limits;
}

constexpr std::uint64_t kAnyChunk = std::uint64_t{16} << 20;  // bytes that need no data to fill them

// Empty if there is none that libhdf5 would take, or that the data would be lost in.
std::vector<std::uint64_t> chunk_for(const TensorInfo& info, const Hdf5Facts& facts,
                                     const std::vector<hsize_t>& limits) {
    auto chunk = parse_dims(find(facts, "hdf5.chunk"), limits.size());
    if (!chunk) return {};
    std::uint64_t bytes = size_of(info.dtype);
    for (std::size_t i = 0; i < limits.size(); ++i) {
        auto& side = (*chunk)[i];
        side = std::min(side, limits[i]);  // a fixed dim may not be shorter than its chunk
        if (side == 0 || side > kLargestChunk || __builtin_mul_overflow(bytes, side, &bytes) || bytes > kLargestChunk)
            return {};
    }
    // A chunk is held whole, and written whole: one far beyond its data is no layout to restore.
    const auto elements = info.numel();
    const std::uint64_t data = elements ? *elements * size_of(info.dtype) : 0;
    if (bytes > kAnyChunk && bytes / 4 > data) return {};
    return {chunk->begin(), chunk->end()};
}

// Unknown words are ignored, as unknown keys are.
void set_filters(hid_t properties, std::string_view text) {
    for (const auto word : split(text, ' ')) {
        if (word == "shuffle") H5Pset_shuffle(properties);
        if (word == "fletcher32") H5Pset_fletcher32(properties);
        if (word == "nbit") H5Pset_nbit(properties);
        if (word.starts_with("deflate="))
            if (const auto level = number(word.substr(8)); level && *level <= 9)
                H5Pset_deflate(properties, static_cast<unsigned>(*level));
        if (word.starts_with("szip=")) {
            const auto parts = split(word.substr(5), ',');
            const auto mask = number(parts[0]), pixels = number(parts.back());
            if (mask && pixels && *pixels <= H5_SZIP_MAX_PIXELS_PER_BLOCK)
                H5Pset_szip(properties, static_cast<unsigned>(*mask) & kSzipMask, static_cast<unsigned>(*pixels));
        }
    }
}

Result<Done> set_fill(hid_t properties, const TensorInfo& info, bool big_endian, const std::string* fill) {
    if (!fill || fill->size() != size_of(info.dtype)) return Done{};  // of another dtype
    auto bytes = *fill;
    if (big_endian) swap_words(std::as_writable_bytes(std::span(bytes)), row_of(info.dtype).word);
    GRADZ_TRY(const auto type, make_hdf5_type(info.dtype, big_endian));
    if (H5Pset_fill_value(properties, type.get(), bytes.data()) < 0) return hdf5_error(Errc::io, "", "");
    return Done{};
}

Result<Hid> make_space(const TensorInfo& info, const std::vector<hsize_t>* limits) {
    if (info.shape.empty()) return checked(H5Screate(H5S_SCALAR));
    const std::vector<hsize_t> shape(info.shape.begin(), info.shape.end());
    return checked(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), limits ? limits->data() : nullptr));
}

bool fits_compact(const TensorInfo& info) {
    const auto elements = info.numel();
    return elements && *elements <= kLargestCompact / size_of(info.dtype);
}

}  // namespace

std::string_view filter_package(H5Z_filter_t id) {
    switch (id) {
        case H5Z_FILTER_DEFLATE: return "deflate, libhdf5 built with zlib";
        case H5Z_FILTER_SZIP: return "szip, libhdf5 built with libaec";
        case 305: return "lzo, PyTables";
        case 307: return "bzip2, hdf5plugin";
        case 32000: return "lzf, h5py";
        case 32001: return "blosc, hdf5plugin";
        case 32004: return "lz4, hdf5plugin";
        case 32008: return "bitshuffle, hdf5plugin";
        case 32013: return "zfp, hdf5plugin";
        case 32015: return "zstd, hdf5plugin";
        case 32017: return "sz, hdf5plugin";
        case 32018: return "fcidecomp, hdf5plugin";
        case 32024: return "sz3, hdf5plugin";
        case 32026: return "blosc2, hdf5plugin";
        case 32028: return "sperr, hdf5plugin";
        default: return "";
    }
}

Result<std::vector<std::uint64_t>> chunk_of(hid_t properties, std::size_t rank) {
    if (H5Pget_layout(properties) != H5D_CHUNKED) return std::vector<std::uint64_t>{};
    std::vector<hsize_t> dims(rank);
    if (H5Pget_chunk(properties, static_cast<int>(rank), dims.data()) != static_cast<int>(rank))
        return hdf5_error(Errc::corrupt, "bad chunk shape", "");
    return std::vector<std::uint64_t>(dims.begin(), dims.end());
}

Result<Done> read_layout(hid_t dataset, const TensorInfo& info, const Hdf5Type& type, Origin& origin,
                         std::vector<std::string>& warnings) {
    const Hid properties(H5Dget_create_plist(dataset));
    if (!properties) return hdf5_error(Errc::corrupt, "", "");
    if (type.big_endian) origin.set(info.name, "byte_order", "big");
    GRADZ_TRY(const auto chunk, chunk_of(properties.get(), info.shape.size()));
    if (!chunk.empty()) {
        origin.set(info.name, "hdf5.chunk", print_dims(chunk));
        GRADZ_TRY(Done{}, read_maxshape(dataset, info, origin));
        GRADZ_TRY(Done{}, read_filters(properties.get(), info, origin, warnings));
    }
    GRADZ_TRY(Done{}, read_fill(properties.get(), info, type, origin));
    if (H5Pget_layout(properties.get()) == H5D_COMPACT) origin.set(info.name, "hdf5.layout", "compact");
    return Done{};
}

Result<Hdf5Layout> make_layout(const TensorInfo& info, const Hdf5Facts& facts, bool filters) {
    if (info.shape.size() > H5S_MAX_RANK)
        return Error{Errc::unsupported, std::to_string(info.shape.size()) + " dims, HDF5 has at most 32", ""};
    Hdf5Layout out;
    GRADZ_TRY(out.properties, checked(H5Pcreate(H5P_DATASET_CREATE)));
    const hid_t p = out.properties.get();
    H5Pset_obj_track_times(p, false);  // the same tensors give the same file
    const auto* const order = find(facts, "byte_order");
    out.big_endian = order && *order == "big" && row_of(info.dtype).word > 1;
    const auto limits = limits_of(info, facts);
    out.chunk = chunk_for(info, facts, limits);
    if (!out.chunk.empty()) {
        const std::vector<hsize_t> chunk(out.chunk.begin(), out.chunk.end());
        if (H5Pset_chunk(p, static_cast<int>(chunk.size()), chunk.data()) < 0) return hdf5_error(Errc::io, "", "");
        const auto* const words = find(facts, "hdf5.filters");
        if (words && filters) set_filters(p, *words);
        out.filtered = H5Pget_nfilters(p) > 0;
    } else if (const auto* const layout = find(facts, "hdf5.layout");
               layout && *layout == "compact" && fits_compact(info)) {
        H5Pset_layout(p, H5D_COMPACT);
    }
    GRADZ_TRY(Done{}, set_fill(p, info, out.big_endian, find(facts, "hdf5.fill")));
    GRADZ_TRY(out.space, make_space(info, out.chunk.empty() ? nullptr : &limits));
    return out;
}

}  // namespace gradz::formats
