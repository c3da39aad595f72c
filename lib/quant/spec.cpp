#include "quant/spec.hpp"

#include <charconv>

namespace gradz {
namespace {

// Own classes, not <cctype>: those depend on the locale.
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; }
bool is_value(char c) {
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '/' || c == '-';
}

struct Cursor {
    std::string_view text;
    std::size_t at = 0;

    bool done() const { return at == text.size(); }
    bool eat(char c) { return !done() && text[at] == c && ++at; }
    Error fail(const std::string& wanted) const {
        return {Errc::invalid_argument, "expected " + wanted + " at byte " + std::to_string(at),
                "spec '" + std::string(text) + "'"};
    }

    Result<std::string> name() {
        const std::size_t begin = at;
        if (!done() && is_lower(text[at]))
            while (!done() && is_name(text[at])) ++at;
        if (at == begin) return fail("a name");
        return std::string(text.substr(begin, at - begin));
    }

    Result<std::string> value() {
        std::string out;
        while (!done() && (is_value(text[at]) || text[at] == '%')) {
            if (text[at] != '%') {
                out += text[at++];
                continue;
            }
            unsigned byte = 0;
            const char* hex = text.data() + at + 1;
            if (text.size() - at < 3 || std::from_chars(hex, hex + 2, byte, 16).ptr != hex + 2)
                return fail("two hex digits after %");
            out += static_cast<char>(byte), at += 3;
        }
        if (out.empty()) return fail("a value");
        return out;
    }

    Result<Stage> stage() {
        Stage stage;
        GRADZ_TRY(stage.name, name());
        if (!eat(':')) return stage;
        do {
            GRADZ_TRY(auto key, name());
            if (stage.find(key)) return fail("no second '" + key + "'");
            if (!eat('=')) return fail("'='");
            GRADZ_TRY(auto text_value, value());
            stage.params.emplace_back(std::move(key), std::move(text_value));
        } while (eat(','));
        return stage;
    }
};

}  // namespace

const std::string* Stage::find(std::string_view key) const {
    for (const auto& [k, v] : params)
        if (k == key) return &v;
    return nullptr;
}

Result<Spec> parse_spec(std::string_view text) {
    Cursor cursor{text};
    Spec spec;
    do {
        GRADZ_TRY(auto stage, cursor.stage());
        spec.push_back(std::move(stage));
    } while (cursor.eat('+'));
    if (!cursor.done()) return cursor.fail("',', '+' or the end");
    return spec;
}

std::string print_spec(const Spec& spec) {
    constexpr char kHex[] = "0123456789ABCDEF";
    std::string out;
    for (const auto& stage : spec) {
        out += (out.empty() ? "" : "+") + stage.name;
        char separator = ':';
        for (const auto& [key, value] : stage.params) {
            out += separator + key + '=';
            for (const char c : value) {
                const auto byte = static_cast<unsigned char>(c);
                if (is_value(c)) out += c;
                else (out += '%') += {kHex[byte / 16], kHex[byte % 16]};
            }
            separator = ',';
        }
    }
    return out;
}

}  // namespace gradz
