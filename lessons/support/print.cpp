#include "lessons/support/print.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "core/cli/program.h"
#include "core/json_text.h"
#include "core/text/text_table.h"
#include "lessons/support/record.h"

namespace locus::lesson {

namespace {

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
}

/// A word, and a text that stays to the right of it.
std::string labelled(const std::string& word, const std::string& text) {
    std::string lines;
    for (const std::string& line : wrapped(text, 78 - word.size()))
        lines += (lines.empty() ? word : std::string(word.size(), ' ')) + line + '\n';
    return lines;
}

/// NO_COLOR counts when it holds anything (no-color.org).
bool wants_colour() {
    const char* no = std::getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no && *no);
}

}  // namespace

std::string text_of(double value, const char* format) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

Matrix<double> as_matrix(const IndexTensor& index) {
    Matrix<double> matrix(index.extent(0), index.extent(1));
    for (Index n = 0; n < index.size(); ++n) matrix.data()[n] = static_cast<double>(index[n]);
    return matrix;
}

void Lesson::Record::print(Kind kind, const std::string& lines) {
    const bool gap = last != Kind::nothing && !(kind == Kind::claim && last == Kind::claim);
    page.write((gap ? "\n" : "") + lines);
    last = kind;
}

void Lesson::Record::print_words(Kind kind, const std::string& text) { print(kind, joined(wrapped(page.plain(text)))); }

void Lesson::Record::print_head(const std::string& what) {
    last = Kind::nothing;
    std::string line;
    for (int column = 0; column < 78; ++column) line += page.plain("\u2500");
    print(Kind::words, page.ink.bold(page.plain(number + "  " + title + what)) + "\n" + line + "\n");
}

Lesson::Lesson(const std::string& number, const std::string& title, const std::string& question)
    : record_(std::make_unique<Record>()) {
    record_->number = number;
    record_->title = title;
    record_->question = question;
    record_->json = {{"lesson", number}, {"title", title}, {"question", question}};
    for (const char* list : {"claims", "quiz"}) record_->json[list] = nlohmann::ordered_json::array();
}

Lesson::~Lesson() = default;

int Lesson::run(int argc, char** argv, const std::function<void()>& body) {
    Record& record = *record_;
    bool quiz = false, answer = false;
    cli::Command program("Lesson " + record.number + ": " + record.title + "\n" + record.question,
                         "locus lesson " + record.number);
    program.flag("--ascii", record.page.ascii, "letters and signs of ASCII only");
    program.flag("--step", record.page.step, "wait for Enter at the end of a screen of 40 lines");
    const cli::Option asks =
        program.flag("--quiz", quiz, "ask two or three questions instead, read the answers, keep score");
    program.flag("--answer", answer, "compute the answer of the exercise instead").excludes(asks);
    program.flag("--json", record.json_only, "print the numbers as JSON instead").excludes(asks);
    program
        .option("--doubt", record.doubt,
                "hand claim N (from 1) a wrong number, to see that it can fail; with --answer one of the exercise")
        .within(1, 1000)
        .value_name("N")
        .excludes(asks);
    return cli::run_program(program, argc, argv, [&] {
        record.mode = quiz ? Mode::quiz : answer ? Mode::answer : Mode::lesson;
        record.page.ink.on = wants_colour();
        record.page.silent = record.json_only || record.mode != Mode::lesson;
        record.print_head("");
        record.print_words(Kind::words, record.question);
        body();
        LOCUS_CHECK(record.doubt <= record.claims, "--doubt " + std::to_string(record.doubt) + ": this lesson makes " +
                                                       std::to_string(record.claims) + " claims" +
                                                       (answer ? "" : " (the exercise's own with --answer)"));
        // The lesson's own claims are not on the page of the exercise: a wrong number there would fail unseen.
        LOCUS_CHECK(!answer || record.json_only || record.doubt == 0 || record.doubt > record.before_exercise,
                    "--doubt " + std::to_string(record.doubt) + " with --answer: expected a claim of the exercise, " +
                        std::to_string(record.before_exercise + 1) + " to " + std::to_string(record.claims));
        if (record.mode == Mode::quiz && !record.json_only) print_quiz();
        if (record.json_only) std::cout << record.json.dump(2) << '\n';
        return record.held ? 0 : 1;
    });
}

void Lesson::say(const std::string& text) {
    const std::size_t begin = text.find_first_not_of('\n'), end = text.find_last_not_of('\n');
    if (begin == std::string::npos) return;
    record_->print_words(Kind::words, text.substr(begin, end - begin + 1));
    record_->keep({{"say", text.substr(begin, end - begin + 1)}});
}

void Lesson::correct(const std::string& source, const std::string& printed, const std::string& right) {
    const std::string prints = source + " prints  ", should = "it should be  ";
    const std::size_t width = std::max(display_width(prints), display_width(should));
    const auto padded = [&](const std::string& text) {
        return "  " + text + std::string(width - display_width(text), ' ');
    };
    record_->print_words(Kind::words, padded(prints) + printed + "\n" + padded(should) + right);
    record_->keep({{"correction", record_->json["corrections"].size()}});
    record_->json["corrections"].push_back({{"source", source}, {"printed", printed}, {"right", right}});
}

std::string Lesson::number(const std::string& name, double value, const char* format) {
    record_->json["numbers"][name] = json_number(value);
    return text_of(value, format);
}

void Lesson::end(const std::vector<Reading>& readings, const std::string& sources, const std::string& next) {
    std::string read;
    for (const auto& [file, function] : readings) {
        read += (read.empty() ? "" : "; ") + function + " in " + file;
        record_->json["reading"].push_back({{"file", file}, {"function", function}});
    }
    record_->json["sources"] = sources;
    record_->json["next"] = next;
    std::string lines =
        labelled("Read next  ", record_->page.plain(read)) + labelled("From       ", record_->page.plain(sources));
    if (!next.empty()) lines += labelled("Then       ", "locus lesson " + std::to_string(std::stoi(next)));
    record_->print(Kind::words, lines);
}

// --- claims ----------------------------------------------------------------------------------------------------------
// A measured number, the bound it must keep, and whether it did.

/// The measured number, or the wrong one where --doubt names this claim.
double Lesson::doubted(double measured, double wrong) { return ++record_->claims == record_->doubt ? wrong : measured; }

void Lesson::claim(const std::string& what, bool holds, const std::string& numbers) {
    Record& record = *record_;
    record.held = record.held && holds;
    // The numbers stay on one line, and further lines stand under the first word.
    std::string kept = "(" + record.page.plain(numbers) + ")";
    std::replace(kept.begin(), kept.end(), ' ', kGlue);
    const std::string mark = record.page.plain(holds ? "\u2713 " : "\u2717 ");
    std::string lines;
    for (const std::string& line : wrapped(record.page.plain(what) + " " + kept, 78 - display_width(mark)))
        lines += (lines.empty() ? "" : std::string(display_width(mark), ' ')) + line + '\n';
    record.print(Kind::claim, record.page.ink.tinted(mark, holds) + lines);
    record.keep({{"claim", record.json["claims"].size()}});
    record.json["claims"].push_back({{"claim", what}, {"holds", holds}, {"numbers", numbers}});
}

void Lesson::prove(const std::string& what, double measured, double bound) {
    const double value = doubted(measured, bound > 0 ? 1.5 * bound : 1);
    const bool holds = std::abs(value) <= bound;
    claim(what, holds,
          "measured " + text_of(value, "%.3g") + (holds ? " \u2264 " : ", not \u2264 ") + text_of(bound, "%.3g"));
}

void Lesson::prove_at_least(const std::string& what, double measured, double bound) {
    const double value = doubted(measured, bound - std::max(1.0, std::abs(bound)));
    const bool holds = value >= bound;
    claim(what, holds,
          "measured " + text_of(value, "%.3g") + (holds ? " \u2265 " : ", not \u2265 ") + text_of(bound, "%.3g"));
}

void Lesson::prove_equal(const std::string& what, double measured, double expected) {
    const double value = doubted(measured, expected + 1);
    claim(what, value == expected, text_of(value) + (value == expected ? " = " : ", not ") + text_of(expected));
}

}  // namespace locus::lesson
