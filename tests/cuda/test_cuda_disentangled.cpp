// CPU = GPU, term by term.  Without a device every test says so in one line and is skipped.
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <limits>
#include <vector>

#include "cuda/reference/disentangled.h"
#include "cuda/reference/indexing.h"
#include "cuda/runtime.h"
#include "tests/max_abs.h"

namespace locus::test::test_cuda_disentangled {

namespace {

bool has_device() {
    if (cuda::available()) return true;
    std::cout << "skipped: " << cuda::why_unavailable() << std::endl;
    return false;
}

/// One size of the probe: fewer and more queries than keys, rows enough and too few.
struct Probe {
    Index queries, keys, width;
    RelativeBuckets line, line_ji;
};

std::vector<Probe> probes() {
    std::vector<Probe> all;
    for (const Index width : {4, 32, 64})
        for (const auto& [queries, keys] :
             std::vector<std::pair<Index, Index>>{{1, 1}, {7, 7}, {33, 33}, {130, 130}, {5, 40}, {40, 5}})
            for (const Index span : {3, 200})
                all.push_back({queries, keys, width, RelativeBuckets::clamped(queries, keys, span),
                               RelativeBuckets::clamped(keys, queries, span)});
    all.push_back({130, 130, 32, RelativeBuckets::logarithmic(130, 130, 16, 64, OffsetClamp::official),
                   RelativeBuckets::logarithmic(130, 130, 16, 64, OffsetClamp::official)});
    return all;
}

/// Both sides sum in the same order and round each step, so only exp may differ: by a few units in the last place.
template <class Scalar>
void check_near(const Matrix<Scalar>& expected, const Matrix<Scalar>& found, double units) {
    REQUIRE((expected.rows() == found.rows() && expected.cols() == found.cols()));
    double worst = 0;
    for (Index n = 0; n < expected.size(); ++n) {
        const double difference = std::abs(double(expected.data()[n]) - double(found.data()[n]));
        if (std::isnan(difference) || difference > worst) worst = difference;  // once no number, it stays none
    }
    const double allowed = units * std::numeric_limits<Scalar>::epsilon() * std::max(1.0, double(max_abs(expected)));
    INFO("largest difference " << worst << ", allowed " << allowed);
    CHECK(worst <= allowed);
}

Mask mask_with_hidden_rows(Index queries, Index keys) {
    Mask mask = Mask::Ones(queries, keys);
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) mask(i, j) = i % 5 != 4 && (i * 7 + j * 3) % 4 != 0;
    return mask;
}

}  // namespace

TEMPLATE_TEST_CASE("cuda: the three terms equal the CPU's", "[cuda]", float, double) {
    if (!has_device()) return;
    for (const Probe& probe : probes()) {
        INFO(probe.queries << " x " << probe.keys << ", d " << probe.width << ", k " << probe.line.span());
        const Matrix<TestType> q = Matrix<TestType>::Random(probe.queries, probe.width),
                               k = Matrix<TestType>::Random(probe.keys, probe.width);
        const Matrix<TestType> k_r = Matrix<TestType>::Random(2 * probe.line.span(), probe.width);
        const Matrix<TestType> q_r = Matrix<TestType>::Random(2 * probe.line.span(), probe.width);
        const double units = 4 * std::sqrt(double(probe.width));
        check_near<TestType>(content_to_content<TestType>(q, k), cuda::content_to_content(q, k), units);
        check_near<TestType>(content_to_position<TestType>(q, k_r, probe.line),
                             cuda::content_to_position(q, k_r, probe.line), units);
        check_near<TestType>(position_to_content<TestType>(k, q_r, probe.line),
                             cuda::position_to_content(k, q_r, probe.line), units);
        check_near<TestType>(position_to_content<TestType>(k, q_r, probe.line_ji, P2cIndex::paper_ji),
                             cuda::position_to_content(k, q_r, probe.line_ji, P2cIndex::paper_ji), units);
    }
}

TEMPLATE_TEST_CASE("cuda: masked softmax and context equal the CPU's", "[cuda]", float, double) {
    if (!has_device()) return;
    for (const Probe& probe : probes())
        for (const MaskedRow masked_row : {MaskedRow::zero, MaskedRow::uniform})
            for (const bool masked : {false, true}) {
                INFO(probe.queries << " x " << probe.keys << (masked ? ", masked" : ""));
                const Matrix<TestType> scores = Matrix<TestType>::Random(probe.queries, probe.keys) * 20;
                const Mask mask = masked ? mask_with_hidden_rows(probe.queries, probe.keys) : Mask();
                const Matrix<TestType> probs = masked_softmax<TestType>(scores, mask, masked_row);
                const Matrix<TestType> found = cuda::masked_softmax(scores, mask, masked_row);
                check_near<TestType>(probs, found, 16);
                for (Index n = 0; n < mask.size(); ++n)
                    if (!mask.data()[n] && masked_row == MaskedRow::zero) REQUIRE(found.data()[n] == 0);
                const Matrix<TestType> v = Matrix<TestType>::Random(probe.keys, probe.width);
                check_near<TestType>(probs * v, cuda::context(probs, v), 4 * std::sqrt(double(probe.keys)));
            }
}

TEST_CASE("cuda emulation: the kernels' places are the bucket line's, for every pair", "[emulation]") {
    for (int queries = 1; queries <= 64; ++queries)
        for (const int keys : {1, 2, 17, queries, 64}) {
            const RelativeBuckets line = RelativeBuckets::clamped(queries, keys, 5),
                                  line_ji = RelativeBuckets::clamped(keys, queries, 5);
            for (long long n = 0; n < static_cast<long long>(queries) * keys; ++n) {
                const cuda::CellIndex cell = cuda::cell_of(n, keys);
                REQUIRE(cell.i * keys + cell.j == n);
                REQUIRE((cell.i < queries && cell.j < keys));
                REQUIRE(line.rows()[static_cast<std::size_t>(cuda::bucket_index(cell.i, cell.j, keys))] ==
                        line.row(cell.i, cell.j));
                REQUIRE(line_ji.rows()[static_cast<std::size_t>(cuda::bucket_index(cell.j, cell.i, queries))] ==
                        line_ji.row(cell.j, cell.i));
            }
        }
}

TEST_CASE("cuda: without a device every function refuses in one sentence, status 4", "[emulation]") {
    if (cuda::available()) {
        CHECK(cuda::why_unavailable().empty());
        CHECK_FALSE(cuda::device_name().empty());
        return;
    }
    CHECK(cuda::why_unavailable().starts_with("no CUDA device ("));
    try {
        cuda::content_to_content<float>(Matrix<float>::Zero(2, 2), Matrix<float>::Zero(2, 2));
        FAIL("computed without a device");
    } catch (const Error& error) {
        CHECK(error.exit_status() == 4);
        CHECK(std::string(error.what()).starts_with("CUDA: "));
    }
}

}  // namespace locus::test::test_cuda_disentangled
