#include "viewer/ui/key_press.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/io/input_file.h"
#include "viewer/ui/characters.h"

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

/// Takes "ctrl+" off the front; a "+" alone is the key plus.
bool take_prefix(std::string& rest, const std::string& prefix) {
    if (rest.size() <= prefix.size() || lower_ascii(rest.substr(0, prefix.size())) != prefix) return false;
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
    const std::string plain = lower_ascii(rest);
    for (const auto& [known, key] : kNames)
        if (plain == known) {
            press.key = key;
            return press;
        }
    press.character = only_character(press.ctrl ? plain : rest);
    LOCUS_CHECK(press.character != 0,
                "\"" + printable(name) +
                    "\" is no key, expected one character or Left, Right, Up, Down, Escape, Space, Enter, "
                    "Tab, Backspace, Delete, Home, End or F12, after Ctrl+ or Shift+ where held");
    return press;
}

KeyPress key_named(const std::string& printed) {
    std::string name = printed;
    for (const auto& [sign, word] : {std::pair{"Ctrl ", "Ctrl+"}, std::pair{"Shift ", "Shift+"},
                                     std::pair{"\u2190", "Left"}, std::pair{"\u2192", "Right"},
                                     std::pair{"\u2191", "Up"}, std::pair{"\u2193", "Down"}, std::pair{"\u2212", "-"}})
        if (const std::size_t at = name.find(sign); at != std::string::npos)
            name.replace(at, std::string_view(sign).size(), word);
    return parse_key(name);
}

bool same_key(const KeyPress& press, const KeyPress& key) {
    if (press.key != key.key || press.ctrl != key.ctrl) return false;
    if (press.key != Key::character) return press.shift == key.shift;
    // Signs may need Shift to be typed at all: only letters mean something else with it.
    const bool letter = key.character >= 'a' && key.character <= 'z';
    return press.character == key.character && (!press.ctrl || !letter || press.shift == key.shift);
}

}  // namespace locus
