// formats/output_file.cpp and temporaries.cpp: whole or not at all, and never harm to
// what is there.
#include "formats/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <csignal>
#include <cstdlib>

#include "formats/temporaries.hpp"
#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

Result<Done> put(const fs::path& path, const std::string& text, bool force = false) {
    GRADZ_TRY(auto out, create(path, force));
    GRADZ_TRY([[maybe_unused]] auto written, out->write(bytes_of(text)));
    return out->commit();
}

mode_t mode_of(const fs::path& path) {
    struct stat info;
    REQUIRE(lstat(path.c_str(), &info) == 0);
    return info.st_mode;
}

}  // namespace

TEST_CASE("output: appears at commit and not before, without leftovers") {
    const Folder dir;
    {
        auto out = must(create(dir / "a", false));
        CHECK(out->seekable());
        CHECK(out->write(bytes_of("hello world")));
        CHECK(out->write_at(6, bytes_of("there")));
        CHECK_FALSE(fs::exists(dir / "a"));
        CHECK((mode_of(out->staging()) & 0777) == 0600);
        CHECK(out->staging().parent_path() == dir.path());
        CHECK(out->commit());
        CHECK(slurp(dir / "a") == "hello there");
    }
    CHECK(dir.count() == 1);
    {
        auto abandoned = must(create(dir / "b", false));
        CHECK(abandoned->write(bytes_of("x")));
    }
    CHECK(dir.count() == 1);
}

TEST_CASE("output: an existing file is kept, or replaced as a whole under force") {
    const Folder dir;
    spill(dir / "a", "old");
    CHECK(create(dir / "a", false).error().code == Errc::exists);
    {
        auto out = must(create(dir / "a", true));
        CHECK(out->write(bytes_of("new")));
        CHECK(slurp(dir / "a") == "old");
    }
    CHECK(slurp(dir / "a") == "old");
    CHECK(put(dir / "a", "new", true));
    CHECK(slurp(dir / "a") == "new");
    CHECK(dir.count() == 1);
}

TEST_CASE("output: what appears meanwhile is left alone") {
    const Folder dir;
    auto out = must(create(dir / "a", false));
    spill(dir / "a", "theirs");
    const auto done = out->commit();
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Errc::exists);
    CHECK(slurp(dir / "a") == "theirs");
    auto forced = must(create(dir / "b", true));
    REQUIRE(mkfifo((dir / "b").c_str(), 0600) == 0);
    CHECK_FALSE(forced->commit());
    CHECK(S_ISFIFO(mode_of(dir / "b")));
    out.reset();
    forced.reset();
    CHECK(dir.count() == 2);
}

TEST_CASE("output: a symlink stays, its target is written") {
    const Folder dir;
    fs::create_directory(dir / "sub");
    fs::create_symlink("sub/file", dir / "link");
    fs::create_symlink("link", dir / "link2");
    auto out = must(create(dir / "link2", false));  // the target is not there yet
    CHECK(out->staging().parent_path() == dir / "sub");
    CHECK(out->write(bytes_of("1")));
    CHECK(out->commit());
    CHECK(slurp(dir / "sub/file") == "1");
    CHECK(create(dir / "link", false).error().code == Errc::exists);
    CHECK(put(dir / "link", "2", true));
    CHECK(slurp(dir / "sub/file") == "2");
    CHECK(fs::is_symlink(dir / "link"));
    fs::create_symlink("loop", dir / "loop");
    CHECK_FALSE(create(dir / "loop", true));
}

TEST_CASE("output: mode follows the umask, or the input with its mtime") {
    const Folder dir;
    const mode_t mask = umask(027);
    CHECK(put(dir / "a", "x"));
    CHECK((mode_of(dir / "a") & 07777) == 0640);
    umask(mask);
    spill(dir / "like", "x");
    REQUIRE(chmod((dir / "like").c_str(), 04751) == 0);
    const timespec times[2] = {{5, 0}, {1234567890, 123456789}};
    REQUIRE(utimensat(AT_FDCWD, (dir / "like").c_str(), times, 0) == 0);
    auto out = must(create(dir / "b", false));
    out->copy_times(dir / "like");
    CHECK(out->commit());
    struct stat info;
    REQUIRE(stat((dir / "b").c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0751);
    CHECK(info.st_mtim.tv_sec == 1234567890);
    CHECK(info.st_mtim.tv_nsec == 123456789);
    auto other = must(create(dir / "c", false));
    other->copy_times("/dev/null");  // no regular file: nothing to copy
    CHECK(other->commit());
    CHECK((mode_of(dir / "c") & 0777) == (0666 & ~mask));
}

TEST_CASE("output: devices are written in place and stay devices") {
    for (const bool force : {false, true}) {
        CHECK(put("/dev/null", "x", force));
        CHECK(S_ISCHR(mode_of("/dev/null")));
        auto full = must(create("/dev/full", force));
        CHECK_FALSE(full->seekable());
        CHECK(full->staging().empty());
        const auto written = full->write(bytes_of("x"));
        REQUIRE_FALSE(written);
        CHECK(written.error().code == Errc::io);
        CHECK(written.error().what.find("No space left on device") != std::string::npos);
        CHECK(S_ISCHR(mode_of("/dev/full")));
    }
    const Folder dir;
    fs::create_symlink("/dev/null", dir / "null");
    CHECK(put(dir / "null", "x", true));
    CHECK(fs::is_symlink(dir / "null"));
}

TEST_CASE("output: FIFOs and pipes") {
    const Folder dir;
    REQUIRE(mkfifo((dir / "fifo").c_str(), 0600) == 0);
    std::string got;
    std::thread reader([&] { got = slurp(dir / "fifo"); });
    CHECK(put(dir / "fifo", "through"));
    reader.join();
    CHECK(got == "through");
    CHECK(S_ISFIFO(mode_of(dir / "fifo")));

    const auto before = signal(SIGPIPE, SIG_IGN);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    auto out = must(create("/dev/fd/" + std::to_string(ends[1]), false));
    CHECK(out->write(bytes_of("x")));
    close(ends[0]);
    const auto broken = out->write(bytes_of("x"));
    REQUIRE_FALSE(broken);
    CHECK(broken.error().what.find("Broken pipe") != std::string::npos);
    close(ends[1]);
    signal(SIGPIPE, before);
}

TEST_CASE("output: a descriptor of ours is written where it stands, not replaced") {
    const Folder dir;
    spill(dir / "log", "one,");
    const int fd = open((dir / "log").c_str(), O_WRONLY | O_APPEND);
    const auto inode = [&] {
        struct stat i;
        REQUIRE(stat((dir / "log").c_str(), &i) == 0);
        return i.st_ino;
    };
    const auto old = inode();
    CHECK(put("/dev/fd/" + std::to_string(fd), "two,"));
    CHECK(put("/proc/self/fd/" + std::to_string(fd), "three", true));
    close(fd);
    CHECK(slurp(dir / "log") == "one,two,three");
    CHECK(inode() == old);
    CHECK(dir.count() == 1);
}

TEST_CASE("output: a terminal is refused unless asked for") {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return;  // no terminals here
    const char* name = ptsname(master);
    REQUIRE(name);
    CHECK(create(name, false).error().code == Errc::invalid_argument);
    CHECK(create(name, true));
    CHECK(create(name, false, true));
    close(master);
}

TEST_CASE("output: places where no file can be") {
    const Folder dir;
    spill(dir / "file", "x");
    CHECK(create(dir / "no/such/a", false).error().code == Errc::io);
    CHECK(create(dir / "file/a", false).error().code == Errc::io);
    CHECK(create(dir.path(), true).error().code == Errc::invalid_argument);
    CHECK(create(dir / "new/", true).error().code == Errc::invalid_argument);
    CHECK(create("", false).error().code == Errc::invalid_argument);
    CHECK(dir.count() == 1);
}

TEST_CASE("output: remove_temporaries takes files and folders away") {
    const Folder dir;
    spill(dir / "kept", "x");
    auto a = must(create(dir / "a", false));
    auto folder = must(TemporaryFolder::create(dir / "b", false));
    auto inner = must(create(folder.path() / "inner", false));
    fs::create_directories(folder.path() / "x/y/z");
    for (int i = 0; i < 300; ++i) spill(folder.path() / ("x/y/" + std::to_string(i)), "x");
    remove_temporaries();
    CHECK(dir.count() == 1);
    CHECK(fs::exists(dir / "kept"));
}

TEST_CASE("output: a folder appears whole, and never over what is there") {
    const Folder dir;
    {
        auto gone = must(TemporaryFolder::create(dir / "out", false));
        spill(gone.path() / "a", "x");
    }
    CHECK(dir.count() == 0);
    auto made = must(TemporaryFolder::create(dir / "out/", false));
    spill(made.path() / "a", "x");
    CHECK(made.publish());
    CHECK(slurp(dir / "out/a") == "x");
    for (const bool force : {false, true})
        CHECK(TemporaryFolder::create(dir / "out", force).error().code == Errc::exists);
    fs::create_directory(dir / "empty");
    CHECK(TemporaryFolder::create(dir / "empty", false).error().code == Errc::exists);
    auto second = must(TemporaryFolder::create(dir / "empty", true));
    spill(dir / "empty/theirs", "x");
    CHECK(second.publish().error().code == Errc::exists);
    CHECK(slurp(dir / "empty/theirs") == "x");
}
