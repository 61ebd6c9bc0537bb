// The fast path against the reference, cell by cell.  Bounds follow from eps and the lengths of the sums.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/fast/disentangled.h"
#include "core/products.h"
#include "tests/naive_reference.h"

namespace locus::test::test_disentangled_blocks {

namespace {

template <class Scalar>
struct Case {
    Index batch = 1, heads = 2, queries, keys, width;
    RelativeBuckets buckets;
    Tensor<Scalar> q, k, v, k_r, q_r;
    std::vector<Mask> masks;
    MaskedRow masked_row = MaskedRow::zero;
    P2cIndex index = P2cIndex::official_ij;

    Case(Index of_queries, const RelativeBuckets& of_buckets, Index of_width, Index of_batch = 1)
        : batch(of_batch), queries(of_queries), keys(of_buckets.keys()), width(of_width), buckets(of_buckets) {
        q = fill({batch, heads, queries, width}, 1), k = fill({batch, heads, keys, width}, 2);
        v = fill({batch, heads, keys, width}, 3), k_r = fill({heads, 2 * buckets.span(), width}, 4);
        q_r = fill({heads, 2 * buckets.span(), width}, 5);
    }
    static Tensor<Scalar> fill(Shape shape, unsigned seed) {
        Tensor<Scalar> tensor(shape);
        tensor.rows() = random_rows<Scalar>(tensor.rows().rows(), tensor.rows().cols(), seed);
        return tensor;
    }
    int terms() const { return 1 + int{!k_r.empty()} + int{!q_r.empty()}; }
    Scalar divisor() const { return score_divisor<Scalar>(terms(), width); }
};

template <class Scalar>
struct Result {
    Tensor<Scalar> probs, context;
};

template <class Scalar>
Result<Scalar> by_blocks(const Case<Scalar>& one, int threads = 1,
                         const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>()) {
    ThreadPool pool(threads);
    BlockBuffers<Scalar> buffers;
    const auto tables = offset_tables<Scalar>(one.k_r, one.q_r, one.buckets, one.index, pool, {}, kernels);
    Result<Scalar> result{Tensor<Scalar>({one.batch, one.heads, one.queries, one.keys}),
                          Tensor<Scalar>({one.batch, one.heads, one.queries, one.width})};
    for (Tensor<Scalar>* out : {&result.probs, &result.context})
        out->rows().setConstant(std::numeric_limits<Scalar>::quiet_NaN());
    const DisentangledBlocks<Scalar> task{HeadsAt<Scalar>::of(one.q),
                                          HeadsAt<Scalar>::of(one.k),
                                          HeadsAt<Scalar>::of(one.v),
                                          one.batch,
                                          tables,
                                          one.divisor(),
                                          one.masks.empty() ? nullptr : &one.masks,
                                          one.masked_row};
    disentangled_blocks<Scalar>(task, result.context.data(), HeadsAt<Scalar>::of(result.context), &result.probs,
                                buffers, pool, kernels);
    return result;
}

Matrix<double> wide(const auto& matrix) { return matrix.template cast<double>(); }

Matrix<double> raw_scores(const Case<double>& one, const Matrix<double>& q, const Matrix<double>& k, Index h,
                          bool magnitudes) {
    const auto table = [&](const Tensor<double>& all) {
        return Matrix<double>(magnitudes ? Matrix<double>(all.matrix(h).cwiseAbs()) : Matrix<double>(all.matrix(h)));
    };
    Matrix<double> scores = content_to_content<double>(q, k);
    if (!one.k_r.empty()) scores += content_to_position<double>(q, table(one.k_r), one.buckets);
    if (!one.q_r.empty()) scores += position_to_content<double>(k, table(one.q_r), one.buckets, one.index);
    return scores;
}

template <class Scalar>
Case<double> widened(const Case<Scalar>& one) {
    Case<double> wide_one(one.queries, one.buckets, one.width, one.batch);
    const auto copy = [](const Tensor<Scalar>& from) {
        return Tensor<double>(from.shape(), std::vector<double>(from.values().begin(), from.values().end()));
    };
    wide_one.q = copy(one.q), wide_one.k = copy(one.k), wide_one.v = copy(one.v);
    wide_one.k_r = one.k_r.empty() ? Tensor<double>() : copy(one.k_r);
    wide_one.q_r = one.q_r.empty() ? Tensor<double>() : copy(one.q_r);
    wide_one.masks = one.masks, wide_one.masked_row = one.masked_row, wide_one.index = one.index;
    return wide_one;
}

/// Every cell of both outputs within what rounding explains; the reference runs in double.
template <class Scalar>
void check_cells(const Case<Scalar>& original, const Result<Scalar>& found) {
    const Case<double> one = widened(original);
    const double eps = std::numeric_limits<Scalar>::epsilon(), d = static_cast<double>(one.width),
                 n = static_cast<double>(one.keys), divisor = score_divisor<double>(one.terms(), one.width);
    // Both sides are rounded where Scalar is double.
    const double sides = sizeof(Scalar) == 8 ? 2 : 1;
    for (Index at = 0; at < one.batch * one.heads; ++at) {
        const Index h = at % one.heads;
        const Matrix<double> q = one.q.matrix(at), k = one.k.matrix(at), v = one.v.matrix(at);
        const Mask mask = one.masks.empty() ? Mask() : one.masks[static_cast<std::size_t>(at / one.heads)];
        const Matrix<double> probs =
            masked_softmax<double>(raw_scores(one, q, k, h, false) / divisor, mask, one.masked_row);
        // 2 d + 1 roundings in a raw score, 4 after it.
        const Matrix<double> score_error =
            raw_scores(one, q.cwiseAbs(), k.cwiseAbs(), h, true) * ((2 * d + 5) * eps * sides / divisor);
        const Matrix<double> found_probs = wide(found.probs.matrix(at)), found_context = wide(found.context.matrix(at));
        Index wrong = 0;
        double worst = 0;
        for (Index i = 0; i < one.queries; ++i) {
            // A probability is a quotient: its score, the largest one, the n terms of the sum, e^x within 2 eps.
            const double relative = std::expm1(2 * score_error.row(i).maxCoeff()) + (n + 8) * eps * sides;
            Eigen::ArrayXd tolerance =
                relative * probs.row(i).transpose().array() + 2 * double{std::numeric_limits<Scalar>::min()};
            if (i == 0) tolerance = tolerance.eval();
            for (Index j = 0; j < one.keys; ++j) {
                const double error = std::abs(found_probs(i, j) - probs(i, j));
                worst = std::max(worst, error / tolerance(j));
                if (!(error <= tolerance(j))) ++wrong;
                if (mask.size() > 0 && !mask(i, j) && one.masked_row == MaskedRow::zero && found_probs(i, j) != 0)
                    ++wrong;
            }
            for (Index c = 0; c < one.width; ++c) {
                const auto column = v.col(c).array().abs();
                const double bound = (tolerance * column).sum() +
                                     (n + 2) * eps * sides * (probs.row(i).transpose().array() * column).sum();
                if (!(std::abs(found_context(i, c) - probs.row(i).dot(v.col(c))) <= bound)) ++wrong;
            }
        }
        INFO("head " << at << " of " << one.queries << " x " << one.keys << ", worst cell at " << worst
                     << " of its bound");
        CHECK(wrong == 0);
    }
}

template <class Scalar>
bool same_bits(const Result<Scalar>& a, const Result<Scalar>& b) {
    return a.probs.values() == b.probs.values() && a.context.values() == b.context.values();
}

std::vector<RelativeBuckets> all_buckets(Index queries, Index keys) {
    return {RelativeBuckets::clamped(queries, keys, 3), RelativeBuckets::clamped(queries, keys, 90),
            RelativeBuckets::clamped(queries, keys, 600),
            RelativeBuckets::logarithmic(queries, keys, 32, 100, OffsetClamp::official),
            RelativeBuckets::logarithmic(queries, keys, 256, 512, OffsetClamp::hf)};
}

constexpr Index kSizes[] = {1, 7, 31, 33, 63, 65, 127, 129, 300, 513};

}  // namespace

TEMPLATE_TEST_CASE("disentangled blocks: every cell is the reference's, at every size", "[disentangled][blocks]", float,
                   double) {
    for (const Index tokens : kSizes)
        for (const RelativeBuckets& buckets : all_buckets(tokens, tokens)) {
            const Case<TestType> one(tokens, buckets, tokens > 200 ? 16 : 40);
            check_cells(one, by_blocks(one));
        }
}

TEMPLATE_TEST_CASE("disentangled blocks: more queries than keys, and fewer", "[disentangled][blocks]", float, double) {
    for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{1, 300}, {300, 1}, {65, 200}, {200, 63}})
        for (const RelativeBuckets& buckets : all_buckets(queries, keys)) {
            const Case<TestType> one(queries, buckets, 24);
            check_cells(one, by_blocks(one));
        }
}

TEMPLATE_TEST_CASE("disentangled blocks: any head width", "[disentangled][blocks]", float, double) {
    for (const Index width : {1, 3, 8, 15, 17, 32, 64, 100, 128}) {
        const Case<TestType> one(70, RelativeBuckets::logarithmic(70, 70, 16, 40, OffsetClamp::official), width);
        check_cells(one, by_blocks(one));
    }
}

TEMPLATE_TEST_CASE("disentangled blocks: masks, with rows that see nothing", "[disentangled][blocks]", float, double) {
    for (const MaskedRow masked_row : {MaskedRow::zero, MaskedRow::uniform})
        for (const Index tokens : {7, 65, 129}) {
            Case<TestType> one(tokens, RelativeBuckets::clamped(tokens, tokens, 20), 16, 3);
            one.masked_row = masked_row;
            one.masks = {Mask(), Mask::Ones(tokens, tokens), Mask::Zero(tokens, tokens)};
            for (Index i = 0; i < tokens; ++i)
                for (Index j = 0; j < tokens; ++j) one.masks[1](i, j) = i % 5 != 2 && (i * 7 + j * 3) % 4 != 0;
            check_cells(one, by_blocks(one));
        }
}

TEMPLATE_TEST_CASE("disentangled blocks: one term alone, and p2c as printed", "[disentangled][blocks]", float, double) {
    for (const Index tokens : {33, 300})
        for (const RelativeBuckets& buckets : all_buckets(tokens, tokens)) {
            Case<TestType> c2p(tokens, buckets, 16), p2c(tokens, buckets, 16), printed(tokens, buckets, 16);
            c2p.q_r = Tensor<TestType>();
            p2c.k_r = Tensor<TestType>();
            printed.index = P2cIndex::paper_ji;
            for (const auto* one : {&c2p, &p2c, &printed}) check_cells(*one, by_blocks(*one));
        }
}

TEST_CASE("disentangled blocks: what spent tables held does not show", "[disentangled][blocks]") {
    Case<float> both(40, RelativeBuckets::clamped(40, 40, 9), 8), alone = both;
    alone.q_r = Tensor<float>();
    ThreadPool pool(1);
    const auto make = [&](const Case<float>& one, OffsetTables<float> spent) {
        return offset_tables<float>(one.k_r, one.q_r, one.buckets, one.index, pool, std::move(spent));
    };
    const OffsetTables<float> fresh = make(alone, {}), again = make(alone, make(both, {}));
    CHECK(again.q_r == fresh.q_r);
    CHECK(again.q_r_ends == fresh.q_r_ends);
}

TEST_CASE("disentangled blocks: a tile's rows of both tables find room in the first cache, at every length",
          "[disentangled][blocks]") {
    constexpr std::uintptr_t kLine = 64, kSets = 64;
    // What one tile of scores reads at once: 127 offsets, which begin anywhere in the table.
    constexpr Index kChannels = 16, kRead = 127 + 15;
    ThreadPool pool(1);
    for (const Index tokens : {60, 128, 300, 512, 1000, 1024}) {
        const Case<float> one(tokens, RelativeBuckets::clamped(tokens, tokens, tokens), 16);
        const auto tables = offset_tables<float>(one.k_r, one.q_r, one.buckets, one.index, pool);
        std::vector<int> lines(kSets);
        for (Index c = 0; c < kChannels; ++c) {
            const auto begin = reinterpret_cast<std::uintptr_t>(tables.k_r.data() + c * tables.stride);
            CHECK(begin % kLine == 0);
            for (std::uintptr_t at = begin / kLine; at <= (begin + kRead * sizeof(float)) / kLine; ++at)
                ++lines[at % kSets];
        }
        INFO("T " << tokens << ", " << tables.stride << " numbers from channel to channel");
        CHECK(*std::max_element(lines.begin(), lines.end()) <= 4);  // of 8 to 12 places, which two tables share
    }
}

TEMPLATE_TEST_CASE("disentangled blocks: the same bits for every number of threads", "[disentangled][blocks][law]",
                   float, double) {
    const Case<TestType> one(300, RelativeBuckets::logarithmic(300, 300, 32, 100, OffsetClamp::official), 64, 2);
    const Result<TestType> alone = by_blocks(one, 1);
    for (const int threads : {2, 3, 7}) CHECK(same_bits(by_blocks(one, threads), alone));
}

TEMPLATE_TEST_CASE("disentangled blocks: narrow registers keep the bounds too", "[disentangled][blocks]", float,
                   double) {
    for (const Index tokens : {31, 129, 300})
        for (const RelativeBuckets& buckets : all_buckets(tokens, tokens)) {
            const Case<TestType> one(tokens, buckets, 24);
            check_cells(one, by_blocks(one, 1, portable_simd_kernels<TestType>()));
        }
}

TEMPLATE_TEST_CASE("disentangled blocks: NaN shows where the reference shows it, and nowhere else",
                   "[disentangled][blocks]", float, double) {
    const Index tokens = 150, width = 8;
    const RelativeBuckets buckets = RelativeBuckets::clamped(tokens, tokens, 20);
    const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
    for (int where = 0; where < 5; ++where) {
        Case<TestType> one(tokens, buckets, width);
        Tensor<TestType>* const operands[] = {&one.q, &one.k, &one.v, &one.k_r, &one.q_r};
        (*operands[where])[(where < 3 ? 70 : 2) * width + 3] = nan;
        const Result<TestType> found = by_blocks(one);
        for (Index h = 0; h < 2; ++h) {
            Matrix<TestType> scores = content_to_content<TestType>(one.q.matrix(h), one.k.matrix(h));
            scores += content_to_position<TestType>(one.q.matrix(h), one.k_r.matrix(h), buckets);
            scores += position_to_content<TestType>(one.k.matrix(h), one.q_r.matrix(h), buckets, one.index);
            const Matrix<TestType> probs = masked_softmax<TestType>(scores, Mask()),
                                   context = times<TestType>(probs, one.v.matrix(h));
            INFO("operand " << where << ", head " << h);
            CHECK((probs.array().isNaN() == found.probs.matrix(h).array().isNaN()).all());
            CHECK((context.array().isNaN() == found.context.matrix(h).array().isNaN()).all());
            if (h == 0) CHECK(context.array().isNaN().any());
        }
    }
}

TEMPLATE_TEST_CASE(
    "disentangled blocks: samples of unequal lengths have the bits of each alone, at any length of table",
    "[disentangled][blocks][law]", float, double) {
    const std::vector<Index> lengths = {5, 130, 1, 64, 200};
    constexpr Index kHeads = 2, kWidth = 12, kRows = 400;
    ThreadPool pool(2);
    // Rows of all samples one after the other, queries, keys and values beside each other, as a dense layer leaves
    // them.
    const Matrix<TestType> all = random_rows<TestType>(kRows, 3 * kHeads * kWidth, 7);
    const auto operand = [&](Index first, Index which) {
        return HeadsAt<TestType>{&all(first, which * kHeads * kWidth), 0, kWidth, 3 * kHeads * kWidth};
    };
    const auto context_of = [&](const std::vector<Index>& some, Index first, Index table) {
        const RelativeBuckets buckets = RelativeBuckets::logarithmic(table, table, 16, 40, OffsetClamp::official);
        const Case<TestType> one(table, buckets, kWidth);
        const auto tables = offset_tables<TestType>(one.k_r, one.q_r, buckets, P2cIndex::official_ij, pool);
        Matrix<TestType> context(kRows - first, kHeads * kWidth);
        BlockBuffers<TestType> buffers;
        const DisentangledBlocks<TestType> task{operand(first, 0),
                                                operand(first, 1),
                                                operand(first, 2),
                                                static_cast<Index>(some.size()),
                                                tables,
                                                one.divisor(),
                                                nullptr,
                                                MaskedRow::zero,
                                                &some};
        disentangled_blocks<TestType>(task, context.data(), {context.data(), 0, kWidth, kHeads * kWidth}, nullptr,
                                      buffers, pool);
        return context;
    };
    const Matrix<TestType> together = context_of(lengths, 0, 300);
    Index first = 0;
    for (const Index length : lengths) {
        INFO("length " << length);
        CHECK(together.middleRows(first, length) == context_of({length}, first, length).topRows(length));
        first += length;
    }
    CHECK(first == kRows);
    CHECK_THROWS_AS(context_of({5, 301}, 0, 300), Error);
    CHECK_THROWS_AS(context_of({5, 0}, 0, 300), Error);
}

TEST_CASE("disentangled blocks: what does not fit is refused", "[disentangled][blocks]") {
    Case<float> one(5, RelativeBuckets::clamped(5, 5, 3), 4);
    one.masks = {Mask::Ones(5, 4)};
    CHECK_THROWS_AS(by_blocks(one), Error);
    one.masks = {Mask(), Mask()};
    CHECK_THROWS_AS(by_blocks(one), Error);
    one.masks.clear();
    one.k_r = Tensor<float>({2, 8, 4});
    CHECK_THROWS_AS(by_blocks(one), Error);
    one.k_r = one.q_r = Tensor<float>();
    CHECK_THROWS_AS(by_blocks(one), Error);
    Case<float> printed(5, RelativeBuckets::clamped(5, 6, 3), 4);
    printed.index = P2cIndex::paper_ji;
    CHECK_THROWS_AS(by_blocks(printed), Error);
}

TEST_CASE("pool: every piece is done once, by any team", "[pool]") {
    for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        CHECK(pool.threads() == threads);
        for (const std::ptrdiff_t count : {0, 1, 4, 1000}) {
            std::vector<int> done(static_cast<std::size_t>(count));
            pool.parallel_for(count, [&](std::ptrdiff_t piece, int member) {
                if (member >= 0 && member < threads) ++done[static_cast<std::size_t>(piece)];
            });
            CHECK(std::count(done.begin(), done.end(), 1) == count);
        }
    }
}

TEST_CASE("pool: an exception comes out and the team works on", "[pool]") {
    ThreadPool pool(3);
    CHECK_THROWS_AS(pool.parallel_for(100,
                                      [](std::ptrdiff_t piece, int) {
                                          if (piece == 7) throw Error(Fault::usage, "piece 7");
                                      }),
                    Error);
    std::vector<int> done(10);
    pool.parallel_for(10, [&](std::ptrdiff_t piece, int) { done[static_cast<std::size_t>(piece)] = 1; });
    CHECK(std::count(done.begin(), done.end(), 1) == 10);
    CHECK_THROWS_AS(ThreadPool(0), Error);
}

}  // namespace locus::test::test_disentangled_blocks
