// How lessons speak: claims that can fail, lines that fit, signs that have a spelling.
#include <catch2/catch.hpp>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/text/text_table.h"
#include "lessons/support/page.h"
#include "lessons/support/print.h"
#include "tests/lessons/lesson_files.h"

namespace locus::test::test_print {

using locus::Matrix;
using locus::lesson::Lesson;

namespace {

struct Said {
    int status = 0;
    std::string out;
};

/// Runs a lesson in this process and keeps what it prints.
Said say(const std::function<void(Lesson&)>& body, std::vector<std::string> arguments = {}) {
    Lesson lesson("77", "A test", "Does it hold?");
    arguments.insert(arguments.begin(), "lesson-77");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    std::ostringstream out;
    std::streambuf* before = std::cout.rdbuf(out.rdbuf());
    const int status = lesson.run(static_cast<int>(argv.size()), argv.data(), [&] { body(lesson); });
    std::cout.rdbuf(before);
    return {status, out.str()};
}

}  // namespace

TEST_CASE("lesson: a claim holds inside its bound, and neither just outside nor for NaN", "[lessons]") {
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    const auto status = [](auto check) { return say(check).status; };
    for (const double good : {0.5, -0.5, 0.0, 0.25})
        CHECK(status([&](Lesson& lesson) { lesson.prove("x", good, 0.5); }) == 0);
    for (const double bad : {std::nextafter(0.5, 1.0), std::nextafter(-0.5, -1.0), nan, infinity, -infinity})
        CHECK(status([&](Lesson& lesson) { lesson.prove("x", bad, 0.5); }) == 1);
    CHECK(status([&](Lesson& lesson) { lesson.prove("x", 0.5, nan); }) == 1);
    CHECK(status([&](Lesson& lesson) { lesson.prove_at_least("x", 2, 2); }) == 0);
    for (const double bad : {std::nextafter(2.0, 1.0), nan, -infinity})
        CHECK(status([&](Lesson& lesson) { lesson.prove_at_least("x", bad, 2); }) == 1);
    CHECK(status([&](Lesson& lesson) { lesson.prove_equal("x", 3, 3); }) == 0);
    for (const double bad : {std::nextafter(3.0, 4.0), nan})
        CHECK(status([&](Lesson& lesson) { lesson.prove_equal("x", bad, 3); }) == 1);
    CHECK(status([&](Lesson& lesson) { lesson.prove_equal("x", nan, nan); }) == 1);
}

TEST_CASE("lesson: one failed claim among others is marked and ends with 1, the others keep their mark", "[lessons]") {
    const Said said = say([](Lesson& lesson) {
        lesson.prove("first", 1, 2);
        lesson.prove("second", 3, 2);
        lesson.prove_equal("third", 4, 4);
    });
    CHECK(said.status == 1);
    CHECK(said.out.find(
              "\u2713 first (measured 1 \u2264 2)\n\u2717 second (measured 3, not \u2264 2)\n\u2713 third (4 = 4)\n") !=
          std::string::npos);
}

TEST_CASE("lesson: --doubt turns exactly one claim, and refuses one that is not there", "[lessons]") {
    const auto body = [](Lesson& lesson) {
        lesson.prove("first", 0, 0);
        lesson.prove_at_least("second", 7, -3);
        lesson.prove_equal("third", 4, 4);
    };
    for (const char* claim : {"1", "2", "3"}) {
        const Said said = say(body, {"--doubt", claim});
        CHECK(said.status == 1);
        CHECK(said.out.find("\u2717") != std::string::npos);
        CHECK(said.out.find("\u2717") == said.out.rfind("\u2717"));
    }
    for (const std::vector<std::string>& pair :
         {std::vector<std::string>{"--quiz", "--doubt", "1"}, {"--quiz", "--json"}, {"--quiz", "--answer"}})
        CHECK(say(body, pair).status == 2);
    CHECK(say(body, {"--doubt", "4"}).status == 2);
    CHECK(say(body, {"--doubt", "0"}).status == 2);
}

TEST_CASE("lesson: with --answer, --doubt turns a claim of the exercise alone, where it is seen", "[lessons]") {
    const auto body = [](Lesson& lesson) {
        lesson.prove("first", 0, 0);
        lesson.prove("second", 0, 0);
        lesson.exercise("Prove a third.", [&] { lesson.prove("third", 0, 0); });
    };
    const Said third = say(body, {"--answer", "--doubt", "3"});
    CHECK(third.status == 1);
    CHECK(third.out.find("\u2717 third") != std::string::npos);
    for (const char* claim : {"1", "2", "4"}) CHECK(say(body, {"--answer", "--doubt", claim}).status == 2);
    const Said first = say(body, {"--answer", "--doubt", "1", "--json"});  // all claims are there
    CHECK(first.status == 1);
    CHECK(nlohmann::json::parse(first.out)["claims"][0]["holds"] == false);
}

TEST_CASE("lesson: paragraphs break at 78 columns, Hangul counts two, lines that begin with a space stay",
          "[lessons]") {
    std::string words;
    for (int n = 0; n < 60; ++n) words += (n ? " " : "") + std::string("\ubc1c\uc5c6\ub294");
    for (const std::string& line : locus::lesson::wrapped(words)) CHECK(display_width(line) <= 78);
    const auto lines = locus::lesson::wrapped("one\ntwo\n   as   it is\nthree\n\nfour");
    CHECK(lines == std::vector<std::string>{"one two", "   as   it is", "three", "", "four"});
    CHECK(locus::lesson::wrapped("a    b") == std::vector<std::string>{"a    b"});
    const std::string glued = std::string(76, 'x') + " a" + locus::lesson::kGlue + "b";
    CHECK(locus::lesson::wrapped(glued) == std::vector<std::string>{std::string(76, 'x'), "a b"});
}

TEST_CASE("lesson: signs are spelt out for ASCII, Hangul in Latin letters, nothing is dropped in silence",
          "[lessons]") {
    CHECK(locus::lesson::ascii_of("\u03b4(i,j) \u2264 2k \u2212 1 \u2192 \u221ad") ==
          "delta(i,j) <= 2k - 1 -> sqrt(d)");
    CHECK(locus::lesson::ascii_of("\u221a(3d) + \u221a192") == "sqrt(3d) + sqrt(192)");
    CHECK(locus::lesson::ascii_of("\ubc1c \uc5c6\ub294 \ub9d0\uc774 \ucc9c\ub9ac \uac04\ub2e4") ==
          "bal eobsneun mal-i cheonli ganda");
    CHECK_THROWS_AS(locus::lesson::ascii_of("\u2603"), locus::Error);
}

TEST_CASE("lesson: a table aligns Hangul as two columns, and numbers to the right", "[lessons]") {
    const Said said = say([](Lesson& lesson) {
        lesson.table("words:", {{"word", "count"}, {"\ucc9c\ub9ac", "3"}, {"a", "12.5"}});
    });
    CHECK(said.out.find("  \u2502 \ucc9c\ub9ac \u2502     3 \u2502\n  \u2502 a    \u2502  12.5 \u2502\n") !=
          std::string::npos);
}

TEST_CASE("lesson: a heatmap gives nine to the largest of all its matrices, keeps signs and says what digits mean",
          "[lessons]") {
    const Matrix<double> one{{9, -4.6}, {0, std::nan("")}}, other{{0.1, 1}, {-9, 2}};
    const Said said = say([&](Lesson& lesson) { lesson.heatmaps({{"one", one}, {"other", other}}); });
    CHECK(said.out.find("  one      other\n  +9 -5    +0 +1\n   0  ?    -9 +2\n") != std::string::npos);
    CHECK(said.out.find("  9 means 9, 1 means 1; +0, -0: size below 0.5; 0: exactly 0\n") != std::string::npos);
    const nlohmann::json json = nlohmann::json::parse(say(
                                                          [&](Lesson& lesson) {
                                                              lesson.heatmaps({{"one", one}});
                                                          },
                                                          {"--json"})
                                                          .out);
    CHECK(json["matrices"]["one"][0][1] == -4.6);
    CHECK(json["matrices"]["one"][1][1] == "nan");
}

TEST_CASE("lesson: colours only where they are wanted", "[lessons]") {
    locus::lesson::Ink ink;
    CHECK(ink.shaded(" 1.0", 1) == " 1.0");
    ink.on = true;
    CHECK(ink.shaded(" 1.0", 1) != ink.shaded(" 1.0", -1));
    CHECK(ink.shaded(" 0.0", 0.05) == " 0.0");
    CHECK(ink.shaded("nan", std::nan("")) == "nan");
}

TEST_CASE("lesson: --step turns the page after a screen, for as long as somebody presses Enter", "[lessons]") {
    const auto body = [](Lesson& lesson) {
        for (int n = 0; n < 60; ++n) lesson.say("paragraph " + std::to_string(n));
    };
    std::istringstream keys("\n\n\n\n\n\n");
    std::streambuf* before = std::cin.rdbuf(keys.rdbuf());
    const Said stepped = say(body, {"--step"});
    std::cin.rdbuf(before);
    const std::string prompt = "Enter turns the page \u2026\n";
    std::string rest = stepped.out;
    int pages = 0;
    for (std::size_t at = rest.find(prompt); at != std::string::npos; at = rest.find(prompt), ++pages) {
        CHECK(std::count(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(at), '\n') <= 38);
        rest.erase(0, at + prompt.size());
    }
    CHECK(pages == 3);
    CHECK(say(body).out.find(prompt) == std::string::npos);
}

}  // namespace locus::test::test_print
