#include "core/models/older/seq2seq.h"

#include "core/attention/softmax.h"
#include "core/products.h"

namespace locus {

namespace {

template <class Scalar>
void expect(const char* name, const Matrix<Scalar>& weight, Index rows, Index cols) {
    const Shape found = {weight.rows(), weight.cols()}, expected = {rows, cols};
    LOCUS_CHECK(found == expected,
                "seq2seq: " + std::string(name) + " is " + to_string(found) + ", expected " + to_string(expected));
}

template <class Scalar>
void check_alignment(const AdditiveAlignment<Scalar>& alignment, Index width) {
    const Index hidden = alignment.energy.cols();
    expect<Scalar>("alignment.state", alignment.state, hidden, width);
    expect<Scalar>("alignment.encoder", alignment.encoder, hidden, width);
}

template <class Scalar>
void check_alignment(const MultiplicativeAlignment<Scalar>& alignment, Index width) {
    expect<Scalar>("alignment.weight", alignment.weight, width, width);
}

void check_words(const char* side, const std::vector<std::int64_t>& words, Index limit) {
    LOCUS_CHECK(!words.empty(), "seq2seq: no " + std::string(side) + " words, expected 1 or more");
    for (const std::int64_t word : words)
        LOCUS_CHECK(word >= 0 && word < limit, "seq2seq: " + std::string(side) + " holds " + std::to_string(word) +
                                                   ", expected ids from 0 to " + std::to_string(limit - 1));
}

}  // namespace

template <class Scalar>
Seq2Seq<Scalar>::Seq2Seq(Seq2SeqWeights<Scalar> weights) : weights_(std::move(weights)) {
    const Index width = weights_.encoder.width(), embedding = weights_.source_words.cols();
    expect<Scalar>("encoder.input", weights_.encoder.input.weight, 4 * width, embedding);
    expect<Scalar>("encoder.recurrent", weights_.encoder.recurrent.weight, 4 * width, width);
    expect<Scalar>("target_words", weights_.target_words, weights_.output.weight.rows(), embedding);
    expect<Scalar>("decoder.input", weights_.decoder.input.weight, 4 * width,
                   weights_.is_additive() ? embedding + width : embedding);
    expect<Scalar>("decoder.recurrent", weights_.decoder.recurrent.weight, 4 * width, width);
    std::visit([&](const auto& alignment) { check_alignment(alignment, width); }, weights_.alignment);
    expect<Scalar>("combine", weights_.combine.weight, width, 2 * width);
    expect<Scalar>("output", weights_.output.weight, weights_.target_words.rows(), width);
}

template <class Scalar>
LstmResult<Scalar> Seq2Seq<Scalar>::encode(const std::vector<std::int64_t>& source) const {
    check_words("source", source, weights_.source_words.rows());
    Matrix<Scalar> x(std::ssize(source), weights_.source_words.cols());
    for (Index t = 0; t < x.rows(); ++t) x.row(t) = weights_.source_words.row(source[static_cast<std::size_t>(t)]);
    return lstm<Scalar>(x, weights_.encoder);
}

template <class Scalar>
Seq2SeqStep<Scalar> Seq2Seq<Scalar>::step(const ConstView<Scalar>& encoder, const LstmState<Scalar>& before,
                                          std::int64_t word) const {
    check_words("target", {word}, weights_.target_words.rows());
    Seq2SeqStep<Scalar> step;
    const auto look_back = [&](const RowVector<Scalar>& asking) {
        step.scores =
            std::visit([&](const auto& weights) { return alignment_scores<Scalar>(weights, asking, encoder); },
                       weights_.alignment);
        step.probs = masked_softmax<Scalar>(step.scores, Mask());
        step.context = times<Scalar>(step.probs, encoder);
    };
    RowVector<Scalar> x = weights_.target_words.row(word);
    if (weights_.is_additive()) {
        look_back(before.hidden);  // s_{t-1} asks, and the context goes into the step
        RowVector<Scalar> with_context(x.cols() + step.context.cols());
        with_context << x, step.context;
        x = with_context;
    }
    step.lstm = lstm<Scalar>(x, weights_.decoder, before);
    const RowVector<Scalar> state = step.lstm.hidden.row(0);
    if (!weights_.is_additive()) look_back(state);  // s_t asks; its step did not know the context
    RowVector<Scalar> both(step.context.cols() + state.cols());
    both << step.context, state;
    step.combined = dense<Scalar>(both, weights_.combine).array().tanh();
    step.logits = dense<Scalar>(step.combined, weights_.output);
    return step;
}

template <class Scalar>
Seq2SeqResult<Scalar> Seq2Seq<Scalar>::forward(const std::vector<std::int64_t>& source,
                                               const std::vector<std::int64_t>& target) const {
    check_words("target", target, weights_.target_words.rows());
    Seq2SeqResult<Scalar> result{encode(source), {}};
    LstmState<Scalar> state = result.encoder.last();
    for (const std::int64_t word : target) {
        result.steps.push_back(step(result.encoder.hidden, state, word));
        state = result.steps.back().lstm.last();
    }
    return result;
}

template <class Scalar>
Seq2SeqResult<Scalar> Seq2Seq<Scalar>::greedy(const std::vector<std::int64_t>& source, std::int64_t start,
                                              std::int64_t end, Index limit, std::vector<std::int64_t>& words) const {
    LOCUS_CHECK(limit >= 1, "seq2seq: limit is " + std::to_string(limit) + ", expected 1 or more");
    check_words("target", {start, end}, weights_.target_words.rows());
    Seq2SeqResult<Scalar> result{encode(source), {}};
    LstmState<Scalar> state = result.encoder.last();
    words.clear();
    while (std::ssize(words) < limit && (words.empty() || words.back() != end)) {
        result.steps.push_back(step(result.encoder.hidden, state, words.empty() ? start : words.back()));
        const RowVector<Scalar>& logits = result.steps.back().logits;
        LOCUS_CHECK(logits.allFinite(),
                    "seq2seq: the logits of word " + std::to_string(words.size()) + " are not finite");
        Index likeliest = 0;
        logits.maxCoeff(&likeliest);
        words.push_back(likeliest);
        state = result.steps.back().lstm.last();
    }
    return result;
}

template class Seq2Seq<float>;
template class Seq2Seq<double>;

}  // namespace locus
