#pragma once
// What every Locus program does around its work: options, errors in one sentence, exit statuses.
#include <functional>
#include <string>
#include <vector>

#include "core/check.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace locus::cli {

/// Parses the options, runs `body` and turns what it throws into one sentence on stderr and an exit status:
/// 2 wrong usage, 3 unreadable, 4 unsupported, 70 no memory and anything else.  --help prints and returns 0.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// Memory laid aside for what a program still has to do when there is no more; run_program() does it, and what goes on
/// after a refusal lays it aside again.
void keep_memory_reserve();

/// Gives every value of a repeatable option its own name: "--text a b" becomes "--text a --text b", without the
/// program's name.  CLI11 takes a value in brackets apart where an option may swallow several: "[MASK]" is such a
/// value.
std::vector<std::string> one_value_each(int argc, char** argv, const std::string& option);
int run_program(CLI::App& app, std::vector<std::string> arguments, const std::function<int()>& body);

/// Refuses an empty value: --out "" is a mistake in a script.
CLI::Validator not_empty();

/// One line on stderr: "locus trace: <sentence>".
void say(const CLI::App& app, const std::string& sentence);

}  // namespace locus::cli
