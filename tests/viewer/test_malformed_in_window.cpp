// A window that is given files which are not what they say: it says so, and goes on.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/sanitizers.h"
#include "tests/viewer/run_view.h"

namespace locus::test::test_malformed_in_window {

namespace {

using Json = nlohmann::json;

/// Lines break where a panel ends, so blanks are no part of what is compared.
std::string without_blanks(const std::string& text) {
    std::string rest;
    for (const char c : text)
        if (c != ' ') rest += c;
    return rest;
}

/// What {"print": "texts"} printed, in one piece.
std::string screen_of(const std::string& line) {
    const Json printed = Json::parse(line);
    std::string screen;
    for (const Json& text : printed["texts"]) screen += text.get<std::string>();
    return without_blanks(screen);
}

/// The cases of malformed_files.py that are refused and that a window can be given.
std::vector<Json> refused_cases(const fs::path& folder) {
    const std::string script = (fs::path(LOCUS_SOURCE_DIR) / "tests/fuzz/malformed_files.py").string();
    const Outcome made = run_file("/usr/bin/env", {"python3", script, folder.string()});
    INFO(made.err);
    REQUIRE(made.status == 0);
    std::vector<Json> cases;
    for (const Json& one : Json::parse(read_file(folder / "cases.json"))) {
        const std::string program = one["program"], name = one["name"];
        if (one["status"].get<int>() < 2 || program != "locus-trace") continue;
        // One family shows how a field of another type is read.
        const bool of_type = name.ends_with("_real") || name.ends_with("_text") || name.ends_with("_list");
        if (!of_type || name.starts_with("config/deberta")) cases.push_back(one);
    }
    return cases;
}

}  // namespace

TEST_CASE("window: malformed models are refused in a sentence on screen, one after the other", "[viewer][fuzz]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no window can be opened");
        return;
    }
    if (run_file("/bin/sh", {"-c", "command -v python3"}).status != 0) {
        WARN("skipped: python3, which makes the files, is not there");
        return;
    }
    const TemporaryFolder folder;
    const std::vector<Json> cases = refused_cases(folder.path());
    REQUIRE(cases.size() > 200);
    Json actions = Json::array({{{"page", "attention"}}});
    for (const Json& one : cases) {
        actions.push_back({{"drop", one["folder"]}});
        actions.push_back({{"print", "texts"}});
    }
    actions.push_back({{"drop", (fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats/safetensors").string()}});
    actions.push_back({{"assert", {{"text", "opened safetensors"}}}});
    write_file(folder / "play.json", Json{{"size", {800, 600}}, {"actions", actions}}.dump());
    const Outcome outcome = view({"--script", (folder / "play.json").string()});
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    std::istringstream lines(outcome.out);
    std::string line;
    std::size_t said = 0;
    for (const Json& one : cases) {
        REQUIRE(std::getline(lines, line));
        const std::string screen = screen_of(line);
        INFO(one["name"] << ": " << one["says"]);
        const bool found = screen.find(without_blanks(one["says"])) != std::string::npos;
        CHECK(found);
        said += found;
    }
    CHECK(said == cases.size());
}

TEST_CASE("window: malformed reports and scripts are refused in a sentence", "[viewer][fuzz]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no window can be opened");
        return;
    }
    const TemporaryFolder folder;
    const std::vector<std::pair<std::string, std::string>> bad = {
        {"", "0 bytes"},
        {"[1, 2]", "is not a JSON object"},
        {"{\"a\": 1e999}", "a number is larger than any double"},
        {"{\"a\": 1, \"a\": 2}", "twice"},
        {std::string(100000, '['), "nests deeper than 64"},
        {"{}", "report"},
        {R"({"format": "locus-report-1", "cases": 7})", "report"},
    };
    Json actions = Json::array({{{"page", "attention"}}});
    for (std::size_t n = 0; n < bad.size(); ++n) {
        const fs::path file = folder / ("report-" + std::to_string(n) + ".json");
        write_file(file, bad[n].first);
        actions.push_back({{"drop", file.string()}});
        actions.push_back({{"assert", {{"text", "report-" + std::to_string(n)}}}});
        actions.push_back({{"print", "texts"}});
        actions.push_back({{"key", "Escape"}});
        const Outcome script = view({"--script", file.string()});
        INFO(script.err);
        CHECK(script.status >= 2);
        CHECK(script.status <= 4);
        CHECK(script.sentences() == 1);
        CHECK_THAT(script.err, Catch::Contains(file.string()));
    }
    actions.push_back({{"assert", {{"field", "page"}, {"is", "attention"}}}});
    write_file(folder / "play.json", Json{{"actions", actions}}.dump());
    const Outcome outcome = view({"--script", (folder / "play.json").string()});
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    std::istringstream lines(outcome.out);
    std::string line;
    for (const auto& [content, says] : bad) {
        REQUIRE(std::getline(lines, line));
        INFO(content.substr(0, 60));
        CHECK_THAT(screen_of(line), Catch::Contains(without_blanks(says)));
    }
}

TEST_CASE("window: a model that does not fit into memory is refused in a sentence, and the window goes on",
          "[viewer][memory]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no window can be opened");
        return;
    }
    if (kSanitized) {
        WARN("skipped: a sanitizer needs more address space than any limit leaves");
        return;
    }
    constexpr std::uintmax_t kHuge = std::uintmax_t{64} << 30;  // a file with a hole takes no disk
    const TemporaryFolder folder;
    const fs::path model = folder / "huge", valid = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats/safetensors";
    fs::copy(valid, model);
    fs::resize_file(model / "model.safetensors", kHuge);
    const Json actions = Json::array({{{"page", "attention"}},
                                      {{"drop", model.string()}},
                                      {{"print", "texts"}},
                                      {{"drop", valid.string()}},
                                      {{"assert", {{"text", "opened safetensors"}}}}});
    write_file(folder / "play.json", Json{{"actions", actions}}.dump());
    const Outcome outcome = own_status(
        run("locus-view", {"--script", (folder / "play.json").string()},
            std::string(hidden_display()) + "sh -c 'ulimit -v 16000000; \"$0\" \"$@\"; echo \"status $?\" >&2' "));
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK_THAT(screen_of(outcome.out), Catch::Contains(without_blanks("needs more memory than there is")));
}

}  // namespace locus::test::test_malformed_in_window
