#pragma once
// The command line that draws a screen again: what Ctrl+Shift+C copies and what every exported file says of itself.
#include <string>
#include <vector>

#include "viewer/state/state.h"

namespace locus {

/// Words as the shell reads them, with blanks between them.
std::string shell_line(const std::vector<std::string>& words);

/// What a picture of this state looks like once no animation runs.
State still_of(const State& state);

/// "locus view ...": the program's words that lead from its defaults to this state, with options of their own where
/// there are some and --set for the rest.  Width and height of the window in design pixels.
std::vector<std::string> command_words(const State& state, int width, int height);

/// "Locus 0.1.0"
std::string program_version();

}  // namespace locus
