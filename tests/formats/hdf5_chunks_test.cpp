// formats/hdf5_chunks.cpp: what workers decode is what libhdf5 reads, for any shape, chunk, filters
// and order; damaged chunks are told by tensor and place.
#include "formats/hdf5_chunks.hpp"

#include <zlib.h>

#include <cstring>
#include <random>
#include <thread>

#include "formats/hdf5_support.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

using Dims = std::vector<hsize_t>;

struct Filters {
    bool shuffle, deflate, fletcher, skip_edges;
};

// A file with one dataset "w", whose chunks a test writes one way or another.
class OneDataset {
public:
    OneDataset(const std::string& path, hid_t type, const Dims& shape, const Dims& chunk, Filters filters,
               const void* fill = nullptr)
        : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
        const Hid p(H5Pcreate(H5P_DATASET_CREATE));
        const int rank = static_cast<int>(shape.size());
        const Dims most(shape.size(), H5S_UNLIMITED);
        H5Pset_chunk(p.get(), rank, chunk.data());
        if (filters.shuffle) H5Pset_shuffle(p.get());
        if (filters.deflate) H5Pset_deflate(p.get(), 4);
        if (filters.fletcher) H5Pset_fletcher32(p.get());
        if (filters.skip_edges) H5Pset_chunk_opts(p.get(), H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
        if (fill) H5Pset_fill_value(p.get(), type, fill);
        space_ = Hid(H5Screate_simple(rank, shape.data(), filters.skip_edges ? most.data() : nullptr));
        set_ = Hid(H5Dcreate2(file_.get(), "w", type, space_.get(), H5P_DEFAULT, p.get(), H5P_DEFAULT));
        REQUIRE(set_.get() >= 0);
    }

    void write(hid_t type, const Dims& start, const Dims& count, const void* values) {
        const Hid memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
        REQUIRE(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0);
        REQUIRE(H5Dwrite(set_.get(), type, memory.get(), space_.get(), H5P_DEFAULT, values) >= 0);
    }
    void write_stored(const Dims& start, const Bytes& stored, std::uint32_t without = 0) {
        REQUIRE(H5Dwrite_chunk(set_.get(), H5P_DEFAULT, without, start.data(), stored.size(), stored.data()) >= 0);
    }
    Bytes all(hid_t type, std::size_t bytes) {
        Bytes out(bytes);
        REQUIRE(H5Dread(set_.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) >= 0);
        return out;
    }

private:
    Hid file_, space_, set_;
};

Bytes deflated(const Bytes& plain) {
    uLongf size = compressBound(plain.size());
    Bytes out(size);
    REQUIRE(compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
                      plain.size(), 6) == Z_OK);
    out.resize(size);
    return out;
}

// Pieces of random lengths in random order, by several threads at once, twice.
Bytes read_scattered(TensorReader& reader, std::uint64_t elements, std::size_t size, std::mt19937& gen) {
    auto source = reader.open(0);
    REQUIRE(source);
    Bytes out(elements * size);
    std::vector<Chunk> pieces;
    for (std::uint64_t at = 0; at < elements;) {
        const std::uint64_t n = std::min<std::uint64_t>(elements - at, 1 + gen() % 700);
        pieces.push_back({at, n});
        at += n;
    }
    const std::vector<Chunk> once = pieces;
    pieces.insert(pieces.end(), once.begin(), once.end());
    if ((*source)->access() == Access::random) std::shuffle(pieces.begin(), pieces.end(), gen);
    else pieces = once;
    const std::size_t workers = (*source)->access() == Access::random ? 3 : 1;
    std::vector<std::thread> threads;
    std::atomic<bool> failed{false};
    for (std::size_t w = 0; w < workers; ++w)
        threads.emplace_back([&, w] {
            Bytes buffer;
            for (std::size_t i = w; i < pieces.size(); i += workers) {
                auto bytes = (*source)->read(pieces[i], buffer);
                if (!bytes) failed = true;
                else std::memcpy(out.data() + pieces[i].first * size, bytes->data(), bytes->size());
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(!failed);
    return out;
}

}  // namespace

TEST_CASE("hdf5 chunks: values are those that libhdf5 reads, in any order, by several threads") {
    TempFolder folder;
    std::mt19937 gen(1);
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I16LE, H5T_STD_U8LE, H5T_IEEE_F32BE};
    std::size_t parallel = 0;
    for (int round = 0; round < 150; ++round) {
        const hid_t type = types[gen() % std::size(types)];
        const std::size_t size = H5Tget_size(type);
        Dims shape(1 + gen() % 4), chunk;
        for (auto& d : shape) d = 1 + gen() % (shape.size() == 1 ? 5000 : 18);
        for (const auto d : shape) chunk.push_back(gen() % 3 == 0 ? d : 1 + gen() % d);
        const Filters filters{gen() % 2 == 0, gen() % 2 == 0, gen() % 5 == 0, gen() % 7 == 0};
        const std::uint64_t fill = 0x3f3f3f3f3f3f3f3f;
        std::uint64_t elements = 1;
        for (const auto d : shape) elements *= d;
        CAPTURE(round);
        const std::string path = folder / "a.h5";
        Bytes want;
        {
            OneDataset set(path, type, shape, chunk, filters, gen() % 2 == 0 ? &fill : nullptr);
            for (std::uint64_t part = gen() % 4; part > 0; --part) {  // what no part touches is not stored
                Dims start, count;
                std::uint64_t n = 1;
                for (const auto d : shape) {
                    start.push_back(gen() % d);
                    count.push_back(1 + gen() % (d - start.back()));
                    n *= count.back();
                }
                Bytes values(n * size);
                for (auto& b : values) b = static_cast<std::byte>(gen() % 5);
                set.write(type, start, count, values.data());
            }
            want = set.all(H5Tget_order(type) == H5T_ORDER_BE ? H5T_IEEE_F32LE : type, elements * size);
        }
        auto reader = open_h5(path);
        REQUIRE(reader);
        parallel += (*(*reader)->open(0))->access() == Access::random;
        CHECK(read_scattered(**reader, elements, size, gen) == want);
    }
    CHECK(parallel > 50);   // not only the way through libhdf5,
    CHECK(parallel < 140);  // which checksums and unfiltered edges take
}

TEST_CASE("hdf5 chunks: filters that a chunk went without are not undone") {
    TempFolder folder;
    const auto path = folder / "a.h5";
    std::vector<float> values(256);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Bytes plain = bytes_of(values);
    Bytes shuffled(plain.size());
    for (std::size_t i = 0; i < 256; ++i)
        for (std::size_t j = 0; j < 4; ++j) shuffled[j * 256 + i] = plain[i * 4 + j];
    {
        OneDataset set(path, H5T_IEEE_F32LE, {4 * 256}, {256}, {true, true, false, false});
        set.write_stored({0}, deflated(shuffled));
        set.write_stored({256}, shuffled, 2);
        set.write_stored({512}, deflated(plain), 1);
        set.write_stored({768}, plain, 3);
    }
    auto reader = open_h5(path);
    REQUIRE(reader);
    Bytes want;
    for (int i = 0; i < 4; ++i) want.insert(want.end(), plain.begin(), plain.end());
    std::mt19937 gen(2);
    CHECK(read_scattered(**reader, 1024, 4, gen) == want);
}

TEST_CASE("hdf5 chunks: one that does not decode to its size is damage, named by tensor and place") {
    TempFolder folder;
    const auto path = folder / "a.h5";
    const Bytes plain(64 * 4, std::byte{1});
    Bytes shorter(plain.begin(), plain.end() - 4), longer = plain, cut = deflated(plain), wrong = cut, stray = cut;
    longer.push_back(std::byte{1});
    cut.resize(cut.size() / 2);
    wrong[wrong.size() - 1] ^= std::byte{1};  // of zlib's checksum
    stray.push_back(std::byte{7});            // behind its end: nobody's business
    const struct {
        Bytes stored;
        std::uint32_t without;
        const char* said;
    } cases[] = {{deflated(shorter), 0, "does not inflate to 256 bytes"},
                 {deflated(longer), 0, "does not inflate to 256 bytes"},
                 {cut, 0, "does not inflate to 256 bytes"},
                 {wrong, 0, "does not inflate to 256 bytes"},
                 {shorter, 1, "252 bytes stored, want 256"},
                 {Bytes(70000, std::byte{0}), 0, "70000 bytes stored"},
                 {stray, 0, nullptr}};
    for (const auto& c : cases) {
        {
            OneDataset set(path, H5T_IEEE_F32LE, {3, 128}, {1, 64}, {false, true, false, false});
            set.write_stored({0, 0}, deflated(plain));
            set.write_stored({2, 64}, c.stored, c.without);
        }
        const auto dump = read_h5(path, {}, 50);
        REQUIRE(static_cast<bool>(dump) == (c.said == nullptr));
        if (dump) continue;
        CHECK(dump.error().code == Errc::corrupt);
        CHECK(dump.error().what == std::string("chunk at 2,64: ") + c.said);
        CHECK(dump.error().where == "tensor w");
    }
}
