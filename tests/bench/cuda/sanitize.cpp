#include "tests/bench/cuda/sanitize.h"

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "core/check.h"
#include "tests/bench/cuda/measures.h"
#include "tests/bench/cuda/processes.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

bool is_program(const fs::path& file) { return fs::is_regular_file(file) && access(file.c_str(), X_OK) == 0; }

/// Empty if there is none.
fs::path find_sanitizer() {
    std::vector<fs::path> folders;
    std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
    for (std::string folder; std::getline(path, folder, ':');)
        if (!folder.empty()) folders.push_back(folder);
    folders.push_back("/usr/local/cuda/bin");
    std::vector<fs::path> versions;
    std::error_code none;
    for (const fs::directory_entry& one : fs::directory_iterator("/usr/local", none))
        if (one.path().filename().string().starts_with("cuda-")) versions.push_back(one.path() / "bin");
    std::sort(versions.rbegin(), versions.rend());
    folders.insert(folders.end(), versions.begin(), versions.end());
    for (const fs::path& folder : folders)
        if (is_program(folder / "compute-sanitizer")) return folder / "compute-sanitizer";
    return {};
}

/// The last line that speaks of a summary: "========= ERROR SUMMARY: 0 errors".
std::string summary_of(const std::string& text) {
    std::istringstream lines(text);
    std::string found;
    for (std::string line; std::getline(lines, line);)
        if (const auto at = line.find("SUMMARY:"); at != std::string::npos)
            found = line.substr(line.find_first_not_of("= "));
    return found;
}

/// What a report keeps of it.
std::string last_of(const std::string& text) {
    return text.substr(text.size() - std::min<std::size_t>(text.size(), 8000));
}

ordered_json run_tool(const fs::path& program, const std::string& tool, const fs::path& tests, const std::string& part,
                      double limit) {
    std::cerr << "compute-sanitizer " << tool << std::endl;
    const std::string filter = part.empty() ? "[cuda]" : "*" + part + "*[cuda]";
    const Captured ran =
        capture({program.string(), "--tool", tool, "--error-exitcode", "86", tests.string(), filter}, limit);
    const std::string summary = summary_of(ran.text);
    const bool clean = ran.status == 0;
    if (!clean) std::cerr << ran.text;
    // A tool that watched nothing proves nothing.
    if (ran.text.find("skipped: no CUDA device") != std::string::npos)
        return {{"not_available", "the tests were skipped, there is no CUDA device"}};
    if (ran.timed_out)
        return {{"not_available", "it did not end within " + text_of(limit, 0) + " seconds"},
                {"output", last_of(ran.text)}};
    if (summary.empty())
        return {{"not_available",
                 "compute-sanitizer ended with status " + std::to_string(ran.status) + " and without a summary"},
                {"output", last_of(ran.text)}};
    ordered_json found = {{"clean", clean}, {"status", ran.status}, {"summary", summary}, {"seconds", ran.seconds}};
    if (!clean) found["output"] = last_of(ran.text);
    return found;
}

}  // namespace

void sanitize(const fs::path& tests, const std::string& part, double seconds,
              const std::function<void(const std::string& tool, const ordered_json& found)>& known) {
    const fs::path program = find_sanitizer();
    for (const char* tool : {"memcheck", "racecheck"})
        known(tool, program.empty() ? ordered_json{{"not_available",
                                                    "no compute-sanitizer in PATH, /usr/local/cuda/bin or "
                                                    "/usr/local/cuda-*/bin"}}
                                    : run_tool(program, tool, tests, part, seconds / 2));
}

std::string sanitize_table(const ordered_json& found) {
    std::string text;
    for (const auto& [tool, one] : found.items()) {
        text += tool + ": ";
        if (one.contains("not_available"))
            text += "not available: " + one["not_available"].get<std::string>() + "\n";
        else
            text += std::string(one["clean"].get<bool>() ? "clean" : "NOT CLEAN") + " (" +
                    one["summary"].get<std::string>() + "), " + text_of(one["seconds"], 0) + " s\n";
    }
    return text;
}

}  // namespace locus::bench
