#include "core/cli/words.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/text/text_table.h"
#include "core/text/tokenizers/unicode.h"

namespace locus::cli {

std::string bar(double probability) {
    std::string text;
    for (int n = 0; n < static_cast<int>(std::lround(probability * 20)); ++n) text += "\u2588";
    return text;
}

std::string readable_text(const Command& program, const std::string& text) {
    RepairedText repaired = repair_utf8(text);
    if (repaired.replaced > 0)
        say(program, "warning: the text is not UTF-8: " + std::to_string(repaired.replaced) +
                         (repaired.replaced == 1 ? " place" : " places") + " replaced by U+FFFD");
    return repaired.text;
}

std::string as_table(const std::vector<Guess>& guesses) {
    std::vector<std::vector<std::string>> rows;
    for (const Guess& guess : guesses) {
        char probability[16];
        std::snprintf(probability, sizeof probability, "%.4f", guess.probability);
        rows.push_back({"  " + guess.piece, probability, bar(guess.probability)});
    }
    return text_table(rows, {false, true, false});
}

nlohmann::ordered_json as_json(const std::vector<Guess>& guesses) {
    nlohmann::ordered_json words = nlohmann::ordered_json::array();
    for (const Guess& guess : guesses)
        words.push_back(
            {{"piece", guess.piece}, {"id", guess.id}, {"logit", guess.logit}, {"probability", guess.probability}});
    return words;
}

}  // namespace locus::cli
