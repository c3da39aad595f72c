#include "pipeline/describe.hpp"

#include <algorithm>
#include <memory>

#include "core/parallel.hpp"
#include "pipeline/feed.hpp"

namespace gradz {
namespace {

// Chunks of 2^18 elements of tensor after tensor.
class Chunks {
public:
    // Skips tensors without elements; false at the end.
    Result<bool> next(const std::vector<TensorInfo>& infos, Part& part) {
        for (;; ++tensor_, at_ = 0) {
            if (tensor_ == infos.size()) return false;
            GRADZ_TRY(const auto elements, infos[tensor_].numel());
            if (at_ == elements) continue;
            part = {tensor_, at_, std::min(kChunkTarget, elements - at_)};
            at_ += part.count;
            return true;
        }
    }

private:
    std::size_t tensor_ = 0;
    std::uint64_t at_ = 0;
};

template <class Unit>
std::unique_ptr<Unit> reuse(std::unique_ptr<WorkUnit> spare) {
    return spare ? std::unique_ptr<Unit>(static_cast<Unit*>(spare.release())) : std::make_unique<Unit>();
}

struct DescribeUnit : WorkUnit {
    Load load;
    Moments moments;
};

class Describe : public OrderedWork {
public:
    explicit Describe(TensorSource& source) : moments(source.tensors().size()), source_(source), feed_(source) {}

    std::vector<Moments> moments;

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) override {
        Part part{};
        GRADZ_TRY(const bool more, chunks_.next(source_.tensors(), part));
        if (!more) return std::unique_ptr<WorkUnit>{};
        auto unit = reuse<DescribeUnit>(std::move(spare));
        GRADZ_TRY([[maybe_unused]] auto begun, feed_.begin(part, unit->load));
        return std::unique_ptr<WorkUnit>(std::move(unit));
    }
    Result<Done> work(WorkUnit& any) override {
        auto& unit = static_cast<DescribeUnit&>(any);
        GRADZ_TRY([[maybe_unused]] auto loaded, feed_.end(unit.load));
        unit.moments = {};
        unit.moments.add_chunk(source_.tensors()[unit.load.part().tensor].dtype, unit.load.bytes());
        return feed_.release(unit.load);
    }
    Result<Done> deliver(WorkUnit& any) override {
        auto& unit = static_cast<DescribeUnit&>(any);
        moments[unit.load.part().tensor].add(unit.moments);
        return Done{};
    }

private:
    TensorSource& source_;
    Feed feed_;
    Chunks chunks_;
};

struct CompareUnit : WorkUnit {
    Load a, b;
    std::size_t pair = 0;
    Comparison comparison;
};

class Compare : public OrderedWork {
public:
    Compare(TensorSource& a, TensorSource& b, std::span<const TensorPair> pairs)
        : comparisons(pairs.size()), a_(a), b_(b), pairs_(pairs), feed_a_(a), feed_b_(b) {
        for (const auto& pair : pairs) infos_.push_back(a.tensors()[pair.a]);
    }

    std::vector<Comparison> comparisons;

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) override {
        Part part{};
        GRADZ_TRY(const bool more, chunks_.next(infos_, part));
        if (!more) return std::unique_ptr<WorkUnit>{};
        auto unit = reuse<CompareUnit>(std::move(spare));
        unit->pair = part.tensor;
        const TensorPair pair = pairs_[part.tensor];
        GRADZ_TRY([[maybe_unused]] auto a, feed_a_.begin({pair.a, part.first, part.count}, unit->a));
        GRADZ_TRY([[maybe_unused]] auto b, feed_b_.begin({pair.b, part.first, part.count}, unit->b));
        return std::unique_ptr<WorkUnit>(std::move(unit));
    }
    Result<Done> work(WorkUnit& any) override {
        auto& unit = static_cast<CompareUnit&>(any);
        GRADZ_TRY([[maybe_unused]] auto a, feed_a_.end(unit.a));
        GRADZ_TRY([[maybe_unused]] auto b, feed_b_.end(unit.b));
        unit.comparison = {};
        unit.comparison.add_chunk(a_.tensors()[unit.a.part().tensor].dtype, unit.a.bytes(),
                                  b_.tensors()[unit.b.part().tensor].dtype, unit.b.bytes());
        GRADZ_TRY([[maybe_unused]] auto done, feed_a_.release(unit.a));
        return feed_b_.release(unit.b);
    }
    Result<Done> deliver(WorkUnit& any) override {
        auto& unit = static_cast<CompareUnit&>(any);
        comparisons[unit.pair].add(unit.comparison);
        return Done{};
    }

private:
    TensorSource &a_, &b_;
    std::span<const TensorPair> pairs_;
    std::vector<TensorInfo> infos_;
    Feed feed_a_, feed_b_;
    Chunks chunks_;
};

}  // namespace

Result<std::vector<Moments>> describe_dump(TensorSource& source, int threads) {
    Describe describe(source);
    GRADZ_TRY([[maybe_unused]] auto done, run_ordered(describe, threads));
    GRADZ_TRY([[maybe_unused]] auto unchanged, source.finish());
    return std::move(describe.moments);
}

Result<std::vector<Comparison>> compare_dumps(TensorSource& a, TensorSource& b, std::span<const TensorPair> pairs,
                                              int threads) {
    Compare compare(a, b, pairs);
    GRADZ_TRY([[maybe_unused]] auto done, run_ordered(compare, threads));
    GRADZ_TRY([[maybe_unused]] auto a_unchanged, a.finish());
    GRADZ_TRY([[maybe_unused]] auto b_unchanged, b.finish());
    return std::move(compare.comparisons);
}

}  // namespace gradz
