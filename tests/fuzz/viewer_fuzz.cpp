// What the viewer reads beside models: scripts and its settings.
#include "tests/fuzz/fuzz_target.h"
#include "viewer/automation/script_file.h"
#include "viewer/state/settings.h"

namespace locus::test {

namespace fs = std::filesystem;

void fuzz_script(std::string_view bytes, const fs::path&) {
    const Script script = parse_script(bytes, "script.json");
    promise(script.actions.size() <= bytes.size(), "every action has a byte");
}

namespace {

/// The same as a file: a damaged one is put aside, and what is written is read again.
void keep_settings(std::string_view bytes, const fs::path& folder) {
    const fs::path own = folder / "settings";  // what is left of one input, the next writes over
    fs::create_directory(own);
    fuzz_file(own, "settings.json", bytes);
    const SettingsFile file(own);
    std::string problem;
    const Settings settings = file.read(problem);
    promise(problem.empty() == fs::exists(file.file()), "a damaged file is kept under another name, a sound one stays");
    file.write(settings);
    promise(file.read(problem) == settings && problem.empty(), "settings that are written and read are the same");
}

}  // namespace

void fuzz_settings(std::string_view bytes, const fs::path& folder) {
    if (takes_its_turn(bytes, 16)) keep_settings(bytes, folder);
    const Settings settings = parse_settings(bytes, "settings.json");
    promise(settings.recent.size() <= kRecentModels && settings.commands.size() <= kRecentCommands,
            "no list is longer than the viewer keeps it");
    promise(parse_settings(settings_text(settings), "settings.json") == settings,
            "settings that are written and read are the same");
}

}  // namespace locus::test
