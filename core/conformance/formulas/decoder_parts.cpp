#include "core/conformance/formulas/decoder_parts.h"

#include <algorithm>

namespace locus::conformance {

namespace {

std::string scope_of_pass(Index pass) { return "emd." + std::to_string(pass) + "."; }

bool replaces(const std::vector<Formula>& formulas, const std::string& stem) {
    return std::any_of(formulas.begin(), formulas.end(), [&](const Formula& each) { return each.stem == stem; });
}

}  // namespace

Index decoder_pass(const Replay& at) {
    if (!at.scope().starts_with("emd.")) throw NotEnough{"a pass of the mask decoder"};
    return std::stol(at.scope().substr(4));
}

const Tensor<double>& hidden_state(const Replay& at, Index from_the_end) {
    const Index layer = at.deberta().config().num_hidden_layers - from_the_end;
    if (layer < -1) throw NotEnough{"so many layers"};
    return at(layer < 0 ? "/embeddings.output" : "/layer." + std::to_string(layer) + ".output");
}

Tensor<double> absolute_rows(const Replay& at, const Tensor<double>& h) {
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    if (!weights.has_absolute_table() || config.position_biased_input || config.embedding_size != h.extent(2))
        throw NotEnough{"a mask decoder"};
    const Matrix<double> table = weights.absolute_rows(h.extent(1));
    Tensor<double> rows(h.shape());
    for (Index b = 0; b < h.extent(0); ++b) rows.matrix(b) = table;
    return rows;
}

Tensor<double> key_or_value(const Replay& at, const Tensor<double>& x, int part) {
    return project_heads<double>(x, at.deberta().projection(at.layer(), part),
                                 at.deberta().config().num_attention_heads);
}

std::vector<Formula> decoder_of(std::vector<Formula> wrong, Index passes) {
    if (!replaces(wrong, "x_q"))
        wrong.push_back({"x_q", {"/emd.query.0"}, [](const Replay& at) {
                             const Index pass = decoder_pass(at);
                             return pass == 0 ? at("/emd.query.0") : at.elsewhere(scope_of_pass(pass - 1))("output");
                         }});
    wrong.push_back({"/head_input", {"/emd.query.0"}, [passes](const Replay& at) {
                         return at.elsewhere(scope_of_pass(passes - 1))("output");
                     }});
    return wrong;
}

std::vector<Formula> keys_and_values_from(std::function<Tensor<double>(const Replay&)> source) {
    return {{"k", {"x", "x_q"}, [source](const Replay& at) { return key_or_value(at, source(at), 1); }},
            {"v", {"x", "x_q"}, [source](const Replay& at) { return key_or_value(at, source(at), 2); }}};
}

}  // namespace locus::conformance
