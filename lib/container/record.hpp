// Records of the stream (docs/FORMAT.md): their types, their frame, the structs in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/tensor.hpp"

namespace gradz {

enum class RecordType : std::uint8_t { spec = 0x01, tensors = 0x02, block = 0x03, index = 0x04, origin = 0x81 };

constexpr std::uint64_t kMaxBody = std::uint64_t{1} << 26;
constexpr std::uint64_t kHeadBytes = 40, kEndBytes = 32;
constexpr std::uint64_t kMinRecord = 1 + 1 + 8, kMaxRecord = 1 + 4 + kMaxBody + 8;  // type, length, checksum
constexpr std::uint64_t kMaxNameBytes = 65535;
constexpr std::array<unsigned char, 8> kHeadMagic = {0x8f, 'G', 'R', 'Z', '\r', '\n', 0x1a, '\n'};
constexpr std::array<unsigned char, 8> kEndMagic = {0x8f, 'G', 'R', 'Z', 'E', 'N', 'D', '\n'};

// The batching rules of docs/FORMAT.md 5 and 6.
constexpr std::uint64_t kBatchTensors = 4096, kBatchElements = std::uint64_t{1} << 18;
constexpr std::uint64_t kSmallTensor = std::uint64_t{1} << 14;  // fewer elements than this join a run

struct TensorHeader {
    TensorInfo info;
    std::uint64_t key = 0;   // of the random numbers
    std::uint32_t spec = 0;  // number of its spec in this stream
    std::uint64_t rule = 0;  // which rule chose the spec: Rule, or kPolicyRule + line
};

enum Rule : std::uint64_t { kRuleCommand = 0, kRuleDtype = 1, kRuleNoGain = 2, kRuleSmall = 3, kRulePolicy = 4 };

struct Record {
    std::uint8_t type = 0;
    std::uint64_t offset = 0;          // of the record, from the start of the input
    std::uint64_t length = 0;          // type to checksum
    std::span<const std::byte> body;   // valid until the next call
    std::span<const std::byte> whole;  // type to checksum

    bool is(RecordType t) const { return type == static_cast<std::uint8_t>(t); }
};

// What stands before the sections of a BLOCK.
struct BlockHead {
    std::uint8_t coding = 0;  // 0 raw elements, 1 planes, kSymbols + coder id
    std::uint64_t tensor = 0, tensors = 1, chunk = 0;
    std::uint64_t content = 0;  // checksum before coding
};
constexpr std::uint8_t kSymbols = 16;

// A record under construction: the body grows in `bytes` behind room for type and length.
class RecordBuilder {
public:
    void start(RecordType type);                        // forgets the previous record, keeps the memory
    std::vector<std::byte>& bytes() { return bytes_; }  // append the body with a ByteWriter
    std::size_t body_size() const { return bytes_.size() - kRoom; }

    // The whole record, valid until start(); call it once. Errc::unsupported if the body
    // exceeds kMaxBody.
    Result<std::span<const std::byte>> finish();

private:
    static constexpr std::size_t kRoom = 1 + 4;  // 2^26 takes four bytes of varint
    RecordType type_ = RecordType::block;
    std::vector<std::byte> bytes_;
};

void write_block_head(const BlockHead& head, std::vector<std::byte>& body);
Result<BlockHead> read_block_head(ByteReader& body);  // structure only; ranges are BlockOrder's

}  // namespace gradz
