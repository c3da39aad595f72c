// A FILE of the command line, whatever it is: a tensor file, a folder, a pipe, or a stream.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/reader.hpp"
#include "core/byte_io.hpp"
#include "core/origin.hpp"
#include "core/source.hpp"
#include "formats/spool.hpp"
#include "formats/tensor_reader.hpp"
#include "options.hpp"

namespace gradz::cli {

// One dump, ready to be read; a file of several streams gives several.
struct Dump {
    std::string file;                       // as the user named it
    std::shared_ptr<formats::Spool> spool;  // of a pipe; outlives the source
    std::unique_ptr<TensorSource> source;   // only the selected tensors
    std::vector<formats::Skipped> skipped;
    std::vector<std::string> warnings;
    Origin origin;
    std::shared_ptr<const IndexedStream> stream;  // of a .grz, else null
};

// Opens by content. What comes from a pipe is spooled to an unlinked temporary file. Selection
// by --include and --exclude is applied; Errc::invalid_argument if nothing is left of a
// dump that has tensors.
Result<std::vector<Dump>> open_dump(const std::string& file, const InputOptions& options);

// The same for what must be a tensor file, a folder or a pipe of one, which is not spooled
// unless its format needs seeking. A stream is Errc::unsupported.
Result<Dump> open_tensor_file(const std::string& file, const InputOptions& options);

// Names what was skipped and what the origin lost, on stderr.
void print_notes(const Dump& dump);

// A file or stdin ("-") as bytes: a file can be read out of order, a pipe only forward.
Result<std::shared_ptr<ByteSource>> open_bytes(const std::string& file);

// The same, with a pipe spooled to an unlinked temporary file.
Result<std::shared_ptr<ByteSource>> open_seekable(const std::string& file);

// Whether the file (not a pipe) begins like a stream.
bool is_stream_file(const std::string& file);

}  // namespace gradz::cli
