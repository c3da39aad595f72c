// A zip archive, member by member, the way Python's zipfile writes one for NumPy: zip64
// everywhere, the first day of the format as date, so that equal members give equal archives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/output_file.hpp"
#include "formats/zip_archive.hpp"

namespace gradz::formats {

class ZipWriter final : public ByteSink {
public:
    explicit ZipWriter(Output& output);  // empty so far; outlives this
    ~ZipWriter() override;

    // method: kZipStored or kZipDeflated. Where the output cannot be overwritten, sizes and
    // CRC follow the data. Errc::unsupported for a name over kMaxZipName bytes.
    Result<Done> begin(const std::string& name, std::uint16_t method);
    Result<Done> write(std::span<const std::byte> bytes) override;  // of the member begun last
    Result<Done> end();

    Result<Done> finish();  // the directory; nothing may follow

private:
    struct Deflater;

    Result<Done> put(std::span<const std::byte> bytes);
    Result<Done> deflate_all(std::span<const std::byte> bytes, bool last);

    Output& output_;
    std::uint64_t at_ = 0;  // bytes of the archive so far
    std::vector<ZipMember> members_;
    std::unique_ptr<Deflater> deflater_;
};

constexpr std::size_t kMaxZipName = 0xffff;

}  // namespace gradz::formats
