#include "viewer/state/command_line.h"

#include <map>

#include "core/io/subprocess.h"
#include "viewer/options.h"
#include "viewer/state/state_fields.h"

namespace locus {

namespace {

/// Fields that have an option of their own.
const std::map<std::string, std::string>& options_of_fields() {
    static const std::map<std::string, std::string> options = {
        {"page", "--page"}, {"text", "--text"}, {"tokens", "--tokens"},   {"mask", "--mask"},   {"layer", "--layer"},
        {"head", "--head"}, {"cell", "--cell"}, {"dialect", "--dialect"}, {"theme", "--theme"}, {"zoom", "--scale"}};
    return options;
}

/// An option says no more than its field only where the program does not read more into it: on other pages a text, a
/// layer, a head or a cell are the page's own.
bool option_is_plain(const State& state, const std::string& name, const std::string& value) {
    if (value.empty()) return false;
    if (name == "page" || name == "theme" || name == "zoom") return true;
    if (name == "dialect") return state.dialect != Dialect::reference && state.page != "compare";
    if (name == "head" && state.page == "decoder") return false;
    if ((state.page != "attention" && state.page != "decoder") || state.compare.has_files()) return false;
    if (name == "text") return state.tokens.empty();
    return name != "mask" || !state.tokens.empty();
}

/// What the program makes of the words that come before --set.
State opened_by(const State& state) {
    State opened;
    if (state.compare.report) {
        opened.page = "compare";
        opened.compare.open(state.compare.report);
        opened.compare.open_case(state.compare.shown_case);
        opened.compare.shown_case = state.compare.report->opening();
        opened.conformance.report = state.compare.report->file.string();
    }
    return opened;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
    return line;
}

State still_of(const State& state) {
    State still = state;
    for (const StateField& field : state_fields())
        if (field.name.ends_with(".playing")) field.set(still, "no");
    return still;
}

std::vector<std::string> command_words(const State& moving, int width, int height) {
    const State state = still_of(moving), opened = opened_by(state);
    const Options defaults;
    std::vector<std::string> words = {"locus", "view"}, sets;
    if (state.model != State().model) words.push_back(state.model.starts_with('-') ? "./" + state.model : state.model);
    const auto add = [&](const std::string& option, const std::string& value) {
        if (value.starts_with('-'))
            words.push_back(option + "=" + value);
        else
            words.insert(words.end(), {option, value});
    };
    if (state.compare.report) add("--report", state.compare.report->file.string());
    for (const StateField& field : state_fields()) {
        const std::string value = field.get(state);
        if (field.name == "model") continue;
        // Beside files a place is always said, or the program would look for the worst one.
        const bool forced = field.name == "compare.cell" && state.compare.has_files();
        if (value == field.get(opened) && !forced) continue;
        const auto option = options_of_fields().find(field.name);
        if (option != options_of_fields().end() && option_is_plain(state, field.name, value))
            add(option->second, value);
        else
            sets.insert(sets.end(), {"--set", field.name + "=" + value});
    }
    words.insert(words.end(), sets.begin(), sets.end());
    if (width != defaults.width || height != defaults.height)
        add("--size", std::to_string(width) + "x" + std::to_string(height));
    return words;
}

std::string program_version() { return std::string("Locus ") + LOCUS_VERSION; }

}  // namespace locus
