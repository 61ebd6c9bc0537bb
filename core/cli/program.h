#pragma once
// What every Locus program does around its work: options, errors in one sentence, exit statuses.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/check.h"

namespace CLI {  // CLI11: program.cpp alone includes it, since every file that does compiles the whole library anew
class App;
class Option;
}  // namespace CLI

namespace locus::cli {

/// An option of a command, or an argument without a name.  Each function returns the option that it changed, so that
/// they are written one after the other; a copy is the same option.
class Option {
public:
    Option required();
    /// --help shows the value that the variable holds now.
    Option shows_default();
    /// Refuses an empty value: --out "" is a mistake in a script.
    Option not_empty();
    Option not_negative();
    /// A number from `least` to `most`, both allowed.
    Option within(int least, int most);
    Option within(double least, double most);
    Option one_of(const std::vector<std::string>& words);
    /// Not together with the other one.
    Option excludes(const Option& other);
    /// One value each time that it is named: what follows the value is something else.
    Option one_value_each();
    /// "a,b" is two values where the separator is a comma.
    Option separated_by(char separator);
    /// What --help calls the value, instead of its type.
    Option value_name(const std::string& name);
    /// Not listed by --help.
    Option hidden();

private:
    friend class Command;
    explicit Option(CLI::Option* option) : option_(option) {}
    CLI::Option* option_;
};

/// A program, or one of its commands such as export of locus kit.  A copy is the same command.
class Command {
public:
    /// `help` stands above the list of options; `name`, such as "locus trace", begins every sentence on stderr.
    Command(const std::string& help, const std::string& name);

    /// Names are "--top", "--jobs,-j", or "text" for an argument without a name.  What is given is stored in `value`.
    /// Value: std::string, int, long (Index), std::uint64_t or double, a std::optional of one of them, a std::vector of
    /// std::string or int.
    template <class Value>
    Option option(const std::string& names, Value& value, const std::string& help);
    Option flag(const std::string& names, bool& value, const std::string& help);

    /// Adds a command with options of its own.
    Command command(const std::string& name, const std::string& help);
    /// How many of its commands may be named, both numbers allowed.
    void takes_commands(int least, int most);
    /// Stands below the list of options.
    void footer(const std::string& text);

    const std::string& name() const;
    /// Once the options are parsed: was this command named, was this option or argument given?
    bool chosen() const;
    bool given(const std::string& option) const;

private:
    friend int run_program(Command&, std::vector<std::string>, const std::function<int()>&);
    explicit Command(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}
    std::shared_ptr<CLI::App> app_;
};

/// Parses the options, runs `body` and turns what it throws into one sentence on stderr and an exit status:
/// 2 wrong usage, 3 unreadable, 4 unsupported, 70 no memory and anything else.  --help prints and returns 0.
int run_program(Command& program, int argc, char** argv, const std::function<int()>& body);
int run_program(Command& program, std::vector<std::string> arguments, const std::function<int()>& body);

/// Gives every value of a repeatable option its own name: "--text a b" becomes "--text a --text b", without the
/// program's name.  CLI11 takes a value in brackets apart where an option may swallow several: "[MASK]" is such a
/// value.
std::vector<std::string> name_each_value(int argc, char** argv, const std::string& option);

/// Memory laid aside for what a program still has to do when there is no more; run_program() does it, and what goes on
/// after a refusal lays it aside again.
void keep_memory_reserve();

/// One line on stderr: "locus trace: <sentence>".
void say(const Command& program, const std::string& sentence);

}  // namespace locus::cli
