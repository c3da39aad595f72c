// lib/coder/rans_coder.cpp: near the entropy, the same bytes by every implementation that the
// library has, and no harm from codes that nobody wrote.
#include <doctest/doctest.h>
#include <htscodecs/rANS_static4x16.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>

#include "coder/blocks.hpp"
#include "coder/coders.hpp"
#include "core/hash.hpp"
#include "core/rans.hpp"
#include "support/gen.hpp"

using namespace gradz;
using test::Block;
using test::Bytes;
using test::entropy_bits;
using test::one_bucket;

namespace {

// Symbols of falling probability, as quantized gradients have them.
std::vector<std::uint32_t> skewed(std::size_t n, std::uint32_t alphabet, double ratio, unsigned seed) {
    std::mt19937 gen(seed);
    std::geometric_distribution<std::uint32_t> draw(ratio);
    std::vector<std::uint32_t> symbols(n);
    for (auto& s : symbols) s = std::min(draw(gen), alphabet - 1);
    return symbols;
}

struct AllCpus {  // the library's choice again, whatever a test asked for
    ~AllCpus() { rans_set_cpu(~0); }
};

// Memory whose end is followed by a page that cannot be read.
class BeforeWall {
public:
    BeforeWall() {
        REQUIRE(begin_ != MAP_FAILED);
        REQUIRE(mprotect(begin_ + kRoom, page_, PROT_NONE) == 0);
    }
    ~BeforeWall() { munmap(begin_, kRoom + page_); }
    BeforeWall(const BeforeWall&) = delete;
    BeforeWall& operator=(const BeforeWall&) = delete;

    std::span<const std::byte> put(const Bytes& bytes) {
        REQUIRE(bytes.size() <= kRoom);
        std::byte* const at = begin_ + kRoom - bytes.size();
        std::copy(bytes.begin(), bytes.end(), at);
        return {at, bytes.size()};
    }

private:
    static constexpr std::size_t kRoom = std::size_t{1} << 18;
    const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::byte* const begin_ = static_cast<std::byte*>(
        mmap(nullptr, kRoom + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

}  // namespace

// A table of at most 256 frequencies and 32 states are what a block costs beside its entropy.
TEST_CASE("rans: within 0.2 % and 600 bytes of the order-0 entropy of 2^18 symbols") {
    for (const auto& [alphabet, ratio] :
         {std::pair{15u, 0.3}, {15u, 0.6}, {15u, 0.2}, {7u, 0.4}, {63u, 0.1}, {255u, 0.05}}) {
        CAPTURE(alphabet);
        CAPTURE(ratio);
        const auto symbols = skewed(std::size_t{1} << 18, alphabet, ratio, 5);
        const double bits = 8.0 * static_cast<double>(test::encode(*make_rans(), one_bucket(alphabet, symbols)).size());
        CHECK(bits <= 1.002 * entropy_bits(symbols) + 8 * 600);
    }
}

// Versions of the library before 1.5.2 heed only a choice that comes before all else in a process:
// tests/CMakeLists.txt runs this one by itself for each, with GRADZ_TEST_RANS_CPU.
TEST_CASE("rans: this implementation of the library writes and reads the known bytes") {
    const AllCpus restored;
    if (const char* cpu = std::getenv("GRADZ_TEST_RANS_CPU")) rans_set_cpu(std::atoi(cpu));
    Digest digest;
    for (std::size_t n : {1u, 20u, 999u, 2001u, 2003u, 5000u, 200'000u}) {
        CAPTURE(n);
        Bytes in(n), code, back(n);
        std::uint32_t state = 7;
        for (auto& b : in) {  // 0 half of the time, 1 a quarter, ..
            state = state * 1664525 + 1013904223;
            b = static_cast<std::byte>(std::countl_zero(state | 1u));
        }
        REQUIRE(rans_compress(in, code));
        digest.update(code);
        REQUIRE(rans_decompress(code, back));
        CHECK(back == in);
    }
    CHECK(digest.hex() == "eb9e502faf51baccbe6b9701e9764109");
}

// Decoders by AVX2 load whole vectors at the end: one that reads beyond ends the test by a signal. Old versions of the
// library heed only a choice that comes before all else in the process: by itself this case tests what it says.
TEST_CASE("rans: nothing is read beyond a code, whole or cut") {
    const AllCpus restored;
    BeforeWall wall;
    std::mt19937 gen(3);
    rans_set_cpu(RANS_CPU_ENC_AVX2 | RANS_CPU_DEC_AVX2);
    for (std::size_t n = 1001; n < 5000; ++n) {
        Bytes in(n), code, back(n);
        for (auto& b : in) b = static_cast<std::byte>(gen() % (2 + n % 120));
        REQUIRE(rans_compress(in, code));
        REQUIRE(rans_decompress(wall.put(code), back));
        REQUIRE(back == in);
        code.resize(1 + gen() % code.size());
        [[maybe_unused]] const bool decoded = static_cast<bool>(rans_decompress(wall.put(code), back));
    }
}

TEST_CASE("rans: cut, changed and foreign codes are refused or are codes of something") {
    std::mt19937 gen(9);
    std::size_t refused = 0, tries = 0;
    for (std::size_t n : {30u, 700u, 3000u}) {
        const Block block = one_bucket(15, skewed(n, 15, 0.4, 7));
        const Bytes code = test::encode(*make_rans(), block);
        const auto attempt = [&](const Bytes& wrong) {
            const auto back = test::decode(*make_rans(), block, wrong);
            ++tries;
            if (back.result) {
                for (const auto s : back.symbols) REQUIRE(std::to_integer<unsigned>(s) < block.alphabet);
                return;
            }
            ++refused;
            const Errc errc = back.result.error().code;
            REQUIRE((errc == Errc::corrupt || errc == Errc::truncated));
        };
        for (std::size_t size = 0; size < code.size(); ++size)
            attempt(Bytes(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(size)));
        for (std::size_t bit = 0; bit < 8 * code.size(); ++bit) {
            Bytes wrong = code;
            wrong[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
            attempt(wrong);
        }
        for (int i = 0; i < 2000; ++i) {
            Bytes wrong = code;
            for (int k = 0; k < 4; ++k) wrong[1 + gen() % (wrong.size() - 1)] = static_cast<std::byte>(gen());
            attempt(wrong);
        }
        for (unsigned form = 0; form < 256; ++form) {  // all other transforms that the library knows
            Bytes wrong = code;
            if (wrong[0] == static_cast<std::byte>(form)) continue;
            wrong[0] = static_cast<std::byte>(form);
            CHECK_FALSE(test::decode(*make_rans(), block, wrong).result);
        }
    }
    CHECK(refused > tries / 10);
}

TEST_CASE("rans: tables that only the library would take are refused") {
    const Bytes in(100, std::byte{7});
    Bytes code, back(100);
    REQUIRE(rans_compress(in, code));  // form, 7, end of the list, frequency 4096 in two bytes, four states
    REQUIRE(code.size() >= 5 + 16);
    REQUIRE(code[1] == std::byte{7});
    const Bytes head(code.begin(), code.begin() + 1), states(code.begin() + 5, code.end());
    const auto decodes = [&](std::initializer_list<int> table) {
        Bytes made = head;
        for (const int b : table) made.push_back(static_cast<std::byte>(b));
        made.insert(made.end(), states.begin(), states.end());
        return static_cast<bool>(rans_decompress(made, back));
    };
    CHECK(decodes({7, 0, 0xa0, 0}));             // the same
    CHECK(decodes({7, 0, 1}));                   // 1 is multiplied to 4096
    CHECK(!decodes({7, 0, 3}));                  // no power of two
    CHECK(!decodes({7, 0, 0xc0, 0}));            // 8192
    CHECK(!decodes({7, 7, 0, 1, 1}));            // twice
    CHECK(!decodes({9, 7, 0, 1, 1}));            // descending
    CHECK(!decodes({250, 251, 9, 0, 1, 1, 1}));  // a run beyond 255
    CHECK(!decodes({7, 0, 0}));                  // nothing occurs
}

TEST_CASE("rans: content that does not gain is stored, one byte longer") {
    for (std::size_t n : {1u, 100u, 2000u}) {
        std::mt19937 gen(1);
        Bytes in(n), out, back(n);
        for (auto& b : in) b = static_cast<std::byte>(gen());
        REQUIRE(rans_compress(in, out));
        CHECK(out.size() == n + 1);
        CHECK(rans_decompress(out, back));
        CHECK(back == in);
        out.push_back(std::byte{0});
        CHECK_FALSE(rans_decompress(out, back));
    }
}
