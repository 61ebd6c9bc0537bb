#include "tests/conformance/toy/injected_mistakes.h"

namespace locus::conformance::toy {

const std::vector<KnownSlip>& gradient_slips() {
    const Family kD = Family::deberta, kR = Family::roformer, kT = Family::transformer_xl;
    const std::vector<std::string> tables = {"k_r", "q_r", "r_k", "bias.u", "bias.v"};
    // clang-format off
    static const std::vector<KnownSlip> all = {
        {{38, 0}, {kD, kR, kT}, "softmax backward without the sum over the row", {"scores"}, ""},
        {{38, 1}, {kD}, "softmax backward with the dropped-out probs", {"scores"}, ""},
        {{38, 2}, {kD}, "the same, and with their gradient", {"scores"}, ""},
        {{38, 3}, {kD}, "the gradient of the dropped-out probs for that of probs", {"probs"}, ""},
        {{53, 0}, {kD}, "word table: only what its lookups add", {"word_embeddings.weight"}, ""},
        {{53, 1}, {kD}, "word table: only what the output adds", {"word_embeddings.weight"}, ""},
        {{78, 0}, {kD}, "for every query and key the last pair of a row stays", {"k_r", "q_r"}, ""},
        {{78, 1}, {kD}, "for every query and key the first pair of a row stays", {"k_r", "q_r"}, ""},
        {{78, 2}, {kD}, "the table keeps the last pair of a sample", {"k_r"}, ""},
        {{78, 3}, {kD}, "the table keeps the first pair of a sample", {"k_r"}, ""},
        {{78, 4}, {kD}, "the table keeps the last pair of the batch", {"k_r"}, ""},
        {{78, 5}, {kD}, "the table keeps the first pair of the batch", {"k_r"}, ""},
        {{79, 0}, {kD}, "dq_r from delta(j,i)", {"q_r"}, ""},
        {{79, 1}, {kD}, "dq_r and dk from delta(j,i)", {"q_r"}, ""},
        {{79, 2}, {kD, kT}, "what samples share collects from the first alone", tables, ""},
        {{79, 3}, {kD, kT}, "what samples share collects from the last alone", tables, ""},
        {{79, 4}, {kD, kT}, "the mean over samples instead of their sum", tables, ""},
        {{79, 5}, {kD}, "dk_r from delta(j,i)", {"k_r"}, ""},
        {{79, 6}, {kD}, "dk_r and dq from delta(j,i)", {"k_r"}, ""},
    };
    // clang-format on
    return all;
}

}  // namespace locus::conformance::toy
