#include "pipeline/copy.hpp"

#include <algorithm>
#include <memory>

#include "core/parallel.hpp"
#include "pipeline/feed.hpp"

namespace gradz {
namespace {

struct CopyUnit : WorkUnit {
    Load load;
    std::uint64_t first = 0;  // in the slice
};

class Copy : public OrderedWork {
public:
    Copy(TensorSource& source, Slice slice, const ElementSink& sink)
        : source_(source), slice_(slice), sink_(sink), feed_(source) {}

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) override {
        while (at_ == end_) {
            if (tensor_ == source_.tensors().size()) return std::unique_ptr<WorkUnit>{};
            GRADZ_TRY([[maybe_unused]] auto found, enter(tensor_++));
        }
        auto unit =
            spare ? std::unique_ptr<CopyUnit>(static_cast<CopyUnit*>(spare.release())) : std::make_unique<CopyUnit>();
        // Pieces end at multiples of 2^18, where blocks of most specs end too.
        const std::uint64_t count = std::min(end_, (at_ / kChunkTarget + 1) * kChunkTarget) - at_;
        unit->first = at_ - begin_;
        GRADZ_TRY([[maybe_unused]] auto begun, feed_.begin({tensor_ - 1, at_, count}, unit->load));
        at_ += count;
        return std::unique_ptr<WorkUnit>(std::move(unit));
    }

    Result<Done> work(WorkUnit& unit) override { return feed_.end(static_cast<CopyUnit&>(unit).load); }

    Result<Done> deliver(WorkUnit& any) override {
        auto& unit = static_cast<CopyUnit&>(any);
        GRADZ_TRY([[maybe_unused]] auto sunk, sink_(unit.load.part().tensor, unit.first, unit.load.bytes()));
        return feed_.release(unit.load);
    }

private:
    Result<Done> enter(std::size_t tensor) {
        const TensorInfo& info = source_.tensors()[tensor];
        GRADZ_TRY(const auto elements, info.numel());
        begin_ = at_ = 0, end_ = elements;
        if (slice_.all() || elements == 0) return Done{};
        GRADZ_TRY([[maybe_unused]] auto cut, sliced(info, slice_));  // refuses tensors without axes
        const std::uint64_t rows = info.shape[0], row = elements / rows;
        begin_ = at_ = std::min(slice_.begin, rows) * row;
        end_ = std::max(begin_, std::min(slice_.end, rows) * row);
        return Done{};
    }

    TensorSource& source_;
    Slice slice_;
    const ElementSink& sink_;
    Feed feed_;
    std::size_t tensor_ = 0;  // the next one to enter
    std::uint64_t begin_ = 0, at_ = 0, end_ = 0;
};

}  // namespace

Result<TensorInfo> sliced(const TensorInfo& info, Slice slice) {
    if (slice.all()) return info;
    if (info.shape.empty())
        return Error{Errc::invalid_argument, "a tensor without axes has no slice", "tensor " + info.name};
    TensorInfo out = info;
    const std::uint64_t rows = info.shape[0], begin = std::min(slice.begin, rows);
    out.shape[0] = std::max(begin, std::min(slice.end, rows)) - begin;
    return out;
}

Result<Done> copy_elements(TensorSource& source, Slice slice, const ElementSink& sink, int threads) {
    Copy copy(source, slice, sink);
    return run_ordered(copy, threads);
}

}  // namespace gradz
