// Mistakes that ports of replaced-token detection and of SiFT can make.
#include "tests/conformance/toy/injected_mistakes.h"

namespace locus::conformance::toy {

const std::vector<KnownSlip>& training_slips() {
    const Family kD = Family::deberta;
    // clang-format off
    static const std::vector<KnownSlip> all = {
        {{54, 0}, {kD}, "correct guesses labelled replaced", {"rtd.labels"}, ""},
        {{54, 1}, {kD}, "unsampled tokens labelled replaced too", {"rtd.labels"}, ""},
        {{54, 2}, {kD}, "1 for original", {"rtd.labels"}, ""},
        {{54, 3}, {kD}, "padding counts", {"rtd.labels"}, ""},
        {{54, 4}, {kD}, "sampled tokens alone count", {"rtd.labels"}, ""},
        {{54, 5}, {kD}, "one mean loss, padding in it", {"rtd.loss"}, ""},
        {{55, 0}, {kD}, "noise on the raw embedding", {"sift.xhat"}, ""},
        {{55, 1}, {kD}, "noise behind the embeddings' norm", {"sift.xhat"}, ""},
        {{55, 2}, {kD}, "noise behind the embeddings' norm and mask", {"sift.xhat"}, ""},
        {{55, 3}, {kD}, "step over the largest entry of the batch", {"sift.delta"}, ""},
        {{55, 4}, {kD}, "step over the largest entry of the sample", {"sift.delta"}, ""},
        {{55, 5}, {kD}, "step over the length of each token's gradient", {"sift.delta"}, ""},
        {{55, 6}, {kD}, "step over the length of each sample's gradient, no eps", {"sift.delta"}, ""},
        {{55, 7}, {kD}, "step by signs", {"sift.delta"}, ""},
        {{55, 8}, {kD}, "loss without the entropies", {"sift.loss0"}, ""},
    };
    // clang-format on
    return all;
}

}  // namespace locus::conformance::toy
