#include "verify.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "command.hpp"
#include "dump.hpp"
#include "pipeline/decode.hpp"

namespace gradz::cli {
namespace {

class Count : public DecodeSink {
public:
    Verified seen;

    Result<Done> add(std::span<const TensorHeader> more) override {
        seen.tensors += more.size();
        for (const auto& header : more) {
            GRADZ_TRY(const auto elements, header.info.numel());
            seen.elements += elements;
        }
        return Done{};
    }
    bool wants(std::uint64_t) const override { return false; }
    Result<Done> write(std::uint64_t, std::uint64_t, std::span<const std::byte>) override { return Done{}; }
    Result<Done> end() override {
        ++seen.streams;
        return Done{};
    }
};

}  // namespace

Result<Verified> verify(ByteSource& source, int threads, Digest* digest, const Device& device) {
    Count count;
    GRADZ_TRY([[maybe_unused]] auto decoded, decode_streams(source, count, threads, digest, device));
    return count.seen;
}

Identity identity_of(const std::string& file) {
    struct stat s {};
    if (::lstat(file.c_str(), &s) != 0) return {};
    return {s.st_dev,         s.st_ino,          static_cast<std::uint64_t>(s.st_size),
            s.st_mtim.tv_sec, s.st_mtim.tv_nsec, S_ISREG(s.st_mode)};
}

int remove_unchanged(const std::string& file, const Identity& before) {
    if (!before.regular || !(identity_of(file) == before)) {
        print_warning(file, before.regular ? "kept: it changed while it was read" : "kept: not a regular file");
        return kOk;
    }
    if (::unlink(file.c_str()) != 0) return print_error(file, {Errc::io, std::system_category().message(errno), ""});
    return kOk;
}

int remove_verified(const std::string& file, const Identity& before, const std::string& target, int threads) {
    auto bytes = open_bytes(target);
    if (!bytes) return print_error(target, bytes.error());
    if (auto verified = verify(**bytes, threads); !verified) return print_error(target, verified.error());
    return remove_unchanged(file, before);
}

}  // namespace gradz::cli
