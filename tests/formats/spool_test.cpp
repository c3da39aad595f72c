// formats/spool.cpp: pipes to an unlinked file and back.
#include "formats/spool.hpp"

#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

TEST_CASE("spool: the bytes of a pipe, mapped, by path, and copied out") {
    std::string bytes(1000000, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i % 251);
    const Folder dir;
    setenv("TMPDIR", dir.path().c_str(), 1);
    auto spool = must(Spool::create());
    unsetenv("TMPDIR");
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::thread feeder([&] {
        for (std::size_t at = 0; at < bytes.size(); at += 10000)
            CHECK(write(ends[1], bytes.data() + at, 10000) == 10000);
        close(ends[1]);
    });
    CHECK(spool->append(*read_descriptor(ends[0], true)));
    feeder.join();
    CHECK(dir.count() == 0);  // it has no name
    CHECK(slurp(spool->path()) == bytes);
    struct Sink : ByteSink {
        std::string got;
        Result<Done> write(std::span<const std::byte> b) override {
            got.append(reinterpret_cast<const char*>(b.data()), b.size());
            return Done{};
        }
    } sink;
    CHECK(spool->copy_to(sink));
    CHECK(sink.got == bytes);
    auto file = must(spool->map());
    spool.reset();
    CHECK(std::memcmp(file->bytes().data(), bytes.data(), bytes.size()) == 0);
    CHECK(file->unchanged());
}

TEST_CASE("spool: no folder for temporary files") {
    setenv("TMPDIR", "/nonexistent", 1);
    CHECK(Spool::create().error().code == Errc::io);
    unsetenv("TMPDIR");
}
