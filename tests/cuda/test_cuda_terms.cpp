// The GPU kernels that no forward pass calls by themselves: position to position, T5 and ALiBi, whole rotary attention,
// linear attention, the four terms of Transformer-XL, embedding rows.  Here they run on the host; tests/cuda/device
// runs the same checks on a device.
#include "core/attention/rotary.h"
#include "core/positions/offset_bias.h"
#include "core/positions/position_rows.h"
#include "core/products.h"
#include "cuda/reference/reference_operations.h"
#include "tests/cuda/host_backend.h"
#include "tests/cuda/near.h"
#include "tests/cuda/reference_checks.h"

namespace locus::test::test_cuda_terms {

namespace {

using Scalar = float;
using Terms = cuda::StandaloneTerms<float>;

Matrix<Scalar> some(Index rows, Index cols) { return Matrix<Scalar>::Random(rows, cols); }

void check_position_to_position(const Terms& at) {
    for (const Index length : kSizes)
        for (const RelativeBuckets& buckets :
             {RelativeBuckets::clamped(length, length, 3), RelativeBuckets::clamped(length, length, 200),
              RelativeBuckets::logarithmic(length, length, 16, 64, OffsetClamp::hf)}) {
            INFO("T " << length << ", span " << buckets.span());
            const Matrix<Scalar> q_r = some(2 * buckets.span(), 8), k_r = some(2 * buckets.span(), 8);
            check_same(position_to_position<Scalar>(q_r, k_r, buckets), at.position_to_position(q_r, k_r, buckets));
        }
    CHECK_THROWS_AS(at.position_to_position(some(6, 2), some(6, 2), RelativeBuckets::clamped(2, 3, 3)), Error);
}

void check_biased(const Terms& at) {
    for (const Index queries : kSizes)
        for (const Index keys : {queries, Index(1), Index(40)})
            for (const ContentScale scale : {ContentScale::none, ContentScale::inverse_root}) {
                INFO(queries << " x " << keys);
                const auto line = make_offset_bias<Scalar>("test", 3, queries, keys, [](Index h, Index offset) {
                    return Scalar(0.01) * Scalar(offset) * Scalar(h + 1);
                });
                const Matrix<Scalar> q = some(queries, 8), k = some(keys, 8), v = some(keys, 5);
                const Mask mask = mask_with_hidden_rows(queries, keys);
                const auto expected = biased_attention<Scalar>(q, k, v, line, 2, scale, mask);
                const auto found = at.biased_attention(q, k, v, line, Index(2), scale, mask);
                check_same(expected.content, found.content);
                check_same(expected.bias, found.bias);
                check_same(expected.scores, found.scores);
                check_within(expected.probs, found.probs, softmax_rounding(expected.probs));
                check_within(expected.context, found.context,
                             Matrix<double>(sums_of_products(expected.probs, Matrix<Scalar>(v.transpose())) * 2 +
                                            times<double>(softmax_rounding(expected.probs),
                                                          v.template cast<double>().cwiseAbs())));
            }
}

void check_rotary(const Terms& at) {
    for (const Index length : kSizes)
        for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split}) {
            INFO("T " << length);
            const Index width = length < 300 ? 16 : 4;
            const auto table = rotary_table<Scalar>(inverse_frequencies(width), 0, length);
            const Matrix<Scalar> q = some(length, width), k = some(length, width);
            const Matrix<Scalar> v = some(length, 5);
            check_same(rotate_back<Scalar>(q, table, layout), at.rotate_back(q, table, layout));
            check_same(rotary_scores<Scalar>(q, k, table, table, layout), at.rotary_scores(q, k, table, table, layout));
            const auto later = rotary_table<Scalar>(inverse_frequencies(width), 5, length);
            check_same(rotary_scores<Scalar>(q, k, later, table, layout), at.rotary_scores(q, k, later, table, layout));
            const Mask mask = mask_with_hidden_rows(length, length);
            const Matrix<Scalar> probs =
                masked_softmax<Scalar>(rotary_scores<Scalar>(q, k, table, table, layout), mask);
            check_within(rotary_attention<Scalar>(q, k, v, table, layout, mask),
                         at.rotary_attention(q, k, v, table, layout, mask),
                         Matrix<double>(sums_of_products(probs, Matrix<Scalar>(v.transpose())) +
                                        times<double>(softmax_rounding(probs), v.template cast<double>().cwiseAbs())));
        }
    CHECK_THROWS_AS(
        at.rotate_back(some(2, 2), rotary_table<Scalar>(inverse_frequencies(4), 0, 2), RotaryLayout::interleaved),
        Error);
}

/// A weight is at most |f(q_i)| |f(k_j)| / z_i, whatever the rotation; features carry exp's 2 units and 3 roundings of
/// the rotation, the sums d + T more.
Matrix<double> linear_rounding(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const RotaryTable<Scalar>& table,
                               RotaryLayout layout, LinearForm form, const std::vector<bool>& visible, bool causal) {
    const auto features = [&](const Matrix<Scalar>& x) {
        const Matrix<Scalar> rotated = form == LinearForm::paper ? x : rotate<Scalar>(x, table, layout);
        return Matrix<double>(positive_features<Scalar>(rotated).template cast<double>());
    };
    const Matrix<double> f_q = features(q), f_k = features(k);
    Matrix<double> allowed = Matrix<double>::Zero(q.rows(), k.rows());
    for (Index i = 0; i < q.rows(); ++i) {
        double z = 0;
        const Index seen = causal ? i + 1 : k.rows();
        for (Index j = 0; j < seen; ++j)
            if (visible.empty() || visible[static_cast<std::size_t>(j)]) z += f_q.row(i).dot(f_k.row(j));
        for (Index j = 0; j < seen; ++j)
            if (visible.empty() || visible[static_cast<std::size_t>(j)])
                allowed(i, j) = 4 * double(q.cols() + k.rows() + 16) * epsilon<Scalar>() * f_q.row(i).norm() *
                                f_k.row(j).norm() / std::max(z, 1e-6);
    }
    return allowed;
}

void check_linear(const Terms& at) {
    for (const Index length : {1, 7, 31, 33, 65, 129, 300})
        for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split})
            for (const LinearForm form : {LinearForm::paper, LinearForm::rotated_first})
                for (const bool padded : {false, true}) {
                    INFO("T " << length << (form == LinearForm::paper ? ", paper" : ", seed"));
                    const auto table = rotary_table<Scalar>(inverse_frequencies(8), 0, length);
                    // Of channels around -10 the features' products stay below the least denominator.
                    const Scalar shift = length == 7 ? Scalar(-10) : Scalar(0);
                    const Matrix<Scalar> q = some(length, 8).array() + shift;
                    const Matrix<Scalar> k = some(length, 8).array() + shift;
                    const Matrix<Scalar> v = some(length, 5);
                    const Matrix<double> v_size = v.template cast<double>().cwiseAbs();
                    std::vector<bool> visible;
                    for (Index j = 0; padded && j < length; ++j) visible.push_back(j % 3 != 2);
                    for (const bool causal : {false, true}) {
                        const auto allowed = linear_rounding(q, k, table, layout, form, visible, causal);
                        check_within(linear_attention_weights<Scalar>(q, k, table, layout, form, causal, visible),
                                     at.linear_attention_weights(q, k, table, layout, form, causal, visible), allowed);
                        const Matrix<double> allowed_context = times<double>(allowed, v_size);
                        if (causal)
                            check_within(causal_linear_attention<Scalar>(q, k, v, table, layout, form, visible),
                                         at.causal_linear_attention(q, k, v, table, layout, form, visible),
                                         allowed_context);
                        else
                            check_within(linear_attention<Scalar>(q, k, v, table, layout, form, visible),
                                         at.linear_attention(q, k, v, table, layout, form, visible), allowed_context);
                    }
                }
}

void check_relative_terms(const Terms& at) {
    for (const Index length : kSizes)
        for (const Index memory : {0, 1, 40}) {
            const Index keys = length + memory, width = length < 300 ? 16 : 4;
            const Matrix<Scalar> q = some(length, width), k = some(keys, width);
            const RowVector<Scalar> u = some(1, width), v = some(1, width);
            for (const auto& [rows, first] :
                 std::vector<std::pair<Index, Index>>{{keys, keys - 1}, {keys + length, keys}, {1, 0}}) {
                INFO("T " << length << ", M " << memory << ", R " << rows);
                const Matrix<Scalar> r_k = some(rows, width);
                const auto expected = relative_terms<Scalar>(q, k, r_k, u, v, first);
                const auto found = at.relative_terms(q, k, r_k, u, v, first);
                check_same(expected.a, found.a);
                check_same(expected.b, found.b);
                check_same(expected.c, found.c);
                check_same(expected.d, found.d);
            }
        }
}

void check_rows_of_tables(const Terms& at) {
    for (const Index width : kSizes) {
        const Matrix<Scalar> table = some(9, width);
        const std::vector<std::int64_t> positions = {8, 0, 0, 3, 8};
        check_same(learned_rows<Scalar>(table, positions), at.learned_rows(table, positions));
    }
    CHECK_THROWS_AS(at.learned_rows(some(2, 2), std::vector<std::int64_t>{2}), Error);
    CHECK(at.learned_rows(some(2, 2), std::vector<std::int64_t>{}).rows() == 0);
}

}  // namespace

TEST_CASE("cuda emulation: the element kernels of the terms that stand alone equal the CPU's", "[emulation]") {
    check_terms(cuda::ReferenceTerms<float, HostBackend>());
}

}  // namespace locus::test::test_cuda_terms

namespace locus::test {

void check_terms(const cuda::StandaloneTerms<float>& at) {
    using namespace test_cuda_terms;
    SECTION("position to position") { check_position_to_position(at); }
    SECTION("bias per offset") { check_biased(at); }
    SECTION("rotary attention") { check_rotary(at); }
    SECTION("linear attention") { check_linear(at); }
    SECTION("relative terms") { check_relative_terms(at); }
    SECTION("embedding rows") { check_rows_of_tables(at); }
}

}  // namespace locus::test
