#include "dump.hpp"

#include <unistd.h>

#include <utility>

#include "command.hpp"
#include "formats/tensor_reader.hpp"
#include "pipeline/stream_source.hpp"

namespace gradz::cli {
namespace {

// The tensors of another source that --include and --exclude let pass.
class Selection : public TensorSource {
public:
    Selection(std::unique_ptr<TensorSource> source, std::vector<std::size_t> indices)
        : source_(std::move(source)), indices_(std::move(indices)) {
        for (const auto i : indices_) tensors_.push_back(source_->tensors()[i]);
    }

    const std::vector<TensorInfo>& tensors() const override { return tensors_; }
    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override { return source_->open(indices_[index]); }
    bool rereadable() const override { return source_->rereadable(); }
    Result<Done> finish() override { return source_->finish(); }

private:
    std::unique_ptr<TensorSource> source_;
    std::vector<std::size_t> indices_;
    std::vector<TensorInfo> tensors_;
};

Error nothing_left() { return {Errc::invalid_argument, "--include and --exclude leave no tensor", ""}; }

// Null if nothing is selected.
Result<std::unique_ptr<TensorSource>> select(std::unique_ptr<TensorSource> source, const InputOptions& options) {
    if (options.include.empty() && options.exclude.empty()) return source;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < source->tensors().size(); ++i)
        if (selected(options, source->tensors()[i].name)) indices.push_back(i);
    if (indices.empty()) return std::unique_ptr<TensorSource>{};
    return std::unique_ptr<TensorSource>(std::make_unique<Selection>(std::move(source), std::move(indices)));
}

Result<std::vector<Dump>> open_streams(const std::string& file, std::shared_ptr<ByteSource> bytes,
                                       const InputOptions& options) {
    GRADZ_TRY(auto streams, read_index(*bytes));
    std::vector<Dump> dumps;
    for (auto& stream : streams) {
        Dump dump;
        dump.file = file;
        dump.origin = stream.state.origin;
        auto source = StreamSource::make(bytes, std::move(stream));
        dump.stream = std::make_shared<IndexedStream>(source->stream());
        GRADZ_TRY(dump.source, select(std::move(source), options));
        if (dump.source) dumps.push_back(std::move(dump));
    }
    if (dumps.empty()) return nothing_left();
    return dumps;
}

Result<Dump> open_reader(const std::string& file, const std::string& path, const formats::ReadOptions& how,
                         const InputOptions& options) {
    GRADZ_TRY(auto reader, formats::open_tensors(path, how));
    Dump dump;
    dump.file = file;
    dump.skipped = reader->skipped();
    dump.warnings = reader->warnings();
    dump.origin = reader->origin();
    GRADZ_TRY(dump.source, select(std::move(reader), options));
    if (!dump.source) return nothing_left();
    return dump;
}

}  // namespace

Result<std::vector<Dump>> open_dump(const std::string& file, const InputOptions& options) {
    GRADZ_TRY(auto how, read_options(options));
    std::string path = file;
    std::unique_ptr<formats::Spool> spool;
    if (file == "-" && !how.raw) {  // content decides what it is, and a pipe cannot be looked into
        GRADZ_TRY(spool, formats::Spool::create());
        GRADZ_TRY([[maybe_unused]] auto filled, spool->append(*formats::read_descriptor(STDIN_FILENO, false)));
        path = spool->path().string();
        if (how.name.empty()) how.name = "data";
    }
    if (is_stream_file(path)) {
        GRADZ_TRY(auto bytes, open_bytes(path));
        return open_streams(file, std::move(bytes), options);
    }
    GRADZ_TRY(auto dump, open_reader(file, path, how, options));
    dump.spool = std::move(spool);
    std::vector<Dump> dumps;
    dumps.push_back(std::move(dump));
    return dumps;
}

Result<Dump> open_tensor_file(const std::string& file, const InputOptions& options) {
    GRADZ_TRY(const auto how, read_options(options));
    return open_reader(file, file, how, options);
}

void print_notes(const Dump& dump) {
    for (const auto& s : dump.skipped) print_warning(dump.file, "skipped " + s.name + ": " + s.reason);
    for (const auto& w : dump.warnings) print_warning(dump.file, w);
}

}  // namespace gradz::cli
