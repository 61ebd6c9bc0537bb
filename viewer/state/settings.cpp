#include "viewer/state/settings.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/io/atomic_file.h"
#include "core/io/input_file.h"
#include "core/json_text.h"

namespace locus {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kMostPixels = 32768;

std::vector<std::string> strings(const Json& json, const char* name, std::size_t most) {
    std::vector<std::string> list;
    const auto found = json.find(name);
    if (found == json.end() || !found->is_array()) return list;
    for (const Json& one : *found)
        if (one.is_string() && !one.get<std::string>().empty() && list.size() < most) list.push_back(one);
    return list;
}

std::optional<WindowPlace> window_place(const Json& json) {
    const auto found = json.find("window");
    if (found == json.end() || !found->is_object()) return std::nullopt;
    const auto number = [&](const char* name, int low, int& value) {
        const auto at = found->find(name);
        if (at == found->end() || !at->is_number_integer()) return false;
        const auto wide = at->get<std::int64_t>();
        value = static_cast<int>(std::clamp<std::int64_t>(wide, -kMostPixels, kMostPixels));
        return wide >= low && wide <= kMostPixels;
    };
    WindowPlace place;
    const bool whole = number("x", -kMostPixels, place.x) && number("y", -kMostPixels, place.y) &&
                       number("width", 1, place.width) && number("height", 1, place.height);
    return whole ? std::optional(place) : std::nullopt;
}

}  // namespace

Settings parse_settings(std::string_view text, const std::string& location) {
    const Json json = parse_json_object(text, location);
    Settings settings;
    settings.recent = strings(json, "recent", kRecentModels);
    settings.commands = strings(json, "commands", kRecentCommands);
    if (const auto at = json.find("theme"); at != json.end() && at->is_string()) settings.theme = *at;
    if (const auto at = json.find("zoom"); at != json.end() && at->is_number()) {
        const auto zoom = at->get<double>();
        if (zoom >= 0.5 && zoom <= 4) settings.zoom = zoom;
    }
    if (const auto at = json.find("reduce_motion"); at != json.end() && at->is_boolean()) settings.reduce_motion = *at;
    settings.window = window_place(json);
    return settings;
}

std::string settings_text(const Settings& settings) {
    nlohmann::ordered_json json = {{"format", "locus-settings-1"}, {"theme", settings.theme},
                                   {"zoom", settings.zoom},        {"reduce_motion", settings.reduce_motion},
                                   {"recent", settings.recent},    {"commands", settings.commands}};
    if (const auto& place = settings.window)
        json["window"] = {{"x", place->x}, {"y", place->y}, {"width", place->width}, {"height", place->height}};
    // Paths may hold bytes that are no UTF-8; the file stays readable all the same.
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void remember(std::vector<std::string>& list, const std::string& name, std::size_t most) {
    std::erase(list, name);
    list.insert(list.begin(), name);
    if (list.size() > most) list.resize(most);
}

std::string lasting_name(const std::string& model) {
    std::error_code error;
    if (!fs::is_directory(model, error)) return model;
    const fs::path folder = fs::absolute(model, error).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).string();
}

std::optional<fs::path> settings_folder(const char* xdg_config_home, const char* home) {
    if (xdg_config_home && fs::path(xdg_config_home).is_absolute()) return fs::path(xdg_config_home) / "locus";
    if (home && fs::path(home).is_absolute()) return fs::path(home) / ".config" / "locus";
    return std::nullopt;
}

SettingsFile::SettingsFile(fs::path folder) : file_(std::move(folder) / "settings.json") {}

Settings SettingsFile::read(std::string& problem) const {
    problem.clear();
    std::error_code error;
    const fs::file_status status = fs::status(file_, error);
    if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::none) return {};
    try {
        if (status.type() != fs::file_type::regular)
            throw Error(Fault::unreadable, printable(file_.string()) + " is no file");
        return parse_settings(read_json_text(file_), printable(file_.string()));
    } catch (const std::exception& damage) {
        const fs::path aside = file_.parent_path() / "settings.damaged.json";
        fs::rename(file_, aside, error);
        problem = error ? "The settings cannot be read and stay as they are: " + std::string(damage.what())
                        : "The settings could not be read; they are kept as " + printable(aside.string()) +
                              ", and new ones begin.";
        return {};
    }
}

Settings SettingsFile::peek() const {
    try {
        std::error_code error;
        return fs::is_regular_file(file_, error) ? parse_settings(read_json_text(file_), file_.string()) : Settings{};
    } catch (const std::exception&) {
        return {};
    }
}

void SettingsFile::write(const Settings& settings) const {
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    if (error)
        throw Error(Fault::unreadable, printable(file_.parent_path().string()) + " cannot be made: " + error.message());
    write_atomic_file(file_, settings_text(settings));
}

std::string SettingsKeeper::keep(const Settings& settings, double now) {
    const bool too_early = now - last_ < kPause;
    held_ = too_early && !failed_ && settings != written_;
    if (too_early || settings == written_) return {};
    last_ = now;
    return keep_at_once(settings);
}

double SettingsKeeper::wait(double now) const {
    return held_ ? std::max(0.0, last_ + kPause - now) : std::numeric_limits<double>::infinity();
}

std::string SettingsKeeper::keep_at_once(const Settings& settings) {
    if (settings == written_) return {};
    try {
        file_.write(settings);
        written_ = settings;
        return {};
    } catch (const Error& error) {
        const bool first = !failed_;
        failed_ = true;
        return first ? std::string("The settings cannot be kept: ") + error.what() : std::string();
    }
}

}  // namespace locus
