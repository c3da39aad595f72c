#include "pipeline/encode.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/hash.hpp"
#include "core/parallel.hpp"
#include "pipeline/block_encoder.hpp"
#include "pipeline/feed.hpp"
#include "pipeline/held_source.hpp"
#include "pipeline/large_scales.hpp"

namespace gradz {
namespace {

// Specs and keys of all tensors: from their headers alone.
Result<std::vector<Planned>> plan_tensors(const std::vector<TensorInfo>& infos, const EncodeOptions& options) {
    GRADZ_TRY(const auto scheme, Scheme::make(options.spec));
    auto lossless = scheme;  // one object where the specs are one: runs compare schemes by address
    if (!scheme->lossless()) { GRADZ_TRY(lossless, Scheme::make(lossless_spec(options.spec))); }
    std::vector<Planned> planned;
    planned.reserve(infos.size());
    for (const auto& info : infos) {
        GRADZ_TRY(const auto elements, info.numel());
        Planned p{&info, elements, tensor_key(options.seed, info.step, info.worker, info.name), kRuleCommand, scheme};
        if (!quantizable(info.dtype)) p.rule = kRuleDtype;
        else if (elements < options.min_elements) p.rule = kRuleSmall;
        else if (!scheme->gains(info, elements)) p.rule = kRuleNoGain;
        if (p.rule != kRuleCommand) p.scheme = lossless;
        planned.push_back(std::move(p));
    }
    return planned;
}

// Either the headers of a batch or one block.
struct EncodeUnit : WorkUnit {
    explicit EncodeUnit(std::unique_ptr<BlockQuantizer> quantizer) : encoder(std::move(quantizer)) {}

    std::span<const Planned> batch;  // not empty: headers
    BlockPlan plan;
    std::vector<Load> loads;
    BlockEncoder encoder;
};

class Encoding : public OrderedWork {
public:
    Encoding(TensorSource& source, std::span<const Planned> tensors, const LargeScales& large,
             const EncodeOptions& options, StreamWriter& writer, DumpReport& report)
        : tensors_(tensors),
          large_(large),
          options_(options),
          writer_(writer),
          report_(report),
          layout_(tensors),
          feed_(source) {}

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) override {
        GRADZ_TRY(auto unit, unit_of(std::move(spare)));
        unit->batch = {};
        if (!layout_.next_block(unit->plan)) {
            unit->batch = layout_.next_batch();
            if (unit->batch.empty()) return std::unique_ptr<WorkUnit>{};
            return std::unique_ptr<WorkUnit>(std::move(unit));
        }
        const auto& parts = unit->plan.parts;
        if (unit->loads.size() < parts.size()) unit->loads.resize(parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            GRADZ_TRY([[maybe_unused]] auto begun, feed_.begin(parts[i], unit->loads[i]));
        }
        return std::unique_ptr<WorkUnit>(std::move(unit));
    }

    Result<Done> work(WorkUnit& any) override {
        auto& unit = static_cast<EncodeUnit&>(any);
        if (!unit.batch.empty()) return Done{};
        std::vector<PartInput> inputs;
        for (std::size_t i = 0; i < unit.plan.parts.size(); ++i) {
            GRADZ_TRY([[maybe_unused]] auto loaded, feed_.end(unit.loads[i]));
            const Part& part = unit.plan.parts[i];
            inputs.push_back(
                {&tensors_[part.tensor], part.first, part.count, unit.loads[i].bytes(), large_[part.tensor]});
        }
        GRADZ_TRY([[maybe_unused]] auto encoded,
                  unit.encoder.encode(inputs, unit.plan, options_.nonfinite, options_.stats));
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            GRADZ_TRY([[maybe_unused]] auto released, feed_.release(unit.loads[i]));
        }
        return Done{};
    }

    Result<Done> deliver(WorkUnit& any) override {
        auto& unit = static_cast<EncodeUnit&>(any);
        return unit.batch.empty() ? deliver_block(unit) : deliver_headers(unit.batch);
    }

private:
    Result<std::unique_ptr<EncodeUnit>> unit_of(std::unique_ptr<WorkUnit> spare) {
        if (spare) return std::unique_ptr<EncodeUnit>(static_cast<EncodeUnit*>(spare.release()));
        GRADZ_TRY(auto quantizer, options_.device->quantizer());
        return std::make_unique<EncodeUnit>(std::move(quantizer));
    }

    Result<Done> deliver_headers(std::span<const Planned> batch) {
        std::vector<TensorHeader> headers;
        for (const auto& p : batch) {
            GRADZ_TRY(const auto spec, writer_.spec(p.scheme->text));
            headers.push_back({*p.info, p.key, spec, p.rule});
        }
        std::vector<std::uint64_t> each;
        GRADZ_TRY([[maybe_unused]] auto done, writer_.tensors(headers, &each));
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const Planned& p = batch[i];
            TensorReport report{*p.info, p.scheme->text, p.rule, 0, false, {}, {}};
            if (!p.scheme->lossless()) {
                report.alphabet = p.scheme->quantizer->alphabet();
                report.unbiased = p.scheme->quantizer->unbiased();
            }
            report.bytes.input = p.elements * size_of(p.info->dtype);
            report.bytes.output = report.bytes.header = each[i];
            report_.tensors.push_back(std::move(report));
        }
        return Done{};
    }

    Result<Done> deliver_block(EncodeUnit& unit) {
        const auto record = unit.encoder.record();
        GRADZ_TRY([[maybe_unused]] auto done, writer_.block(record, unit.plan.parts[0].tensor, unit.plan.chunk));
        std::uint64_t input = 0;
        for (std::size_t i = 0; i < unit.plan.parts.size(); ++i) {
            const PartResult& result = unit.encoder.results()[i];
            TensorReport& report = report_.tensors[unit.plan.parts[i].tensor];
            report.sums.add(result.sums);
            report.bytes.output += result.output;
            report.bytes.code += result.code;
            report.bytes.scale += result.scale;
            report.bytes.header += result.header;
            input += unit.plan.parts[i].count * size_of(report.info.dtype);
        }
        if (options_.progress) options_.progress(input);
        return Done{};
    }

    std::span<const Planned> tensors_;
    const LargeScales& large_;
    const EncodeOptions& options_;
    StreamWriter& writer_;
    DumpReport& report_;
    Layout layout_;
    Feed feed_;
};

}  // namespace

Result<DumpReport> encode_dump(TensorSource& source, const Origin& origin, const EncodeOptions& options,
                               ByteSink& sink) {
    if (source.tensors().empty()) return Error{Errc::invalid_argument, "a dump without tensors", ""};
    GRADZ_TRY(const auto planned, plan_tensors(source.tensors(), options));
    TensorSource* reading = &source;
    std::unique_ptr<TensorSource> held;
    if (has_large_buckets(planned) && !source.rereadable()) {
        GRADZ_TRY(held, hold(source, options.memory));
        reading = held.get();
    }
    GRADZ_TRY(const auto large, large_scales(*reading, planned, options.nonfinite, options.threads));
    DumpReport report;
    StreamWriter writer(sink, options.seed);
    GRADZ_TRY([[maybe_unused]] auto head, writer.head());
    GRADZ_TRY([[maybe_unused]] auto written, writer.origin(origin));
    Encoding encoding(*reading, planned, large, options, writer, report);
    GRADZ_TRY([[maybe_unused]] auto encoded, run_ordered(encoding, options.threads));
    GRADZ_TRY([[maybe_unused]] auto unchanged, source.finish());
    GRADZ_TRY([[maybe_unused]] auto finished, writer.finish());
    std::uint64_t tensors = 0;
    for (const auto& t : report.tensors) tensors += t.bytes.output;
    report.container_bytes = writer.bytes().total() - tensors;
    return report;
}

}  // namespace gradz
