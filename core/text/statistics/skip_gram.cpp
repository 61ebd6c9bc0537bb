#include "core/text/statistics/skip_gram.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/products.h"

namespace locus {

namespace {

/// log s(x), without overflow for large |x|.
double log_sigmoid(double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Random numbers that are the same with every standard library: its distributions are not.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    double between_0_and_1() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

private:
    std::mt19937_64 engine_;
};

/// Draws words with probability count^(3/4).
class Noise {
public:
    explicit Noise(const std::vector<Index>& counts) {
        double sum = 0;
        for (const Index count : counts) sums_.push_back(sum += std::pow(static_cast<double>(count), 0.75));
    }
    Index draw(Dice& dice) const {
        const double at = dice.between_0_and_1() * sums_.back();
        const auto found = std::upper_bound(sums_.begin(), sums_.end() - 1, at);
        return found - sums_.begin();
    }

private:
    std::vector<double> sums_;
};

struct Pair {
    Index centre, neighbour;
};

std::vector<Pair> neighbours(const std::vector<Document>& documents, Index window, WordList& words,
                             std::vector<Index>& counts) {
    std::vector<Pair> pairs;
    for (const Document& document : documents) {
        std::vector<Index> numbers;
        for (const std::string& word : document) {
            numbers.push_back(words.add(word));
            counts.resize(static_cast<std::size_t>(words.size()), 0);
            ++counts[static_cast<std::size_t>(numbers.back())];
        }
        const auto length = static_cast<Index>(numbers.size());
        for (Index i = 0; i < length; ++i)
            for (Index j = std::max<Index>(0, i - window); j <= std::min(length - 1, i + window); ++j)
                if (i != j)
                    pairs.push_back({numbers[static_cast<std::size_t>(i)], numbers[static_cast<std::size_t>(j)]});
    }
    return pairs;
}

void check_options(const SkipGramOptions& options) {
    for (const auto& [name, value] : {std::pair{"width", options.width},
                                      {"window", options.window},
                                      {"negatives", options.negatives},
                                      {"epochs", options.epochs}})
        LOCUS_CHECK(value >= 1,
                    std::string("train_skip_gram: ") + name + " is " + std::to_string(value) + ", expected 1 or more");
    LOCUS_CHECK(options.learning_rate > 0 && std::isfinite(options.learning_rate),
                "train_skip_gram: learning_rate is " + std::to_string(options.learning_rate) +
                    ", expected a finite number above 0");
}

}  // namespace

PairLoss negative_sampling_loss(const RowVector<double>& centre, const ConstView<double>& contexts) {
    LOCUS_CHECK(contexts.rows() >= 1 && contexts.cols() == centre.size(),
                "negative_sampling_loss: contexts are " + to_string({contexts.rows(), contexts.cols()}) +
                    ", expected rows of width " + std::to_string(centre.size()));
    PairLoss result;
    RowVector<double> errors(contexts.rows());  // s(u.v) minus what it should be: 1 for the neighbour, 0 for noise
    for (Index n = 0; n < contexts.rows(); ++n) {
        const double score = contexts.row(n).dot(centre);
        result.loss -= log_sigmoid(n == 0 ? score : -score);
        errors[n] = sigmoid(score) - (n == 0 ? 1 : 0);
    }
    result.centre_gradient = times<double>(errors, contexts);
    result.contexts_gradient = errors.transpose() * centre;
    return result;
}

SkipGram train_skip_gram(const std::vector<Document>& documents, const SkipGramOptions& options,
                         const CancelToken& stop) {
    check_options(options);
    SkipGram model;
    std::vector<Index> counts;
    const std::vector<Pair> pairs = neighbours(documents, options.window, model.vectors.words, counts);
    LOCUS_CHECK(!pairs.empty(),
                "train_skip_gram: no two words stand in one document, expected neighbours to learn from");
    Dice dice(options.seed);
    Matrix<double>& centres = model.vectors.vectors;
    centres.resize(model.vectors.words.size(), options.width);
    for (Index n = 0; n < centres.size(); ++n)
        centres.data()[n] = (dice.between_0_and_1() - 0.5) / static_cast<double>(options.width);
    model.contexts = Matrix<double>::Zero(centres.rows(), options.width);

    const Noise noise(counts);
    const double steps = static_cast<double>(pairs.size()) * static_cast<double>(options.epochs);
    std::vector<Index> rows(static_cast<std::size_t>(options.negatives) + 1);
    constexpr std::int64_t kAsked = 1000;  // pairs from one question whether to stop to the next
    std::int64_t step = 0;
    for (Index epoch = 0; epoch < options.epochs; ++epoch) {
        double sum = 0;
        for (const Pair& pair : pairs) {
            if (step % kAsked == 0) throw_if_cancelled(stop);
            const double rate = options.learning_rate * (1 - static_cast<double>(step++) / steps);
            rows[0] = pair.neighbour;
            std::generate(rows.begin() + 1, rows.end(), [&] { return noise.draw(dice); });
            const Matrix<double> contexts = model.contexts(rows, Eigen::all);
            const PairLoss loss = negative_sampling_loss(centres.row(pair.centre), contexts);
            sum += loss.loss;
            centres.row(pair.centre) -= rate * loss.centre_gradient;
            for (Index n = 0; n < contexts.rows(); ++n)
                model.contexts.row(rows[static_cast<std::size_t>(n)]) -= rate * loss.contexts_gradient.row(n);
        }
        model.losses.push_back(sum / static_cast<double>(pairs.size()));
    }
    return model;
}

}  // namespace locus
