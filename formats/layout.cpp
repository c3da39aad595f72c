#include "formats/layout.hpp"

#include <algorithm>
#include <string_view>

namespace gradz::formats {
namespace {

using namespace std::literals;

constexpr std::string_view kNpy = "\x93NUMPY", kHdf5 = "\x89HDF\r\n\x1a\n", kStream = "\x8fGRZ\r\n\x1a\n";
constexpr std::string_view kLocalEntry = "PK\3\4", kCentralEntry = "PK\1\2", kZipEnd = "PK\5\6";
constexpr std::size_t kCentralWindow = std::size_t{4} << 20;  // names of a model's tensors fit easily

bool has_hdf5_signature(std::string_view text) {
    for (std::uint64_t at = 0; at < text.size(); at = at ? 2 * at : 512)
        if (text.substr(at, kHdf5.size()) == kHdf5) return true;
    return false;
}

// The name in the zip entry at `at`; header: bytes before the name, its length 2 or 4 fields
// before its end.
std::string_view entry_name(std::string_view text, std::size_t at, std::size_t length_at, std::size_t header) {
    if (text.size() - at < header) return {};
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
    return text.substr(at + header, byte(at + length_at) | byte(at + length_at + 1) << 8);
}

bool is_torch_pickle(std::string_view name) { return name == "data.pkl" || name.ends_with("/data.pkl"); }

// torch.save() writes a zip archive whose record "data.pkl" is first, and lists it at the end.
bool is_pytorch(std::string_view text) {
    if (is_torch_pickle(entry_name(text, 0, 26, 30))) return true;
    const std::size_t begin = text.size() - std::min(text.size(), kCentralWindow);
    for (std::size_t at = text.find(kCentralEntry, begin); at != text.npos; at = text.find(kCentralEntry, at + 4))
        if (is_torch_pickle(entry_name(text, at, 28, 46))) return true;
    return false;
}

}  // namespace

Layout detect_layout(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.starts_with(kNpy)) return Layout::npy;
    if (text.starts_with(kLocalEntry) || text.starts_with(kZipEnd))
        return is_pytorch(text) ? Layout::pytorch : Layout::npz;
    if (text.starts_with(kStream)) return Layout::stream;
    if (text.starts_with("\x80"sv) && text.size() > 1 && text[1] >= 2 && text[1] <= 5) return Layout::pickle;
    if (has_hdf5_signature(text)) return Layout::hdf5;
    // A length of 8 bytes stands before the JSON; its upper half is zero in any real file.
    if (text.size() > 8 && text[8] == '{') return Layout::safetensors;
    return Layout::unknown;
}

std::string why_not_read(Layout layout) {
    switch (layout) {
        case Layout::stream: return "a gradz stream, not a dump";
        case Layout::pytorch:
            return "a PyTorch file, which holds a pickle: convert it with torch.load(..., weights_only=True) and "
                   "safetensors.torch.save_file";
        case Layout::pickle:
            return "a pickle, which is never read: convert it with torch.load(..., weights_only=True) and "
                   "safetensors.torch.save_file";
        case Layout::unknown: return "no known format (npy, npz, HDF5, safetensors)";
        default: return {};
    }
}

}  // namespace gradz::formats
