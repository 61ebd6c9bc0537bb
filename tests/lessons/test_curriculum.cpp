// The table of contents: what the sources, the programs, lessons/README.md and the viewer say about a lesson agree.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/lessons/lesson_files.h"

namespace locus::test::test_curriculum {

namespace {

std::string readme() { return read_file(fs::path(LOCUS_SOURCE_DIR) / "lessons" / "README.md"); }

}  // namespace

TEST_CASE("curriculum: a source has 60 to 220 lines and its number, title and question are the program's",
          "[lessons]") {
    for (const LessonFile& file : lesson_files()) {
        INFO(file.name);
        CHECK(file.name.starts_with(file.number + "_"));
        CHECK(file.lines >= 60);
        CHECK(file.lines <= 220);
        const nlohmann::json json = nlohmann::json::parse(run("lesson-" + file.number, {"--json"}).out);
        CHECK(json["lesson"] == file.number);
        CHECK(json["title"] == file.title);
        CHECK(json["question"] == file.question);
    }
}

TEST_CASE("curriculum: lessons/README.md has a row for each, with question, prerequisite, minutes and page",
          "[lessons]") {
    const std::string text = readme();
    for (const LessonFile& file : lesson_files()) {
        const std::string row = "| " + file.number + " | [" + file.title + "](" + file.name + ") | " + file.question +
                                " | " + file.before + " | " + file.minutes + " | " + file.page + " |\n";
        INFO(row);
        CHECK(text.find(row) != std::string::npos);
    }
}

TEST_CASE("curriculum: prerequisites are lessons that come before, pages are pages of the viewer", "[lessons]") {
    std::istringstream names(run("locus-view", {"--list-pages"}).out);
    const std::vector<std::string> pages{std::istream_iterator<std::string>(names), {}};
    REQUIRE(pages.size() >= 6);
    std::string earlier = "none ";
    for (const LessonFile& file : lesson_files()) {
        INFO(file.name);
        std::istringstream before(std::regex_replace(file.before, std::regex(","), " "));
        for (std::string number; before >> number;) CHECK(earlier.find(number + " ") != std::string::npos);
        earlier += file.number + " ";
        if (file.page != "none") CHECK(std::find(pages.begin(), pages.end(), file.page) != pages.end());
    }
}

TEST_CASE("curriculum: the viewer's pages name lessons that exist, under their titles", "[lessons]") {
    std::string viewer;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(LOCUS_SOURCE_DIR) / "viewer"))
        if (entry.path().extension() == ".cpp") viewer += read_file(entry.path());
    const std::vector<LessonFile> files = lesson_files();
    const std::regex link(R"re(\{"([0-9]{2})", "([^"]+)"\})re");
    std::vector<std::string> linked;
    for (std::sregex_iterator at(viewer.begin(), viewer.end(), link), end; at != end; ++at) {
        INFO(at->str());
        const auto file = std::find_if(files.begin(), files.end(),
                                       [&](const LessonFile& one) { return one.number == (*at)[1].str(); });
        REQUIRE(file != files.end());
        CHECK(file->title == (*at)[2].str());
        linked.push_back(file->page);
    }
    for (const char* page :
         {"positions", "attention", "decoder", "rope", "transformer-xl", "permutation", "training"}) {
        INFO(page);
        CHECK(std::find(linked.begin(), linked.end(), page) != linked.end());
    }
}

}  // namespace locus::test::test_curriculum
