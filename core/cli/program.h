#pragma once
// What every Locus program does around its work: options, one-sentence refusals, exit statuses, number formats.
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/check.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace locus::cli {

/// Parses the options, runs `body` and turns what it throws into one sentence on stderr and an exit status:
/// 2 wrong usage, 3 unreadable, 4 unsupported, 70 anything else.  --help prints and returns 0.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// Gives every value of a repeatable option its own name: "--text a b" becomes "--text a --text b", without the
/// program's name.  CLI11 takes a value in brackets apart where an option may swallow several: "[MASK]" is such a
/// value.
std::vector<std::string> one_value_each(int argc, char** argv, const std::string& option);
int run_program(CLI::App& app, std::vector<std::string> arguments, const std::function<int()>& body);

/// Refuses an empty value: --out "" is a mistake in a script, never a wish.
CLI::Validator not_empty();

/// One line on stderr: "locus trace: <sentence>".
void say(const CLI::App& app, const std::string& sentence);

/// Rows of cells as aligned columns; the first is left-aligned, the others right-aligned where `numbers` says so.
/// Widths count characters, two for Hangul and other wide ones.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& numbers);

/// "1.2346", "-3.2e-07", "nan": six significant digits.
std::string number(double value);

/// JSON has no NaN or infinity; they become the strings "nan", "inf", "-inf".
nlohmann::ordered_json json_number(double value);

/// Columns that a UTF-8 text takes on a terminal.
std::size_t display_width(const std::string& text);

}  // namespace locus::cli
