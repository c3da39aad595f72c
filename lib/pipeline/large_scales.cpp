#include "pipeline/large_scales.hpp"

#include <algorithm>
#include <memory>

#include "core/parallel.hpp"
#include "kernels/kernels.hpp"
#include "pipeline/feed.hpp"
#include "quant/convert.hpp"

namespace gradz {
namespace {

bool is_large(const Planned& tensor) {
    return !tensor.scheme->lossless() && tensor.scheme->quantizer->has_scales() &&
           tensor.scheme->bucket(tensor.elements) > kChunkTarget && tensor.elements > kChunkTarget;
}

struct NormUnit : WorkUnit {
    Load load;
    std::vector<float> values;
    std::vector<std::byte> cleaned;  // elements with NaN and infinity replaced
    std::vector<double> norms;       // of each span
    std::uint64_t vanished = 0;
    bool last = false;  // of its bucket
};

class Norms : public OrderedWork {
public:
    Norms(TensorSource& source, std::span<const Planned> tensors, NonFinite policy, LargeScales& scales)
        : tensors_(tensors), policy_(policy), scales_(scales), feed_(source) {}

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) override {
        while (tensor_ < tensors_.size() && !is_large(tensors_[tensor_])) ++tensor_;
        if (tensor_ == tensors_.size()) return std::unique_ptr<WorkUnit>{};
        auto unit =
            spare ? std::unique_ptr<NormUnit>(static_cast<NormUnit*>(spare.release())) : std::make_unique<NormUnit>();
        const Planned& tensor = tensors_[tensor_];
        const std::uint64_t bucket = tensor.scheme->bucket(tensor.elements);
        const std::uint64_t end = std::min(tensor.elements, (element_ / bucket + 1) * bucket);
        const Part part{tensor_, element_, std::min(kChunkTarget, end - element_)};
        element_ += part.count;
        unit->last = element_ == end;
        if (element_ == tensor.elements) ++tensor_, element_ = 0;
        GRADZ_TRY([[maybe_unused]] auto begun, feed_.begin(part, unit->load));
        return std::unique_ptr<WorkUnit>(std::move(unit));
    }

    Result<Done> work(WorkUnit& any) override {
        auto& unit = static_cast<NormUnit&>(any);
        GRADZ_TRY([[maybe_unused]] auto loaded, feed_.end(unit.load));
        const Part& part = unit.load.part();
        const Planned& tensor = tensors_[part.tensor];
        unit.values.resize(part.count);
        auto bytes = unit.load.bytes();
        if (policy_ == NonFinite::zero && zero_nonfinite(bytes, tensor.info->dtype, unit.cleaned) > 0)
            bytes = unit.cleaned;
        unit.vanished = to_float32(*tensor.scheme->kernels, tensor.info->dtype, bytes, unit.values);
        unit.norms.clear();
        for (std::size_t i = 0; i < part.count; i += kernels::kSpan) {
            const std::size_t n = std::min<std::size_t>(kernels::kSpan, part.count - i);
            unit.norms.push_back(tensor.scheme->quantizer->norm_part({unit.values.data() + i, n}));
        }
        return feed_.release(unit.load);
    }

    Result<Done> deliver(WorkUnit& any) override {
        auto& unit = static_cast<NormUnit&>(any);
        const Planned& tensor = tensors_[unit.load.part().tensor];
        for (const double norm : unit.norms)
            norm_ = first_ ? norm : tensor.scheme->quantizer->norm_join(norm_, norm), first_ = false;
        vanished_ += unit.vanished;
        if (!unit.last) return Done{};
        scales_[unit.load.part().tensor].push_back(
            tensor.scheme->quantizer->scale(norm_, vanished_ > 0, tensor.info->dtype));
        first_ = true, vanished_ = 0;
        return Done{};
    }

private:
    std::span<const Planned> tensors_;
    NonFinite policy_;
    LargeScales& scales_;
    Feed feed_;
    std::size_t tensor_ = 0;
    std::uint64_t element_ = 0, vanished_ = 0;
    double norm_ = 0;
    bool first_ = true;
};

}  // namespace

bool has_large_buckets(std::span<const Planned> tensors) {
    return std::any_of(tensors.begin(), tensors.end(), is_large);
}

Result<LargeScales> large_scales(TensorSource& source, std::span<const Planned> tensors, NonFinite policy,
                                 int threads) {
    LargeScales scales(tensors.size());
    if (!has_large_buckets(tensors)) return scales;
    Norms norms(source, tensors, policy, scales);
    GRADZ_TRY([[maybe_unused]] auto done, run_ordered(norms, threads));
    return scales;
}

}  // namespace gradz
