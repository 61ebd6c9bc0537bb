#pragma once
// Plays a script at the viewer, as somebody at the window would.
#include <functional>
#include <optional>
#include <string>

#include "viewer/app.h"
#include "viewer/automation/script_file.h"

namespace locus {

/// `visible`: in a window, at a speed that one can follow; otherwise as fast as it goes, and time passes by frames.
/// `print` takes what the script prints, a line of JSON each.  Returns nothing where everything asserted was found,
/// otherwise one sentence that names the file, the number of the action, what was expected and what was found; the
/// script ends there.  Throws Error as --set and App::save_picture do.
std::optional<std::string> play_script(const Script& script, Window& window, App& app, bool visible,
                                       const std::function<void(const std::string&)>& print);

}  // namespace locus
