#include "formats/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <vector>

#include "formats/posix.hpp"

namespace gradz::formats {
namespace {

constexpr std::uint64_t kWindow = std::uint64_t{16} << 20;

// The signal handler can only look at memory that is always there, so the mappings are known
// to it through this table. A free slot has end == 0.
struct Slot {
    std::atomic<bool> taken{false}, hole{false};
    std::atomic<std::uintptr_t> begin{0}, end{0};
};
std::array<Slot, 1024> slots;
struct sigaction previous_action;
std::uintptr_t page_size = 4096;

Slot* register_mapping(const void* begin, std::size_t size) {
    for (auto& slot : slots) {
        bool expected = false;
        if (!slot.taken.compare_exchange_strong(expected, true)) continue;
        const auto start = reinterpret_cast<std::uintptr_t>(begin);
        slot.hole = false;
        slot.begin = start;
        slot.end = start + size;  // last: from here on the handler sees it
        return &slot;
    }
    return nullptr;
}

void unregister_mapping(Slot& slot) {
    slot.end = 0;
    slot.begin = 0;
    slot.taken = false;
}

// Async-signal-safe: atomics and system calls only.
void on_sigbus(int signal, siginfo_t* info, void*) {
    const int saved = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (auto& slot : slots) {
        if (info->si_code <= 0 || address < slot.begin || address >= slot.end) continue;
        void* page = reinterpret_cast<void*>(address & ~(page_size - 1));
        if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
        slot.hole = true;
        errno = saved;
        return;
    }
    sigaction(signal, &previous_action, nullptr);  // not ours: the access faults again, and dies
    if (info->si_code <= 0) raise(signal);         // sent by a process: nothing will fault again
    errno = saved;
}

class Mapping final : public MappedFile {
public:
    Mapping(Descriptor fd, const struct stat& opened, std::span<const std::byte> bytes, Slot* slot)
        : fd_(std::move(fd)),
          opened_(opened),
          bytes_(bytes),
          slot_(slot),
          used_((bytes.size() + kWindow - 1) / kWindow) {}

    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    ~Mapping() override {
        if (bytes_.empty()) return;
        unregister_mapping(*slot_);
        munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }

    std::span<const std::byte> bytes() const override { return bytes_; }

    Result<Done> release(std::uint64_t offset, std::uint64_t size) override {
        const std::uint64_t end = std::min<std::uint64_t>(offset + size, bytes_.size());
        while (offset < end) {
            const std::uint64_t window = offset / kWindow, stop = std::min(end, (window + 1) * kWindow);
            use(window, stop - offset);
            offset = stop;
        }
        return no_hole();
    }

    Result<Done> unchanged() const override {
        struct stat now;
        if (fstat(fd_.get(), &now) != 0) return io_error("cannot look at the file again", errno);
        const bool same = now.st_size == opened_.st_size && now.st_mtim.tv_sec == opened_.st_mtim.tv_sec &&
                          now.st_mtim.tv_nsec == opened_.st_mtim.tv_nsec;
        if (!same) return Error{Errc::io, "file changed while being read", ""};
        return no_hole();
    }

private:
    // A second pass counts from zero again. Pages that are dropped too early come back from
    // the page cache, so counting bytes instead of marking them is enough.
    void use(std::uint64_t window, std::uint64_t size) {
        const std::uint64_t begin = window * kWindow, length = std::min<std::uint64_t>(kWindow, bytes_.size() - begin);
        const std::uint64_t used = used_[window].fetch_add(size) + size;
        if (used < length) return;
        used_[window].fetch_sub(length);
        madvise(const_cast<std::byte*>(bytes_.data()) + begin, length, MADV_DONTNEED);
    }

    Result<Done> no_hole() const {
        if (slot_ && slot_->hole) return Error{Errc::io, "file shrank while being read", ""};
        return Done{};
    }

    Descriptor fd_;
    struct stat opened_;
    std::span<const std::byte> bytes_;
    Slot* slot_;
    std::vector<std::atomic<std::uint64_t>> used_;  // bytes released per window
};

Result<std::shared_ptr<MappedFile>> map(Descriptor fd) {
    struct stat info;
    if (fstat(fd.get(), &info) != 0) return io_error("cannot look at the file", errno);
    if (S_ISDIR(info.st_mode)) return Error{Errc::unsupported, "is a directory", ""};
    if (!S_ISREG(info.st_mode)) return Error{Errc::unsupported, "is no regular file", ""};
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size == 0)
        return std::shared_ptr<MappedFile>(
            std::make_shared<Mapping>(std::move(fd), info, std::span<const std::byte>(), nullptr));
    void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (start == MAP_FAILED) return io_error("cannot map the file", errno);
    madvise(start, size, MADV_SEQUENTIAL);
    Slot* slot = register_mapping(start, size);
    if (!slot) {
        munmap(start, size);
        return Error{Errc::io, "more than " + std::to_string(slots.size()) + " files are mapped at once", ""};
    }
    const std::span bytes(static_cast<const std::byte*>(start), size);
    return std::shared_ptr<MappedFile>(std::make_shared<Mapping>(std::move(fd), info, bytes, slot));
}

}  // namespace

Result<std::shared_ptr<MappedFile>> map_file(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a FIFO must not wait for its writer just to be refused.
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd) return io_error("cannot open", errno);
    return map(std::move(fd));
}

Result<std::shared_ptr<MappedFile>> map_descriptor(int fd) { return map(Descriptor(fd)); }

void install_sigbus_handler() {
    page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
}

}  // namespace gradz::formats
