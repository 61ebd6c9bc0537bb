#include "core/cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

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
std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

}  // namespace

void keep_memory_reserve() {
    if (!reserve.load()) reserve = std::malloc(kReserve);
}

void say(const CLI::App& app, const std::string& sentence) {
    std::cerr << app.get_name() << ": " << one_line(sentence) << '\n';
}

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
    return run_program(app, std::vector<std::string>(argv + 1, argv + argc), body);
}

std::vector<std::string> one_value_each(int argc, char** argv, const std::string& option) {
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

CLI::Validator not_empty() {
    return {[](const std::string& value) { return value.empty() ? std::string("the value is empty") : std::string(); },
            "", "not_empty"};
}

int run_program(CLI::App& app, std::vector<std::string> arguments, const std::function<int()>& body) {
    keep_memory_reserve();
    std::set_new_handler(give_reserve_back);
    std::signal(SIGXFSZ, SIG_IGN);  // a full quota is an error of write(), not a death in the middle of a file
    try {
        std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
        app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help();
        return 0;
    } catch (const CLI::ParseError& error) {
        say(app, std::string(error.what()) + "; " + app.get_name() + " --help lists the options");
        return static_cast<int>(Fault::usage);
    }
    try {
        const int status = body();
        std::cout.flush();
        if (!std::cout) throw Error(Fault::unreadable, "standard output cannot be written");
        return status;
    } catch (const Error& error) {
        say(app, error.what());
        return error.exit_status();
    } catch (const std::bad_alloc& error) {
        const std::string known = error.what();  // a file's sentence, or the standard library's word
        say(app, known.find(' ') != std::string::npos ? known : "there is not enough memory for this");
    } catch (const std::system_error& error) {
        const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
        say(app, no_thread ? "no thread can be started: there is not enough memory for it, or there are too many"
                           : std::string("unexpected: ") + error.what());
    } catch (const std::exception& error) {
        say(app, std::string("unexpected: ") + error.what());
    }
    return kInternal;
}

}  // namespace locus::cli
