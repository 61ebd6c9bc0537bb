// What nobody expects of a user, and every user does: each is shown, or refused in one sentence; nothing crashes.
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "core/io/safetensors.h"
#include "tests/run_program.h"

namespace locus::test::test_bad_input {

namespace {

bool has_display_program() { return std::system("command -v xvfb-run Xvfb xauth >/dev/null") == 0; }

/// As a user would, on a display nobody sees, with settings of its own.
Outcome look(const TemporaryFolder& folder, const std::vector<std::string>& arguments) {
    Outcome outcome = run("locus-view", arguments,
                          "XDG_CONFIG_HOME=" + quoted((folder / "config").string()) +
                              " xvfb-run -a -n $((5300 + $$ % 5000)) -s '-screen 0 1280x800x24' "
                              "sh -c '\"$0\" \"$@\"; echo \"status $?\" >&2' ");
    const std::size_t at = outcome.err.find("status ");
    if (at == std::string::npos) return outcome;
    outcome.status = std::atoi(outcome.err.c_str() + at + 7);
    outcome.err.erase(at);
    return outcome;
}

std::string repeated(const std::string& part, int times) {
    std::string text;
    for (int n = 0; n < times; ++n) text += part;
    return text;
}

}  // namespace

TEST_CASE("view: one token, 600 tokens, 5000 characters, right to left, a family of emoji: all are drawn",
          "[viewer][cli][desk]") {
    if (!has_display_program()) {
        WARN("skipped: xvfb-run is missing");
        return;
    }
    const TemporaryFolder folder;
    const std::pair<const char*, std::string> texts[] = {
        {"one", "a"},
        {"600", repeated("a ", 600)},
        {"5000", repeated("the mall is open. ", 278)},
        {"hebrew", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd"},
        {"arabic", "\u0633\u0644\u0627\u0645"},
        {"family", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 at home"},
    };
    for (const auto& [name, text] : texts) {
        const fs::path picture = folder / (std::string(name) + ".png");
        const Outcome outcome = look(folder, {"--text", text, "--size", "1000x700", "--screenshot", picture.string()});
        INFO(name << ": " << outcome.err);
        CHECK(outcome.status == 0);
        CHECK(fs::exists(picture));
    }
    // Pictures neither read nor write what is remembered.
    CHECK_FALSE(fs::exists(folder / "config"));
}

TEST_CASE("view: blanks, a folder without a model, empty and foreign files are refused in one sentence",
          "[viewer][cli][desk]") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::vector<std::string>& arguments, int status, const std::string& named) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(named) != std::string::npos);
    };
    fs::create_directory(folder / "photos");
    write_file(folder / "empty.safetensors", "");
    refused({"--text", "   "}, 2, "empty");
    refused({(folder / "photos").string()}, 3, "config.json");
    refused({"--compare", (folder / "empty.safetensors").string()}, 3, "empty.safetensors");
    refused({"--report", (folder / "empty.safetensors").string()}, 3, "empty.safetensors");
}

TEST_CASE("view: a display that goes away ends the program in one sentence, and settings are kept",
          "[viewer][cli][desk]") {
    if (!has_display_program()) {
        WARN("skipped: Xvfb is missing");
        return;
    }
    const TemporaryFolder folder;
    const std::string said = (folder / "said").string();
    const std::string script =
        "cd " + quoted(folder.path().string()) +
        "; Xvfb -displayfd 3 -screen 0 1280x800x24 3>number 2>/dev/null & server=$!; "
        "for n in $(seq 100); do [ -s number ] && break; sleep 0.1; done; "
        "XDG_CONFIG_HOME=$PWD/config DISPLAY=:$(cat number) " +
        quoted((fs::path(LOCUS_BINARY_DIR) / "bin" / "locus-view").string()) +
        " tiny-v3 2>said & viewer=$!; "
        "for n in $(seq 100); do [ -e config/locus/settings.json ] && break; sleep 0.1; done; sleep 1; "
        "kill $server; for n in $(seq 100); do kill -0 $viewer 2>/dev/null || break; sleep 0.1; done; "
        "kill -9 $viewer 2>/dev/null; wait $viewer";
    const int status = std::system(("sh -c " + quoted(script)).c_str());
    const std::string sentence = read_file(said);
    INFO(sentence);
    CHECK(WEXITSTATUS(status) == 3);
    CHECK(sentence.find("display went away") != std::string::npos);
    CHECK(std::count(sentence.begin(), sentence.end(), '\n') == 1);
    CHECK(read_file(folder / "config" / "locus" / "settings.json").find("tiny-v3") != std::string::npos);
}

}  // namespace locus::test::test_bad_input
