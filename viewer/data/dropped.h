#pragma once
// What a path means that was dropped on the window, or chosen on it.
#include <filesystem>
#include <string>
#include <string_view>

#include "viewer/state/state.h"

namespace locus {

enum class DropKind { model, text, dump, report, nothing };

struct Dropped {
    DropKind kind = DropKind::nothing;
    std::filesystem::path path;  // absolute
    std::string text;            // of a text file: its beginning
    bool cut = false;            // the file goes on
    std::string why;             // for DropKind::nothing: one sentence that names the path and what was expected
};

/// Most characters of a dropped text that are shown; a model's window is shorter still.
constexpr std::size_t kDroppedCharacters = 4000;

/// Looks at the kind of the file before it reads any of it: pipes and devices are refused, never opened.  Links are
/// followed.  Reads at most the beginning of a text; dumps and reports are opened whole, as the page that shows them
/// would.  Never throws.
Dropped classify_drop(const std::filesystem::path& path);

/// Shows it: a model is wished for, a text becomes the sentence (on the page Text its lines the
/// documents), a dump side B of the comparison, a report the page
/// Compare.  What it is not shows as State::refusal.  Throws Error where the file changed since it was looked at.
void show_dropped(const Dropped& dropped, State& state);

/// The first `characters` of a UTF-8 text with tabs and other controls but line ends as blanks; `cut` tells if there
/// was more. Throws Error(unreadable) for bytes that are no UTF-8.
std::string opening_of_text(std::string_view bytes, std::size_t characters, bool& cut);

}  // namespace locus
