// Streams for tests: written by the writer with made-up block bodies, or record by record
// with anything in them and every checksum right; and read both ways into one form.
#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "container/origin_codec.hpp"
#include "container/packed.hpp"
#include "container/reader.hpp"
#include "container/tensor_codec.hpp"
#include "container/writer.hpp"
#include "core/hash.hpp"
#include "support/memory_io.hpp"

namespace gradz::test {

using Bytes = std::vector<std::byte>;

constexpr const char* kNuqsgd = "nuqsgd:bits=4,p=0.5,norm=l2,bucket=512,rounding=stochastic,zero=yes+zstd:level=1";

inline Bytes bytes_of(std::initializer_list<int> values) {
    Bytes out;
    for (const int v : values) out.push_back(static_cast<std::byte>(v));
    return out;
}
inline Bytes& operator+=(Bytes& a, const Bytes& b) { return a.insert(a.end(), b.begin(), b.end()), a; }

inline TensorHeader tensor(std::string name, std::vector<std::uint64_t> shape, std::uint32_t spec = 0,
                           std::uint64_t seed = 0, std::uint64_t step = 0, std::uint64_t worker = 0,
                           DType dtype = DType::f32) {
    TensorHeader h;
    h.info = {std::move(name), std::move(shape), dtype, step, worker};
    h.key = tensor_key(seed, step, worker, h.info.name);
    h.spec = spec;
    return h;
}

// Goes on where it stands: several batches, each with all its blocks.
struct PlannedStream {
    MemorySink sink;
    StreamWriter writer;
    StreamState state;  // what the order of blocks needs
    BlockOrder order;
    std::size_t rest = 5;  // bytes of a block after its head

    explicit PlannedStream(std::uint64_t seed = 0) : writer(sink, seed) { (void)*writer.head(); }

    void spec(const std::string& text) {
        if (*writer.spec(text) == state.specs.size()) state.specs.push_back(text);
    }
    // As many records as the headers take: one ends where 2^18 elements are full.
    void batch(const std::vector<TensorHeader>& headers) {
        std::vector<TensorHeader> record;
        std::uint64_t elements = 0;
        for (const auto& header : headers) {
            record.push_back(header);
            elements += *header.info.numel();
            if (elements >= kBatchElements) put(record), record.clear(), elements = 0;
        }
        if (!record.empty()) put(record);
    }
    void put(const std::vector<TensorHeader>& headers) {
        std::vector<std::uint64_t> each;
        (void)*writer.tensors(headers, &each);
        for (std::size_t i = 0; i < headers.size(); ++i) {
            state.tensors.push_back(headers[i]);
            state.elements.push_back(*headers[i].info.numel());
            state.header_bytes.push_back(each[i]);
        }
        for (auto place = *order.expected(state); place; place = *order.expected(state)) {
            RecordBuilder record;
            record.start(RecordType::block);
            write_block_head({17, place->tensor, place->tensors, place->chunk, place->tensor * 77}, record.bytes());
            record.bytes().resize(record.bytes().size() + rest, std::byte{0x5a});
            (void)*writer.block(*record.finish(), place->tensor, place->chunk);
            order.advance(*place, state);
        }
    }
    Bytes finish() {
        (void)*writer.finish();
        return sink.bytes;
    }
};

// One tensor without elements: no blocks.
inline Bytes empty_stream(std::uint64_t seed = 0) {
    PlannedStream s(seed);
    s.spec("none");
    s.batch({tensor("empty", {0}, 0, seed)});
    return s.finish();
}

// Records as they are told; INDEX and END fit them.
struct HandStream {
    Bytes bytes;
    IndexBuilder index;
    std::uint64_t seed;

    explicit HandStream(StreamHead head = {}) : seed(head.seed) { write_head(head, bytes); }

    HandStream& record(int type, const Bytes& body, std::uint64_t tensor = 0, std::uint64_t chunk = 0) {
        RecordBuilder builder;
        builder.start(static_cast<RecordType>(type));
        builder.bytes() += body;
        const auto whole = *builder.finish();
        bytes.insert(bytes.end(), whole.begin(), whole.end());
        index.add({static_cast<std::uint8_t>(type), whole.size(), tensor, chunk});
        return *this;
    }
    HandStream& spec(std::uint64_t number, const std::string& text) {
        Bytes body;
        ByteWriter(body).varint(number);
        ByteWriter(body).text(text);
        return record(1, body);
    }
    HandStream& tensors(const std::vector<TensorHeader>& headers) {
        Bytes body;
        std::vector<std::uint64_t> sizes;
        (void)*write_tensor_headers(headers, body, sizes);
        return record(2, body);
    }
    HandStream& block(std::uint64_t tensor, std::uint64_t tensors = 1, std::uint64_t chunk = 0, int coding = 0) {
        Bytes body;
        write_block_head({static_cast<std::uint8_t>(coding), tensor, tensors, chunk, 0}, body);
        return record(3, body, tensor, chunk);
    }
    HandStream& origin(const Origin& origin) {
        Bytes body;
        (void)*write_origin(origin.entries, body);
        return record(0x81, body);
    }
    Bytes finish() const {
        Bytes body;
        (void)*write_index(index, body);
        return finish_with(body);
    }
    Bytes finish_with(const Bytes& index_body) const {
        HandStream copy = *this;
        const std::uint64_t at = bytes.size();
        copy.record(4, index_body);
        write_end({at, copy.bytes.size() + kEndBytes}, copy.bytes);
        return copy.bytes;
    }
};

// What a forward reader sees, in the form of read_index().
inline Result<std::vector<IndexedStream>> read_forward(ByteSource& source) {
    StreamReader reader(source);
    std::vector<IndexedStream> out;
    for (std::uint64_t before = 0;; before = reader.offset()) {
        GRADZ_TRY(const auto step, reader.next());
        if (!step) return out;
        if (step->kind == StepKind::head) out.emplace_back().begin = before;
        IndexedStream& s = out.back();
        if (step->kind == StepKind::end) s.length = reader.offset() - s.begin, s.state = reader.state();
        if (step->kind != StepKind::record || !step->record.is(RecordType::block)) continue;
        const BlockHead& b = step->block;
        s.blocks.push_back(
            {step->record.offset, step->record.length, b.tensor, b.chunk, b.tensors, step->block_elements});
    }
}
inline Result<std::vector<IndexedStream>> read_forward(const Bytes& bytes) {
    MemorySource source(bytes, false);
    return read_forward(source);
}
inline Result<std::vector<IndexedStream>> read_by_index(const Bytes& bytes) {
    MemorySource source(bytes);
    return read_index(source);
}

inline bool same(const TensorHeader& a, const TensorHeader& b) {
    return a.info.name == b.info.name && a.info.shape == b.info.shape && a.info.dtype == b.info.dtype &&
           a.info.step == b.info.step && a.info.worker == b.info.worker && a.key == b.key && a.spec == b.spec &&
           a.rule == b.rule;
}
inline bool same(const std::vector<TensorHeader>& a, const std::vector<TensorHeader>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto& x, auto& y) { return same(x, y); });
}
inline bool same(const IndexedBlock& a, const IndexedBlock& b) {
    return a.offset == b.offset && a.length == b.length && a.tensor == b.tensor && a.chunk == b.chunk &&
           a.tensors == b.tensors && a.elements.first == b.elements.first && a.elements.count == b.elements.count;
}
inline bool same(const IndexedStream& a, const IndexedStream& b) {
    return a.begin == b.begin && a.length == b.length && a.state.head.seed == b.state.head.seed &&
           a.state.origin == b.state.origin && a.state.specs == b.state.specs &&
           same(a.state.tensors, b.state.tensors) && a.state.elements == b.state.elements &&
           a.state.header_bytes == b.state.header_bytes &&
           std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                      [](auto& x, auto& y) { return same(x, y); });
}
inline bool same(const std::vector<IndexedStream>& a, const std::vector<IndexedStream>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto& x, auto& y) { return same(x, y); });
}

// Something of everything, in a few hundred bytes: a run, a chunked tensor, an empty one.
inline Bytes small_stream(std::uint64_t seed = 3) {
    PlannedStream s(seed);
    Origin origin;
    origin.set("", "format", "npz");
    origin.set("fc.weight", "order", "fortran");
    (void)*s.writer.origin(origin);
    s.spec(kNuqsgd);
    s.spec("none");
    s.batch({tensor("fc.bias", {10}, 0, seed), tensor("fc.weight", {10, 20}, 0, seed),
             tensor("mask", {0}, 1, seed, 0, 0, DType::boolean)});
    s.batch({tensor("conv", {600, 512}, 0, seed, 7, 1)});
    return s.finish();
}

}  // namespace gradz::test
