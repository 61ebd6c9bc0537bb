#pragma once
// Gradients of a DeBERTa's parameters from the stages of its backward pass: norms, dense layers, tables.
//
// A parameter of layer l has "#" for the number in its stem, so that one formula serves every layer:
// "grad.deberta.encoder.layer.#.output.dense.weight" in the scope "layer.3.".
#include <functional>

#include "core/conformance/formulas/model_gradients.h"

namespace locus::conformance {

/// A formula for the gradient of a parameter, under the names it has with and without "deberta." before it.
std::vector<Formula> of_parameter(const std::string& name, const std::vector<std::string>& inputs,
                                  const std::function<Tensor<double>(const Replay&)>& compute);

/// The scopes that use the parameters of this scope's layer.  Right: uses_of_layer.
using UseRule = std::function<std::vector<std::string>(const Replay& at)>;

/// Weight and bias of every norm.
std::vector<Formula> norm_parameters(const NormRule& rule, const UseRule& uses);

/// One use of a dense layer: what it read and the gradient of what it gave, row by row.
struct DenseUse {
    Matrix<double> x, d_y;      // [N,in], [N,out]
    Index samples = 1;          // that the rows belong to
    bool of_positions = false;  // the rows are those of the relative table, not those of words
};
/// d_weight [out,in] and d_bias [out] of all uses together.  Right: summed_uses.
using DenseRule = std::function<DenseGradients<double>(const std::vector<DenseUse>& uses)>;
/// The sums of d_y^T x and of the rows of d_y; x is left empty.
DenseGradients<double> summed_uses(const std::vector<DenseUse>& uses);
/// Weight and bias of every dense layer.
std::vector<Formula> dense_parameters(const DenseRule& rule, const UseRule& uses);

/// How rows that were looked up come together in a table: ids [N], d_rows [N,E] -> added to d_table [V,E].
using LookupRule =
    std::function<void(const std::vector<Index>& ids, const Matrix<double>& d_rows, Matrix<double>& d_table)>;
/// Right: every row is added.
void add_lookups(const std::vector<Index>& ids, const Matrix<double>& d_rows, Matrix<double>& d_table);
/// The word table [V,E]: what its lookups add (those of pad_token_id do not count: nn.Embedding(padding_idx)), and what
/// the head adds that multiplies by it.
Matrix<double> word_table_of_lookups(const Replay& at, const LookupRule& rule);
Matrix<double> word_table_of_output(const Replay& at);
/// The absolute table [M,E]: where embeddings or the decoder add its rows.
Matrix<double> absolute_table(const Replay& at, const LookupRule& rule);
/// Both tables, and that of token types.
std::vector<Formula> table_parameters(const LookupRule& words, const LookupRule& positions);

std::vector<Formula> deberta_parameter_gradient_formulas();

}  // namespace locus::conformance
