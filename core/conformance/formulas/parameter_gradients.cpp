// The right gradients of DeBERTa's parameters.
// microsoft/DeBERTa bert.py, disentangled_attention.py, masked_language_model.py, differentiated.
#include "core/conformance/formulas/parameter_gradients.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"

namespace locus::conformance {

namespace {

constexpr const char* kWords = "embeddings.word_embeddings.weight";
constexpr const char* kPositions = "embeddings.position_embeddings.weight";
constexpr const char* kTypes = "embeddings.token_type_embeddings.weight";

Tensor<double> as_matrix(const Matrix<double>& values) {
    return as_tensor<double>({values.rows(), values.cols()}, values);
}
Tensor<double> as_row(const RowVector<double>& values) {
    return {{values.size()}, {values.data(), values.data() + values.size()}};
}

/// The head's names in microsoft/DeBERTa's files and in transformers'.
struct HeadNames {
    const char *dense, *norm, *bias;
};
constexpr HeadNames kHeads[] = {
    {"lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm", "lm_predictions.lm_head.bias"},
    {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"}};

void append(std::vector<Formula>& all, std::vector<Formula> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
}

/// Where the parameter is used: in its layer by the rule, the convolution in the first one.
std::vector<std::string> scopes_of(const std::string& name, const Replay& at, const UseRule& uses) {
    if (name.find('#') != std::string::npos) return uses(at);
    return {name.starts_with("encoder.conv.") ? "layer.0." : at.scope()};
}

}  // namespace

std::vector<Formula> of_parameter(const std::string& name, const std::vector<std::string>& inputs,
                                  const std::function<Tensor<double>(const Replay&)>& compute) {
    if (name.find('#') != std::string::npos)
        return {{"grad.deberta." + name, inputs, compute}, {"grad." + name, inputs, compute}};
    return {{"/grad.deberta." + name, inputs, compute}, {"/grad." + name, inputs, compute}};
}

// Norms.

std::vector<Formula> norm_parameters(const NormRule& rule, const UseRule& uses) {
    std::vector<Formula> all;
    for (const NormPlace& place : norm_places()) {
        std::vector<std::string> inputs = place.inputs;
        inputs.push_back(place.above);
        const auto sum_of_uses = [&place, rule, uses](const Replay& at, bool weight) {
            RowVector<double> sum;
            for (const std::string& scope : scopes_of(place.name, at, uses)) {
                const Replay use = at.elsewhere(scope);
                const NormGradients<double> one =
                    rule(place.x(use), place.norm(use), norm_eps_of(use), use(place.above).rows());
                const RowVector<double>& part = weight ? one.weight : one.bias;
                sum = sum.size() == 0 ? part : RowVector<double>(sum + part);
            }
            return as_row(sum);
        };
        const auto weight = [sum_of_uses](const Replay& at) { return sum_of_uses(at, true); };
        const auto bias = [sum_of_uses](const Replay& at) { return sum_of_uses(at, false); };
        std::vector<std::string> names = {place.name};
        if (place.name == "head") names = {kHeads[0].norm, kHeads[1].norm};
        for (const std::string& name : names) {
            append(all, of_parameter(name + ".weight", inputs, weight));
            append(all, of_parameter(name + ".bias", inputs, bias));
        }
    }
    return all;
}

// Dense layers.

DenseGradients<double> summed_uses(const std::vector<DenseUse>& uses) {
    DenseGradients<double> sum;
    for (const DenseUse& use : uses) {
        const Matrix<double> weight = transposed_times<double>(use.d_y, use.x);
        const RowVector<double> bias = use.d_y.colwise().sum();
        sum.weight = sum.weight.size() == 0 ? weight : Matrix<double>(sum.weight + weight);
        sum.bias = sum.bias.size() == 0 ? bias : RowVector<double>(sum.bias + bias);
    }
    return sum;
}

namespace {

/// A dense layer of the pass: what it is made of, and its uses in one scope.
struct DensePlace {
    std::string name;
    std::vector<std::string> inputs;
    std::function<std::vector<DenseUse>(const Replay& use)> uses;
};

DenseUse rows_through(const Tensor<double>& x, const Tensor<double>& d_y) {
    return {x.rows(), d_y.rows(), x.extent(0), false};
}

/// A place that is used once in a scope: it read one stage, and another is the gradient of what it gave.
DensePlace plain(const char* name, const char* x, const char* d_y) {
    return {name, {x, d_y}, [x, d_y](const Replay& at) { return std::vector<DenseUse>{rows_through(at(x), at(d_y))}; }};
}

/// Queries, keys or values of words; with shared projections those of the relative table too.
DensePlace projection(const char* name, const char* x, const char* stem, const char* of_table = nullptr,
                      bool Terms::*term = nullptr) {
    std::vector<std::string> inputs = {x, std::string("grad.") + stem};
    if (of_table) inputs.insert(inputs.end(), {"/relative.table", std::string("grad.") + of_table});
    return {name, inputs, [=](const Replay& at) {
                const Tensor<double>& heads = at(std::string("grad.") + stem);
                std::vector<DenseUse> uses = {{at(x).rows(), side_by_side(heads), heads.extent(0), false}};
                const DebertaConfig& config = config_of(at);
                if (of_table && config.share_att_key && config.terms.*term)
                    uses.push_back(
                        {at("/relative.table").rows(), side_by_side(at(std::string("grad.") + of_table)), 1, true});
                return uses;
            }};
}

/// A projection of the relative table that is not shared.
DensePlace of_table(const char* name, const char* stem) {
    return {name, {"/relative.table", stem}, [stem](const Replay& at) {
                return std::vector<DenseUse>{{at("/relative.table").rows(), side_by_side(at(stem)), 1, true}};
            }};
}

const std::vector<DensePlace>& dense_places() {
    static const std::vector<DensePlace> places = {
        projection("encoder.layer.#.attention.self.query_proj", "x_q", "q", "q_r", &Terms::p2c),
        projection("encoder.layer.#.attention.self.key_proj", "x", "k", "k_r", &Terms::c2p),
        projection("encoder.layer.#.attention.self.value_proj", "x", "v"),
        of_table("encoder.layer.#.attention.self.pos_key_proj", "grad.k_r"),
        of_table("encoder.layer.#.attention.self.pos_query_proj", "grad.q_r"),
        plain("encoder.layer.#.attention.output.dense", "context", "grad.attention_sum"),
        plain("encoder.layer.#.intermediate.dense", "attention", "grad.ffn_in"),
        plain("encoder.layer.#.output.dense", "ffn_act", "grad.ffn"),
        {"embeddings.embed_proj",
         {"/embeddings.word", "/grad.embeddings.sum"},
         [](const Replay& at) {
             const Matrix<double> rows = embedding_rows(at, config_of(at).position_biased_input);
             return std::vector<DenseUse>{{rows, at("/grad.embeddings.sum").rows(), at.input().batch(), false}};
         }},
        plain(kHeads[0].dense, "/head_input", "/grad.head_inner"),
        plain(kHeads[1].dense, "/head_input", "/grad.head_inner"),
    };
    return places;
}

}  // namespace

std::vector<Formula> dense_parameters(const DenseRule& rule, const UseRule& uses) {
    std::vector<Formula> all;
    for (const DensePlace& place : dense_places()) {
        const auto gradients = [&place, rule, uses](const Replay& at) {
            std::vector<DenseUse> together;
            for (const std::string& scope : scopes_of(place.name, at, uses))
                for (DenseUse& use : place.uses(at.elsewhere(scope))) together.push_back(std::move(use));
            return rule(together);
        };
        append(all, of_parameter(place.name + ".weight", place.inputs,
                                 [gradients](const Replay& at) { return as_matrix(gradients(at).weight); }));
        append(all, of_parameter(place.name + ".bias", place.inputs,
                                 [gradients](const Replay& at) { return as_row(gradients(at).bias); }));
    }
    return all;
}

// Tables, and what is no layer of its own.

void add_lookups(const std::vector<Index>& ids, const Matrix<double>& d_rows, Matrix<double>& d_table) {
    for (std::size_t n = 0; n < ids.size(); ++n) {
        if (ids[n] < 0 || ids[n] >= d_table.rows()) throw NotEnough{"an id of the table"};
        d_table.row(ids[n]) += d_rows.row(static_cast<Index>(n));
    }
}

namespace {

Shape table_shape(const Replay& at, const std::string& name) {
    const auto shape = at.model().source->shape(name);
    if (!shape || shape->size() != 2) throw NotEnough{"the table " + name};
    return *shape;
}

Matrix<double> zeros_like(const Replay& at, const std::string& name) {
    const Shape shape = table_shape(at, name);
    return Matrix<double>::Zero(shape[0], shape[1]);
}

/// What the sum of word, type and position rows hands to each of them.
Matrix<double> gradient_of_rows(const Replay& at) {
    const DebertaConfig& config = config_of(at);
    Matrix<double> rows = at("/grad.embeddings.sum").rows();
    if (config.embedding_size != config.hidden_size)
        rows = times<double>(rows, at.deberta().dense("embeddings.embed_proj").weight);
    return rows;
}

/// 0 ... T-1 for every sample.
std::vector<Index> positions_of(const ModelInput& input) {
    std::vector<Index> ids;
    for (Index n = 0; n < input.batch() * input.length(); ++n) ids.push_back(n % input.length());
    return ids;
}

}  // namespace

Matrix<double> word_table_of_lookups(const Replay& at, const LookupRule& rule) {
    const Matrix<double> d_rows = gradient_of_rows(at);
    const IndexTensor& tokens = at.input().tokens;
    if (tokens.size() != d_rows.rows()) throw NotEnough{"a row for each token"};
    Matrix<double> table = zeros_like(at, kWords);
    rule({tokens.values().begin(), tokens.values().end()}, d_rows, table);
    const std::optional<Index> padding = config_of(at).pad_token_id;
    if (padding && *padding >= 0 && *padding < table.rows()) table.row(*padding).setZero();
    return table;
}

Matrix<double> word_table_of_output(const Replay& at) {
    if (output_of(at).table != kWords) return zeros_like(at, kWords);
    return transposed_times<double>(at("/grad.mlm.logits").rows(), at("/mlm.transform").rows());
}

Matrix<double> absolute_table(const Replay& at, const LookupRule& rule) {
    Matrix<double> table = zeros_like(at, kPositions);
    if (config_of(at).position_biased_input) rule(positions_of(at.input()), gradient_of_rows(at), table);
    if (decoder_runs(at)) rule(positions_of(at.input()), at.elsewhere("emd.0.")("grad.x_q").rows(), table);
    return table;
}

std::vector<Formula> table_parameters(const LookupRule& words, const LookupRule& positions) {
    std::vector<Formula> all = of_parameter(
        kWords, {"/grad.embeddings.sum", "/grad.mlm.logits", "/mlm.transform"},
        [words](const Replay& at) { return as_matrix(word_table_of_lookups(at, words) + word_table_of_output(at)); });
    append(all, of_parameter(kPositions, {"/grad.embeddings.sum", "grad.x_q"},
                             [positions](const Replay& at) { return as_matrix(absolute_table(at, positions)); }));
    append(all, of_parameter(kTypes, {"/grad.embeddings.sum"}, [](const Replay& at) {
               const IndexTensor& types = at.input().token_types;
               const Matrix<double> d_rows = gradient_of_rows(at);
               std::vector<Index> ids(static_cast<std::size_t>(d_rows.rows()), 0);
               if (!types.empty()) ids.assign(types.values().begin(), types.values().end());
               Matrix<double> table = zeros_like(at, kTypes);
               add_lookups(ids, d_rows, table);
               return as_matrix(table);
           }));
    return all;
}

namespace {

/// The convolution's own parameters, whose windows belong to one sample each.
Tensor<double> of_convolution(const Replay& at, bool weight) {
    const Replay first = at.elsewhere("layer.0.");
    const Convolution<double>& layer = at.deberta().convolution();
    const Tensor<double>&x = at("/embeddings.output"), &d_y = first("grad.conv");
    Matrix<double> sum = Matrix<double>::Zero(layer.weight.rows(), layer.weight.cols());
    RowVector<double> bias = RowVector<double>::Zero(layer.weight.rows());
    for (Index b = 0; b < x.extent(0); ++b) {
        const ConvolutionGradients<double> one = convolve_backward<double>(x.matrix(b), layer, d_y.matrix(b));
        sum += one.weight;
        bias += one.bias;
    }
    if (!weight) return as_row(bias);
    const auto shape = at.model().source->shape("encoder.conv.conv.weight");
    return {shape.value(), {sum.data(), sum.data() + sum.size()}};
}

std::vector<Formula> other_parameters() {
    std::vector<Formula> all;
    for (const HeadNames& head : kHeads)
        append(all, of_parameter(head.bias, {"/grad.mlm.logits"}, [](const Replay& at) {
                   return as_row(at("/grad.mlm.logits").rows().colwise().sum());
               }));
    append(all, of_parameter("encoder.rel_embeddings.weight", {"/grad.relative.rows"},
                             [](const Replay& at) { return at("/grad.relative.rows"); }));
    for (const bool weight : {true, false})
        append(all, of_parameter(std::string("encoder.conv.conv.") + (weight ? "weight" : "bias"),
                                 {"grad.conv", "/embeddings.output"},
                                 [weight](const Replay& at) { return of_convolution(at, weight); }));
    return all;
}

}  // namespace

std::vector<Formula> deberta_parameter_gradient_formulas() {
    std::vector<Formula> all = norm_parameters(right_norm, uses_of_layer);
    append(all, dense_parameters(summed_uses, uses_of_layer));
    append(all, table_parameters(add_lookups, add_lookups));
    append(all, other_parameters());
    return all;
}

}  // namespace locus::conformance
