// Mistake 37.  Dropout that acts outside training, or at another place than in training.
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace dropout_while_testing {  // mistake 37

/// 1 - p of one of the names that families give to dropout.  Throws NotEnough where there is none, or p is 0.
double kept(const Replay& at, const std::vector<const char*>& names) {
    const nlohmann::json config = nlohmann::json::parse(at.model().config_json);
    for (const char* name : names)
        if (config.contains(name) && config[name].is_number()) {
            const double p = config[name];
            if (p > 0 && p < 1) return 1 - p;
        }
    throw NotEnough{"a dropout probability"};
}

std::vector<const char*> of_attention() { return {"attention_probs_dropout_prob", "dropatt"}; }
std::vector<const char*> of_hidden() { return {"hidden_dropout_prob", "dropout"}; }

Formula scaled(const char* stem, std::vector<std::string> inputs, std::vector<const char*> (*names)(), int power) {
    return {stem, std::move(inputs), [=](const Replay& at) {
                const double factor = std::pow(kept(at, names()), power);
                return mapped(at.right(stem), [&](double value) { return value * factor; });
            }};
}

/// softmax((1 - p) scores).
Formula before_softmax() {
    return probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
        return masked_softmax<double>(kept(at, of_attention()) * scores, visible_pairs(at, b, h), at.masked_row());
    });
}

/// norm((1 - p) dense(context) + x_q).
Formula scaled_dense() {
    return {"attention", {"context", "x_q"}, [](const Replay& at) {
                const double factor = kept(at, of_hidden());
                const Tensor<double> residual = mapped(at("x_q"), [&](double value) { return value / factor; });
                const Tensor<double> sum =
                    mapped(attention_sum(at, residual), [&](double value) { return value * factor; });
                return after_sum(at, sum, attention_norm_of(at));
            }};
}

/// A random mask, as the candidate's own zeros show it; the factor 1 / (1 - p) is what most of the rest agree on.
/// Every value that is left must then be the right one times that factor.
Formula dropped_at_random(const char* stem, std::vector<std::string> inputs) {
    return {stem, std::move(inputs), [stem](const Replay& at) {
                const Tensor<double>* found = at.claimed(stem);
                Tensor<double> values = at.right(stem);
                if (!found || found->shape() != values.shape()) throw NotEnough{"the candidate's own zeros"};
                std::vector<double> ratios;
                Index zeros = 0;
                for (Index n = 0; n < values.size(); ++n) {
                    if (values[n] == 0) continue;
                    if ((*found)[n] == 0)
                        ++zeros;
                    else
                        ratios.push_back((*found)[n] / values[n]);
                }
                if (zeros == 0 || ratios.size() < 16) throw NotEnough{"zeros among values that are left"};
                const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
                std::nth_element(ratios.begin(), middle, ratios.end());
                const double factor = *middle;
                if (!(factor > 1.0001 && factor < 10)) throw NotEnough{"a factor 1 / (1 - p)"};
                for (Index n = 0; n < values.size(); ++n) values[n] = (*found)[n] == 0 ? 0 : values[n] * factor;
                return values;
            }};
}

/// What dropout usually is set to, where a configuration does not say; 1 / (1 - p) is the factor of what it leaves.
std::vector<double> probabilities(const Replay& at) {
    std::vector<double> all = {0.1, 0.2, 0.05, 0.3, 0.15, 0.25, 0.5};
    try {
        all.insert(all.begin(), 1 - kept(at, of_hidden()));
    } catch (const NotEnough&) {
    }
    return all;
}

/// Which numbers of a part were left, 1 or 0, and by which factor; `off`: the largest of what they do not explain.
struct Left {
    Matrix<double> mask;
    double factor = 1, off = 0;
};

/// Throws NotEnough unless some numbers are 0 and more than a few are left, as dropout does it.
void require_a_random_mask(const Matrix<double>& mask) {
    const double left = mask.sum(), all = static_cast<double>(mask.size());
    if (left == all || left < 0.3 * all) throw NotEnough{"zeros among values that are left"};
}

/// found = base + mask factor part, number by number.
Left left_of(const Matrix<double>& found, const Matrix<double>& base, const Matrix<double>& part, double factor) {
    Left left{Matrix<double>::Zero(part.rows(), part.cols()), factor, 0};
    for (Index n = 0; n < part.size(); ++n) {
        const double rest = found.data()[n] - base.data()[n], whole = factor * part.data()[n];
        left.mask.data()[n] = std::abs(rest - whole) < std::abs(rest) ? 1 : 0;
        left.off = std::max(left.off, std::min(std::abs(rest - whole), std::abs(rest)));
    }
    return left;
}

/// scale found + offset = base + mask factor part, of one row behind a norm, which keeps neither scale nor offset.  Two
/// numbers of the row give both, for each of the four cases that they may have been left in; the others choose a case.
Left left_behind_a_norm(const Matrix<double>& found, const Matrix<double>& base, const Matrix<double>& part,
                        double factor) {
    Index high = 0, low = 0;
    found.row(0).maxCoeff(&high);
    found.row(0).minCoeff(&low);
    Left best;
    best.off = std::numeric_limits<double>::infinity();
    for (const double left_high : {0.0, 1.0})
        for (const double left_low : {0.0, 1.0}) {
            const double upper = base(0, high) + left_high * factor * part(0, high),
                         lower = base(0, low) + left_low * factor * part(0, low);
            const double scale = (upper - lower) / (found(0, high) - found(0, low));
            if (!(scale > 0)) continue;
            const Matrix<double> before = (found.array() - found(0, high)) * scale + upper;
            if (Left one = left_of(before, base, part, factor); one.off < best.off) best = std::move(one);
        }
    if (best.mask.size() == 0) throw NotEnough{"two numbers of a row"};
    return best;
}

/// Rows before a norm, or, where norms stand in front, as they are: found = norm(base + mask factor part).
Left left_in_sum(const Replay& at, const Matrix<double>& found, const Matrix<double>& base, const Matrix<double>& part,
                 const Norm<double>& norm, double factor) {
    if (norm_first(at)) return left_of(found, base, part, factor);
    Left all{Matrix<double>(part.rows(), part.cols()), factor, 0};
    for (Index n = 0; n < part.rows(); ++n) {
        const Matrix<double> before = (found.row(n) - norm.bias).cwiseQuotient(norm.weight);
        const Left one = left_behind_a_norm(before, base.row(n), part.row(n), factor);
        all.mask.row(n) = one.mask;
        all.off = std::max(all.off, one.off);
    }
    return all;
}

/// norm(base + mask part / (1 - p)), the mask as the candidate's own rows show it.
Tensor<double> sum_of_what_is_left(const Replay& at, const Tensor<double>& found, const Tensor<double>& base,
                                   const Tensor<double>& part, const Norm<double>& norm) {
    if (found.shape() != part.shape() || part.extent(2) < 8) throw NotEnough{"rows of eight numbers or more"};
    if (!(norm.weight.cwiseAbs().minCoeff() > 0)) throw NotEnough{"a norm whose weights are not 0"};
    Left best;
    best.off = std::numeric_limits<double>::infinity();
    for (const double p : probabilities(at))
        if (Left one = left_in_sum(at, found.rows(), base.rows(), part.rows(), norm, 1 / (1 - p)); one.off < best.off)
            best = std::move(one);
    require_a_random_mask(best.mask);
    const Matrix<double> left = best.factor * best.mask.cwiseProduct(Matrix<double>(part.rows()));
    return after_sum(at, sum_of(shaped(base, left), base), norm);
}

Formula attention_dropped() {
    return {"attention", {"context", "x_q"}, [](const Replay& at) {
                const Tensor<double>* found = at.claimed("attention");
                if (!found) throw NotEnough{"the candidate's own rows"};
                const Tensor<double> nothing(at("x_q").shape());
                return sum_of_what_is_left(at, *found, at("x_q"), attention_sum(at, nothing), attention_norm_of(at));
            }};
}

std::vector<Formula> feed_forward_dropped() {
    return output_by([](const Replay& at) {
        const Tensor<double>* found = at.claimed("output_before_conv");
        if (!found) found = at.claimed("output");
        if (!found) throw NotEnough{"the candidate's own rows"};
        return sum_of_what_is_left(at, *found, at("attention"), at("ffn"), ffn_norm_of(at));
    });
}

/// act(conv / (1 - p)) where the candidate's own is not 0.
Formula convolution_dropped() {
    return {"conv_act", {"conv"}, [](const Replay& at) {
                need_convolution(at);
                const Tensor<double>* found = at.claimed("conv_act");
                Tensor<double> values = at("conv"), best;
                if (!found || found->shape() != values.shape()) throw NotEnough{"the candidate's own zeros"};
                hide_tokens(at, values);
                double least = std::numeric_limits<double>::infinity();
                for (const double p : probabilities(at)) {
                    Matrix<double> rows = values.rows() / (1 - p);
                    for (Index n = 0; n < rows.size(); ++n) rows.data()[n] *= (*found)[n] != 0 ? 1 : 0;
                    const Matrix<double> active = activate<double>(rows, at.deberta().config().conv_act);
                    const double off = (active - Matrix<double>(found->rows())).cwiseAbs().maxCoeff();
                    if (off < least) best = shaped(values, active);
                    least = std::min(least, off);
                }
                require_a_random_mask(Matrix<double>((found->rows().array() != 0).cast<double>()));
                return best;
            }};
}

/// The relative table, a random part of which was left when it was projected: what was projected is found by the
/// inverse of a square projection.
Formula table_dropped(const char* stem) {
    return {stem, {"/relative.table"}, [stem](const Replay& at) {
                const Tensor<double>*found = at.claimed(stem), &table = at("/relative.table");
                const bool is_query = std::string_view(stem) == "q_r";
                const Dense<double> projection =
                    is_query ? at.deberta().position_query(at.layer()) : at.deberta().position_key(at.layer());
                const Index width = table.extent(1);
                if (!found || found->shape() != at.right(stem).shape() || projection.weight.rows() != width)
                    throw NotEnough{"the candidate's own rows, as wide as the table"};
                Matrix<double> rows(table.extent(0), width);  // heads joined
                for (Index h = 0; h < found->extent(0); ++h)
                    rows.middleCols(h * found->extent(2), found->extent(2)) = found->matrix(h);
                if (projection.bias.size() > 0) rows.rowwise() -= projection.bias;
                const Matrix<double> projected =
                    projection.weight.partialPivLu().solve(Matrix<double>(rows.transpose())).transpose();
                const Matrix<double> nothing = Matrix<double>::Zero(rows.rows(), width);
                Left best;
                best.off = std::numeric_limits<double>::infinity();
                for (const double p : probabilities(at))
                    if (Left one = left_of(projected, nothing, table.matrix(), 1 / (1 - p)); one.off < best.off)
                        best = std::move(one);
                require_a_random_mask(best.mask);
                const Matrix<double> left = best.factor * best.mask.cwiseProduct(Matrix<double>(table.matrix()));
                return table_heads(at, shaped(table, left), projection);
            }};
}

/// Of a program that was never told to judge, as PyTorch is by model.eval(): every place where a random mask may act.
std::vector<Variant> random_masks() {
    return {{"a random mask on probs", {dropped_at_random("probs", {"scores", "scores_mixed"})}, {"probs"}},
            {"a random mask on the embeddings",
             {dropped_at_random("/embeddings.output", {"/embeddings.word"})},
             {"/embeddings.output"}},
            {"a random mask after the feed-forward part", {dropped_at_random("ffn", {"ffn_act"})}, {"ffn"}},
            {"a random mask on the activations", {dropped_at_random("ffn_act", {"attention"})}, {"ffn_act"}},
            {"a random mask on the rows of positions",
             {dropped_at_random("/positions.r", {}), dropped_at_random("/positions.r_backward", {})},
             {"/positions.r"}},
            {"a random mask on the relative table, before it is projected", {table_dropped("q_r")}, {"q_r"}},
            {"a random mask on the relative table, before it is projected", {table_dropped("k_r")}, {"k_r"}},
            {"a random mask on the dense layer after attention", {attention_dropped()}, {"attention"}},
            {"a random mask on the feed-forward part, before the residual joins",
             feed_forward_dropped(),
             {"output_before_conv", "output"}},
            {"a random mask on the convolution", {convolution_dropped()}, {"conv_act"}}};
}

std::vector<Variant> dropout_while_testing() {
    std::vector<Variant> all = {{"scores are scaled by 1 - p before the softmax", {before_softmax()}}};
    all.push_back({"the dense layer after attention times 1 - p", {scaled_dense()}});
    for (const auto names : {of_attention, of_hidden}) {
        const std::string p = names == of_attention ? "p of attention" : "p of hidden states";
        for (const int power : {1, -1}) {
            const std::string by = std::string(power == 1 ? " times" : " divided by") + " 1 - p, " + p;
            all.push_back({"probs" + by, {scaled("probs", {"scores", "scores_mixed"}, names, power)}});
            all.push_back({"probs are right, context" + by, {scaled("context", {"probs", "v"}, names, power)}});
        }
    }
    all.push_back({"the feed-forward part times 1 - p", {scaled("ffn", {"ffn_act"}, of_hidden, 1)}, {"ffn"}});
    all.push_back({"the embeddings times 1 - p",
                   {scaled("/embeddings.output", {"/embeddings.word"}, of_hidden, 1)},
                   {"/embeddings.output"}});
    for (Variant& way : random_masks()) all.push_back(std::move(way));
    return all;
}

Mistake mistake() {
    return {.number = 37,
            .name = "dropout acts outside training: as a random mask or by its factor 1 - p, maybe before the softmax",
            .symptom = "each run gives other numbers (no model.eval()), or the mean of the output shifts",
            .betrays = "some numbers are 0 and the others 1 / (1 - p) of the right ones; or rows of probs sum to 1 - p",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs", "context", "attention"},
            .variants = dropout_while_testing()};
}

}  // namespace dropout_while_testing

std::vector<Mistake> dropout_mistakes() { return {dropout_while_testing::mistake()}; }

}  // namespace locus::conformance
