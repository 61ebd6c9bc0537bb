#pragma once
// Three ways to use the viewer without a person: a script (script.cpp), random input (monkey.cpp) and measurements of
// its speed (bench.cpp).
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "viewer/app.h"
#include "viewer/automation/script_file.h"
#include "viewer/data/deberta_session.h"
#include "viewer/state/state.h"

namespace locus {

/// Plays a script at the viewer, as a user at the window would.
/// `visible`: in a window, at a speed that one can follow; otherwise as fast as it goes, and time passes by frames.
/// `print` takes what the script prints, a line of JSON each.  Returns nothing where everything asserted was found,
/// otherwise one sentence that names the file, the number of the action, what was expected and what was found; the
/// script ends there.  Throws Error as --set and App::save_picture do.
std::optional<std::string> play_script(const Script& script, Window& window, App& app, bool visible,
                                       const std::function<void(const std::string&)>& print);

struct MonkeySetup {
    std::uint64_t seed = 1;
    long actions = 10000;
    std::vector<std::string> pages;  // where it stays; empty: everywhere
};

struct MonkeyReport {
    std::string summary;               // what was done, one line of JSON
    std::optional<std::string> fault;  // the first thing that was wrong: seed, action and what was found
};

/// Random input with a fixed seed: whatever a user does, the viewer must neither end nor show what is not a number.
/// Off screen; files that a key writes land in the current folder.
MonkeyReport let_monkey_play(const MonkeySetup& setup, Window& window, App& app);

/// How fast the viewer is on this machine.  One JSON object: milliseconds of a head change, frames per second while a
/// 2048 x 2048 matrix is panned, share of a core while nothing happens.
std::string run_bench(const DebertaSession& session, const State& state, int width, int height);

}  // namespace locus
