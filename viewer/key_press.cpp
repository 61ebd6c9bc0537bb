#include "viewer/key_press.h"

#include "core/check.h"
#include "viewer/characters.h"

namespace locus {

namespace {

bool take_word(std::string& name, const std::string& word) {
    if (!name.starts_with(word)) return false;
    name.erase(0, word.size());
    return true;
}

}  // namespace

KeyPress key_named(const std::string& full) {
    std::string name = full;
    KeyPress press;
    press.ctrl = take_word(name, "Ctrl ");
    press.shift = take_word(name, "Shift ");
    const std::pair<const char*, Key> kNames[] = {{"\u2190", Key::left}, {"\u2192", Key::right}, {"\u2191", Key::up},
                                                  {"\u2193", Key::down}, {"Esc", Key::escape},   {"Space", Key::space},
                                                  {"Enter", Key::enter}, {"Tab", Key::tab},      {"F12", Key::f12}};
    for (const auto& [known, key] : kNames)
        if (name == known) {
            press.key = key;
            return press;
        }
    std::string_view rest = name;
    if (!rest.empty()) press.character = take_character(rest);
    LOCUS_CHECK(press.character != 0 && rest.empty(),
                "\"" + full + "\" is no key, expected one such as [, Ctrl L or Shift \u2190");
    if (press.character == 0x2212) press.character = '-';  // printed as a minus sign
    if (press.ctrl && press.character >= 'A' && press.character <= 'Z') press.character += 'a' - 'A';
    return press;
}

bool same_key(const KeyPress& press, const KeyPress& key) {
    if (press.key != key.key || press.ctrl != key.ctrl) return false;
    if (press.key != Key::character) return press.shift == key.shift;
    return press.character == key.character && (!press.ctrl || press.shift == key.shift);
}

}  // namespace locus
