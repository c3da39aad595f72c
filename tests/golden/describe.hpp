// What a stream holds, in the lines that tools/grz_decode.py prints, and what an error says,
// in the words of the command line.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/reader.hpp"
#include "core/hash.hpp"
#include "support/dumps.hpp"

namespace gradz::test {

inline std::string hex(std::uint64_t value, int digits) {
    char out[17];
    std::snprintf(out, sizeof out, "%0*llx", digits, static_cast<unsigned long long>(value));
    return out;
}

// All but visible ASCII, and the backslash, as \xNN.
inline std::string visible(std::string_view name) {
    std::string out;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 33 && byte <= 126 && c != '\\') out += c;
        else out += "\\x" + hex(byte, 2);
    }
    return out;
}

inline std::string describe(const TensorHeader& header, const std::string& spec, std::span<const std::byte> elements) {
    std::string shape;
    for (const auto d : header.info.shape) shape += (shape.empty() ? "" : ",") + std::to_string(d);
    return visible(header.info.name) + '\t' + std::string(row_of(header.info.dtype).name) + "\t[" + shape + "]\t" +
           spec + '\t' + hex(xxh3_64(elements), 16) + '\t' + std::to_string(header.info.step) + '\t' +
           std::to_string(header.info.worker) + '\n';
}

// A line for every tensor: values as they come from a forward reader, specs as the index has them.
inline Result<std::string> describe(std::span<const std::byte> bytes, int threads) {
    GRADZ_TRY(const auto decoded, try_decode(bytes, threads));
    MemorySource source(bytes);
    GRADZ_TRY(const auto streams, read_index(source));
    std::string lines;
    std::size_t tensor = 0;
    for (const auto& stream : streams)
        for (const auto& header : stream.state.tensors) {
            lines +=
                describe(decoded.headers.at(tensor), stream.state.specs.at(header.spec), decoded.elements.at(tensor));
            ++tensor;
        }
    if (tensor != decoded.headers.size()) return Error{Errc::corrupt, "the index has other tensors", ""};
    return lines;
}

// What stands after "gradz: FILE: ": the place, outermost first, then what is wrong.
inline std::string said(const Error& error) {
    std::string place;
    for (std::string where = error.where; !where.empty();) {
        const std::size_t at = where.rfind(" < ");
        place += (at == where.npos ? where : where.substr(at + 3)) + ": ";
        where.resize(at == where.npos ? 0 : at);
    }
    return place + error.what;
}

}  // namespace gradz::test
