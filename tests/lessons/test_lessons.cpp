// Every lesson: what it prints, what it proves, what it asks, and that each claim can fail.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/text/text_table.h"
#include "tests/lessons/lesson_files.h"
#include "tests/sanitizers.h"

namespace locus::test::test_lessons {

namespace {

nlohmann::json json_of(const std::string& number, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nlohmann::json::parse(run("lesson-" + number, arguments).out);
}

std::ptrdiff_t count_of(const std::string& text, const std::string& part) {
    std::ptrdiff_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
    return count;
}

/// A residue of rounding may differ in its last bits between processors; every other byte must be the same.
std::string without_residues(const std::string& text) {
    static const std::regex claim("measured (-?[0-9.e+-]+) \u2264 ([0-9.e+-]+)");
    std::string kept;
    auto from = text.begin();
    for (std::sregex_iterator at(text.begin(), text.end(), claim), end; at != end; ++at) {
        kept.append(from, text.begin() + at->position());
        const double value = std::stod((*at)[1]), bound = std::stod((*at)[2]);
        kept += bound < 1e-3 && std::abs(value) <= bound ? "measured a residue \u2264 " + (*at)[2].str() : at->str();
        from = text.begin() + at->position() + at->length();
    }
    return kept.append(from, text.end());
}

/// The same JSON, in the same order.  Processors add in orders of their own: 5e-15 of a number and 2e-14 were seen from
/// one to another.  A page of the lessons shows four digits.
void check_same_numbers(const std::string& printed, const std::string& golden) {
    const auto found = nlohmann::ordered_json::parse(printed).flatten();
    const auto expected = nlohmann::ordered_json::parse(golden).flatten();
    REQUIRE(found.size() == expected.size());
    for (auto at = found.begin(), as = expected.begin(); at != found.end(); ++at, ++as) {
        INFO(as.key());
        REQUIRE(at.key() == as.key());
        if (at->is_number() && as->is_number())
            CHECK(std::abs(at->get<double>() - as->get<double>()) <= 1e-12 + 1e-10 * std::abs(as->get<double>()));
        else if (at->is_string() && as->is_string())
            CHECK(without_residues(at->get<std::string>()) == without_residues(as->get<std::string>()));
        else
            CHECK(*at == *as);
    }
}

}  // namespace

TEST_CASE("lessons: there are twenty-nine, and all of them together take at most thirty seconds", "[lessons]") {
    const std::vector<LessonFile> files = lesson_files();
    REQUIRE(files.size() == 29);
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t n = 0; n < files.size(); ++n) {
        CHECK(std::stoul(files[n].number) == n + 1);
        CHECK(run("lesson-" + files[n].number, {}).status == 0);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    INFO(seconds.count());
    CHECK(seconds.count() <= 30 * kPatience);
}

TEST_CASE("lessons: every one proves its numbers on at most two screens, the same bytes twice", "[lessons]") {
    for (const LessonFile& file : lesson_files()) {
        INFO("lesson " << file.number);
        const Outcome outcome = run("lesson-" + file.number, {});
        INFO(outcome.out << outcome.err);
        CHECK(outcome.status == 0);
        CHECK(count_of(outcome.out, "\n\u2713") >= 4);
        CHECK(outcome.out.find("\u2717") == std::string::npos);
        CHECK(outcome.out.find('\033') == std::string::npos);
        CHECK(count_of(outcome.out, "\n") <= 100);
        CHECK(run("lesson-" + file.number, {}).out == outcome.out);
        std::istringstream lines(outcome.out);
        for (std::string line; std::getline(lines, line);) {
            INFO(line);
            CHECK(display_width(line) <= 80);
            CHECK((line.empty() || line.back() != ' '));
        }
    }
}

TEST_CASE("lessons: what they print is what tests/lessons/golden holds", "[lessons][golden]") {
    for (const LessonFile& file : lesson_files()) {
        INFO("lesson " << file.number << "; ./locus lesson --update rewrites the files once a change is wanted");
        const auto golden = [&](const std::string& ending) {
            const fs::path path = fs::path(LOCUS_SOURCE_DIR) / "tests/lessons/golden" / (file.number + ending);
            REQUIRE(fs::exists(path));
            return read_file(path);
        };
        CHECK(without_residues(run("lesson-" + file.number, {}).out) == without_residues(golden(".txt")));
        // The pages of the lessons in a browser are made of it.
        check_same_numbers(run("lesson-" + file.number, {"--json"}).out, golden(".json"));
    }
}

TEST_CASE("lessons: each claim fails when it is handed a wrong number", "[lessons]") {
    for (const LessonFile& file : lesson_files()) {
        const nlohmann::json claims = json_of(file.number)["claims"];
        REQUIRE(claims.size() >= 4);
        for (std::size_t n = 0; n < claims.size(); ++n) {
            INFO("lesson " << file.number << ", claim " << n + 1 << ": " << claims[n]);
            CHECK(claims[n]["holds"] == true);
            const Outcome doubted = run("lesson-" + file.number, {"--json", "--doubt", std::to_string(n + 1)});
            CHECK(doubted.status == 1);
            const nlohmann::json after = nlohmann::json::parse(doubted.out)["claims"];
            REQUIRE(after.size() == claims.size());
            for (std::size_t m = 0; m < after.size(); ++m) CHECK(after[m]["holds"] == (m != n));
        }
    }
}

TEST_CASE("lessons: --ascii is ASCII of at most 80 columns", "[lessons]") {
    for (const LessonFile& file : lesson_files()) {
        INFO("lesson " << file.number);
        const Outcome ascii = run("lesson-" + file.number, {"--ascii"});
        CHECK(ascii.status == 0);
        CHECK(std::all_of(ascii.out.begin(), ascii.out.end(),
                          [](char letter) { return static_cast<unsigned char>(letter) < 128; }));
        std::istringstream lines(ascii.out);
        for (std::string line; std::getline(lines, line);) {
            INFO(line);
            CHECK(line.size() <= 80);
        }
    }
}

TEST_CASE("lessons: the quiz takes right answers for right and wrong ones for wrong", "[lessons]") {
    for (const LessonFile& file : lesson_files()) {
        INFO("lesson " << file.number);
        const nlohmann::json quiz = json_of(file.number)["quiz"];
        REQUIRE((quiz.size() == 2 || quiz.size() == 3));
        std::string right, wrong;
        for (const auto& question : quiz) {
            INFO(question);
            if (question.contains("choices")) {
                right += question["answer"].get<std::string>() + "\n";
                wrong += question["answer"] == "a" ? "b\n" : "a\n";
            } else {
                const auto answer = question["answer"].get<double>(), tolerance = question["tolerance"].get<double>();
                std::ostringstream text;
                text << std::setprecision(17) << answer << '\n';
                right += text.str();
                wrong += std::to_string(answer + 2 * tolerance + 1) + "\n";
            }
        }
        const std::string all = std::to_string(quiz.size());
        CHECK(
            run_with_input("lesson-" + file.number, {"--quiz"}, right).out.ends_with(all + " of " + all + " right\n"));
        CHECK(run_with_input("lesson-" + file.number, {"--quiz"}, wrong).out.ends_with("0 of " + all + " right\n"));
        const Outcome silent = run("lesson-" + file.number, {"--quiz"});
        CHECK(silent.status == 0);
        CHECK(silent.out.ends_with("0 of " + all + " right\n"));
    }
}

TEST_CASE("lessons: the exercise has an answer that proves itself", "[lessons]") {
    for (const LessonFile& file : lesson_files()) {
        INFO("lesson " << file.number);
        const std::size_t before = json_of(file.number)["claims"].size();
        const nlohmann::json answered = json_of(file.number, {"--answer"});
        CHECK(answered["claims"].size() > before);
        for (const auto& claim : answered["claims"]) CHECK(claim["holds"] == true);
        const Outcome outcome = run("lesson-" + file.number, {"--answer"});
        CHECK(outcome.status == 0);
        CHECK(count_of(outcome.out, "\n") <= 40);
        CHECK(outcome.out.find("\n\u2713") != std::string::npos);
        CHECK(run("lesson-" + file.number, {"--answer", "--doubt", std::to_string(before + 1)}).status == 1);
    }
}

TEST_CASE("lessons: what they send the reader to is there", "[lessons]") {
    const fs::path root = LOCUS_SOURCE_DIR;
    const std::vector<LessonFile> files = lesson_files();
    for (std::size_t n = 0; n < files.size(); ++n) {
        INFO("lesson " << files[n].number);
        const nlohmann::json json = json_of(files[n].number);
        REQUIRE(!json["reading"].empty());
        for (const auto& reading : json["reading"]) {
            INFO(reading);
            const auto file = reading["file"].get<std::string>();
            CHECK(file.starts_with("core/"));
            CHECK(read_file(root / file).find(reading["function"].get<std::string>()) != std::string::npos);
        }
        CHECK(json["sources"].get<std::string>().size() > 10);
        CHECK(json["next"] == (n + 1 < files.size() ? files[n + 1].number : ""));
    }
}

TEST_CASE("lessons: the numbers that the review of lesson 07 prints", "[lessons][golden]") {
    const nlohmann::json matrices = json_of("07")["matrices"];
    bool found = false;
    for (const auto& [title, matrix] : matrices.items())
        if (title.starts_with("picked")) {
            found = true;
            CHECK(matrix[3][0] == 5.1599);
            CHECK(matrix[6][6] == -1.2156);
        }
    CHECK(found);
}

TEST_CASE("lessons: lesson 27 finds something left of positions where all words are 0 in four schemes of seven",
          "[lessons]") {
    const nlohmann::json properties = json_of("27")["tables"]["Properties"];
    std::string left;
    for (const auto& row : properties)
        if (row[3] != "words are 0" && row[3] != "0") left += row[0].get<std::string>() + " ";
    CHECK(left == "absolute T-XL T5 ALiBi ");
}

}  // namespace locus::test::test_lessons
