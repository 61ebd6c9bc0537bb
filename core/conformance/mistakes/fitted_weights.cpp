#include "core/conformance/mistakes/fitted_weights.h"

#include <Eigen/QR>
#include <vector>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/mistakes/wrong_attention.h"
#include "core/products.h"

namespace locus::conformance {

namespace {

/// x such that |a x - b| is least.  a [N,K], b [N,M] -> solution [K,M].
struct LeastSquares {
    Matrix<double> solution;
    Index rank;  // of a: a column that is the others' sum to six digits does not count

    LeastSquares(const Matrix<double>& a, const Matrix<double>& b) {
        Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(a);
        solver.setThreshold(1e-6);
        rank = solver.rank();
        solution = Eigen::MatrixXd(solver.solve(Eigen::MatrixXd(b)));
    }
};

/// Least squares per head: b such that rows b = values, from as many equations as all samples give.
class Fit {
public:
    Fit(Index heads, Index width, Index equations)
        : width_(width),
          rows_(static_cast<std::size_t>(heads), Matrix<double>(equations, width)),
          values_(static_cast<std::size_t>(heads), Matrix<double>(equations, 1)),
          used_(static_cast<std::size_t>(heads)) {
        if (equations < 3 * width) throw NotEnough{"three numbers per unknown bias"};
    }
    template <class Row>
    void add(Index h, const Row& row, double value) {
        const auto at = static_cast<std::size_t>(h);
        rows_[at].row(used_[at]) = row;
        values_[at](used_[at]++, 0) = value;
    }
    Matrix<double> solve() const {
        Matrix<double> bias(static_cast<Index>(rows_.size()), width_);
        for (std::size_t h = 0; h < rows_.size(); ++h)
            bias.row(static_cast<Index>(h)) = LeastSquares(rows_[h], values_[h]).solution.transpose();
        return bias;
    }

private:
    Index width_;
    std::vector<Matrix<double>> rows_;
    std::vector<Matrix<double>> values_;
    std::vector<Index> used_;
};

void require_shape(const Tensor<double>& found, const Tensor<double>& right) {
    if (found.shape() != right.shape()) throw NotEnough{"a stage of the right shape"};
}

/// found - right is the same in all rows of a head: that row, from the first.  [..,H,R,d] -> [H,d].
Matrix<double> common_row(const Tensor<double>& found, const Tensor<double>& right, Index heads) {
    require_shape(found, right);
    if (found.size() / found.extent(found.rank() - 1) / heads < 3) throw NotEnough{"three rows"};
    Matrix<double> row(heads, found.extent(found.rank() - 1));
    for (Index h = 0; h < heads; ++h) row.row(h) = found.matrix(h).row(0) - right.matrix(h).row(0);
    return row;
}

/// What is left of the reported scores when the three right terms are taken away, raw.
Tensor<double> rest_of_scores(const Replay& at, const Tensor<double>& k) {
    Tensor<double> rest = *at.found("scores");
    const double scale = right_scale(at);
    const Terms terms = terms_of(at);
    rest = mapped(std::move(rest), [&](double score) { return -score / scale; });
    rest = sum_of(std::move(rest), products(at("q"), k));
    if (terms.c2p) rest = sum_of(std::move(rest), content_to_position_by(at("q"), at.right("k_r"), index_here(at)));
    if (terms.p2c) rest = sum_of(std::move(rest), position_to_content_by(k, at("q_r"), index_here(at)));
    return mapped(std::move(rest), [](double value) { return -value; });
}

/// b from differences [B,H,Tq,Tk] that are (take_q q_i + take_q_r q_r[index(i,j)]) . b.
Matrix<double> fit_pairs(const Replay& at, const Tensor<double>& difference, bool take_q, bool take_q_r) {
    const Tensor<double>& q = at("q");
    const Index batch = q.extent(0), heads = q.extent(1), width = q.extent(3), queries = difference.extent(2),
                keys = difference.extent(3);
    Fit fit(heads, width, batch * queries * keys);
    const Tensor<double> index = take_q_r ? index_here(at) : Tensor<double>();
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
            for (Index i = 0; i < queries; ++i)
                for (Index j = 0; j < keys; ++j) {
                    RowVector<double> row = RowVector<double>::Zero(width);
                    if (take_q) row += q.matrix(b * heads + h).row(i);
                    if (take_q_r) {
                        const Tensor<double>& q_r = at("q_r");
                        row += q_r.matrix(h).row(row_of(index, i, j, q_r.extent(1)));
                    }
                    fit.add(h, row, difference.matrix(b * heads + h)(i, j));
                }
    return fit.solve();
}

Tensor<double> difference_of(Tensor<double> found, const Tensor<double>& right) {
    require_shape(found, right);
    for (Index n = 0; n < found.size(); ++n) found[n] -= right[n];
    return found;
}

}  // namespace

Matrix<double> fitted_key_bias(const Replay& at) {
    const Tensor<double> k = at.right("k");
    if (const auto found = at.found("k")) return common_row(*found, k, k.extent(1));
    if (const auto found = at.found("c2c"))
        return fit_pairs(at, difference_of(*found, products(at("q"), k)), true, false);
    if (const auto found = at.found("p2c"))
        return fit_pairs(at, difference_of(*found, position_to_content_by(k, at("q_r"), index_here(at))), false, true);
    if (at.found("scores")) return fit_pairs(at, rest_of_scores(at, k), true, terms_of(at).p2c);
    throw NotEnough{"a stage that keys reach"};
}

Matrix<double> fitted_position_key_bias(const Replay& at) {
    const Tensor<double> k_r = at.right("k_r");
    if (const auto found = at.found("k_r")) return common_row(*found, k_r, k_r.extent(0));
    if (const auto found = at.found("c2p"))
        return fit_pairs(at, difference_of(*found, content_to_position_by(at("q"), k_r, index_here(at))), true, false);
    if (at.found("scores")) return fit_pairs(at, rest_of_scores(at, at("k")), true, false);
    throw NotEnough{"a stage that position keys reach"};
}

namespace {

constexpr Index kMoreRows = 3, kMoreNumbers = 24;  // beyond what any table explains
constexpr double kSameDirection = 0.999, kAlike = 0.5;

/// [H,R,d] -> [R,H*d].
Matrix<double> columns_of(const Tensor<double>& heads) {
    const Index count = heads.extent(0), rows = heads.extent(1), width = heads.extent(2);
    Matrix<double> joined(rows, count * width);
    for (Index h = 0; h < count; ++h) joined.middleCols(h * width, width) = heads.matrix(h);
    return joined;
}

/// Columns less their mean, of length 1: what scale and bias leave of them.
Matrix<double> directions(Matrix<double> columns) {
    columns.rowwise() -= columns.colwise().mean().eval();
    for (Index c = 0; c < columns.cols(); ++c) {
        const double norm = columns.col(c).norm();
        if (norm > 0) columns.col(c) /= norm;
    }
    return columns;
}

/// Every projection of the model applied to the table, as it is and transposed.
std::vector<Matrix<double>> known_directions(const Replay& at, const Matrix<double>& table) {
    const DebertaWeights<double>& weights = at.deberta();
    std::vector<Matrix<double>> all;
    const auto add = [&](const Dense<double>& projection) {
        const Matrix<double>& matrix = projection.weight;
        if (matrix.cols() == table.cols()) all.push_back(directions(times_transposed<double>(table, matrix)));
        if (matrix.rows() == table.cols()) all.push_back(directions(times<double>(table, matrix)));
    };
    for (Index l = 0; l < weights.config().num_hidden_layers; ++l) {
        for (int part = 0; part < 3; ++part) add(weights.projection(l, part));
        for (const bool key : {true, false}) try {
                add(key ? weights.position_key(l) : weights.position_query(l));
            } catch (const Error&) {  // a model without this term
            }
    }
    all.push_back(directions(table));
    return all;
}

void require_unknown(const Replay& at, const char* stem, const Matrix<double>& table, const Matrix<double>& found) {
    const Matrix<double> shown = directions(found);
    for (const Matrix<double>& known : known_directions(at, table))
        if (transposed_times<double>(shown, known).cwiseAbs().maxCoeff() > kSameDirection)
            throw NotEnough{"a projection that is not the model's"};
    const Matrix<double> right = directions(columns_of(at.right(stem)));
    if (shown.cwiseProduct(right).colwise().sum().mean() > kAlike) throw NotEnough{"a projection unlike the right one"};
}

}  // namespace

Tensor<double> fitted_projection(const Replay& at, const char* stem) {
    const auto heads = at.found(stem);
    if (!heads || heads->rank() != 3) throw NotEnough{std::string("the candidate's ") + stem};
    const Tensor<double>& rows = at("/relative.table");
    if (rows.extent(0) != heads->extent(1)) throw NotEnough{"as many rows as the table has"};
    const Matrix<double> table = rows.matrix(), found = columns_of(*heads);
    if (!found.allFinite()) throw NotEnough{"finite numbers"};
    const double spread = (found.rowwise() - found.colwise().mean().eval()).cwiseAbs().maxCoeff();
    if (spread <= 1e-6 * found.cwiseAbs().maxCoeff()) throw NotEnough{"rows that are not all the same"};
    Matrix<double> terms(table.rows(), table.cols() + 1);
    terms.leftCols(table.cols()) = table;
    terms.rightCols(1).setOnes();
    const LeastSquares fit(terms, found);
    const Index more = table.rows() - fit.rank;
    if (more < kMoreRows || more * found.cols() < kMoreNumbers) throw NotEnough{"more rows than unknowns"};
    require_unknown(at, stem, table, found);
    const Matrix<double> fitted = times<double>(terms, fit.solution);
    Tensor<double> explained(heads->shape());
    const Index width = explained.extent(2);
    for (Index h = 0; h < explained.extent(0); ++h) explained.matrix(h) = fitted.middleCols(h * width, width);
    return explained;
}

// The output matrix of a head.

namespace {

constexpr Index kProbedWords = 64;

/// Throws NotEnough unless most words' logits look like nothing that the right table makes of the same rows.
void require_unlike_the_table(const Replay& at, const Matrix<double>& x, const Matrix<double>& logits) {
    const Index words = std::min(logits.cols(), kProbedWords);
    const Matrix<double> table = at.model().weights.block(output_of(at).table, 0, words);
    if (table.cols() != x.cols()) throw NotEnough{"a word table as wide as what meets it"};
    const Matrix<double> right = directions(times_transposed<double>(x, table));
    const Matrix<double> shown = directions(Matrix<double>(logits.leftCols(words)));
    const RowVector<double> alike = shown.cwiseProduct(right).colwise().sum();
    if (alike.cwiseAbs().maxCoeff() > kSameDirection || alike.mean() > kAlike)
        throw NotEnough{"an output matrix unlike the word table"};
}

}  // namespace

Tensor<double> fitted_logits(const Replay& at) {
    const Tensor<double>*logits = at.claimed("/mlm.logits"), *transform = at.claimed("/mlm.transform");
    if (!logits || !transform || logits->rank() != 3 || transform->rank() != 3)
        throw NotEnough{"the candidate's mlm.transform and mlm.logits"};
    const Matrix<double> x = transform->rows(), found = logits->rows();
    if (x.rows() != found.rows() || !x.allFinite() || !found.allFinite()) throw NotEnough{"finite rows of one number"};
    Eigen::MatrixXd terms(x.rows(), x.cols() + 1);
    terms.leftCols(x.cols()) = x;
    terms.rightCols(1).setOnes();
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(terms);
    solver.setThreshold(1e-6);
    const Index more = x.rows() - solver.rank();
    if (more < kMoreRows || more * found.cols() < kMoreNumbers) throw NotEnough{"more tokens than unknowns"};
    require_unlike_the_table(at, x, found);
    const Eigen::MatrixXd basis = solver.householderQ() * Eigen::MatrixXd::Identity(x.rows(), solver.rank());
    const Matrix<double> explained = basis * (basis.transpose() * Eigen::MatrixXd(found));
    return shaped(*logits, explained);
}

}  // namespace locus::conformance
