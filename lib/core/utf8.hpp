// Whether bytes are UTF-8: names come from files and may be anything.
#pragma once

#include <cstddef>
#include <string_view>

namespace gradz {

// Bytes of the character at the start of `text`, 0 if there is none: overlong forms,
// surrogates and numbers above U+10FFFF are none (Unicode 15, table 3-7).
inline std::size_t utf8_length(std::string_view text) {
    const auto in = [&](std::size_t i, unsigned lo, unsigned hi) {
        const unsigned byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
        return byte >= lo && byte <= hi;
    };
    const auto tail = [&](std::size_t i) { return in(i, 0x80, 0xbf); };
    if (text.empty()) return 0;
    const unsigned lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef)
        return in(1, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf) && tail(2) ? 3 : 0;
    if (lead >= 0xf0 && lead <= 0xf4)
        return in(1, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf) && tail(2) && tail(3) ? 4 : 0;
    return 0;
}

inline bool is_ascii(std::string_view text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) >= 0x80) return false;
    return true;
}

inline bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace gradz
