#include "pipeline/decode.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "container/frame.hpp"
#include "core/parallel.hpp"
#include "pipeline/block_decoder.hpp"

namespace gradz {
namespace {

// One step of the stream on its way through the loop. Headers travel as copies, since the
// reader's own state moves on while workers are busy.
struct Step : WorkUnit {
    explicit Step(std::unique_ptr<BlockDequantizer> dequantizer) : decoder(std::move(dequantizer)) {}

    enum class What : std::uint8_t { begin, add, block, end } what = What::begin;
    StreamHead head;
    Origin origin;
    std::vector<TensorHeader> headers;
    BlockTask task;
    std::vector<std::byte> rest, elements;
    std::uint64_t offset = 0;
    BlockDecoder decoder;
};

class Decoding : public OrderedWork {
public:
    Decoding(ByteSource& source, DecodeSink& sink, Digest* digest, const Device& device)
        : reader_(source), sink_(sink), digest_(digest), device_(device) {}

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) override {
        GRADZ_TRY(auto step, step_of(std::move(spare)));
        for (;;) {
            GRADZ_TRY(auto next, reader_.next());
            if (!next) return std::unique_ptr<WorkUnit>{};
            if (digest_) feed_digest(*next);
            GRADZ_TRY(const bool wanted, fill(*next, *step));
            if (wanted) return std::unique_ptr<WorkUnit>(std::move(step));
        }
    }

    Result<Done> work(WorkUnit& unit) override {
        auto& step = static_cast<Step&>(unit);
        if (step.what != Step::What::block) return Done{};
        auto decoded = step.decoder.decode(step.task, step.rest, step.elements);
        if (decoded) return Done{};
        Error error = std::move(decoded.error());
        error.where = "tensor " + step.task.name;
        return in_body(std::move(error), step.offset);
    }

    Result<Done> deliver(WorkUnit& unit) override {
        auto& step = static_cast<Step&>(unit);
        switch (step.what) {
            case Step::What::begin: return sink_.begin(step.head, step.origin);
            case Step::What::add: return sink_.add(step.headers);
            case Step::What::end: return sink_.end();
            case Step::What::block: break;
        }
        std::span<const std::byte> left = step.elements;
        for (const auto& part : step.task.parts) {
            const std::size_t bytes = part.count * size_of(step.task.dtype);
            if (sink_.wants(part.tensor)) {
                GRADZ_TRY([[maybe_unused]] auto done, sink_.write(part.tensor, part.first, left.first(bytes)));
            }
            left = left.subspan(bytes);
        }
        return Done{};
    }

private:
    Result<std::unique_ptr<Step>> step_of(std::unique_ptr<WorkUnit> spare) {
        if (spare) return std::unique_ptr<Step>(static_cast<Step*>(spare.release()));
        GRADZ_TRY(auto dequantizer, device_.dequantizer());
        return std::make_unique<Step>(std::move(dequantizer));
    }

    void feed_digest(const StreamStep& next) {
        const std::uint64_t seed = reader_.state().head.seed;
        if (next.kind == StepKind::head) digest_->update(std::as_bytes(std::span(&seed, 1)));
        if (next.kind == StepKind::record && next.record.type != static_cast<std::uint8_t>(RecordType::origin))
            digest_->update(next.record.whole);
    }

    // ORIGIN records may be many, so `begin` is told with the first record that is not one.
    Result<bool> fill(const StreamStep& next, Step& step) {
        if (next.kind == StepKind::head) {
            known_ = 0, begun_ = false;
            return false;
        }
        if (next.kind == StepKind::end) {
            step.what = Step::What::end;
            return true;
        }
        const StreamState& state = reader_.state();
        switch (static_cast<RecordType>(next.record.type)) {
            case RecordType::spec:
                if (auto known = schemes_.get(state.specs.back()); !known)
                    return Error{known.error().code, known.error().what,
                                 "record at byte " + std::to_string(next.record.offset)};
                if (begun_) return false;
                begun_ = true;
                step.what = Step::What::begin;
                step.head = state.head;
                step.origin = state.origin;
                return true;
            case RecordType::tensors:
                step.what = Step::What::add;
                step.headers.assign(state.tensors.begin() + static_cast<std::ptrdiff_t>(known_), state.tensors.end());
                known_ = state.tensors.size();
                return true;
            case RecordType::block: return fill_block(next, state, step);
            default: return false;
        }
    }

    Result<bool> fill_block(const StreamStep& next, const StreamState& state, Step& step) {
        auto task = make_task(next.block, next.block_elements, state, schemes_);
        if (!task) return in_body(std::move(task.error()), next.record.offset);
        step.task = std::move(*task);
        step.what = Step::What::block;
        const auto rest = next.record.body.subspan(next.rest_at);
        step.rest.assign(rest.begin(), rest.end());
        step.offset = next.record.offset;
        return true;
    }

    StreamReader reader_;
    DecodeSink& sink_;
    Digest* digest_;
    const Device& device_;
    SchemeCache schemes_;
    std::uint64_t known_ = 0;
    bool begun_ = false;
};

}  // namespace

Result<Done> decode_streams(ByteSource& source, DecodeSink& sink, int threads, Digest* digest, const Device& device) {
    Decoding decoding(source, sink, digest, device);
    return run_ordered(decoding, threads);
}

}  // namespace gradz
