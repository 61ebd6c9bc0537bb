#pragma once
// Runs a program of this build as a user would, and keeps what it said.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/files.h"

namespace locus::test {

inline std::string read_file(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

inline void write_file(const fs::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text;
}

inline std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return result + "'";
}

struct Outcome {
    int status = -1;
    std::string out, err;
    /// Lines on stderr.
    std::ptrdiff_t sentences() const { return std::count(err.begin(), err.end(), '\n'); }
};

/// `before` is shell in front of the command, such as "ulimit -f 1; ".
inline Outcome run_file(const fs::path& file, const std::vector<std::string>& arguments, const std::string& before = "",
                        const std::string& input = "") {
    const TemporaryFolder folder;
    std::string command = before + quoted(file.string());
    for (const std::string& argument : arguments) command += " " + quoted(argument);
    command = "(" + command + ") >" + quoted((folder / "out").string()) + " 2>" + quoted((folder / "err").string()) +
              " <" + quoted((folder / "in").string());
    write_file(folder / "in", input);
    const int status = std::system(command.c_str());
    Outcome outcome;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = read_file(folder / "out");
    outcome.err = read_file(folder / "err");
    return outcome;
}

/// A program of this build by its name.
inline Outcome run(const std::string& program, const std::vector<std::string>& arguments,
                   const std::string& before = "") {
    return run_file(fs::path(LOCUS_BINARY_DIR) / "bin" / program, arguments, before);
}

/// The same with somebody at the keyboard.
inline Outcome run_with_input(const std::string& program, const std::vector<std::string>& arguments,
                              const std::string& input) {
    return run_file(fs::path(LOCUS_BINARY_DIR) / "bin" / program, arguments, "", input);
}

/// Names of everything in a folder.
inline std::vector<std::string> listing(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace locus::test
