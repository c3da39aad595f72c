// Applies the records of one stream in order, whoever reads them, and holds them to the
// rules of docs/FORMAT.md 2 to 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "container/block_order.hpp"
#include "container/budget.hpp"
#include "container/state.hpp"

namespace gradz {

class StreamCheck {
public:
    explicit StreamCheck(StateBudget& budget) : budget_(budget) {}
    StreamCheck(const StreamCheck&) = delete;  // seen_ points at state_
    StreamCheck& operator=(const StreamCheck&) = delete;

    void start(const StreamHead& head);  // forgets the previous stream, but not its budget

    // ORIGIN, SPEC or TENSORS, or what may be skipped; unknown types without bit 7 are
    // Errc::incompatible.
    Result<Done> record(std::uint8_t type, std::span<const std::byte> body, std::uint64_t record_length);

    BlockOrder& order() { return order_; }
    Result<Done> finish();  // before INDEX: all blocks are there, and a tensor

    const StreamState& state() const { return state_; }
    StreamState take_state() { return std::move(state_); }  // nothing may follow

private:
    Result<Done> origin(std::span<const std::byte> body);
    Result<Done> spec(std::span<const std::byte> body);
    Result<Done> tensors(std::span<const std::byte> body, std::uint64_t record_length);
    Result<Done> tensor(std::uint64_t index);

    // Tensors by key first: equal keys are either twins or an attack, and a tree stays
    // fast under both.
    struct Before {
        const StreamState* state;
        bool operator()(std::uint64_t a, std::uint64_t b) const;
    };

    StateBudget& budget_;
    StreamState state_;
    std::set<std::uint64_t, Before> seen_{Before{&state_}};
    std::set<std::string> texts_;  // of specs
    BlockOrder order_;
    bool past_origin_ = false;
};

}  // namespace gradz
