#pragma once
// Everything that a key or a name does, in one list: the keyboard, the palette and the list of keys all read it, so a
// key that works cannot be missing there.
#include <functional>
#include <string>
#include <vector>

#include "viewer/state/state.h"
#include "viewer/ui/key_press.h"

namespace locus {

/// What an action may change, and what it must know.
struct ActionScope {
    State& state;
    Index layers = 1, heads = 1;  // of the opened model
    // What only the frame can do; it looks after every key and every command.
    bool close = false, save = false, undo = false, redo = false;
};

struct NamedAction {
    std::string id;     // "theme.next": what the settings remember
    std::string title;  // as the palette names it
    std::string page;   // where it is; empty: everywhere
    std::string key;    // as key_named reads it and the list of keys prints it; empty: none
    std::string also;   // a second key that does the same
    std::string sheet;  // said once for it and its neighbours of the same page that say the same; empty: the title
    /// False where it does not apply to what is shown.  Empty: the page does it, and is given the key.
    std::function<bool(ActionScope&)> run;
};

/// In the order of the list of keys: what is everywhere first, then page by page.
const std::vector<NamedAction>& actions();

/// The action of a key on a page: the page's own before those of everywhere.  nullptr if it means nothing there.
const NamedAction* action_of(const KeyPress& press, const std::string& page);

/// A line of the list of keys.
struct KeyLine {
    std::string keys, meaning;
};
/// Keys that are everywhere, or with a page's name those of that page.
std::vector<KeyLine> key_lines(const std::string& page);

/// The keys that the pages read themselves; here they have names.  Appends them, page by page in the order of the rail.
void add_page_actions(std::vector<NamedAction>& all);

}  // namespace locus
