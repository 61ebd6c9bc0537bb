#include "viewer/plots/ablation.h"

#include <algorithm>

namespace locus {

bool is_kept(const KeptTerms& kept, std::size_t term) { return term == 0 ? kept.c2c : term == 1 ? kept.c2p : kept.p2c; }

bool& kept_flag(KeptTerms& kept, std::size_t term) { return term == 0 ? kept.c2c : term == 1 ? kept.c2p : kept.p2c; }

int divisor_terms_left(const Terms& present, KeptTerms kept, const TermScale& scale) {
    if (!scale.follows) return scale.terms;
    const int dropped = int{!kept.c2c} + int{present.c2p && !kept.c2p} + int{present.p2c && !kept.p2c};
    return std::max(1, scale.terms - dropped);
}

AblatedHead ablate(const HeadTerms& terms, KeptTerms kept, const TermScale& scale, const Mask& visible,
                   MaskedRow masked_row) {
    AblatedHead head;
    head.divisor_terms = divisor_terms_left(terms.present(), kept, scale);
    head.scores = kept.c2c ? terms.c2c : Matrix<float>::Zero(terms.c2c.rows(), terms.c2c.cols());
    for (const std::size_t term : {1u, 2u}) {
        const Matrix<float>& values = terms.at(term);
        if (values.size() == 0 || !is_kept(kept, term)) continue;
        LOCUS_CHECK(values.rows() == head.scores.rows() && values.cols() == head.scores.cols(),
                    "ablate: a term of [" + std::to_string(values.rows()) + ", " + std::to_string(values.cols()) +
                        "], expected [" + std::to_string(head.scores.rows()) + ", " +
                        std::to_string(head.scores.cols()) + "]");
        head.scores += values;
    }
    head.scores /= score_divisor<float>(head.divisor_terms, scale.head_width);
    head.probs = masked_softmax<float>(head.scores, visible, masked_row);
    return head;
}

}  // namespace locus
