#include "core/conformance/diagnosis/wrong_terms.h"

#include "core/attention/disentangled.h"

namespace locus::conformance {

Tensor<double> index_here(const Replay& at) { return at("/relative.index"); }

Tensor<double> mirrored_index(const Replay& at) {
    const RelativeRule rule = relative_rule(at);
    return rule.matrix([&](Index offset) { return rule.row(-offset); });
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

double right_scale(const Replay& at) { return 1 / score_divisor<double>(terms_of(at).count(), at("q").extent(3)); }

void require_version_1(const Replay& at) {
    if (at.deberta().config().version != 1) throw NotEnough{"a packed projection, as version 1 has it"};
}

Matrix<double> by_head(const RowVector<double>& row, Index heads) {
    return Eigen::Map<const Matrix<double>>(row.data(), heads, row.size() / heads);
}

}  // namespace locus::conformance
