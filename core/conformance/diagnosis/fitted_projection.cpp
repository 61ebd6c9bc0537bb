#include "core/conformance/diagnosis/fitted_projection.h"

#include <Eigen/QR>
#include <vector>

#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

namespace {

constexpr Index kMoreRows = 3, kMoreNumbers = 24;  // beyond what any table explains
constexpr double kSameDirection = 0.999, kAlike = 0.5;

/// [H,R,d] -> [R,H*d].
Eigen::MatrixXd columns_of(const Tensor<double>& heads) {
    const Index count = heads.extent(0), rows = heads.extent(1), width = heads.extent(2);
    Eigen::MatrixXd joined(rows, count * width);
    for (Index h = 0; h < count; ++h) joined.middleCols(h * width, width) = heads.matrix(h);
    return joined;
}

/// Columns less their mean, of length 1: what scale and bias leave of them.
Eigen::MatrixXd directions(Eigen::MatrixXd columns) {
    columns.rowwise() -= columns.colwise().mean().eval();
    for (Index c = 0; c < columns.cols(); ++c) {
        const double norm = columns.col(c).norm();
        if (norm > 0) columns.col(c) /= norm;
    }
    return columns;
}

/// Every projection of the model applied to the table, as it is and transposed.
std::vector<Eigen::MatrixXd> known_directions(const Replay& at, const Eigen::MatrixXd& table) {
    const DebertaWeights<double>& weights = at.deberta();
    std::vector<Eigen::MatrixXd> all;
    const auto add = [&](const Dense<double>& projection) {
        const Eigen::MatrixXd matrix = projection.weight;
        if (matrix.cols() == table.cols()) all.push_back(directions(table * matrix.transpose()));
        if (matrix.rows() == table.cols()) all.push_back(directions(table * matrix));
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

void require_unknown(const Replay& at, const char* stem, const Eigen::MatrixXd& table, const Eigen::MatrixXd& found) {
    const Eigen::MatrixXd shown = directions(found);
    for (const Eigen::MatrixXd& known : known_directions(at, table))
        if ((shown.transpose() * known).cwiseAbs().maxCoeff() > kSameDirection)
            throw NotEnough{"a projection that is not the model's"};
    const Eigen::MatrixXd right = directions(columns_of(at.right(stem)));
    if (shown.cwiseProduct(right).colwise().sum().mean() > kAlike) throw NotEnough{"a projection unlike the right one"};
}

}  // namespace

Tensor<double> fitted_projection(const Replay& at, const char* stem) {
    const auto heads = at.found(stem);
    if (!heads || heads->rank() != 3) throw NotEnough{std::string("the candidate's ") + stem};
    const Tensor<double>& rows = at("/relative.table");
    if (rows.extent(0) != heads->extent(1)) throw NotEnough{"as many rows as the table has"};
    const Eigen::MatrixXd table = rows.matrix(), found = columns_of(*heads);
    if (!found.allFinite()) throw NotEnough{"finite numbers"};
    Eigen::MatrixXd terms(table.rows(), table.cols() + 1);
    terms << table, Eigen::VectorXd::Ones(table.rows());
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(terms);
    solver.setThreshold(1e-6);
    const Index more = table.rows() - solver.rank();
    if (more < kMoreRows || more * found.cols() < kMoreNumbers) throw NotEnough{"more rows than unknowns"};
    require_unknown(at, stem, table, found);
    const Eigen::MatrixXd fitted = terms * solver.solve(found);
    Tensor<double> explained(heads->shape());
    const Index width = explained.extent(2);
    for (Index h = 0; h < explained.extent(0); ++h) explained.matrix(h) = fitted.middleCols(h * width, width);
    return explained;
}

}  // namespace locus::conformance
