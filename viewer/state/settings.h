#pragma once
// What is remembered from one day to the next, in the user's configuration folder and nowhere else.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// Of a window, in the desktop's units.
struct WindowPlace {
    int x = 0, y = 0, width = 0, height = 0;
    bool operator==(const WindowPlace&) const = default;
};

struct Settings {
    std::vector<std::string> recent;    // models, the last opened first
    std::vector<std::string> commands;  // of the palette, the last used first
    std::string theme = "dark";
    double zoom = 1;
    bool reduce_motion = false;
    std::optional<WindowPlace> window;

    bool operator==(const Settings&) const = default;
};

/// Of the text of a settings.json: defaults for each value that is not what it should be.  `location` names the file.
/// Throws as parse_json_object.
Settings parse_settings(std::string_view text, const std::string& location);
/// The text of a settings.json, which parse_settings() reads back.
std::string settings_text(const Settings& settings);

/// Puts a name at the front of a list without doubles, and keeps the first `most`.
void remember(std::vector<std::string>& list, const std::string& name, std::size_t most);

constexpr std::size_t kRecentModels = 8;
constexpr std::size_t kRecentCommands = 5;

/// A model as it can be opened from anywhere: a folder's absolute path, or the name of a built-in one.
std::string lasting_name(const std::string& model);

/// "$XDG_CONFIG_HOME/locus", or "$HOME/.config/locus"; nothing where neither is an absolute path.  nullptr: not set.
std::optional<std::filesystem::path> settings_folder(const char* xdg_config_home, const char* home);

/// settings.json in a folder.
class SettingsFile {
public:
    explicit SettingsFile(std::filesystem::path folder);

    /// What was remembered; defaults where there is no file, and for each value that is not what it should be.  A file
    /// that is no settings at all is renamed to settings.damaged.json, and `problem` says so in one sentence.
    Settings read(std::string& problem) const;
    /// The same, but a damaged file stays where it is and nothing is said.
    Settings peek() const;

    /// As a whole or not at all; makes the folder.  Throws Error(unreadable) that names the file and the reason.
    void write(const Settings& settings) const;

    const std::filesystem::path& file() const { return file_; }

private:
    std::filesystem::path file_;
};

/// Writes what changed, at most once in a while, and says only once that it cannot.
class SettingsKeeper {
public:
    static constexpr double kPause = 2;  // seconds between two writes

    /// `known` is what the file holds.
    SettingsKeeper(SettingsFile file, Settings known) : file_(std::move(file)), written_(std::move(known)) {}

    /// `now` in seconds.  Returns why it could not be written, the first time; else nothing.
    std::string keep(const Settings& settings, double now);
    /// The same at once, at the end.
    std::string keep_at_once(const Settings& settings);
    /// Seconds until what keep() held back may be written; infinity where it holds nothing back.
    double wait(double now) const;

private:
    SettingsFile file_;
    Settings written_;
    double last_ = -kPause;
    bool failed_ = false, held_ = false;
};

}  // namespace locus
