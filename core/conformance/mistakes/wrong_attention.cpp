#include "core/conformance/mistakes/wrong_attention.h"

#include "core/attention/disentangled.h"
#include "core/conformance/formulas/deberta.h"

namespace locus::conformance {

Tensor<double> index_here(const Replay& at) { return at("/relative.index"); }

Tensor<double> mirrored_index(const Replay& at) {
    try {
        return rows_by([](const RelativeRule& rule, Index offset) { return rule.row(-offset); })(at);
    } catch (const NotEnough&) {
        // Without the rule, the reference's index tells as much where there are as many keys as queries.
        const auto index = at.expected("/relative.index");
        if (!index || index->rank() != 2 || index->extent(0) != index->extent(1)) throw;
        return as_tensor<double>(index->shape(), index->matrix().transpose());
    }
}

Formula c2p_by(Make index, Make table) {
    return {"c2p", {"q", "k_r", "/relative.index"}, [index, table](const Replay& at) {
                if (table) return content_to_position_by(at("q"), table(at), index(at));
                return gathered_by_query(at.table_products("q", "k_r"), index(at));
            }};
}

Formula p2c_by(Make index, Make table) {
    return {"p2c", {"k", "q_r", "/relative.index"}, [index, table](const Replay& at) {
                if (table) return position_to_content_by(at("k"), table(at), index(at));
                return gathered_by_key(at.table_products("k", "q_r"), index(at));
            }};
}

std::vector<Formula> negated_for_p2c(RowOf bucket, RelativeRule (*rule_of)(const Replay&)) {
    const auto matrix = [bucket, rule_of](const Replay& at, bool negated) {
        const RelativeRule rule = rule_of(at);
        return rule.matrix([&](Index offset) {
            return rule.inside(negated ? rule.span - bucket(rule, -offset) : rule.span + bucket(rule, offset));
        });
    };
    return {{"/relative.index", {}, [matrix](const Replay& at) { return matrix(at, false); }},
            p2c_by([matrix](const Replay& at) { return matrix(at, true); })};
}

Tensor<double> with_row_behind(const Tensor<double>& table, const Matrix<double>& row) {
    const Index heads = table.extent(0), rows = table.extent(1), width = table.extent(2);
    if (row.size() > 0 && (row.rows() != heads || row.cols() != width)) throw NotEnough{"a row of the table's width"};
    Tensor<double> longer({heads, rows + 1, width});
    for (Index h = 0; h < heads; ++h) {
        auto to = longer.matrix(h);
        to.topRows(rows) = table.matrix(h);
        if (row.size() > 0)
            to.row(rows) = row.row(h);
        else
            to.row(rows).setZero();
    }
    return longer;
}

Terms terms_of(const Replay& at) { return at.has_model() ? at.deberta().config().terms : Terms{}; }

Tensor<double> weighted_terms(const Replay& at, const TermFactors& factors) {
    const Terms terms = terms_of(at);
    const auto scaled = [](Tensor<double> term, double factor) {
        return mapped(std::move(term), [=](double value) { return factor * value; });
    };
    Tensor<double> sum = scaled(at("c2c"), factors.c2c);
    if (terms.c2p) sum = sum_of(std::move(sum), scaled(at("c2p"), factors.c2p));
    if (terms.p2c) sum = sum_of(std::move(sum), scaled(at("p2c"), factors.p2c));
    return sum;
}

double right_scale(const Replay& at) { return 1 / right_divisor(at); }

void require_version_1(const Replay& at) {
    if (at.deberta().config().version != 1) throw NotEnough{"a packed projection, as version 1 has it"};
}

Matrix<double> by_head(const RowVector<double>& row, Index heads) {
    return Eigen::Map<const Matrix<double>>(row.data(), heads, row.size() / heads);
}

// Who sees whom.

Mask visible_pairs(const Replay& at, Index b, Index h) {
    try {
        return at.mask(b);
    } catch (const NotEnough&) {  // no inputs: the reference's zeros say it
    }
    const auto probs = at.expected("probs");
    if (!probs) throw NotEnough{"the mask"};
    const auto matrix = probs->matrix(b * probs->extent(1) + h);
    Mask mask(matrix.rows(), matrix.cols());
    for (Index i = 0; i < mask.rows(); ++i)
        for (Index j = 0; j < mask.cols(); ++j) mask(i, j) = matrix(i, j) != 0;
    return mask;
}

bool is_relative(const Replay& at) { return at.family() == Family::transformer_xl || at.family() == Family::xlnet; }

Mask visible_keys(const Replay& at, Index b) {
    if (is_relative(at)) throw NotEnough{"a mask of tokens"};
    const ModelInput& given = at.input();
    if (given.mask.empty()) return {};
    if (given.mask.rank() != 2) throw NotEnough{"a mask of tokens"};
    const Index length = given.length();
    Mask mask(length, length);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) mask(i, j) = given.mask[b * length + j] != 0;
    return mask;
}

bool hides_all(const Mask& mask, Index i) { return mask.size() > 0 && mask.row(i).maxCoeff() == 0; }

// Probabilities by another rule.

const Tensor<double>& softmax_input(const Replay& at) {
    const bool talks = at.has_model() && at.model().deberta && at.deberta().config().talking_head;
    return at(talks ? "scores_mixed" : "scores");
}

/// Rows of a query stream that stand for no target are 0, whatever a softmax makes of them.
void clear_unused_rows(const Replay& at, Index b, Matrix<double>& probs) {
    if (!at.is_query_stream()) return;
    const Tensor<double>& tokens = at("query_tokens");
    for (Index p = 0; p < probs.rows(); ++p)
        if (tokens.matrix()(b, p) < 0) probs.row(p).setZero();
}

Formula probs_by(HeadRule rule) {
    return {"probs", {"scores", "scores_mixed", "query_tokens"}, [rule](const Replay& at) {
                const Tensor<double>& scores = softmax_input(at);
                return each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index h, Index b) {
                    Matrix<double> probs = rule(at, Matrix<double>(scores.matrix(n)), b, h);
                    clear_unused_rows(at, b, probs);
                    at.show("probs", n, probs);
                    return probs;
                });
            }};
}

Matrix<double> plain_softmax(const Matrix<double>& scores) { return masked_softmax<double>(scores, {}); }

void require_hidden(const Mask& mask) {
    if (mask.size() == 0 || mask.minCoeff() != 0) throw NotEnough{"a hidden key"};
}

}  // namespace locus::conformance
