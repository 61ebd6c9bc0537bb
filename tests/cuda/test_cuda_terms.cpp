// The twins that no pass calls by themselves: position to position, T5 and ALiBi, whole rotary attention, linear
// attention, the four terms of Transformer-XL, embedding rows.  Each at both places, as in test_cuda_operations.cpp.
#include "core/positions/offset_bias.h"
#include "cuda/reference/biased.h"
#include "cuda/reference/biased_kernels.h"
#include "cuda/reference/disentangled.h"
#include "cuda/reference/elementwise.h"
#include "cuda/reference/layers.h"
#include "cuda/reference/learned_absolute.h"
#include "cuda/reference/learned_absolute_kernels.h"
#include "cuda/reference/linear.h"
#include "cuda/reference/linear_kernels.h"
#include "cuda/reference/relative.h"
#include "cuda/reference/relative_kernels.h"
#include "cuda/reference/rotary.h"
#include "cuda/reference/rotary_kernels.h"
#include "cuda/reference/two_stream.h"
#include "cuda/reference/word_logits.h"
#include "tests/cuda/host_backend.h"
#include "tests/cuda/near.h"

namespace locus::test::test_cuda_terms {

namespace {

/// The two places, one list of names.
struct OnHost {
    auto p2p(const auto&... all) const { return cuda::twin::position_to_position(HostPlace(), all...); }
    auto p2c(const auto&... all) const { return cuda::twin::position_to_content(HostPlace(), all...); }
    auto biased(const auto&... all) const { return cuda::twin::biased_attention(HostPlace(), all...); }
    auto rotate_back(const auto&... all) const { return cuda::twin::rotate_back(HostPlace(), all...); }
    auto rotary_scores(const auto&... all) const { return cuda::twin::rotary_scores(HostPlace(), all...); }
    auto rotary(const auto&... all) const { return cuda::twin::rotary_attention(HostPlace(), all...); }
    auto weights(const auto&... all) const { return cuda::twin::linear_attention_weights(HostPlace(), all...); }
    auto linear(const auto&... all) const { return cuda::twin::linear_attention(HostPlace(), all...); }
    auto causal(const auto&... all) const { return cuda::twin::causal_linear_attention(HostPlace(), all...); }
    auto terms(const auto&... all) const { return cuda::twin::relative_terms(HostPlace(), all...); }
    auto rows(const auto&... all) const { return cuda::twin::learned_rows(HostPlace(), all...); }
};

struct OnDevice {
    auto p2p(const auto&... all) const { return cuda::position_to_position(all...); }
    auto p2c(const auto&... all) const { return cuda::position_to_content(all...); }
    auto biased(const auto&... all) const { return cuda::biased_attention(all...); }
    auto rotate_back(const auto&... all) const { return cuda::rotate_back(all...); }
    auto rotary_scores(const auto&... all) const { return cuda::rotary_scores(all...); }
    auto rotary(const auto&... all) const { return cuda::rotary_attention(all...); }
    auto weights(const auto&... all) const { return cuda::linear_attention_weights(all...); }
    auto linear(const auto&... all) const { return cuda::linear_attention(all...); }
    auto causal(const auto&... all) const { return cuda::causal_linear_attention(all...); }
    auto terms(const auto&... all) const { return cuda::relative_terms(all...); }
    auto rows(const auto&... all) const { return cuda::learned_rows(all...); }
};

template <class Scalar>
Matrix<Scalar> some(Index rows, Index cols) {
    return Matrix<Scalar>::Random(rows, cols);
}

template <class Scalar, class At>
void check_position_to_position(const At& at) {
    for (const Index length : kSizes)
        for (const RelativeBuckets& line :
             {RelativeBuckets::clamped(length, length, 3), RelativeBuckets::clamped(length, length, 200),
              RelativeBuckets::logarithmic(length, length, 16, 64, OffsetClamp::hf)}) {
            INFO("T " << length << ", span " << line.span());
            const Matrix<Scalar> q_r = some<Scalar>(2 * line.span(), 8), k_r = some<Scalar>(2 * line.span(), 8);
            check_same(position_to_position<Scalar>(q_r, k_r, line), at.p2p(q_r, k_r, line));
        }
    CHECK_THROWS_AS(at.p2p(some<Scalar>(6, 2), some<Scalar>(6, 2), RelativeBuckets::clamped(2, 3, 3)), Error);
}

/// As the paper prints it: the line of the pairs (j, i), with more keys than queries and fewer.
template <class Scalar, class At>
void check_position_to_content_by_key(const At& at) {
    for (const Index queries : {1, 7, 33})
        for (const Index keys : {1, 7, 40}) {
            INFO(queries << " x " << keys);
            const auto line_ji = RelativeBuckets::clamped(keys, queries, 5);
            const Matrix<Scalar> k = some<Scalar>(keys, 8), q_r = some<Scalar>(10, 8);
            check_same(position_to_content<Scalar>(k, q_r, line_ji, P2cIndex::paper_ji),
                       at.p2c(k, q_r, line_ji, P2cIndex::paper_ji));
        }
}

template <class Scalar, class At>
void check_biased(const At& at) {
    for (const Index queries : kSizes)
        for (const Index keys : {queries, Index(1), Index(40)})
            for (const ContentScale scale : {ContentScale::none, ContentScale::inverse_root}) {
                INFO(queries << " x " << keys);
                const auto line = make_offset_bias<Scalar>("test", 3, queries, keys, [](Index h, Index offset) {
                    return Scalar(0.01) * Scalar(offset) * Scalar(h + 1);
                });
                const Matrix<Scalar> q = some<Scalar>(queries, 8), k = some<Scalar>(keys, 8), v = some<Scalar>(keys, 5);
                const Mask mask = mask_with_hidden_rows(queries, keys);
                const auto expected = biased_attention<Scalar>(q, k, v, line, 2, scale, mask);
                const auto found = at.biased(q, k, v, line, Index(2), scale, mask);
                check_same(expected.content, found.content);
                check_same(expected.bias, found.bias);
                check_same(expected.scores, found.scores);
                check_within(expected.probs, found.probs, softmax_rounding(expected.probs));
                check_within(expected.context, found.context,
                             Matrix<double>(sums_of_products(expected.probs, Matrix<Scalar>(v.transpose())) * 2 +
                                            softmax_rounding(expected.probs) * v.template cast<double>().cwiseAbs()));
            }
}

template <class Scalar, class At>
void check_rotary(const At& at) {
    for (const Index length : kSizes)
        for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split}) {
            INFO("T " << length);
            const Index width = length < 300 ? 16 : 4;
            const auto table = rotary_table<Scalar>(inverse_frequencies(width), 0, length);
            const Matrix<Scalar> q = some<Scalar>(length, width), k = some<Scalar>(length, width);
            const Matrix<Scalar> v = some<Scalar>(length, 5);
            check_same(rotate_back<Scalar>(q, table, layout), at.rotate_back(q, table, layout));
            check_same(rotary_scores<Scalar>(q, k, table, table, layout), at.rotary_scores(q, k, table, table, layout));
            const auto later = rotary_table<Scalar>(inverse_frequencies(width), 5, length);
            check_same(rotary_scores<Scalar>(q, k, later, table, layout), at.rotary_scores(q, k, later, table, layout));
            const Mask mask = mask_with_hidden_rows(length, length);
            const Matrix<Scalar> probs =
                masked_softmax<Scalar>(rotary_scores<Scalar>(q, k, table, table, layout), mask);
            check_within(rotary_attention<Scalar>(q, k, v, table, layout, mask),
                         at.rotary(q, k, v, table, layout, mask),
                         Matrix<double>(sums_of_products(probs, Matrix<Scalar>(v.transpose())) +
                                        softmax_rounding(probs) * v.template cast<double>().cwiseAbs()));
        }
    CHECK_THROWS_AS(at.rotate_back(some<Scalar>(2, 2), rotary_table<Scalar>(inverse_frequencies(4), 0, 2),
                                   RotaryLayout::interleaved),
                    Error);
}

/// A weight is at most |f(q_i)| |f(k_j)| / z_i, whatever the rotation; features carry exp's 2 units and 3 roundings of
/// the rotation, the sums d + T more.
template <class Scalar>
Matrix<double> linear_rounding(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const RotaryTable<Scalar>& table,
                               RotaryLayout layout, LinearForm form, const std::vector<bool>& visible, bool causal) {
    const auto features = [&](const Matrix<Scalar>& x) {
        const Matrix<Scalar> turned = form == LinearForm::paper ? x : rotate<Scalar>(x, table, layout);
        return Matrix<double>(positive_features<Scalar>(turned).template cast<double>());
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

template <class Scalar, class At>
void check_linear(const At& at) {
    for (const Index length : {1, 7, 31, 33, 65, 129, 300})
        for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split})
            for (const LinearForm form : {LinearForm::paper, LinearForm::rotated_first})
                for (const bool padded : {false, true}) {
                    INFO("T " << length << (form == LinearForm::paper ? ", paper" : ", seed"));
                    const auto table = rotary_table<Scalar>(inverse_frequencies(8), 0, length);
                    // Of channels around -10 the features' products stay below the least denominator.
                    const Scalar shift = length == 7 ? Scalar(-10) : Scalar(0);
                    const Matrix<Scalar> q = some<Scalar>(length, 8).array() + shift;
                    const Matrix<Scalar> k = some<Scalar>(length, 8).array() + shift;
                    const Matrix<Scalar> v = some<Scalar>(length, 5);
                    const Matrix<double> v_size = v.template cast<double>().cwiseAbs();
                    std::vector<bool> visible;
                    for (Index j = 0; padded && j < length; ++j) visible.push_back(j % 3 != 2);
                    for (const bool causal : {false, true}) {
                        const auto allowed = linear_rounding(q, k, table, layout, form, visible, causal);
                        check_within(linear_attention_weights<Scalar>(q, k, table, layout, form, causal, visible),
                                     at.weights(q, k, table, layout, form, causal, visible), allowed);
                        const Matrix<double> allowed_context = allowed * v_size;
                        if (causal)
                            check_within(causal_linear_attention<Scalar>(q, k, v, table, layout, form, visible),
                                         at.causal(q, k, v, table, layout, form, visible), allowed_context);
                        else
                            check_within(linear_attention<Scalar>(q, k, v, table, layout, form, visible),
                                         at.linear(q, k, v, table, layout, form, visible), allowed_context);
                    }
                }
}

template <class Scalar, class At>
void check_relative_terms(const At& at) {
    for (const Index length : kSizes)
        for (const Index memory : {0, 1, 40}) {
            const Index keys = length + memory, width = length < 300 ? 16 : 4;
            const Matrix<Scalar> q = some<Scalar>(length, width), k = some<Scalar>(keys, width);
            const RowVector<Scalar> u = some<Scalar>(1, width), v = some<Scalar>(1, width);
            for (const auto& [rows, first] :
                 std::vector<std::pair<Index, Index>>{{keys, keys - 1}, {keys + length, keys}, {1, 0}}) {
                INFO("T " << length << ", M " << memory << ", R " << rows);
                const Matrix<Scalar> r_k = some<Scalar>(rows, width);
                const auto expected = relative_terms<Scalar>(q, k, r_k, u, v, first);
                const auto found = at.terms(q, k, r_k, u, v, first);
                check_same(expected.a, found.a);
                check_same(expected.b, found.b);
                check_same(expected.c, found.c);
                check_same(expected.d, found.d);
            }
        }
}

template <class Scalar, class At>
void check_rows_of_tables(const At& at) {
    for (const Index width : kSizes) {
        const Matrix<Scalar> table = some<Scalar>(9, width);
        const std::vector<std::int64_t> positions = {8, 0, 0, 3, 8};
        check_same(learned_rows<Scalar>(table, positions), at.rows(table, positions));
    }
    CHECK_THROWS_AS(at.rows(some<Scalar>(2, 2), std::vector<std::int64_t>{2}), Error);
    CHECK(at.rows(some<Scalar>(2, 2), std::vector<std::int64_t>{}).rows() == 0);
}

template <class Scalar, class At>
void check_terms(const At& at) {
    SECTION("position to position") { check_position_to_position<Scalar>(at); }
    SECTION("bias per offset") { check_biased<Scalar>(at); }
    SECTION("rotary attention") { check_rotary<Scalar>(at); }
    SECTION("position to content by key") { check_position_to_content_by_key<Scalar>(at); }
    SECTION("linear attention") { check_linear<Scalar>(at); }
    SECTION("relative terms") { check_relative_terms<Scalar>(at); }
    SECTION("embedding rows") { check_rows_of_tables<Scalar>(at); }
}

/// Runs a call and expects the sentence and the status of a missing device.
template <class Call>
void check_refuses(const char* what, Call call) {
    INFO(what);
    try {
        call();
        FAIL_CHECK("computed without a device");
    } catch (const Error& error) {
        CHECK(error.exit_status() == 4);
        CHECK(std::string(error.what()).starts_with("CUDA: "));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("cuda emulation: the cells of the terms that stand alone equal the CPU's", "[emulation]", float,
                   double) {
    check_terms<TestType>(OnHost());
}

TEMPLATE_TEST_CASE("cuda: the terms that stand alone equal the CPU's", "[cuda]", float, double) {
    if (has_device()) check_terms<TestType>(OnDevice());
}

TEST_CASE("cuda: without a device every twin refuses", "[emulation]") {
    if (cuda::available()) return;
    const Matrix<double> x = Matrix<double>::Ones(2, 2);
    const RowVector<double> u = RowVector<double>::Ones(2);
    const auto table = rotary_table<double>({1.0}, 0, 2);
    const auto layout = RotaryLayout::interleaved;
    const RelativeBuckets line = RelativeBuckets::clamped(2, 2, 1);
    const auto bias = make_offset_bias<double>("test", 1, 2, 2, [](Index, Index) { return 0.0; });
    Matrix<double> y = x;
    Tensor<double> heads({1, 1, 2, 2});
    const std::vector<std::int64_t> ids = {0, 1};
    const WordBlock<double> words = [&](Index, Index) { return x; };
    check_refuses("p2p", [&] { cuda::position_to_position(x, x, line); });
    check_refuses("c2p", [&] { cuda::content_to_position(x, x, line); });
    check_refuses("p2c", [&] { cuda::position_to_content(x, x, line); });
    check_refuses("softmax", [&] { cuda::masked_softmax(x, {}); });
    check_refuses("context", [&] { cuda::context(x, x); });
    check_refuses("biased", [&] { cuda::biased_attention(x, x, x, bias, 0, ContentScale::none, {}); });
    check_refuses("rotate", [&] { cuda::rotate(x, table, layout); });
    check_refuses("rotate back", [&] { cuda::rotate_back(x, table, layout); });
    check_refuses("rotary scores", [&] { cuda::rotary_scores(x, x, table, table, layout); });
    check_refuses("rotary", [&] { cuda::rotary_attention(x, x, x, table, layout, {}); });
    check_refuses("features", [&] { cuda::positive_features(x); });
    check_refuses("weights", [&] { cuda::linear_attention_weights(x, x, table, layout, LinearForm::paper, true); });
    check_refuses("linear", [&] { cuda::linear_attention(x, x, x, table, layout, LinearForm::paper); });
    check_refuses("causal", [&] { cuda::causal_linear_attention(x, x, x, table, layout, LinearForm::paper); });
    check_refuses("content term", [&] { cuda::content_term(x, u, x); });
    check_refuses("position term", [&] { cuda::position_term(x, u, x); });
    check_refuses("shift", [&] { cuda::shift_by_index(x, 2, 1, 0, {0, 1}); });
    check_refuses("terms", [&] { cuda::relative_terms(x, x, x, u, u, 1); });
    check_refuses("segments", [&] { cuda::segment_term(x, u, x, ids, ids); });
    check_refuses("dense", [&] { cuda::dense(x, Dense<double>{x, {}}); });
    check_refuses("norm", [&] { cuda::layer_norm(x, Norm<double>{}, 1e-12); });
    check_refuses("gelu", [&] { cuda::activate(x, Activation::gelu); });
    check_refuses("convolution", [&] { cuda::convolve(x, Convolution<double>{x, u, 1, 1}); });
    check_refuses("add", [&] { cuda::add(x, y); });
    check_refuses("add rows", [&] { cuda::add_rows(x, ids, y); });
    check_refuses("multiply", [&] { cuda::multiply(2.0, y); });
    check_refuses("divide", [&] { cuda::divide(2.0, y); });
    check_refuses("multiply rows", [&] { cuda::multiply_rows(u, y); });
    check_refuses("mix", [&] { cuda::mix_heads(heads, Matrix<double>(Matrix<double>::Ones(1, 1))); });
    check_refuses("words", [&] { cuda::word_logits(x, words, 2, RowVector<double>()); });
    check_refuses("loss", [&] { cuda::cross_entropy(u, 0); });
    check_refuses("rows", [&] { cuda::learned_rows(x, ids); });
}

}  // namespace locus::test::test_cuda_terms
