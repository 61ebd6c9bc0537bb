#pragma once
// A gradient judged by what the loss does when one number moves a little, and by what others recorded.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/max_abs.h"
#include "tests/oracle_cases.h"

namespace locus::test {

/// REQUIREs found[n] = (loss(of[n] + h) - loss(of[n] - h)) / 2h for every number of `of`, a Matrix, RowVector or Tensor
/// that loss() reads; h = 1e-6, allowed is 1e-6 of the largest number of `found`.  Gradients all below 0.01 are judged
/// by 1e-8 instead: a loss of size 1 in double has no finer differences.
template <class Numbers, class Loss>
void check_differences(const std::string& name, Numbers& of, const Numbers& found, Loss loss) {
    constexpr double kStep = 1e-6;
    INFO("gradient of " << name << ": " << found.size() << " numbers for " << of.size());
    REQUIRE(found.size() == of.size());
    double largest = 0.01;
    for (Index n = 0; n < found.size(); ++n) largest = std::max(largest, std::abs(found.data()[n]));
    for (Index n = 0; n < of.size(); ++n) {
        const double before = of.data()[n];
        of.data()[n] = before + kStep;
        const double above = loss();
        of.data()[n] = before - kStep;
        const double below = loss();
        of.data()[n] = before;
        INFO("number " << n << ": " << found.data()[n] << ", by differences " << (above - below) / (2 * kStep));
        REQUIRE(std::abs((above - below) / (2 * kStep) - found.data()[n]) <= 1e-6 * largest);
    }
}

/// The contract of the recorded cases: max |found - expected| <= tolerance * max(1, max |expected|); false for NaN and
/// for another shape.
inline bool near(const Matrix<double>& found, const Matrix<double>& expected, double tolerance = 1e-12) {
    return found.rows() == expected.rows() && found.cols() == expected.cols() && found.size() > 0 &&
           max_abs(found - expected) <= tolerance * std::max(1.0, max_abs(expected));
}

/// Operands and recorded gradients of one case of tests/oracle.
struct GradientCase {
    explicit GradientCase(const std::string& name)
        : json(read_json(kOracle / name / "case.json")),
          inputs(read_trace(kOracle / name / "inputs.safetensors")),
          trace(read_trace(kOracle / name / "trace.safetensors")),
          tolerance(json["tolerance"].get<double>()) {}

    /// The last two axes at one place of the others; one axis alone is one row.
    Matrix<double> input(const std::string& name, Index at = 0) const { return sheet(inputs, name, at); }
    Matrix<double> recorded(const std::string& name, Index at = 0) const { return sheet(trace, name, at); }
    bool agrees(const Matrix<double>& found, const std::string& name, Index at = 0) const {
        return near(found, recorded(name, at), tolerance);
    }

    nlohmann::json json;
    Trace inputs, trace;
    double tolerance;

private:
    static Matrix<double> sheet(const Trace& from, const std::string& name, Index at) {
        const Tensor<double>& all = from.at(name).as<double>();
        if (all.rank() < 2) return Eigen::Map<const Matrix<double>>(all.data(), 1, all.size());
        return all.matrix(at);
    }
};

}  // namespace locus::test
