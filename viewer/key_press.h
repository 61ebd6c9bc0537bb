#pragma once
// A key as the keyboard's layout means it, and its name as it stands on the key sheet.
#include <string>

namespace locus {

enum class Key { character, left, right, up, down, escape, space, enter, tab, f12 };

/// `character` is set for Key::character, lower case together with ctrl.
struct KeyPress {
    Key key = Key::character;
    char32_t character = 0;
    bool ctrl = false, shift = false;
    bool operator==(const KeyPress&) const = default;
};

/// "Ctrl Shift Z", "Shift ←", "Space", "[", "S".  A capital letter without Ctrl is itself; with Ctrl it is the key.
/// Throws Error(usage) for the name of no key.
KeyPress key_named(const std::string& name);

/// True if a press is that key: Shift counts for keys that are no characters and together with Ctrl.
bool same_key(const KeyPress& press, const KeyPress& key);

}  // namespace locus
