#include "viewer/key_press.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "viewer/utf8.h"

namespace locus {

namespace {

constexpr std::pair<std::string_view, Key> kNames[] = {{"left", Key::left},
                                                       {"right", Key::right},
                                                       {"up", Key::up},
                                                       {"down", Key::down},
                                                       {"escape", Key::escape},
                                                       {"esc", Key::escape},
                                                       {"space", Key::space},
                                                       {"enter", Key::enter},
                                                       {"tab", Key::tab},
                                                       {"f12", Key::f12},
                                                       {"backspace", Key::backspace},
                                                       {"delete", Key::remove},
                                                       {"home", Key::home},
                                                       {"end", Key::end}};

std::string lower(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

/// Takes "ctrl+" off the front; a "+" alone is the key plus.
bool take_prefix(std::string& rest, const std::string& prefix) {
    if (rest.size() <= prefix.size() || lower(rest.substr(0, prefix.size())) != prefix) return false;
    rest.erase(0, prefix.size());
    return true;
}

/// The one character of a UTF-8 text; 0 where it holds none or several.
char32_t only_character(std::string_view text) {
    if (text.empty()) return 0;
    const char32_t character = take_character(text);
    return text.empty() && character > 0x20 && character != 0x7f && character != 0xfffd ? character : 0;
}

}  // namespace

KeyPress parse_key(const std::string& name) {
    KeyPress press;
    std::string rest = name;
    while (true) {
        if (take_prefix(rest, "ctrl+"))
            press.ctrl = true;
        else if (take_prefix(rest, "shift+"))
            press.shift = true;
        else
            break;
    }
    const std::string plain = lower(rest);
    for (const auto& [known, key] : kNames)
        if (plain == known) {
            press.key = key;
            return press;
        }
    press.character = only_character(press.ctrl ? plain : rest);
    LOCUS_CHECK(press.character != 0,
                "\"" + name +
                    "\" is no key, expected one character or Left, Right, Up, Down, Escape, Space, Enter, "
                    "Tab, Backspace, Delete, Home, End or F12, after Ctrl+ or Shift+ where held");
    return press;
}

}  // namespace locus
