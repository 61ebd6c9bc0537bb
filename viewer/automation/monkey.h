#pragma once
// Random input with a fixed seed: whatever somebody does, the viewer neither ends nor shows what is no number.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viewer/app.h"

namespace locus {

struct MonkeySetup {
    std::uint64_t seed = 1;
    long actions = 10000;
    std::vector<std::string> pages;  // where it stays; empty: everywhere
};

struct MonkeyReport {
    std::string summary;               // what was done, one line of JSON
    std::optional<std::string> fault;  // the first thing that was wrong: seed, action and what was found
};

/// Off screen; files that a key writes land in the current folder.
MonkeyReport let_monkey_play(const MonkeySetup& setup, Window& window, App& app);

}  // namespace locus
