#pragma once
// One head without some of its terms: what the scores and probabilities would be.
#include "core/attention/disentangled.h"
#include "core/tensor.h"

namespace locus {

/// The raw terms of one head, [T,T] each; c2p and p2c stay empty where the model has none.
struct HeadTerms {
    Matrix<float> c2c, c2p, p2c;

    Terms present() const { return {c2p.size() > 0, p2c.size() > 0}; }
    /// 0 c2c, 1 c2p, 2 p2c.
    const Matrix<float>& at(std::size_t term) const { return term == 0 ? c2c : term == 1 ? c2p : p2c; }
};

/// 0 c2c, 1 c2p, 2 p2c.
bool is_kept(const KeptTerms& kept, std::size_t term);
bool& kept_flag(KeptTerms& kept, std::size_t term);

/// How the sum of the kept terms is scaled.
struct TermScale {
    int terms = 1;        // n of sqrt(n d), counted for the whole model
    bool follows = true;  // n loses one for every term dropped, but stays 1 or more
    Index head_width = 1;
};

struct AblatedHead {
    Matrix<float> scores, probs;  // [T,T]
    int divisor_terms = 1;        // n
};

/// n for the terms that are left: a term that the model does not have cannot be dropped.
int divisor_terms_left(const Terms& present, KeptTerms kept, const TermScale& scale);

/// (sum of the kept terms) / sqrt(n d) and its softmax over the visible keys; with everything kept these are the
/// model's own scores and probabilities, bit for bit.  visible [T,T] or empty.  Throws if the shapes differ.
AblatedHead ablate(const HeadTerms& terms, KeptTerms kept, const TermScale& scale, const Mask& visible,
                   MaskedRow masked_row);

}  // namespace locus
