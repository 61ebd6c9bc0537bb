// Questions: what --quiz asks and what --answer computes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "core/check.h"
#include "lessons/support/record.h"

namespace locus::lesson {

namespace {

/// "b" -> 1, "3.5" -> 3.5; NaN for anything else.
double understood(const std::string& given, bool letter) {
    const std::size_t begin = given.find_first_not_of(" \t\r"), end = given.find_last_not_of(" \t\r");
    if (begin == std::string::npos) return std::nan("");
    const std::string word = given.substr(begin, end - begin + 1);
    if (letter) return word.size() == 1 ? std::tolower(static_cast<unsigned char>(word[0])) - 'a' : std::nan("");
    char* rest = nullptr;
    const double value = std::strtod(word.c_str(), &rest);
    return *rest ? std::nan("") : value;
}

std::string letter_of(double choice) { return std::string(1, static_cast<char>('a' + static_cast<int>(choice))); }

}  // namespace

void Lesson::ask(const std::string& question, double answer, double tolerance, const std::string& because) {
    LOCUS_CHECK(std::isfinite(answer) && tolerance >= 0, "question \"" + question + "\": no finite answer");
    record_->questions.push_back({question, because, {}, answer, tolerance});
    record_->json["quiz"].push_back(
        {{"question", question}, {"answer", answer}, {"tolerance", tolerance}, {"because", because}});
}

void Lesson::choose(const std::string& question, const std::vector<std::string>& choices, Index right,
                    const std::string& because) {
    LOCUS_CHECK(right >= 0 && right < static_cast<Index>(choices.size()),
                "question \"" + question + "\": choice " + std::to_string(right) + " does not exist");
    record_->questions.push_back({question, because, choices, static_cast<double>(right), 0});
    record_->json["quiz"].push_back({{"question", question},
                                     {"choices", choices},
                                     {"answer", letter_of(static_cast<double>(right))},
                                     {"because", because}});
}

void Lesson::print_quiz() {
    Record& record = *record_;
    record.page.silent = false;
    record.print_head(": quiz");
    int right = 0, at = 0;
    for (const Question& question : record.questions) {
        std::string text = std::to_string(++at) + ". " + question.text;
        for (std::size_t choice = 0; choice < question.choices.size(); ++choice) {
            std::string before = "\n   " + letter_of(static_cast<double>(choice)) + "  ";
            for (const std::string& line : wrapped(question.choices[choice], 72)) {
                text += before + line;
                before = "\n      ";
            }
        }
        record.print_words(Kind::words, text);
        record.page.write("your answer: ");
        std::cout.flush();
        std::string given;
        const bool said = static_cast<bool>(std::getline(std::cin, given));
        // A person who types has ended the line already.
        if (!said) std::cout << '\n';
        const bool letter = !question.choices.empty();
        const bool good = std::abs(understood(given, letter) - question.answer) <= question.tolerance;
        right += good;
        const std::string answer = letter ? letter_of(question.answer) : text_of(question.answer);
        record.last = Kind::claim;
        record.print_words(Kind::claim, std::string(good   ? "\u2713 right"
                                                    : said ? "\u2717 no"
                                                           : "no answer") +
                                            ": " + answer + ". " + question.because);
    }
    record.print_words(Kind::words, std::to_string(right) + " of " + std::to_string(at) + " right");
}

void Lesson::exercise(const std::string& text, const std::function<void()>& answer) {
    Record& record = *record_;
    record.json["exercise"] = text;
    if (record.mode != Mode::answer) {
        std::string command = "(locus lesson " + std::to_string(std::stoi(record.number)) + " --answer)";
        std::replace(command.begin(), command.end(), ' ', kGlue);
        say("Exercise: " + text + " " + command);
        return;
    }
    record.before_exercise = record.claims;
    record.page.silent = record.json_only;
    record.print_head(": the exercise");
    say(text);
    answer();
    record.page.silent = true;
}

}  // namespace locus::lesson
