#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "tests/conformance/run_program.h"

using namespace locus::test;

namespace {

/// Numbers of all lesson sources.
std::vector<std::string> numbers() {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(fs::path(LOCUS_SOURCE_DIR) / "lessons"))
        if (entry.path().extension() == ".cpp") found.push_back(entry.path().filename().string().substr(0, 2));
    std::sort(found.begin(), found.end());
    REQUIRE(found.size() >= 4);
    return found;
}

}  // namespace

TEST_CASE("lessons: every one proves its numbers on at most two screens, the same bytes twice", "[lessons]") {
    for (const std::string& number : numbers()) {
        INFO("lesson " << number);
        const Outcome outcome = run("lesson-" + number, {});
        INFO(outcome.out << outcome.err);
        CHECK(outcome.status == 0);
        CHECK(outcome.out.find("\u2713") != std::string::npos);
        CHECK(outcome.out.find("\u2717") == std::string::npos);
        CHECK(outcome.out.find('\033') == std::string::npos);
        CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') <= 80);
        CHECK(run("lesson-" + number, {}).out == outcome.out);
        std::istringstream lines(outcome.out);
        for (std::string line; std::getline(lines, line);) {
            INFO(line);
            CHECK(locus::cli::display_width(line) <= 80);
        }
    }
}

TEST_CASE("lessons: --ascii is ASCII and --json is JSON with every claim", "[lessons]") {
    for (const std::string& number : numbers()) {
        INFO("lesson " << number);
        const Outcome ascii = run("lesson-" + number, {"--ascii"});
        CHECK(ascii.status == 0);
        CHECK(std::all_of(ascii.out.begin(), ascii.out.end(),
                          [](char letter) { return static_cast<unsigned char>(letter) < 128; }));
        const nlohmann::json json = nlohmann::json::parse(run("lesson-" + number, {"--json"}).out);
        CHECK(json["lesson"] == number);
        REQUIRE(json["claims"].size() >= 4);
        for (const auto& claim : json["claims"]) CHECK(claim["holds"] == true);
    }
}

TEST_CASE("lessons: the seed's printed numbers", "[lessons][golden]") {
    const nlohmann::json gather = nlohmann::json::parse(run("lesson-07", {"--json"}).out);
    bool found = false;
    for (const auto& [title, matrix] : gather["matrices"].items())
        if (title.starts_with("picked")) {
            found = true;
            CHECK(matrix[3][0] == 5.1599);
            CHECK(matrix[6][6] == -1.2156);
        }
    CHECK(found);
}
