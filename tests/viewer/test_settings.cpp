// What is remembered lies in one file that is whole or not there; a damaged one is kept aside.
#include "viewer/state/settings.h"

#include <catch2/catch.hpp>

#include "tests/files.h"

namespace locus::test::test_settings {

namespace {

Settings some_settings() {
    Settings settings;
    settings.recent = {"/models/a b", "tiny-v2"};
    settings.commands = {"page.rope"};
    settings.theme = "contrast";
    settings.zoom = 1.25;
    settings.reduce_motion = true;
    settings.window = WindowPlace{-20, 40, 1300, 900};
    return settings;
}

}  // namespace

TEST_CASE("settings: what was written is read back, in a folder made for it", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder / "deep" / "locus");
    std::string trouble;
    CHECK(file.read(trouble) == Settings{});
    CHECK(trouble.empty());
    file.write(some_settings());
    CHECK(file.read(trouble) == some_settings());
    CHECK(file.peek() == some_settings());
    CHECK(trouble.empty());
    CHECK(std::distance(fs::directory_iterator(folder / "deep" / "locus"), {}) == 1);
}

TEST_CASE("settings: a damaged file is kept aside and said once", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    for (const std::string damage : {"", "{", "[1]", "\x00\xff"}) {
        write_bytes(file.file(), damage);
        CHECK(file.peek() == Settings{});
        CHECK(fs::exists(file.file()));
        std::string trouble;
        CHECK(file.read(trouble) == Settings{});
        CHECK_THAT(trouble, Catch::Contains("settings.damaged.json"));
        CHECK(read_bytes(folder / "settings.damaged.json") == damage);
        CHECK_FALSE(fs::exists(file.file()));
        CHECK(file.read(trouble) == Settings{});
        CHECK(trouble.empty());
    }
}

TEST_CASE("settings: a value that cannot be is left out, the others stay", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    std::string trouble;
    write_bytes(file.file(),
                "{\"theme\": 7, \"zoom\": 99, \"recent\": [\"a\", 3, \"\", \"b\"], \"reduce_motion\": true, "
                "\"window\": {\"x\": 1, \"y\": 2, \"width\": -5, \"height\": 99999999999}, \"other\": null}");
    Settings expected;
    expected.recent = {"a", "b"};
    expected.reduce_motion = true;
    CHECK(file.read(trouble) == expected);
    CHECK(trouble.empty());
    CHECK(fs::exists(file.file()));
}

TEST_CASE("settings: every bound of a value, and the longest lists", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    const auto read = [&](const std::string& json) {
        write_bytes(file.file(), json);
        return file.peek();
    };
    CHECK(read("{\"zoom\": 0.5}").zoom == 0.5);
    CHECK(read("{\"zoom\": 0.4}").zoom == Settings{}.zoom);
    CHECK(read("{\"zoom\": 4}").zoom == 4);
    CHECK(read("{\"zoom\": 4.1}").zoom == Settings{}.zoom);
    const auto window = [&](const std::string& place) { return read("{\"window\": " + place + "}").window; };
    CHECK(window("{\"x\": -5, \"y\": 7, \"width\": 800, \"height\": 600}") == WindowPlace{-5, 7, 800, 600});
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 0, \"height\": 600}"));
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 800, \"height\": -1}"));
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 800, \"height\": 40000}"));
    CHECK_FALSE(window("{\"x\": -40000, \"y\": 2, \"width\": 800, \"height\": 600}"));
    CHECK_FALSE(window("{\"x\": 1, \"y\": 2, \"width\": 800}"));
    std::string many = "\"a\"";
    for (int n = 0; n < 1000; ++n) many += ", \"" + std::to_string(n) + "\"";
    CHECK(read("{\"recent\": [" + many + "]}").recent.size() == kRecentModels);
    CHECK(read("{\"commands\": [" + many + "]}").commands.size() == kRecentCommands);
}

TEST_CASE("settings: a path that is no UTF-8 leaves the file readable", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    Settings settings = some_settings();
    settings.recent = {"/models/caf\xe9", "tiny-v2"};
    file.write(settings);
    const Settings read = file.peek();
    REQUIRE(read.recent.size() == 2);
    CHECK(read.recent[1] == "tiny-v2");
    CHECK(read.theme == settings.theme);
}

TEST_CASE("settings: a folder in the place of the file stays, and is said", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    fs::create_directory(file.file());
    std::string trouble;
    CHECK(file.read(trouble) == Settings{});
    CHECK_THAT(trouble, Catch::Contains("settings"));
    CHECK(file.peek() == Settings{});
}

TEST_CASE("settings: a folder that cannot be written is said once and nothing else happens", "[viewer][desk]") {
    const TemporaryFolder folder;
    write_bytes(folder / "file", "in the way");
    SettingsKeeper keeper(SettingsFile(folder / "file" / "locus"), {});
    Settings settings = some_settings();
    CHECK_THAT(keeper.keep(settings, 0), Catch::Contains("cannot be kept"));
    CHECK(keeper.keep(settings, 100).empty());
    CHECK(keeper.keep_at_once(settings).empty());
    CHECK(read_bytes(folder / "file") == "in the way");
}

TEST_CASE("settings: changes are written, but not at every turn of the wheel", "[viewer][desk]") {
    const TemporaryFolder folder;
    const SettingsFile file(folder.path());
    SettingsKeeper keeper(file, {});
    keeper.keep({}, 0);
    CHECK_FALSE(fs::exists(file.file()));  // nothing changed
    Settings settings = some_settings();
    keeper.keep(settings, 1);
    CHECK(file.peek() == settings);
    fs::remove(file.file());
    keeper.keep(settings, 1 + 2 * SettingsKeeper::kPause);
    CHECK_FALSE(fs::exists(file.file()));  // it was written already
    settings.zoom = 1.25;
    settings.theme = "light";
    keeper.keep(settings, 1 + 3 * SettingsKeeper::kPause);
    CHECK(file.peek() == settings);
    settings.zoom = 2;
    keeper.keep(settings, 1 + 3.5 * SettingsKeeper::kPause);
    CHECK(file.peek().zoom == 1.25);
    keeper.keep(settings, 1 + 4 * SettingsKeeper::kPause);
    CHECK(file.peek().zoom == 2);
    settings.zoom = 3;
    keeper.keep_at_once(settings);
    CHECK(file.peek().zoom == 3);
}

TEST_CASE("settings: the folder is the user's, never the working one", "[viewer][desk]") {
    CHECK(settings_folder("/x", "/home/me") == fs::path("/x/locus"));
    CHECK(settings_folder(nullptr, "/home/me") == fs::path("/home/me/.config/locus"));
    CHECK(settings_folder("", "/home/me") == fs::path("/home/me/.config/locus"));
    CHECK(settings_folder("relative", "/home/me") == fs::path("/home/me/.config/locus"));
    CHECK_FALSE(settings_folder(nullptr, nullptr));
    CHECK_FALSE(settings_folder(nullptr, "home"));
    CHECK_FALSE(settings_folder("here", "there"));
}

TEST_CASE("settings: the last opened is first, once, and the list stays short", "[viewer][desk]") {
    std::vector<std::string> list;
    for (const char* name : {"a", "b", "a", "c"}) remember(list, name, 4);
    CHECK(list == std::vector<std::string>{"c", "a", "b"});
    for (const char* name : {"d", "e"}) remember(list, name, 4);
    CHECK(list == std::vector<std::string>{"e", "d", "c", "a"});
    CHECK(lasting_name("tiny-v3") == "tiny-v3");
    CHECK(lasting_name(fs::temp_directory_path().string() + "/") == fs::temp_directory_path().string());
}

}  // namespace locus::test::test_settings
