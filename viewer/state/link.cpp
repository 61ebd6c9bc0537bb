#include "viewer/state/link.h"

#include <algorithm>
#include <string_view>

namespace locus {

namespace {

/// Options of the command line by their own names; every other name is a field of --set.
constexpr std::string_view kOptions[] = {"page",    "text",  "tokens", "mask",    "layer", "head", "cell",
                                         "dialect", "theme", "scale",  "mistake", "stage", "model"};

/// A field of --set whose name is an option too: the option may be taken for one of the page's own.
constexpr std::string_view kSet = "set.";

bool is_option(std::string_view name) {
    return std::find(std::begin(kOptions), std::end(kOptions), name) != std::end(kOptions);
}

/// As application/x-www-form-urlencoded has it, but commas and brackets of ids and cells stay readable.
std::string encoded(const std::string& text) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~,:/";
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string made;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (kPlain.find(c) != std::string_view::npos)
            made += c;
        else if (c == ' ')
            made += '+';
        else
            made += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return made;
}

int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string decoded(std::string_view text) {
    std::string made;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool two = text[at] == '%' && at + 2 < text.size();
        const int high = two ? hexadecimal(text[at + 1]) : -1, low = two ? hexadecimal(text[at + 2]) : -1;
        if (high >= 0 && low >= 0) {
            made += static_cast<char>(high * 16 + low);
            at += 2;
        } else {
            made += text[at] == '+' ? ' ' : text[at];
        }
    }
    return made;
}

}  // namespace

std::string link_of(const std::vector<std::string>& command) {
    std::string link;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (name != "size") link += (link.empty() ? "" : "&") + std::string(name) + "=" + encoded(value);
    };
    for (std::size_t at = 2; at < command.size(); ++at) {
        const std::string& word = command[at];
        if (!word.starts_with("--")) {
            add("model", word);
            continue;
        }
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        if (equals == std::string::npos && at + 1 == command.size()) break;
        const std::string value = equals == std::string::npos ? command[++at] : word.substr(equals + 1);
        const std::string field = value.substr(0, value.find('='));
        if (name == "set")
            add((is_option(field) ? std::string(kSet) : "") + field, value.substr(value.find('=') + 1));
        else
            add(name, value);
    }
    return link;
}

std::vector<std::string> words_of_link(const std::string& link) {
    std::vector<std::string> words;
    std::string_view rest = link;
    if (rest.starts_with("#")) rest.remove_prefix(1);
    while (!rest.empty()) {
        const std::string_view part = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        const std::size_t equals = part.find('=');
        if (equals == 0 || equals == std::string_view::npos) continue;
        const std::string name = decoded(part.substr(0, equals)), value = decoded(part.substr(equals + 1));
        // With "=", so that a value may begin with a minus sign.
        if (is_option(name))
            words.push_back("--" + name + "=" + value);
        else if (name.starts_with(kSet))
            words.push_back("--set=" + name.substr(kSet.size()) + "=" + value);
        else
            words.push_back("--set=" + name + "=" + value);
    }
    return words;
}

}  // namespace locus
