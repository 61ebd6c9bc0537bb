#pragma once
// From a row of logits to the words a person reads.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "core/text/tokenizers/tokenizer.h"

namespace locus::cli {

struct Guess {
    std::string piece;
    std::int64_t id = 0;
    double logit = 0, probability = 0;
};

/// The best `top` words of one row of logits [V]; probabilities are over the whole vocabulary.
std::vector<Guess> best_words(const Eigen::Ref<const RowVector<float>>& logits, const Tokenizer& tokenizer, Index top);

/// One line per word with its probability and a bar.
std::string as_table(const std::vector<Guess>& guesses);
/// [{"piece", "id", "logit", "probability"}, ...]
nlohmann::ordered_json as_json(const std::vector<Guess>& guesses);

}  // namespace locus::cli
