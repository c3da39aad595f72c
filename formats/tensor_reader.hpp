// A dump on disk or in a pipe: .npy, .npz, HDF5, safetensors, a folder of them, or raw
// values. Readers know file layouts and nothing about quantizers; lib/ knows nothing of them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/origin.hpp"
#include "core/source.hpp"

namespace gradz::formats {

struct Skipped {
    std::string name, reason;  // no numeric array value, or a link or storage outside the file
};

class TensorReader : public TensorSource {
public:
    // In file order; each is named on stderr by the command line.
    virtual const std::vector<Skipped>& skipped() const = 0;

    // What a writer needs to restore the file; its "format" entry is always there.
    virtual const Origin& origin() const = 0;

    // What the origin could not keep (an attribute of a compound type), one line each.
    virtual const std::vector<std::string>& warnings() const = 0;
};

struct RawLayout {
    DType dtype = DType::f32;
    std::vector<std::uint64_t> shape;
};

struct ReadOptions {
    std::string name;                                   // replaces all that would be read from the file's own name
    std::optional<std::uint64_t> step, worker;          // replace what names say
    std::optional<RawLayout> raw;                       // values without a header (--raw, --shape)
    std::uint64_t memory = std::uint64_t{1} << 30;      // for what must be held whole
    std::uint64_t max_output = std::uint64_t{4} << 30;  // declared bytes beyond this and beyond
                                                        // 1000 x the stored ones are refused
    bool follow_external = false;                       // HDF5 external links, external storage, virtual datasets
};

// Opens `path` by content, not by extension (magic bytes; a folder by its files). "-" is
// stdin: npy and raw are read as they come, what needs seeking goes to an unlinked
// temporary file first. Refuses damage, ambiguity, pickles and missing filters: nothing is
// half read. A dump without any tensor is Errc::unsupported "no tensor".
Result<std::unique_ptr<TensorReader>> open_tensors(const std::filesystem::path& path, const ReadOptions& options);

}  // namespace gradz::formats
