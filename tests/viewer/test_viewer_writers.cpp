// What the viewer writes is whole or as it was: pictures, numbers and its settings.
#include <catch2/catch.hpp>

#include "core/io/atomic_file.h"
#include "tests/kill_while_writing.h"
#include "viewer/export/number_files.h"
#include "viewer/export/picture_file.h"
#include "viewer/state/settings.h"

namespace locus::test::test_viewer_writers {

using Catch::Matchers::Contains;

namespace {

std::vector<NamedMatrix> matrix() {
    Stage stage;
    stage.name = "layer.0.c2p";
    Tensor<float> values({60, 60});
    for (Index n = 0; n < values.size(); ++n) values[n] = 1.0f / static_cast<float>(n + 1);
    stage.values = std::move(values);
    NamedMatrix one;
    one.id = one.title = "c2p";
    one.stage = std::move(stage);
    return {one};
}

Pixels picture() { return {40, 40, std::vector<std::uint8_t>(40 * 40 * 4, 200)}; }

/// What is written, by the end of its name.  A figure in SVG is a text that is handed to write_atomic_file().
const std::vector<std::pair<std::string, std::function<void(const fs::path&)>>>& exports() {
    static const std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> all = {
        {".png", [](const fs::path& file) { write_picture(file, picture(), {}); }},
        {".svg", [](const fs::path& file) { write_atomic_file(file, std::string("<svg/>")); }},
        {".csv", [](const fs::path& file) { write_numbers(file, matrix(), "locus view"); }},
        {".npy", [](const fs::path& file) { write_numbers(file, matrix(), "locus view"); }},
        {".safetensors", [](const fs::path& file) { write_numbers(file, matrix(), "locus view"); }},
    };
    return all;
}

Settings some_settings() {
    Settings settings;
    settings.theme = "light";
    settings.recent = {"/a/model", "tiny-v3"};
    return settings;
}

}  // namespace

TEST_CASE("viewer: what it exports is whole or as it was, killed at any moment", "[viewer][writers]") {
    for (const auto& [ending, write] : exports()) {
        INFO(ending);
        // The name decides the format, and the test calls what it writes "out": a link has the ending.
        const auto work = [&](const fs::path& out) {
            const fs::path link = out.parent_path() / ("named" + ending);
            write(link);
        };
        check_killed_writes({work, [&](const fs::path& out) {
                                 write_file(out, "old");
                                 std::error_code error;
                                 fs::create_symlink("out", out.parent_path() / ("named" + ending), error);
                             }});
    }
}

TEST_CASE("viewer: its settings are the old ones or the new ones, killed at any moment", "[viewer][writers]") {
    const auto work = [](const fs::path& out) { SettingsFile(out.parent_path()).write(some_settings()); };
    // A home that keeps its settings elsewhere: settings.json is a link, and stays one.
    check_killed_writes({work, [](const fs::path& out) {
                             SettingsFile(out.parent_path()).write({});
                             const fs::path file = out.parent_path() / "settings.json";
                             if (!fs::is_symlink(file)) {
                                 fs::rename(file, out);
                                 fs::create_symlink("out", file);
                             }
                         }});
}

TEST_CASE("viewer: an export that cannot be written is one sentence, and leaves what was there", "[viewer][writers]") {
    for (const auto& [ending, write] : exports()) {
        const TemporaryFolder folder;
        const auto refused = [&, &each = write](const fs::path& file, const std::string& why) {
            const auto old = snapshot(folder.path());
            const std::string sentence = refusal([&] { each(file); });
            CHECK_THAT(sentence, Contains(file.string() + ": cannot be written: " + why));
            CHECK(snapshot(folder.path()) == old);
        };
        fs::create_directory(folder / ("taken" + ending));
        refused(folder / ("taken" + ending), "there is a folder of that name");
        fs::create_symlink("loop" + ending, folder / ("loop" + ending));
        refused(folder / ("loop" + ending), "Too many levels of symbolic links");
        refused(folder / "nowhere" / ("x" + ending), "No such file or directory");
        const fs::path link = folder / ("link" + ending), target = folder / "target";
        fs::create_symlink("target", link);
        write(link);
        CHECK(fs::is_symlink(link));
        CHECK(fs::file_size(target) > 0);
    }
}

}  // namespace locus::test::test_viewer_writers
