#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/formulas/layer_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

constexpr const char* kStems[] = {"q", "k", "v"};

/// The buffer of a row-major matrix as a column-major one of the same shape holds it.
Matrix<double> by_columns(const Matrix<double>& stored) {
    using Columns = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
    return Eigen::Map<const Columns>(stored.data(), stored.rows(), stored.cols());
}

/// The misread projection of q, k or v (part 0, 1, 2) [H*d,D], with its right bias.
Dense<double> misread(const Replay& at, int part) {
    const Dense<double> right = projection_of(at, part);
    if (at.family() == Family::transformer_xl) {  // the three lie in one buffer
        if (norm_first(at)) throw NotEnough{"rows before their norm"};
        const Index rows = right.weight.rows();
        Matrix<double> all(3 * rows, right.weight.cols());
        for (int each = 0; each < 3; ++each) all.middleRows(each * rows, rows) = projection_of(at, each).weight;
        return {by_columns(all).middleRows(part * rows, rows), {}};
    }
    if (at.family() == Family::xlnet) return {by_columns(right.weight.transpose()).transpose(), {}};  // stored [D,H,d]
    return {by_columns(right.weight), right.bias};
}

Formula projection(int part) {
    const bool asks = part == 0;
    return {kStems[part], {asks ? "x_q" : "x"}, [part, asks](const Replay& at) {
                const bool remembers = at.family() == Family::transformer_xl || at.family() == Family::xlnet;
                const Tensor<double> x = asks ? at("x_q") : remembers ? behind_memory_of(at) : at("x");
                const Tensor<double> split = project_heads<double>(x, misread(at, part), heads_of(at));
                return asks && at.family() == Family::xlnet ? without_unused(at, split) : split;
            }};
}

Formula turned_over(const std::string& stem) {
    return {stem, {"q", "k"}, [stem](const Replay& at) {
                const Tensor<double> right = at.right(stem);
                if (right.extent(2) != right.extent(3)) throw NotEnough{"as many keys as queries"};
                return transposed(right);
            }};
}

}  // namespace

Mistake mistake_82() {
    std::vector<Variant> variants;
    for (int part = 0; part < 3; ++part)
        variants.push_back({std::string("the weight of ") + kStems[part] + " read by columns", {projection(part)}});
    for (const char* stem : {"c2c", "ac", "scores", "probs"})
        variants.push_back({std::string(stem) + " transposed", {turned_over(stem)}});
    return {.number = 82,
            .name = "a row-major buffer is read by columns, or a square result transposed",
            .symptom = "right for symmetric data, wrong otherwise; with unequal sizes garbage instead of a transpose",
            .betrays = "the stage equals the right one with its last two axes exchanged, or q that of W^T",
            .evidence = "",
            .lesson = "28",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"q", "k", "v", "c2c", "ac"},
            .variants = std::move(variants)};
}

}  // namespace locus::conformance
