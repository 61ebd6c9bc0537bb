// Every operation of a forward pass: the GPU's element kernels equal the CPU, value by value.  Here they run on the
// host; tests/cuda/device runs the same checks on a device.
#include "core/models/layers.h"
#include "cuda/reference/reference_operations.h"
#include "tests/cuda/host_backend.h"
#include "tests/cuda/near.h"
#include "tests/cuda/reference_checks.h"
#include "tests/max_abs.h"

namespace locus::test::test_cuda_operations {

namespace {

constexpr Index kBatch = 2, kHeads = 3;

using Scalar = float;

Matrix<Scalar> random(Index rows, Index cols) { return Matrix<Scalar>::Random(rows, cols); }

RowVector<Scalar> random_row(Index size) { return RowVector<Scalar>::Random(size); }

void check_dense(const Operations<Scalar>& gpu) {
    const Operations<Scalar>& cpu = cpu_operations<Scalar>();
    for (const Index rows : kSizes)
        for (const Index width : {1, 20, 65}) {
            INFO(rows << " x " << width);
            const Matrix<Scalar> x = random(rows, width);
            for (const bool biased : {false, true}) {
                Dense<Scalar> layer{random(33, width), {}};
                if (biased) layer.bias = random_row(33);
                Matrix<double> allowed = sums_of_products(x, layer.weight);
                allowed.array() += biased ? 2 * epsilon<Scalar>() : 0;  // the bias and its sum
                check_within(cpu.dense(x, layer), gpu.dense(x, layer), allowed);
            }
            const WordBlock<Scalar> none = [](Index, Index) { return Matrix<Scalar>(); };
            CHECK(gpu.word_logits(x, none, 0, {}).size() == 0);
        }
    CHECK_THROWS_AS(gpu.dense(random(2, 3), {random(4, 5), {}}), Error);
}

void check_layer_norm(const Operations<Scalar>& gpu) {
    for (const Index width : kSizes)
        for (const double eps : {1e-12, 1e-3}) {
            INFO("D " << width << ", eps " << eps);
            const Matrix<Scalar> x = random(5, width).array() + Scalar(0.5);
            const Norm<Scalar> norm{random_row(width), random_row(width)}, plain;
            const Matrix<Scalar> expected = cpu_operations<Scalar>().layer_norm(x, norm, eps);
            // With m the largest |x| and s the deviation: the mean is off by n eps m, so x - mean by as much, the
            // deviation by half the sum's n eps and by the same again over s.
            Matrix<double> allowed(x.rows(), width), allowed_plain(x.rows(), width);
            for (Index i = 0; i < x.rows(); ++i) {
                const RowVector<double> row = x.row(i).template cast<double>();
                const double m = max_abs(row), n = double(width + 4);
                const double s = std::sqrt((row.array() - row.mean()).square().mean() + eps);
                const double loss = 2 * n * epsilon<Scalar>() * (m / s) * (1 + 2 * m / s);
                for (Index c = 0; c < width; ++c) {
                    allowed_plain(i, c) = loss;
                    allowed(i, c) = loss * std::abs(double(norm.weight[c])) +
                                    4 * epsilon<Scalar>() * (std::abs(double(expected(i, c))) + 1);
                }
            }
            check_within(expected, gpu.layer_norm(x, norm, eps), allowed);
            check_within(cpu_operations<Scalar>().layer_norm(x, plain, eps), gpu.layer_norm(x, plain, eps),
                         allowed_plain);
        }
}

/// erf, tanh and exp are right to 2 units in the last backend on the device; their argument carries 3 roundings.
void check_activations(const Operations<Scalar>& gpu) {
    Matrix<Scalar> x = random(7, 129) * 9;
    x.row(3) *= Scalar(1e-3);
    x(0, 0) = 0;
    x(0, 1) = Scalar(-40);
    x(0, 2) = Scalar(40);
    const Matrix<double> allowed = 8 * epsilon<Scalar>() * x.template cast<double>().cwiseAbs();
    for (const Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::tanh})
        check_within(cpu_operations<Scalar>().activate(x, activation), gpu.activate(x, activation),
                     activation == Activation::relu ? Matrix<double>(allowed * 0) : allowed);
    Matrix<Scalar> bad(1, 1);
    bad(0, 0) = std::numeric_limits<Scalar>::quiet_NaN();
    for (const Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::tanh})
        CHECK(std::isnan(gpu.activate(bad, activation)(0, 0)));
}

void check_convolution(const Operations<Scalar>& gpu) {
    for (const Index rows : kSizes)
        for (const Index kernel : {1, 3, 5, 7})
            for (const Index groups : {1, 2, 6}) {
                INFO(rows << " rows, " << kernel << " taps, " << groups << " groups");
                const Matrix<Scalar> x = random(rows, 12);
                const Convolution<Scalar> layer{random(18, 12 / groups * kernel), random_row(18), kernel, groups};
                // All factors are at most 1.
                const double terms = double(12 / groups * kernel);
                check_within(cpu_operations<Scalar>().convolve(x, layer), gpu.convolve(x, layer),
                             Matrix<double>(Matrix<double>::Constant(
                                 rows, 18, (terms + kernel + 2) * (terms + 1) * epsilon<Scalar>())));
            }
}

/// Each of these rounds every step once and in one order, so the bits are the same.
void check_elementwise(const Operations<Scalar>& gpu) {
    const Operations<Scalar>& cpu = cpu_operations<Scalar>();
    for (const Index rows : kSizes)
        for (const Index width : {1, 8, 33}) {
            INFO(rows << " x " << width);
            const Matrix<Scalar> x = random(rows, width), y = random(rows, width);
            const RowVector<Scalar> factors = random_row(rows);
            std::vector<std::int64_t> ids;
            for (Index n = 0; n < rows; ++n) ids.push_back(n * 7 % 5);
            const Matrix<Scalar> table = random(5, width);
            const auto both = [&](auto change) {
                Matrix<Scalar> expected = x, found = x;
                change(cpu, expected);
                change(gpu, found);
                check_same(expected, found);
            };
            both([&](const Operations<Scalar>& at, Matrix<Scalar>& z) { at.add(y, z); });
            both([&](const Operations<Scalar>& at, Matrix<Scalar>& z) { at.add_rows(table, ids, z); });
            both([&](const Operations<Scalar>& at, Matrix<Scalar>& z) { at.multiply(Scalar(0.3), z); });
            both([&](const Operations<Scalar>& at, Matrix<Scalar>& z) { at.divide(Scalar(0.3), z); });
            both([&](const Operations<Scalar>& at, Matrix<Scalar>& z) { at.multiply_rows(factors, z); });
        }
    Matrix<Scalar> z = random(2, 2);
    CHECK_THROWS_AS(gpu.add(random(2, 3), z), Error);
    CHECK_THROWS_AS(gpu.add_rows(random(2, 2), {0, 2}, z), Error);
    CHECK_THROWS_AS(gpu.multiply_rows(random_row(3), z), Error);
}

void check_mixed_heads(const Operations<Scalar>& gpu) {
    for (const Index keys : {1, 7, 33, 65}) {
        Tensor<Scalar> scores({kBatch, kHeads, 5, keys});
        scores.rows() = random(kBatch * kHeads * 5, keys);
        const Matrix<Scalar> weight = random(kHeads, kHeads);
        const Tensor<Scalar> expected = cpu_operations<Scalar>().mix_heads(scores, weight);
        const Tensor<Scalar> found = gpu.mix_heads(scores, weight);
        REQUIRE(found.shape() == expected.shape());
        check_same(Matrix<Scalar>(expected.rows()), Matrix<Scalar>(found.rows()));
    }
}

/// All heads of a batch lie one after another; a head is a slice of it.
struct Heads {
    Tensor<Scalar> q, k, v;
    Heads(Index queries, Index keys, Index width)
        : q({kBatch, kHeads, queries, width}), k({kBatch, kHeads, keys, width}), v({kBatch, kHeads, keys, width}) {
        for (Tensor<Scalar>* all : {&q, &k, &v}) all->rows() = random(all->rows().rows(), width);
    }
};

void check_disentangled(const Operations<Scalar>& gpu) {
    const Operations<Scalar>& cpu = cpu_operations<Scalar>();
    for (const Index length : kSizes) {
        const Index keys = length, width = length < 300 ? 32 : 8;
        const Heads heads(length, keys, width);
        for (const RelativeBuckets& buckets :
             {RelativeBuckets::clamped(length, keys, 4), RelativeBuckets::clamped(length, keys, 512),
              RelativeBuckets::logarithmic(length, keys, 16, 64, OffsetClamp::official)}) {
            INFO("T " << length << ", span " << buckets.span());
            const Matrix<Scalar> table = random(2 * buckets.span(), width);
            const Index last = length < 300 ? kBatch * kHeads : 1;
            for (Index at = 0; at < last; ++at) {
                const auto q = heads.q.matrix(at), k = heads.k.matrix(at);
                check_same(cpu.content_to_content(q, k), gpu.content_to_content(q, k));
                check_same(cpu.content_to_position(q, table, buckets), gpu.content_to_position(q, table, buckets));
                for (const P2cIndex index : {P2cIndex::official_ij, P2cIndex::paper_ji})
                    check_same(cpu.position_to_content(k, table, buckets, index),
                               gpu.position_to_content(k, table, buckets, index));
            }
        }
    }
    // More keys than queries and fewer; for paper_ji the buckets are those of the pairs (j, i).
    for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{5, 40}, {40, 5}, {1, 7}})
        for (const Index span : {3, 200}) {
            INFO(queries << " x " << keys << ", span " << span);
            const Matrix<Scalar> q = random(queries, 32), k = random(keys, 32), table = random(2 * span, 32);
            const auto buckets = RelativeBuckets::clamped(queries, keys, span),
                       line_ji = RelativeBuckets::clamped(keys, queries, span);
            check_same(cpu.content_to_content(q, k), gpu.content_to_content(q, k));
            check_same(cpu.content_to_position(q, table, buckets), gpu.content_to_position(q, table, buckets));
            check_same(cpu.position_to_content(k, table, buckets, P2cIndex::official_ij),
                       gpu.position_to_content(k, table, buckets, P2cIndex::official_ij));
            check_same(cpu.position_to_content(k, table, line_ji, P2cIndex::paper_ji),
                       gpu.position_to_content(k, table, line_ji, P2cIndex::paper_ji));
        }
    CHECK_THROWS_AS(gpu.content_to_content(random(2, 3), random(2, 4)), Error);
}

void check_softmax(const Operations<Scalar>& gpu) {
    const Operations<Scalar>& cpu = cpu_operations<Scalar>();
    for (const Index keys : kSizes)
        for (const Index queries : {Index(1), Index(5), keys > 300 ? Index(5) : keys})
            for (const MaskedRow masked_row : {MaskedRow::zero, MaskedRow::uniform})
                for (const bool masked : {false, true}) {
                    INFO(queries << " x " << keys << (masked ? ", masked" : ""));
                    const Matrix<Scalar> scores = random(queries, keys) * 20;
                    const Mask mask = masked ? mask_with_hidden_rows(queries, keys) : Mask();
                    const Matrix<Scalar> probs = cpu.masked_softmax(scores, mask, masked_row);
                    const Matrix<Scalar> found = gpu.masked_softmax(scores, mask, masked_row);
                    check_within(probs, found, softmax_rounding(probs));
                    for (Index n = 0; n < mask.size(); ++n)
                        if (!mask.data()[n] && (masked_row == MaskedRow::zero || probs.data()[n] == 0))
                            REQUIRE(found.data()[n] == 0);
                    const Matrix<Scalar> v = random(keys, 9);
                    const Matrix<double> allowed = sums_of_products(probs, Matrix<Scalar>(v.transpose()));
                    check_within(cpu.context(probs, v), gpu.context(probs, v), allowed);
                    Matrix<Scalar> expected(queries, 9), placed(queries, 9);
                    cpu.context(probs, v, expected);
                    gpu.context(probs, v, placed);
                    check_within(expected, placed, allowed);
                }
    Matrix<Scalar> bad = random(2, 3);
    bad(1, 1) = std::numeric_limits<Scalar>::quiet_NaN();
    const Matrix<Scalar> probs = gpu.masked_softmax(bad, {}, MaskedRow::zero);
    for (Index j = 0; j < 3; ++j) CHECK((std::isnan(probs(1, j)) && !std::isnan(probs(0, j))));
    CHECK_THROWS_AS(gpu.masked_softmax(bad, Mask::Ones(3, 2), MaskedRow::zero), Error);
}

void check_rotation(const Operations<Scalar>& gpu) {
    for (const Index length : kSizes)
        for (const Index width : {2, 8, 34})
            for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split})
                for (const Index passing : {0, 5}) {
                    INFO(length << " x " << width << " + " << passing);
                    const auto table = rotary_table<Scalar>(inverse_frequencies(width), 3, length);
                    const Matrix<Scalar> x = random(length, width + passing);
                    check_same(cpu_operations<Scalar>().rotate(x, table, layout), gpu.rotate(x, table, layout));
                }
}

void check_relative(const Operations<Scalar>& gpu) {
    const Operations<Scalar>& cpu = cpu_operations<Scalar>();
    for (const Index length : kSizes)
        for (const Index memory : {0, 1, 40}) {
            const Index keys = length + memory, width = length < 300 ? 16 : 4;
            INFO("T " << length << ", M " << memory);
            const Matrix<Scalar> q = random(length, width), k = random(keys, width);
            const RowVector<Scalar> u = random_row(width);
            check_same(cpu.content_term(q, u, k), gpu.content_term(q, u, k));
            std::vector<Index> positions;
            std::vector<std::int64_t> query_ids, key_ids;
            for (Index i = 0; i < length; ++i) positions.push_back(i % 6 == 5 ? -1 : (i * 3) % length);
            for (Index i = 0; i < length; ++i) query_ids.push_back(i % 3);
            for (Index j = 0; j < keys; ++j) key_ids.push_back(j % 2);
            // Rows of Transformer-XL, of XLNet both ways, and too few.
            for (const auto& [rows, first] : std::vector<std::pair<Index, Index>>{
                     {keys, keys - 1}, {keys + length, keys}, {keys + 1, keys}, {(keys + 1) / 2, keys / 2}}) {
                const Matrix<Scalar> bd_raw = cpu.position_term(q, u, random(rows, width));
                REQUIRE(bd_raw.cols() == rows);
                check_same(cpu.shift_by_index(bd_raw, keys, first, memory, positions),
                           gpu.shift_by_index(bd_raw, keys, first, memory, positions));
            }
            check_same(cpu.position_term(q, u, k), gpu.position_term(q, u, k));
            const Matrix<Scalar> segments = random(2, width);
            check_same(cpu.segment_term(q, u, segments, query_ids, key_ids),
                       gpu.segment_term(q, u, segments, query_ids, key_ids));
        }
}

/// The loss is a difference of two logarithms: absolute rounding.
void check_words(const Operations<Scalar>& gpu) {
    const Operations<Scalar>& cpu = cpu_operations<Scalar>();
    for (const Index words : {Index(1), Index(33), Index(1025), kWordsAtOnce + 1}) {
        const Matrix<Scalar> x = random(7, 20), table = random(words, 20);
        const WordBlock<Scalar> block = [&](Index first, Index count) { return table.middleRows(first, count); };
        for (const bool biased : {false, true}) {
            const RowVector<Scalar> bias = biased ? random_row(words) : RowVector<Scalar>();
            Matrix<double> allowed = sums_of_products(x, table);
            allowed.array() += biased ? 2 * epsilon<Scalar>() : 0;
            const Matrix<Scalar> logits = cpu.word_logits(x, block, words, bias);
            check_within(logits, gpu.word_logits(x, block, words, bias), allowed);
            const double expected = cpu.cross_entropy(logits.row(2), words / 2);
            CHECK(std::abs(expected - gpu.cross_entropy(logits.row(2), words / 2)) <=
                  double(words + 16) * epsilon<Scalar>() * (1 + std::abs(expected)));
            const RowVector<Scalar> given = biased ? random_row(7) : RowVector<Scalar>();
            const Matrix<Scalar> log_probabilities = cpu.log_softmax(logits, given);
            check_within(log_probabilities, gpu.log_softmax(logits, given),
                         double(words + 16) * epsilon<Scalar>() *
                             (1 + log_probabilities.template cast<double>().array().abs()).matrix());
        }
    }
    CHECK_THROWS_AS(gpu.cross_entropy(random_row(3), 3), Error);
    CHECK_THROWS_AS(gpu.cross_entropy(random_row(3), -1), Error);
    CHECK_THROWS_AS(gpu.log_softmax(random(4, 3), random_row(3)), Error);
}

}  // namespace

TEST_CASE("cuda emulation: every operation's element kernels, run on the host, equal the CPU's", "[emulation]") {
    check_operations(cuda::ReferenceOperations<float, HostBackend>());
}

}  // namespace locus::test::test_cuda_operations

namespace locus::test {

void check_operations(const Operations<float>& gpu) {
    using namespace test_cuda_operations;
    SECTION("dense") { check_dense(gpu); }
    SECTION("layer norm") { check_layer_norm(gpu); }
    SECTION("activations") { check_activations(gpu); }
    SECTION("convolution") { check_convolution(gpu); }
    SECTION("elementwise") { check_elementwise(gpu); }
    SECTION("mixed heads") { check_mixed_heads(gpu); }
    SECTION("disentangled") { check_disentangled(gpu); }
    SECTION("softmax and context") { check_softmax(gpu); }
    SECTION("rotation") { check_rotation(gpu); }
    SECTION("relative") { check_relative(gpu); }
    SECTION("words") { check_words(gpu); }
}

}  // namespace locus::test
