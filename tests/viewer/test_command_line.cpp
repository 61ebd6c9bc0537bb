// The copied command: whatever is on screen, the line a shell reads leads back to it.
#include <catch2/catch.hpp>

#include <random>

#include "core/check.h"
#include "core/io/subprocess.h"
#include "tests/viewer/run_view.h"
#include "viewer/state/command_line.h"
#include "viewer/state/state_fields.h"

namespace locus::test::test_command_line {

namespace {

const std::vector<std::string> kWords = {"it's",
                                         "\"quoted\"",
                                         "two\nlines",
                                         "tab\tand\rreturn",
                                         "발 없는 말이 천리 간다.",
                                         "$HOME `ls` \\n !!",
                                         "[MASK]",
                                         "[a,b]",
                                         "--page",
                                         "-5",
                                         " leading and trailing ",
                                         "a;b&&c|d>e<f(g)*?~#",
                                         "\x01\x1b[0m",
                                         "'\n'\\'\x7f",
                                         "=x=y",
                                         "a new [MASK]."};
const std::vector<std::string> kNumbers = {"0",     "1",          "2",   "3",           "5",         "7",     "-1",
                                           "0.25",  "1.15",       "2.5", "0.333",       "0,0",       "3,5",   "18,5",
                                           "0,0,0", "1.25,0.1,7", "yes", "no",          "dark",      "light", "clamp",
                                           "log",   "paper",      "hf",  "interleaved", "half-split"};

/// Fields take what they can of all this; a picture stands still, and has a page.
State random_state(std::mt19937& random) {
    State state;
    const std::vector<std::string> pages = {"positions",      "attention",   "decoder", "rope",
                                            "transformer-xl", "permutation", "compare"};
    const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
    for (const StateField& field : state_fields()) {
        if (random() % 3 != 0 || field.name.ends_with(".playing") || field.name == "model") continue;
        for (int attempt = 0; attempt < 40; ++attempt) {
            const bool words = random() % 2 == 0;
            try {
                field.set(state, words ? any(kWords) : any(kNumbers));
                break;
            } catch (const Error&) {  // not of its kind: another one
            }
        }
    }
    state.page = any(pages);
    return state;
}

std::string all_fields(const State& state) {
    std::string text;
    for (const StateField& field : state_fields()) text += field.name + "=" + field.get(state) + "\n";
    return text;
}

/// What the program makes of a line, before it opens the model.
std::string replayed(const std::string& line, const test::TemporaryFolder& folder) {
    const test::Outcome outcome = test::view_line(line + " --list-fields", folder.path(), false);
    INFO(line << "\n" << outcome.err);
    CHECK(outcome.status == 0);
    return outcome.out;
}

}  // namespace

TEST_CASE("command: a shell reads every word back as it was", "[view][command]") {
    std::vector<std::string> words = kWords;
    words.insert(words.end(), {"", "plain", "a b", "'", "''", "\\", "\xff\xfe"});
    std::string every;
    for (int c = 1; c < 256; ++c) every += static_cast<char>(c);
    words.push_back(every);
    for (const std::string& word : words) {
        const test::Outcome outcome = test::run_file("/bin/bash", {"-c", "printf '%s.' " + shell_quoted(word)});
        CHECK(outcome.out == word + ".");
    }
    CHECK(shell_quoted("layer=2") == "layer=2");
    CHECK(shell_quoted("~") != "~");
    CHECK(shell_quoted("two\nlines").find('\n') == std::string::npos);
}

TEST_CASE("command: the state that it leads to is the state it was copied from", "[view][command][law]") {
    const test::TemporaryFolder folder;
    std::mt19937 random(7);
    for (int n = 0; n < 150; ++n) {
        const State state = random_state(random);
        const std::string line = shell_line(command_words(state, 1280, 800));
        CHECK(replayed(line, folder) == all_fields(state));
    }
}

TEST_CASE("command: what nobody changed is not in it", "[view][command]") {
    CHECK(shell_line(command_words({}, 1280, 800)) == "locus view");
    State state;
    state.layer = 1;
    state.page = "decoder";
    state.rope.m = 7;
    state.text = "it's";
    state.model = "my models/a";
    CHECK(shell_line(command_words(state, 1000, 700)) ==
          "locus view 'my models/a' --page decoder --text 'it'\\''s' --layer 1 --set rope.m=7 --size 1000x700");
}

TEST_CASE("command: an animation does not run in it", "[view][command]") {
    State state;
    state.memory.animation.playing = true;
    state.memory.animation.at = 2;
    CHECK(shell_line(command_words(state, 1280, 800)) == "locus view --set memory.film=2");
}

TEST_CASE("command: a report, its case, its stage and its cell come back", "[view][command][compare]") {
    const test::TemporaryFolder folder;
    const auto one = [](const std::string& id, bool pass) {
        return "{\"id\": \"" + id + "\", \"verdict\": \"" + (pass ? "pass" : "fail") +
               "\", \"stages\": [{\"stage\": \"layer.0.p2c\", \"pass\": " + (pass ? "true" : "false") +
               ", \"reason\": \"\", \"index\": [0, 0, 0, 0], \"expected\": 0, \"found\": 1, \"allowed\": 1e-6, "
               "\"wrong\": 1, \"size\": 4}]}";
    };
    test::write_file(folder / "it's a report.json", "{\"format\": \"locus-report\", \"cases\": [" + one("L0/a", false) +
                                                        ", " + one("L0/b", true) +
                                                        "], \"pass\": false, \"errors\": []}");
    State state;
    std::shared_ptr<const CheckReport> report;
    try {
        report = std::make_shared<const CheckReport>(read_check_report(folder / "it's a report.json"));
    } catch (const Error& error) {
        FAIL(error.what());
    }
    state.page = "compare";
    state.compare.open(report);
    state.compare.open_case(1);
    state.compare.stage = "layer.0.p2c";
    state.compare.cell = {2, 1};
    state.compare.head = 1;
    state.compare.locked = true;
    CHECK(replayed(shell_line(command_words(state, 1280, 800)), folder) == all_fields(state));
}

}  // namespace locus::test::test_command_line
