// Mistakes 40 to 42, 98, 122 and 127.  Layer norm: its epsilon, its mean, its parameters, its axes; the norm of the
// relative table; the mask after that of the embeddings.
#include <algorithm>
#include <cmath>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/models/deberta_weights.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace norm_epsilon {  // mistake 40

/// What a mean and a variance are taken over: mistake 127 for all but channels.
enum class Over { channels, tokens, sample, batch };

/// What a row minus its mean is divided by: variance, eps of the configuration, width.
struct Divisor {
    std::function<double(double variance, double eps, double width)> of;
    bool keeps_mean = false;  // mistake 98: the mean stays, and the variance is that of the row as it is
    Norm<double> (*parameters)(Norm<double>) = nullptr;  // mistake 122: what is taken for weight and bias
    Over over = Over::channels;
    double operator()(double variance, double eps, double width) const { return of(variance, eps, width); }
};

/// One mean and one variance for a block of numbers; columns have their own where `by_column`.
void norm_block(Eigen::Ref<Matrix<double>, 0, Eigen::OuterStride<>> block, double eps, bool by_column) {
    if (by_column) {
        for (Index c = 0; c < block.cols(); ++c) norm_block(block.middleCols(c, 1), eps, false);
        return;
    }
    block.array() -= block.mean();
    block /= std::sqrt(block.squaredNorm() / static_cast<double>(block.size()) + eps);
}

/// x of so many samples, normed over other axes than the channels of a token.
Matrix<double> normed_over(Over over, Matrix<double> x, const Norm<double>& norm, double eps, Index samples) {
    const Index blocks = over == Over::batch ? 1 : samples, rows = x.rows() / blocks;
    if (rows * blocks != x.rows() || rows == 0) throw NotEnough{"rows of whole samples"};
    if (norm.weight.size() > 0 && norm.weight.size() != x.cols()) throw NotEnough{"a norm of this width"};
    for (Index b = 0; b < blocks; ++b) norm_block(x.middleRows(b * rows, rows), eps, over == Over::tokens);
    if (norm.weight.size() > 0)
        for (Index n = 0; n < x.rows(); ++n) x.row(n) = x.row(n).cwiseProduct(norm.weight) + norm.bias;
    return x;
}

/// x of so many samples, which only mistake 127 has to know.
Matrix<double> normed(const Matrix<double>& x, const Norm<double>& of_file, double eps, const Divisor& divisor,
                      Index samples) {
    if (divisor.over != Over::channels) return normed_over(divisor.over, x, of_file, eps, samples);
    const auto width = static_cast<double>(x.cols());
    const Norm<double> norm = divisor.parameters && of_file.weight.size() ? divisor.parameters(of_file) : of_file;
    if (divisor.keeps_mean) {
        if (norm.weight.size() > 0 && norm.weight.size() != x.cols()) throw NotEnough{"a norm of this width"};
        Matrix<double> y(x.rows(), x.cols());
        for (Index n = 0; n < x.rows(); ++n) {
            y.row(n) = x.row(n) / divisor(x.row(n).squaredNorm() / width, eps, width);
            if (norm.weight.size() > 0) y.row(n) = y.row(n).cwiseProduct(norm.weight) + norm.bias;
        }
        return y;
    }
    return normed_by(x, norm, [&](double variance) { return divisor(variance, eps, width); });
}

/// RoFormer norms before it projects, and has no mask there.
Tensor<double> roformer_embeddings(const Replay& at, const Divisor& divisor) {
    const RoformerConfig& config = at.roformer();
    const auto& weights = at.model().weights;
    const Tensor<double>& word = at("/embeddings.word");
    Matrix<double> rows = word.rows();
    if (config.type_vocab_size > 0) {
        const IndexTensor& types = at.input().token_types;
        const Matrix<double> table =
            weights.matrix("embeddings.token_type_embeddings.weight", {config.type_vocab_size, config.embedding_size});
        for (Index n = 0; n < rows.rows(); ++n) rows.row(n) += table.row(types.empty() ? 0 : types[n]);
    }
    rows = normed(rows, weights.norm("embeddings.LayerNorm", config.embedding_size), config.layer_norm_eps, divisor,
                  word.extent(0));
    if (config.embedding_size != config.hidden_size)
        rows = dense<double>(rows, weights.dense("embeddings_project", config.hidden_size, config.embedding_size));
    return shaped(word, rows);
}

Tensor<double> embeddings(const Replay& at, const Divisor& divisor) {
    if (at.family() == Family::roformer) return roformer_embeddings(at, divisor);
    if (at.family() != Family::deberta) return at.right("/embeddings.output");  // no norm there
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    Tensor<double> output = shaped(at("/embeddings.word"), normed(embedding_sum(at, config.position_biased_input),
                                                                  weights.norm("embeddings.LayerNorm"),
                                                                  config.layer_norm_eps, divisor, at.input().batch()));
    hide_tokens(at, output);
    return output;
}

Tensor<double> table(const Replay& at, const Divisor& divisor) {
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    // Of a table without samples, a norm over "all axes but the first" is the right one.
    if (!config.norm_rel_ebd || divisor.over == Over::sample) return at.right("/relative.table");
    const Matrix<double> rows =
        normed(weights.matrix("encoder.rel_embeddings.weight", {2 * config.span(), config.hidden_size}),
               weights.norm("encoder.LayerNorm"), config.layer_norm_eps, divisor, 1);
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

/// The norms of a layer; where they stand in front the stages after them are not the place to look.
Tensor<double> of_layer(const Replay& at, const Tensor<double>& sum, const Norm<double>& norm, const Divisor& divisor) {
    if (norm_first(at)) throw NotEnough{"a post-norm layer"};
    return shaped(sum, normed(sum.rows(), norm, norm_eps_of(at), divisor, sum.extent(0)));
}

Tensor<double> plain_output(const Replay& at, const Divisor& divisor) {
    return of_layer(at, output_sum(at), ffn_norm_of(at), divisor);
}

/// The norm of the convolution too.
Tensor<double> output(const Replay& at, const Divisor& divisor) {
    if (at.family() != Family::deberta) return plain_output(at, divisor);
    if (!convolves(at)) return at("output_before_conv");
    const auto& weights = at.deberta();
    Tensor<double> values = sum_of(at("output_before_conv"), at("conv_act"));
    values.rows() = normed(values.rows(), weights.norm("encoder.conv.LayerNorm"), weights.config().layer_norm_eps,
                           divisor, values.extent(0));
    hide_tokens(at, values);
    return values;
}

Tensor<double> after_attention(const Replay& at, const Divisor& divisor) {
    return of_layer(at, attention_sum(at, at("x_q")), attention_norm_of(at), divisor);
}

Tensor<double> head(const Replay& at, const Divisor& divisor) {
    const HeadParts parts = head_parts(at);
    const Tensor<double>& x = head_input(at);
    const Matrix<double> inner = activate<double>(dense<double>(x.rows(), parts.dense), parts.activation);
    return shaped(x, normed(inner, parts.norm, parts.eps, divisor, x.extent(0)));
}

/// A stage that ends in a norm, what it is made of, and its values by another divisor.
struct NormedStage {
    std::string stem;
    std::vector<std::string> inputs;
    Tensor<double> (*by)(const Replay& at, const Divisor& divisor);
};

const std::vector<NormedStage>& normed_stages() {
    static const std::vector<NormedStage> stages = {
        {"/embeddings.output", {"/embeddings.word"}, embeddings},
        {"/relative.table", {}, table},
        {"attention", {"context", "x_q"}, after_attention},
        {"output_before_conv", {"ffn", "attention"}, plain_output},
        {"output", {"ffn", "attention", "output_before_conv", "conv_act"}, output},
        {"/mlm.transform", {"/head_input"}, head}};
    return stages;
}

Variant variant(std::string how, const Divisor& divisor) {
    Variant way{std::move(how), {}};
    for (const NormedStage& stage : normed_stages())
        way.formulas.push_back({stage.stem, stage.inputs, [=](const Replay& at) { return stage.by(at, divisor); }});
    return way;
}

/// The same in one place alone: some norms of a port may take another eps than the rest.
std::vector<Variant> one_by_one(const std::string& how, const Divisor& divisor) {
    static const std::vector<std::pair<std::string, std::vector<std::string>>> places = {
        {"embeddings", {"/embeddings.output"}},
        {"table", {"/relative.table"}},
        {"norm after attention", {"attention"}},
        {"norm after the feed-forward part", {"output_before_conv", "output"}},
        {"head that predicts words", {"/mlm.transform"}}};
    const Variant everywhere = variant(how, divisor);
    std::vector<Variant> all;
    for (const auto& [place, stems] : places) {
        // Elsewhere the same eps may change less than rounding does.
        Variant one{how + ", at least in the " + place, {}, stems};
        for (const Formula& formula : everywhere.formulas)
            if (std::find(stems.begin(), stems.end(), formula.stem) != stems.end()) one.formulas.push_back(formula);
        all.push_back(std::move(one));
    }
    return all;
}

/// The same where the norms of a layer stand in front, as with pre_lnorm.
Variant in_front(const std::string& how, const Divisor& divisor) {
    const auto norm = [divisor](const Replay& at, const Matrix<double>& rows, const Norm<double>& own) {
        return normed(rows, own, norm_eps_of(at), divisor, at.input().batch());
    };
    Variant way{how + ", in norms that stand in front", attention_behind(norm), {"q", "k", "v", "ffn_act"}};
    for (Formula& formula : feed_forward_behind(norm)) way.formulas.push_back(std::move(formula));
    return way;
}

Divisor with_eps(double eps) {
    return {[eps](double variance, double configured, double) {
        if (eps == configured) throw NotEnough{"another eps than the configuration's"};
        return std::sqrt(variance + eps);
    }};
}

/// What frameworks take where nobody says: BERT 1e-12, DeBERTa 1e-7, Flax 1e-6, PyTorch 1e-5, Keras 1e-3; 0.02 is
/// initializer_range, the number beside it in the configuration.
constexpr std::pair<const char*, double> kOtherEps[] = {{"eps 1e-12", 1e-12}, {"eps 1e-7", 1e-7}, {"eps 1e-6", 1e-6},
                                                        {"eps 1e-5", 1e-5},   {"eps 1e-3", 1e-3}, {"eps 0.02", 0.02}};

/// A normed stage row by row: scaled / sqrt(variance + eps) + shift.
struct NormedRows {
    Matrix<double> scaled, shift;
    std::vector<double> variances;  // empty where the model has no norm in this place
    Shape shape;
};

NormedRows normed_rows(const Replay& at, const NormedStage& stage) {
    NormedRows rows;
    const Tensor<double> whole = stage.by(at, {[&](double variance, double, double) {
                                              rows.variances.push_back(variance);
                                              return 1.0;
                                          }});
    const Tensor<double> half = stage.by(at, {[](double, double, double) { return 2.0; }});
    if (!rows.variances.empty() && static_cast<Index>(rows.variances.size()) != whole.rows().rows())
        throw NotEnough{"a norm for every row"};
    rows.shape = whole.shape();
    rows.scaled = 2 * (whole.rows() - half.rows());
    rows.shift = whole.rows() - rows.scaled;
    return rows;
}

/// The eps that the candidate's row of the least variance, where eps matters most, was divided with.
double fitted_eps(const Replay& at, const NormedStage& stage, const NormedRows& rows) {
    const Tensor<double>* found = at.claimed(stage.stem);
    if (!found || found->shape() != rows.shape) throw NotEnough{"the candidate's own rows"};
    Index least = -1;
    for (Index n = 0; n < rows.scaled.rows(); ++n)
        if (rows.scaled.row(n).squaredNorm() > 0 &&  // what the mask hides is 0
            (least < 0 ||
             rows.variances[static_cast<std::size_t>(n)] < rows.variances[static_cast<std::size_t>(least)]))
            least = n;
    if (least < 0) throw NotEnough{"a row that is not hidden"};
    const auto scaled = rows.scaled.row(least);
    const double factor = scaled.dot(found->rows().row(least) - rows.shift.row(least)) / scaled.squaredNorm();
    const double eps = 1 / (factor * factor) - rows.variances[static_cast<std::size_t>(least)];
    if (!(factor > 0) || !(eps >= 0)) throw NotEnough{"a row divided with an eps"};
    return eps;
}

Tensor<double> by_fitted_eps(const Replay& at, const NormedStage& stage) {
    const NormedRows rows = normed_rows(at, stage);
    if (rows.variances.empty()) return at.right(stage.stem);
    const double eps = fitted_eps(at, stage, rows);
    Tensor<double> values(rows.shape);
    for (Index n = 0; n < rows.scaled.rows(); ++n)
        values.rows().row(n) =
            rows.scaled.row(n) / std::sqrt(rows.variances[static_cast<std::size_t>(n)] + eps) + rows.shift.row(n);
    return values;
}

/// "eps 0.0001", of the first normed stage of this scope whose eps is not the right one.
std::string measured_eps(const Replay& at) {
    for (const NormedStage& stage : normed_stages()) {
        if (stage.stem.starts_with("/") != at.scope().empty() || !at.claimed(stage.stem)) continue;
        const NormedRows rows = normed_rows(at, stage);
        if (rows.variances.empty()) continue;
        const double eps = fitted_eps(at, stage, rows), right = norm_eps_of(at);
        if (std::abs(eps - right) <= 0.1 * right) continue;
        return "eps " + format_number(eps, 3);
    }
    throw NotEnough{"a stage that was divided with another eps"};
}

/// An eps that is not listed, one for each stage.
Variant eps_of_its_own() {
    Variant way{"an eps of its own", {}};
    for (const NormedStage& stage : normed_stages())
        if (stage.stem != "/mlm.transform")  // the head's own is mistake 52
            way.formulas.push_back(
                {stage.stem, stage.inputs, [=](const Replay& at) { return by_fitted_eps(at, stage); }});
    way.measured = measured_eps;
    return way;
}

std::vector<Variant> eps_and_variance() {
    std::vector<Variant> all;
    for (const auto& [how, eps] : kOtherEps) all.push_back(variant(how, with_eps(eps)));
    const std::pair<const char*, Divisor> other_rules[] = {
        {"eps outside the root", {[](double variance, double eps, double) { return std::sqrt(variance) + eps; }}},
        {"unbiased variance",
         {[](double variance, double eps, double width) { return std::sqrt(variance * width / (width - 1) + eps); }}},
        {"unbiased variance, eps outside the root",
         {[](double variance, double eps, double width) { return std::sqrt(variance * width / (width - 1)) + eps; }}},
        // x.std() of PyTorch divides by D - 1, and (x - mean) / (std + 1e-6) is how tutorials write it.
        {"eps 1e-6 outside the root", {[](double variance, double, double) { return std::sqrt(variance) + 1e-6; }}},
        {"unbiased variance, eps 1e-6 outside the root",
         {[](double variance, double, double width) { return std::sqrt(variance * width / (width - 1)) + 1e-6; }}},
        {"divided by the variance, without a root",
         {[](double variance, double eps, double) { return variance + eps; }}}};
    for (const auto& [how, rule] : other_rules) all.push_back(variant(how, rule));
    for (const auto& [how, eps] : kOtherEps)
        for (Variant& one : one_by_one(how, with_eps(eps)))
            // The head's own is mistake 52; DeBERTa alone has a table, and 1e-7 is right there.
            if (one.stems.front() != "/mlm.transform" && (one.stems.front() != "/relative.table" || eps != 1e-7))
                all.push_back(std::move(one));
    all.push_back(eps_of_its_own());
    for (const auto& [how, eps] : kOtherEps)
        if (eps != 1e-5) all.push_back(in_front(how, with_eps(eps)));  // right in every Transformer-XL there is
    for (const auto& [how, rule] : other_rules) all.push_back(in_front(how, rule));
    return all;
}

Mistake mistake() {
    return {
        .number = 40,
        .name = "the layer norm's eps has another value or place, its variance divides by D - 1, or no root is taken",
        .symptom = "a small drift in every normed stage; a large one for eps 1e-3 or 0.02",
        .betrays = "(y - bias) / (y_ref - bias) == sqrt((v + e1) / (v + e2)) per row, or sqrt((D-1)/D) everywhere",
        .evidence = "",
        .lesson = "12",
        .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"attention", "output_before_conv", "output"},
        .variants = eps_and_variance()};
}

std::vector<Variant> root_mean_squares() {
    const Divisor divisor = {[](double variance, double eps, double) { return std::sqrt(variance + eps); }, true};
    std::vector<Variant> all = {variant("everywhere", divisor)};
    for (Variant& one : one_by_one("not everywhere", divisor)) all.push_back(std::move(one));
    all.push_back(in_front("everywhere", divisor));
    return all;
}

/// Mistake 98 stands here because it is made of the same steps.
Mistake without_the_mean() {
    return {.number = 98,
            .name = "the norm divides by the root mean square and leaves the mean where it is",
            .symptom = "every normed stage is a little off, by more where rows have a mean",
            .betrays = "(y - bias) / weight has no mean of 0 per row, but a mean square of 1",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"attention", "output_before_conv", "output"},
            .variants = root_mean_squares()};
}

Divisor with_parameters(Norm<double> (*parameters)(Norm<double>)) {
    return {[](double variance, double eps, double) { return std::sqrt(variance + eps); }, false, parameters};
}

Norm<double> without_weight(Norm<double> norm) {
    norm.weight.setOnes();
    return norm;
}

Norm<double> without_bias(Norm<double> norm) {
    norm.bias.setZero();
    return norm;
}

std::vector<Variant> parameters_of_their_own() {
    const std::pair<const char*, Norm<double> (*)(Norm<double>)> kinds[] = {
        {"weight 1 and bias 0, as before a file is read",
         [](Norm<double> norm) { return without_bias(without_weight(std::move(norm))); }},
        {"bias 0", without_bias},
        {"weight 1", without_weight},
        {"1 + weight", [](Norm<double> norm) {
             norm.weight.array() += 1;
             return norm;
         }}};
    std::vector<Variant> all;
    for (const auto& [how, parameters] : kinds)
        all.push_back(variant(std::string(how) + ", everywhere", with_parameters(parameters)));
    for (const auto& [how, parameters] : kinds)
        for (Variant& one : one_by_one(how, with_parameters(parameters))) all.push_back(std::move(one));
    for (const auto& [how, parameters] : kinds) all.push_back(in_front(how, with_parameters(parameters)));
    return all;
}

/// Mistake 122 too.
Mistake other_parameters() {
    return {.number = 122,
            .name = "norms do not have the file's weights and biases, but 1 and 0, or 1 + weight",
            .symptom = "everything runs, and is as wrong as an untrained model",
            .betrays = "y is norm(x), norm(x) weight or norm(x) + bias; or y - y_ref is norm(x)",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"attention", "output_before_conv", "output"},
            .variants = parameters_of_their_own()};
}

/// Mistake 127 too.
Mistake over_other_axes() {
    const auto over = [](const char* how, Over axes) { return variant(how, {{}, false, nullptr, axes}); };
    return {.number = 127,
            .name = "a norm's mean and variance are taken over all tokens too, or over tokens instead of channels",
            .symptom = "a token's numbers change with its neighbours, with the length of the text and with the batch",
            .betrays = "(y - bias) / weight has mean 0 and variance 1 as a whole, or per channel, but not per token",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"attention", "output_before_conv", "output"},
            .variants = {over("over the tokens and channels of a sample", Over::sample),
                         over("over everything, all samples too", Over::batch),
                         over("over tokens, for each channel", Over::tokens)}};
}

}  // namespace norm_epsilon

namespace norm_of_the_table {  // mistake 41

bool has_norm(const Replay& at) { return at.deberta().config().norm_rel_ebd; }

Matrix<double> raw(const Replay& at) {
    const DebertaConfig& config = at.deberta().config();
    return at.deberta().matrix("encoder.rel_embeddings.weight", {2 * config.span(), config.hidden_size});
}

Matrix<double> normed(const Replay& at, const Matrix<double>& table, Index times) {
    if (!has_norm(at)) throw NotEnough{"a norm on the relative table"};
    Matrix<double> rows = table;
    for (Index n = 0; n < times; ++n)
        rows = layer_norm<double>(rows, at.deberta().norm("encoder.LayerNorm"), at.deberta().config().layer_norm_eps);
    return rows;
}

Tensor<double> as_stage(const Matrix<double>& rows) { return as_tensor<double>({rows.rows(), rows.cols()}, rows); }

/// q_r and k_r of a table that only the layer knows.
std::vector<Formula> table_of_the_layer(std::function<Matrix<double>(const Replay&)> table) {
    const auto heads = [table](const Replay& at, const Dense<double>& projection) {
        return table_heads(at, as_stage(table(at)), projection);
    };
    return {{"q_r",
             {"/relative.table"},
             [heads](const Replay& at) { return heads(at, at.deberta().position_query(at.layer())); }},
            {"k_r", {"/relative.table"}, [heads](const Replay& at) {
                 return heads(at, at.deberta().position_key(at.layer()));
             }}};
}

Mistake mistake() {
    return {.number = 41,
            .name = "the relative table's norm is missing, or there is one too many",
            .symptom = "c2p and p2c have the wrong size; c2c is right",
            .betrays = "relative.table == the raw rows (missing), or its rows have mean 0 and variance 1 (version 1)",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"/relative.table", "q_r", "k_r"},
            .variants = {{"missing",
                          {{"/relative.table",
                            {},
                            [](const Replay& at) {
                                if (!has_norm(at)) throw NotEnough{"a norm on the relative table"};
                                return as_stage(raw(at));
                            }}}},
                         {"applied where the configuration has none",
                          {{"/relative.table",
                            {},
                            [](const Replay& at) {
                                if (has_norm(at)) throw NotEnough{"a raw table"};
                                return as_stage(layer_norm<double>(raw(at), {}, at.deberta().config().layer_norm_eps));
                            }}}},
                         {"applied twice",
                          {{"/relative.table", {}, [](const Replay& at) { return as_stage(normed(at, raw(at), 2)); }}}},
                         {"missing where the layers read the table", table_of_the_layer([](const Replay& at) {
                              if (!has_norm(at)) throw NotEnough{"a norm on the relative table"};
                              return raw(at);
                          })},
                         {"applied a second time in every layer", table_of_the_layer([](const Replay& at) {
                              return normed(at, at("/relative.table").matrix(), 1);
                          })},
                         {"applied once more from layer to layer", table_of_the_layer([](const Replay& at) {
                              return normed(at, at("/relative.table").matrix(), at.layer());
                          })}}};
}

}  // namespace norm_of_the_table

namespace mask_after_the_embeddings {  // mistake 42

Tensor<double> unmasked(const Replay& at, bool before_the_norm) {
    const auto& weights = at.deberta();
    Tensor<double> sum = shaped(at("/embeddings.word"), embedding_sum(at, weights.config().position_biased_input));
    if (before_the_norm) hide_tokens(at, sum);
    return shaped(
        sum, layer_norm<double>(sum.rows(), weights.norm("embeddings.LayerNorm"), weights.config().layer_norm_eps));
}

/// Times 1 - mask: what is hidden stays, and the text is 0.
Tensor<double> with_the_text_hidden(const Replay& at) {
    const IndexTensor& mask = at.input().mask;
    Tensor<double> values = unmasked(at, false);
    if (mask.rank() != 2 || mask.size() != values.rows().rows()) throw NotEnough{"a mask of tokens"};
    for (Index n = 0; n < mask.size(); ++n)
        if (mask[n] != 0) values.rows().row(n).setZero();
    return values;
}

Mistake mistake() {
    return {.number = 42,
            .name = "the embeddings are not multiplied by the mask after their norm, or by its opposite",
            .symptom = "padding is not 0; a convolution carries it into the last real token",
            .betrays = "embeddings.output of hidden tokens is not 0; visible rows are right",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"/embeddings.output"},
            .variants = {
                {"not at all",
                 {{"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) { return unmasked(at, false); }}}},
                {"before the norm, so that hidden tokens hold its bias",
                 {{"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) { return unmasked(at, true); }}}},
                {"by 1 - mask", {{"/embeddings.output", {"/embeddings.word"}, with_the_text_hidden}}}}};
}

}  // namespace mask_after_the_embeddings

std::vector<Mistake> norm_mistakes() {
    return {
        norm_epsilon::mistake(),               // 40
        norm_of_the_table::mistake(),          // 41
        mask_after_the_embeddings::mistake(),  // 42
    };
}

std::vector<Mistake> norm_without_mean_mistakes() { return {norm_epsilon::without_the_mean()}; }
std::vector<Mistake> norm_parameter_mistakes() { return {norm_epsilon::other_parameters()}; }
std::vector<Mistake> norm_axis_mistakes() { return {norm_epsilon::over_other_axes()}; }

}  // namespace locus::conformance
