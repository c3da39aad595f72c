// formats/mapped_file.cpp: mapped bytes, given back in windows, and a file that shrinks.
#include "formats/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

std::size_t resident_pages(std::span<const std::byte> bytes) {  // of this process, by its page table
    std::ifstream map("/proc/self/pagemap", std::ios::binary);
    const auto first = reinterpret_cast<std::uintptr_t>(bytes.data()) / 4096;
    std::vector<std::uint64_t> entries(bytes.size() / 4096);
    map.seekg(static_cast<std::streamoff>(first * 8));
    map.read(reinterpret_cast<char*>(entries.data()), static_cast<std::streamsize>(entries.size() * 8));
    return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [](auto e) { return e >> 63; }));
}

unsigned sum(std::span<const std::byte> bytes) {
    unsigned out = 0;
    for (const auto b : bytes) out += std::to_integer<unsigned>(b);
    return out;
}

}  // namespace

TEST_CASE("mapped file: its bytes, an empty file, and what is no file") {
    const Folder dir;
    spill(dir / "a", "hello");
    auto file = map_file(dir / "a");
    REQUIRE(file);
    CHECK(sum((*file)->bytes()) == sum(bytes_of("hello")));
    CHECK((*file)->unchanged());
    spill(dir / "empty", "");
    auto empty = map_file(dir / "empty");
    REQUIRE(empty);
    CHECK((*empty)->bytes().empty());
    CHECK((*empty)->release(0, 0));
    CHECK((*empty)->unchanged());
    CHECK(map_file(dir / "absent").error().code == Errc::io);
    CHECK(map_file(dir.path()).error().code == Errc::unsupported);
    CHECK(map_file("/dev/null").error().code == Errc::unsupported);
    REQUIRE(mkfifo((dir / "fifo").c_str(), 0600) == 0);
    CHECK(map_file(dir / "fifo").error().code == Errc::unsupported);  // without waiting for a writer
}

TEST_CASE("mapped file: windows that were used up are given back, and come back") {
    const Folder dir;
    constexpr std::uint64_t kWindow = std::uint64_t{16} << 20, kSize = 2 * kWindow + 12345;
    spill(dir / "a", std::string(kSize, '\1'));
    const auto file = must(map_file(dir / "a"));
    const auto bytes = file->bytes();
    for (int pass = 0; pass < 2; ++pass) {
        CHECK(sum(bytes) == kSize);
        CHECK(resident_pages(bytes) == kSize / 4096);
        CHECK(file->release(0, kWindow - 1));
        CHECK(resident_pages(bytes) == kSize / 4096);  // one byte of it is still in use
        CHECK(file->release(kWindow - 1, 1));
        CHECK(resident_pages(bytes) == kSize / 4096 - kWindow / 4096);
        CHECK(file->release(kWindow, kSize));  // past the end is no harm
        CHECK(resident_pages(bytes) == 0);
    }
    CHECK(file->unchanged());
}

TEST_CASE("mapped file: a change is seen") {
    const Folder dir;
    spill(dir / "a", "hello");
    const auto file = must(map_file(dir / "a"));
    const timespec times[2] = {{0, UTIME_OMIT}, {1, 0}};
    REQUIRE(utimensat(AT_FDCWD, (dir / "a").c_str(), times, 0) == 0);
    CHECK(file->unchanged().error().code == Errc::io);
}

TEST_CASE("mapped file: reading past the end of a file that shrank gives zeros and an error") {
    install_sigbus_handler();
    const Folder dir;
    spill(dir / "a", std::string(1 << 20, '\1'));
    spill(dir / "b", std::string(1 << 20, '\1'));
    const auto file = must(map_file(dir / "a")), other = must(map_file(dir / "b"));
    CHECK(file->release(0, 0));
    REQUIRE(truncate((dir / "a").c_str(), 8192) == 0);
    std::thread second([&] { CHECK(sum(file->bytes().subspan(1 << 19)) == 0); });
    CHECK(sum(file->bytes().first(100000)) == 8192);
    second.join();
    const auto released = file->release(0, 100000);
    REQUIRE_FALSE(released);
    CHECK(released.error().code == Errc::io);
    CHECK(released.error().what == "file shrank while being read");
    CHECK_FALSE(file->unchanged());
    CHECK(other->release(0, 100));  // only the mapping that it happened to
    CHECK(other->unchanged());
}

TEST_CASE("mapped file: SIGBUS from elsewhere still ends the process") {
    const Folder dir;
    spill(dir / "a", std::string(8192, '\1'));
    for (const bool fault : {true, false}) {
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGBUS, SIG_DFL);
            install_sigbus_handler();
            const int null = ::open("/dev/null", O_WRONLY);
            dup2(null, 2);
            if (fault) {
                const int fd = ::open((dir / "a").c_str(), O_RDWR);
                auto* p = static_cast<volatile char*>(mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, fd, 0));
                if (ftruncate(fd, 0) == 0) (void)p[5000];
            } else {
                raise(SIGBUS);
            }
            _exit(0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == SIGBUS);
    }
}
