#include <cstdio>

#include "command.hpp"
#include "core/utf8.hpp"

namespace gradz::cli {
namespace {

// U+202A to U+202E and U+2066 to U+2069 turn the direction of what follows on the line.
bool turns_text(std::string_view character) {
    return (character >= "\xe2\x80\xaa" && character <= "\xe2\x80\xae") ||
           (character >= "\xe2\x81\xa6" && character <= "\xe2\x81\xa9");
}

void print_line(const std::string& text) {
    std::fputs(("gradz: " + text + "\n").c_str(), stderr);  // one write, so that lines stay whole
}

}  // namespace

std::string printable(std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    constexpr std::size_t kLongest = 400;  // a name of 3000 characters is still one line
    std::string out;
    while (!text.empty() && out.size() < kLongest) {
        const std::size_t length = utf8_length(text);
        const auto byte = static_cast<unsigned char>(text[0]);
        const bool control = length == 1 && (byte < 0x20 || byte == 0x7f);
        const bool c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
        if (length == 0 || control || c1 || turns_text(text.substr(0, length))) {
            (out += "\\x") += {kHex[byte / 16], kHex[byte % 16]};
            text.remove_prefix(1);
        } else {
            out += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return text.empty() ? out : out + "...";
}

int print_error(const std::string& file, const Error& error) {
    // `where` is innermost first; a reader looks for the file, then the tensor.
    std::string place = file, where = error.where;
    for (std::size_t at = 0; !where.empty(); where.resize(at)) {
        at = where.rfind(" < ");
        const std::string part = at == std::string::npos ? where : where.substr(at + 3);
        if (at == std::string::npos) at = 0;
        if (part != file) place += (place.empty() ? "" : ": ") + part;
    }
    print_line(printable(place) + ": " + printable(error.what));
    return error.code == Errc::invalid_argument ? kUsage : kFailed;
}

std::string warning_line(const std::string& file, const std::string& text) {
    return "gradz: " + printable(file) + ": warning: " + printable(text) + "\n";
}

void print_warning(const std::string& file, const std::string& text) {
    std::fputs(warning_line(file, text).c_str(), stderr);
}

}  // namespace gradz::cli
