// Mistakes 141 to 143.  Gradients of parameters: what is used more than once, dense layers, and lookups.
#include "core/conformance/formulas/parameter_gradients.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace several_uses {  // mistake 141

/// The relative table of some scopes, or of one of its two projections.
Variant table(const char* how, const std::function<std::vector<std::string>(std::vector<std::string>)>& choose,
              bool keys = true, bool queries = true) {
    return {how, {{"/grad.relative.table", {"grad.k_r", "grad.q_r"}, [=](const Replay& at) {
                       const Terms terms = at.deberta().config().terms;
                       if (!(keys && queries) && !(terms.c2p && terms.p2c)) throw NotEnough{"both position terms"};
                       return gradient_of_table(at, choose(uses_of_model(at)), keys, queries);
                   }}}};
}

std::vector<std::string> all_of(std::vector<std::string> scopes) { return scopes; }

/// Every dense layer of those uses that `counts` chooses.
std::vector<Formula> dense_of(const std::function<bool(const DenseUse&)>& counts) {
    return dense_parameters(
        [counts](const std::vector<DenseUse>& uses) {
            std::vector<DenseUse> chosen;
            std::copy_if(uses.begin(), uses.end(), std::back_inserter(chosen), counts);
            return summed_uses(chosen.empty() ? uses : chosen);
        },
        uses_of_layer);
}

/// Nothing comes back through position keys, or through position queries: neither to the table nor to a projection that
/// words share.
Variant lost(const char* how, bool keys) {
    Variant way = table(how, all_of, !keys, keys);
    const char* projection = keys ? ".key_proj." : ".query_proj.";
    for (Formula& formula : dense_of([](const DenseUse& use) { return !use.of_positions; }))
        if (formula.stem.find(projection) != std::string::npos) way.formulas.push_back(std::move(formula));
    return way;
}

/// The parameters of the decoder's layer from one pass alone.
std::vector<Formula> of_pass(bool last) {
    const UseRule one = [last](const Replay& at) -> std::vector<std::string> {
        const std::vector<std::string> all = uses_of_layer(at);
        return {last ? all.back() : all.front()};
    };
    std::vector<Formula> formulas = norm_parameters(right_norm, one);
    for (Formula& formula : dense_parameters(summed_uses, one)) formulas.push_back(std::move(formula));
    return formulas;
}

Mistake mistake() {
    const auto first = [](const std::vector<std::string>& scopes) { return std::vector<std::string>{scopes.front()}; };
    const auto last = [](const std::vector<std::string>& scopes) { return std::vector<std::string>{scopes.back()}; };
    const std::string layer = "grad.deberta.encoder.layer.#.";
    const std::vector<std::string> shared = {layer + "attention.self.query_proj.weight",
                                             layer + "attention.self.key_proj.weight"};
    const std::vector<std::string> of_layer = {layer + "output.dense.weight"};
    const auto of_positions = [](const DenseUse& use) { return use.of_positions; };
    return {.number = 141,
            .name = "what is used more than once collects from one use",
            .symptom = "gradients of the relative table, of shared projections or of the decoder's layer are too small",
            .betrays = "the gradient of a shared parameter is the sum over its uses: layers, terms, decoder passes",
            .evidence = "PaddlePaddle/Paddle #3689, #1805; NVIDIA/TransformerEngine #3437",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"/grad.relative.table", shared[0], shared[1], of_layer[0]},
            .variants = {table("the relative table from the last layer", last),
                         table("the relative table from the first layer", first),
                         table("the relative table from position keys", all_of, true, false),
                         table("the relative table from position queries", all_of, false, true),
                         {"shared projections from words", dense_of(std::not_fn(of_positions)), shared},
                         {"shared projections from positions", dense_of(of_positions), shared},
                         {"the decoder's layer from its last pass", of_pass(true), of_layer},
                         {"the decoder's layer from its first pass", of_pass(false), of_layer},
                         lost("nothing through position keys, as where k_r is detached", true),
                         lost("nothing through position queries, as where q_r is detached", false)}};
}

}  // namespace several_uses

namespace dense_layers {  // mistake 142

/// Every dense layer, each use changed before they are added up.
std::vector<Formula> of_uses(const std::function<DenseUse(DenseUse)>& change) {
    return dense_parameters(
        [change](std::vector<DenseUse> uses) {
            for (DenseUse& use : uses) use = change(std::move(use));
            return summed_uses(uses);
        },
        uses_of_layer);
}

/// Rows `first` of `parts` equal parts.
DenseUse part_of(const DenseUse& use, Index part, Index parts) {
    const Index rows = use.x.rows() / parts;
    return {use.x.middleRows(part * rows, rows), use.d_y.middleRows(part * rows, rows), 1, use.of_positions};
}

DenseUse mean_of(DenseUse use) {
    use.d_y /= static_cast<double>(use.d_y.rows());
    return use;
}

std::vector<Formula> only(std::vector<Formula> all, const char* ending) {
    std::erase_if(all, [&](const Formula& formula) { return !formula.stem.ends_with(ending); });
    return all;
}

/// Square ones: those of another shape would not fit.
std::vector<Formula> transposed_weights() {
    return only(dense_parameters(
                    [](const std::vector<DenseUse>& uses) {
                        DenseGradients<double> gradients = summed_uses(uses);
                        if (gradients.weight.rows() == gradients.weight.cols())
                            gradients.weight = Matrix<double>(gradients.weight.transpose());
                        return gradients;
                    },
                    uses_of_layer),
                ".weight");
}

Mistake mistake() {
    return {
        .number = 142,
        .name = "the gradient of a dense layer is transposed, a mean, or that of some rows",
        .symptom = "finite differences fail for weights or biases, while what goes on to lower layers is right",
        .betrays = "dW = dy^T x and db = sum dy, over every token of every sample",
        .evidence = "mlpack/mlpack #3679; apache/mxnet #2427",
        .lesson = "29",
        .families = {Family::deberta},
        .stems = {"grad.deberta.encoder.layer.#.output.dense.weight", "grad.deberta.encoder.layer.#.output.dense.bias"},
        .variants = {
            {"square weights transposed",
             transposed_weights(),
             {"grad.deberta.encoder.layer.#.attention.output.dense.weight"}},
            {"the mean over tokens", of_uses(mean_of)},
            {"the mean over tokens, of biases alone", only(of_uses(mean_of), ".bias")},
            {"the first sample alone", of_uses([](const DenseUse& use) { return part_of(use, 0, use.samples); })},
            {"the last sample alone",
             of_uses([](const DenseUse& use) { return part_of(use, use.samples - 1, use.samples); })}}};
}

}  // namespace dense_layers

namespace lookups {  // mistake 143

/// One lookup of an id covers the others.
LookupRule covering(bool last) {
    return [last](const std::vector<Index>& ids, const Matrix<double>& d_rows, Matrix<double>& d_table) {
        std::vector<char> written(static_cast<std::size_t>(d_table.rows()), 0);
        Matrix<double> rows = Matrix<double>::Zero(d_table.rows(), d_table.cols());
        for (std::size_t n = 0; n < ids.size(); ++n) {
            char& before = written.at(static_cast<std::size_t>(ids[n]));
            if (!before || last) rows.row(ids[n]) = d_rows.row(static_cast<Index>(n));
            before = 1;
        }
        d_table += rows;
    };
}

void mean_of_lookups(const std::vector<Index>& ids, const Matrix<double>& d_rows, Matrix<double>& d_table) {
    Matrix<double> sum = Matrix<double>::Zero(d_table.rows(), d_table.cols());
    add_lookups(ids, d_rows, sum);
    std::vector<Index> counts(static_cast<std::size_t>(d_table.rows()), 0);
    for (const Index id : ids) ++counts[static_cast<std::size_t>(id)];
    for (Index row = 0; row < sum.rows(); ++row)
        d_table.row(row) +=
            sum.row(row) / static_cast<double>(std::max<Index>(1, counts[static_cast<std::size_t>(row)]));
}

/// The word table, or the absolute table, alone.
Variant table(const char* how, const LookupRule& rule, bool words) {
    std::vector<Formula> formulas = words ? table_parameters(rule, add_lookups) : table_parameters(add_lookups, rule);
    std::erase_if(formulas, [&](const Formula& formula) {
        return formula.stem.find(words ? "word_embeddings" : "position_embeddings") == std::string::npos;
    });
    return {how, std::move(formulas)};
}

Mistake mistake() {
    return {.number = 143,
            .name = "an embedding's backward pass overwrites, takes a mean, or skips a step",
            .symptom = "words that stand in a text more than once learn worst",
            .betrays = "the gradients of a table's rows sum to that of the looked-up rows",
            .evidence = "tenstorrent/tt-metal #6232; pytorch/pytorch #1528",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"/grad.deberta.embeddings.word_embeddings.weight",
                      "/grad.deberta.embeddings.position_embeddings.weight"},
            .variants = {table("the last lookup of a word stays", covering(true), true),
                         table("the first lookup of a word stays", covering(false), true),
                         table("the mean over the lookups of a word", mean_of_lookups, true),
                         table("positions of the last sample stay", covering(true), false),
                         table("positions of the first sample stay", covering(false), false),
                         table("positions are a mean over samples", mean_of_lookups, false),
                         {"past the norm of the embeddings",
                          {{"/grad.embeddings.sum",
                            {"/grad.embeddings.visible"},
                            [](const Replay& at) { return at("/grad.embeddings.visible"); }}},
                          {"/grad.deberta.embeddings.word_embeddings.weight"}},
                         {"hidden tokens collect too",
                          {{"/grad.embeddings.visible",
                            {"grad.x"},
                            [](const Replay& at) { return at.elsewhere("layer.0.")("grad.x"); }}},
                          {"/grad.deberta.embeddings.LayerNorm.weight"}}}};
}

}  // namespace lookups

std::vector<Mistake> parameter_gradient_mistakes() {
    return {
        several_uses::mistake(),  // 141
        dense_layers::mistake(),  // 142
        lookups::mistake(),       // 143
    };
}

}  // namespace locus::conformance
