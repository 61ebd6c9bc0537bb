#pragma once
// A key as the keyboard's layout means it, and how scripts and the list of keys write one.
#include <string>

namespace locus {

enum class Key {
    character,
    left,
    right,
    up,
    down,
    escape,
    space,
    enter,
    tab,
    f12,
    // Only the boxes that one writes in read these.
    backspace,
    remove,
    home,
    end
};

/// One key; `character` is set for Key::character, lower case together with ctrl.
struct KeyPress {
    Key key = Key::character;
    char32_t character = 0;
    bool ctrl = false, shift = false;
    bool operator==(const KeyPress&) const = default;
};

/// "Ctrl+L", "Shift+Left", "Escape", "?": names in any case, a character as it is typed.  Throws Error(usage) that
/// names the key and what was expected.
KeyPress parse_key(const std::string& name);

/// The same as it is printed in the list of keys: "Ctrl Shift Z", "Shift ←", "Esc", "−".
KeyPress key_named(const std::string& printed);

/// True if a press is that key: Shift counts for keys that are no characters, and with Ctrl for letters.
bool same_key(const KeyPress& press, const KeyPress& key);

}  // namespace locus
