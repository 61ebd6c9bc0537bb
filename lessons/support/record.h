#pragma once
// What a lesson remembers while it speaks; seen by the files behind print.h only.
#include <nlohmann/json.hpp>

#include "lessons/support/page.h"
#include "lessons/support/print.h"

namespace locus::lesson {

enum class Mode { lesson, quiz, answer };

/// A question of --quiz: a number (tolerance) or one of several choices (right, from 0).
struct Question {
    std::string text, because;
    std::vector<std::string> choices;
    double answer = 0, tolerance = 0;
};

/// What was printed last: between two of a different kind stands an empty line.
enum class Kind { nothing, words, picture, claim };

struct Lesson::Record {
    std::string number, title, question;
    Mode mode = Mode::lesson;
    Page page;
    Kind last = Kind::nothing;
    bool json_only = false, held = true;
    int claims = 0, doubt = 0;
    int before_exercise = 0;  // claims of the lesson, before those of the answer
    std::vector<Question> questions;
    nlohmann::ordered_json json;

    /// What --json keeps of the order in which things are said: {"say": text}, {"matrix": title, ...}, {"claim": n}.
    void keep(nlohmann::ordered_json part) { json["parts"].push_back(std::move(part)); }
    /// Prints a piece; an empty line goes before it unless it follows a claim as a claim.
    void print(Kind kind, const std::string& lines);
    /// The same for text that still has to be spelt and broken.
    void print_words(Kind kind, const std::string& text);
    /// The first lines of the lesson, the quiz, the exercise: number, title, `what`, and a rule.
    void print_head(const std::string& what);
};

}  // namespace locus::lesson
