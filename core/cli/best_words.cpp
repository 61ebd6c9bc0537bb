#include "core/cli/best_words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/cli/program.h"
#include "core/text/text_table.h"

namespace locus::cli {

namespace {

std::string bar(double probability) {
    std::string text;
    for (int n = 0; n < static_cast<int>(std::lround(probability * 20)); ++n) text += "\u2588";
    return text;
}

}  // namespace

std::vector<Guess> best_words(const Eigen::Ref<const RowVector<float>>& logits, const Tokenizer& tokenizer, Index top) {
    std::vector<Index> order(static_cast<std::size_t>(logits.size()));
    std::iota(order.begin(), order.end(), 0);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<Index>(top, logits.size()));
    std::partial_sort(order.begin(), end, order.end(), [&](Index a, Index b) { return logits[a] > logits[b]; });
    const double maximum = logits.maxCoeff();
    const double sum = (logits.cast<double>().array() - maximum).exp().sum();
    std::vector<Guess> guesses;
    for (auto id = order.begin(); id != end; ++id)
        guesses.push_back(
            {display_piece(tokenizer.piece(*id)), *id, logits[*id], std::exp(logits[*id] - maximum) / sum});
    return guesses;
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
