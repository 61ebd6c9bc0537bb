#pragma once
// The small steps of RoFormer's formulas, right and wrong.
#include "core/positions/rotary.h"
#include "tests/conformance/arithmetic.h"

namespace locus::conformance {

inline Tensor<double> as_rows(const Matrix<double>& rows) {
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

/// Every head of x [B,H,T,d] turned by the angles [T,d/2].
inline Tensor<double> turned(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos,
                             RotaryLayout layout) {
    const RotaryTable<double> table{sin.matrix(), cos.matrix()};
    return each_head(x, x.extent(2), x.extent(3),
                     [&](Index at, Index, Index) { return rotate<double>(x.matrix(at), table, layout); });
}

}  // namespace locus::conformance
