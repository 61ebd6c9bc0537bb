#include "core/cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>

#include "core/nearest_name.h"

namespace locus::cli {

namespace {

constexpr int kInternal = 70;  // memory that cannot be had, or a mistake of Locus itself

/// Memory that is given back where there is no more: what is undone then, such as removing a draft or a JSON document's
/// end, needs some.  A handler has no arguments, so this has no other place.
constexpr std::size_t kReserve = std::size_t{4} << 20;
std::atomic<void*> reserve = nullptr;

void give_reserve_back() {
    void* const kept = reserve.exchange(nullptr);
    std::free(kept);
    if (kept && std::uncaught_exceptions() > 0) return;  // tried again: a destructor may not throw
    throw std::bad_alloc();
}

/// A message on one line, whatever it was made of.
std::string on_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return one_line(std::move(text));
}

/// CLI11's message about a value holds the whole of it.
std::string shortened(std::string text) {
    constexpr std::size_t kMost = 300;
    if (text.size() <= 2 * kMost) return text;
    return text.substr(0, kMost) + " ... " + text.substr(text.size() - kMost);
}

/// What a word is read as.
template <class Value>
struct NumberIn {
    using type = Value;
};
template <class Value>
struct NumberIn<std::optional<Value>> {
    using type = Value;
};
template <class Value>
struct NumberIn<std::vector<Value>> {
    using type = Value;
};

/// CLI11 takes an empty word for 0, "010" for 8, -1 for the largest number without a sign and "nan" for every range.
template <class Number>
std::string refusal_of(const std::string& word) {
    const auto refused = [&](const std::string& expected) {
        return "\"" + shortened(word) + "\" is not a " + expected;
    };
    const char* const end = word.data() + word.size();
    if constexpr (std::is_floating_point_v<Number>) {
        char* behind = nullptr;
        const double value = std::strtod(word.c_str(), &behind);
        return word.empty() || behind != end || std::isnan(value) ? refused("number") : "";
    } else {
        const char* const begin = word.data() + word.starts_with('+');
        const char* const digits = begin + (begin != end && *begin == '-' && std::is_signed_v<Number>);
        Number value = 0;
        const auto [behind, error] = std::from_chars(begin, end, value);
        const bool whole = digits != end && std::all_of(digits, end, [](char c) { return c >= '0' && c <= '9'; });
        if (!whole || (digits + 1 < end && *digits == '0'))
            return refused(std::is_signed_v<Number> ? "whole number" : "whole number of 0 or more");
        return error != std::errc() || behind != end
                   ? "\"" + shortened(word) + "\" is outside of " + std::to_string(std::numeric_limits<Number>::min()) +
                         " to " + std::to_string(std::numeric_limits<Number>::max())
                   : "";
    }
}

/// The command that was chosen, or the program where it has none.
const CLI::App& chosen_of(const CLI::App& app) {
    const CLI::App* chosen = &app;
    while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
    return *chosen;
}

std::vector<std::string> options_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
}

/// "there is no option --modle (did you mean --model?)".
std::string no_such(const std::string& kind, const std::string& word, const std::vector<std::string>& known) {
    constexpr std::size_t kLongest = 80;  // of words that are compared
    std::string refusal = "there is no " + kind + " " + shortened(word);
    if (word.size() < 3 || word.size() > kLongest) return refusal;
    const std::string near = nearest(word, known);
    const bool is_near = !near.empty() && edits(word, near) <= std::max<std::size_t>(2, near.size() / 4);
    return is_near ? refusal + " (did you mean " + near + "?)" : refusal;
}

/// What the command line says that no option and no argument takes; "" where there is no such word.
std::string refusal_of_rest(const CLI::App& app) {
    const std::vector<std::string> rest = app.remaining(true), commands = commands_of(app);
    const bool lacks_command = !commands.empty() && app.get_subcommands().empty();
    if (rest.empty()) return "";
    if (lacks_command && !rest.front().starts_with('-')) return no_such("command", rest.front(), commands);
    const auto is_option = [](const std::string& word) { return word.size() > 1 && word.front() == '-'; };
    const auto option = std::find_if(rest.begin(), rest.end(), is_option);
    if (option == rest.end()) return "the argument \"" + shortened(rest.front()) + "\" is one too many";
    return no_such("option", option->substr(0, option->find('=')), options_of(chosen_of(app)));
}

/// An option that was given too often, or without its value.
std::string refusal_of_count(const CLI::App& app, const std::string& message) {
    const std::string name = message.substr(0, message.find(':'));
    const CLI::Option* option = name.starts_with('-') ? chosen_of(app).get_option_no_throw(name) : nullptr;
    if (!option) return message;
    return option->count() > 1 ? name + " was given " + std::to_string(option->count()) + " times, expected once"
                               : name + " needs a value after it";
}

/// CLI11's words for what it refuses, and others where it turns the words around or says no more than a number.
std::string refusal_of(const CLI::App& app, const CLI::ParseError& error) {
    const std::vector<std::string> commands = commands_of(app);
    const bool lacks_command = dynamic_cast<const CLI::RequiredError*>(&error) && !commands.empty();
    if (lacks_command || dynamic_cast<const CLI::ExtrasError*>(&error))
        if (std::string refusal = refusal_of_rest(app); !refusal.empty()) return refusal;
    if (lacks_command && app.get_subcommands().empty()) {
        std::string refusal = "a command is missing, expected";
        for (std::size_t n = 0; n < commands.size(); ++n)
            refusal += (n == 0 ? " " : n + 1 < commands.size() ? ", " : " or ") + commands[n];
        return refusal;
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return refusal_of_count(app, error.what());
    return error.what();
}

/// "locus kit check", whose --help lists the options.
std::string name_with_command(const CLI::App& app) {
    const CLI::App& chosen = chosen_of(app);
    return &chosen == &app ? app.get_name() : app.get_name() + " " + chosen.get_name();
}

}  // namespace

Option Option::required() {
    option_->required();
    return *this;
}

Option Option::shows_default() {
    option_->capture_default_str();
    return *this;
}

Option Option::not_empty() {
    const auto refusal = [](const std::string& value) {
        return std::string(value.empty() ? "the value is empty" : "");
    };
    option_->check(CLI::Validator(refusal, "", "not_empty"));
    return *this;
}

Option Option::not_negative() {
    const auto refusal = [](const std::string& value) {
        const double number = std::strtod(value.c_str(), nullptr);
        return number >= 0 && std::isfinite(number) ? std::string()
                                                    : "\"" + shortened(value) + "\" given, expected 0 or more";
    };
    option_->check(CLI::Validator(refusal, "", "not_negative"));
    return *this;
}

Option Option::within(int least, int most) {
    option_->check(CLI::Range(least, most));
    return *this;
}

Option Option::within(double least, double most) {
    option_->check(CLI::Range(least, most));
    return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
    option_->check(CLI::IsMember(words));
    return *this;
}

Option Option::excludes(const Option& other) {
    option_->excludes(other.option_);
    return *this;
}

Option Option::one_value_each() {
    option_->allow_extra_args(false);
    return *this;
}

Option Option::separated_by(char separator) {
    option_->delimiter(separator);
    return *this;
}

Option Option::value_name(const std::string& name) {
    option_->type_name(name);
    return *this;
}

Option Option::hidden() {
    option_->group("");
    return *this;
}

Command::Command(const std::string& help, const std::string& name) : app_(std::make_shared<CLI::App>(help, name)) {}

template <class Value>
Option Command::option(const std::string& names, Value& value, const std::string& help) {
    CLI::Option* const option = app_->add_option(names, value, help);
    using Number = typename NumberIn<Value>::type;
    if constexpr (std::is_arithmetic_v<Number>)
        option->check(CLI::Validator([](const std::string& word) { return refusal_of<Number>(word); }, "", "number"));
    return Option(option);
}

template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, int&, const std::string&);
template Option Command::option(const std::string&, long&, const std::string&);
template Option Command::option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::option(const std::string&, double&, const std::string&);
template Option Command::option(const std::string&, std::optional<std::string>&, const std::string&);
template Option Command::option(const std::string&, std::optional<int>&, const std::string&);
template Option Command::option(const std::string&, std::optional<long>&, const std::string&);
template Option Command::option(const std::string&, std::optional<std::uint64_t>&, const std::string&);
template Option Command::option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::option(const std::string&, std::vector<int>&, const std::string&);

Option Command::flag(const std::string& names, bool& value, const std::string& help) {
    return Option(app_->add_flag(names, value, help));
}

Command Command::command(const std::string& name, const std::string& help) {
    return Command(app_->get_subcommand_ptr(app_->add_subcommand(name, help)));
}

void Command::takes_commands(int least, int most) {
    app_->require_subcommand(static_cast<std::size_t>(least), static_cast<std::size_t>(most));
}

void Command::footer(const std::string& text) { app_->footer(text); }

const std::string& Command::name() const { return app_->get_name(); }

bool Command::chosen() const { return app_->parsed(); }

bool Command::given(const std::string& option) const { return app_->count(option) > 0; }

void keep_memory_reserve() {
    if (!reserve.load()) reserve = std::malloc(kReserve);
}

void say(const Command& program, const std::string& sentence) {
    std::cerr << program.name() << ": " << on_one_line(sentence) << '\n';
}

int run_program(Command& program, int argc, char** argv, const std::function<int()>& body) {
    return run_program(program, std::vector<std::string>(argv + 1, argv + argc), body);
}

std::vector<std::string> name_each_value(int argc, char** argv, const std::string& option) {
    std::vector<std::string> arguments;
    bool values = false;  // inside the values of the option
    bool first = false;   // its first value follows its name anyway
    for (int n = 1; n < argc; ++n) {
        const std::string word = argv[n];
        if (word.starts_with("-") && !first) {
            values = word == option || word.starts_with(option + "=");
            first = word == option;
        } else {
            if (values && !first) arguments.push_back(option);
            first = false;
        }
        arguments.push_back(word);
    }
    return arguments;
}

int run_program(Command& program, std::vector<std::string> arguments, const std::function<int()>& body) {
    keep_memory_reserve();
    std::set_new_handler(give_reserve_back);
    std::signal(SIGXFSZ, SIG_IGN);  // a full quota is an error of write(), not a death in the middle of a file
    try {
        std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
        program.app_->parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        std::cout << program.app_->help() << std::flush;
        if (std::cout) return 0;
        say(program, "standard output cannot be written");
        return static_cast<int>(Fault::unreadable);
    } catch (const CLI::ParseError& error) {
        say(program, shortened(refusal_of(*program.app_, error)) + "; " + name_with_command(*program.app_) +
                         " --help lists the options");
        return static_cast<int>(Fault::usage);
    }
    try {
        const int status = body();
        std::cout.flush();
        if (!std::cout) throw Error(Fault::unreadable, "standard output cannot be written");
        return status;
    } catch (const Error& error) {
        say(program, error.what());
        return error.exit_status();
    } catch (const std::bad_alloc& error) {
        const std::string known = error.what();  // a file's sentence, or the standard library's word
        say(program, known.find(' ') != std::string::npos ? known : "there is not enough memory for this");
    } catch (const std::system_error& error) {
        const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
        say(program, no_thread ? "no thread can be started: there is not enough memory for it, or there are too many"
                               : std::string("unexpected: ") + error.what());
    } catch (const std::exception& error) {
        say(program, std::string("unexpected: ") + error.what());
    }
    return kInternal;
}

}  // namespace locus::cli
