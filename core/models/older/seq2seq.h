#pragma once
// Sequence to sequence with attention: an LSTM reads, an LSTM writes and attends to what was read.
// Additive: Bahdanau et al. 2015 (asks before it steps).  Multiplicative: Luong et al. 2015 (steps, then asks).
// Bahdanau's network used a gated unit of its own time and a maxout; here both kinds share LSTM and output layer, so
// that the attention is the only difference.
//
// Where it is used: lesson 02; tests/unit/models/test_seq2seq.cpp has its laws, and tests/golden/test_oracle_older.cpp
// compares every step with PyTorch.
#include <cstdint>
#include <variant>
#include <vector>

#include "core/attention/alignment.h"
#include "core/models/older/recurrent.h"

namespace locus {

/// E embedding width, n width of both LSTMs, V_s and V_t words.
template <class Scalar>
struct Seq2SeqWeights {
    Matrix<Scalar> source_words, target_words;  // [V_s,E], [V_t,E]
    LstmCell<Scalar> encoder;                   // E -> n
    LstmCell<Scalar> decoder;                   // additive: E + n -> n, word first, then context; else E -> n
    std::variant<AdditiveAlignment<Scalar>, MultiplicativeAlignment<Scalar>> alignment;
    Dense<Scalar> combine;  // [n,2n]: context first, then state
    Dense<Scalar> output;   // [V_t,n]

    bool is_additive() const { return alignment.index() == 0; }
};

/// One step of the decoder.
template <class Scalar>
struct Seq2SeqStep {
    RowVector<Scalar> scores;    // [T_s]: how the asking state fits every encoder state
    RowVector<Scalar> probs;     // [T_s]: softmax of the scores
    RowVector<Scalar> context;   // [n]: sum over j of probs[j] h_j
    LstmResult<Scalar> lstm;     // one row: the gates, the cell and the state s_t
    RowVector<Scalar> combined;  // [n]: tanh(combine([context; s_t]))
    RowVector<Scalar> logits;    // [V_t]
};

template <class Scalar>
struct Seq2SeqResult {
    LstmResult<Scalar> encoder;  // T_s rows; its last state is the decoder's first
    std::vector<Seq2SeqStep<Scalar>> steps;
};

template <class Scalar>
class Seq2Seq {
public:
    /// Throws Error(usage) naming the first weight whose shape does not fit the others.
    explicit Seq2Seq(Seq2SeqWeights<Scalar> weights);

    /// Teacher forcing: step t is given the target word t, whatever the network would have said.
    /// source [T_s] and target [T_t] ids, one or more of each.  Throws Error(usage) for ids outside the tables.
    Seq2SeqResult<Scalar> forward(const std::vector<std::int64_t>& source,
                                  const std::vector<std::int64_t>& target) const;

    /// The network's own words: step t is given the word that step t - 1 found likeliest; the first gets `start`.
    /// Stops after `end` or after `limit` words; `words` has no start.  Of equal logits the smallest id wins.
    Seq2SeqResult<Scalar> greedy(const std::vector<std::int64_t>& source, std::int64_t start, std::int64_t end,
                                 Index limit, std::vector<std::int64_t>& words) const;

    /// One step from the state before it: encoder [T_s,n].
    Seq2SeqStep<Scalar> step(const ConstView<Scalar>& encoder, const LstmState<Scalar>& before,
                             std::int64_t word) const;

private:
    LstmResult<Scalar> encode(const std::vector<std::int64_t>& source) const;

    Seq2SeqWeights<Scalar> weights_;
};

extern template class Seq2Seq<float>;
extern template class Seq2Seq<double>;

}  // namespace locus
