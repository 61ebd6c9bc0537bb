// Relative attention and the two streams backwards.
#include <catch2/catch.hpp>

#include "core/attention/two_stream.h"
#include "core/models/relative_heads.h"
#include "core/products.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_relative_backward {

namespace {

std::vector<Index> in_order(Index queries) {
    std::vector<Index> positions;
    for (Index i = 0; i < queries; ++i) positions.push_back(i);
    return positions;
}

Tensor<double> one_head(const Matrix<double>& x) {
    return {{1, 1, x.rows(), x.cols()}, std::vector<double>(x.data(), x.data() + x.size())};
}

/// One head through the pass that the models use; leaves probs in the queries.
Matrix<double> forward(const RelativeKeys<double>& keys, const SegmentKeys<double>* segments,
                       RelativeQueries<double>& queries, const Mask& mask) {
    const Tensor<double> q = one_head(queries.q), k = one_head(keys.k), v = one_head(keys.v);
    const Tensor<double> r_k({1, keys.r_k.rows(), keys.r_k.cols()}, one_head(keys.r_k).values());
    const Matrix<double> u = keys.content_bias, position_bias = keys.position_bias;
    const std::vector<Index> positions = queries.positions.empty() ? in_order(queries.q.rows()) : queries.positions;
    RelativeHeads<double> heads{q,           k,           v,      {&r_k},          u, position_bias, keys.first,
                                keys.memory, {positions}, {mask}, MaskedRow::zero, {}};
    if (segments)
        heads.segment_term = [&](Index, Index) {
            std::vector<std::int64_t> ids;
            for (const Index i : positions)
                ids.push_back(i < 0 ? 0 : segments->key_ids[static_cast<std::size_t>(keys.memory + i)]);
            return segment_term<double>(queries.q, segments->bias, segments->segments, ids, segments->key_ids);
        };
    Trace trace;
    const Tensor<double> context = relative_attention(heads, "layer.0", trace);
    queries.probs = trace.at("layer.0.probs").as<double>().matrix();
    if (queries.keep.size() == 0) return context.matrix();
    return times<double>(queries.probs.cwiseProduct(queries.keep), keys.v);
}

struct TwoStreams {
    RelativeKeys<double> keys;
    SegmentKeys<double> segments;
    RelativeQueries<double> h, g;
    Mask content, query;
    Matrix<double> d_h, d_g;

    /// Sum of both contexts, each times its weights; leaves probs in both streams.
    double loss(bool with_segments) {
        const SegmentKeys<double>* ef = with_segments ? &segments : nullptr;
        return forward(keys, ef, h, content).cwiseProduct(d_h).sum() +
               forward(keys, ef, g, query).cwiseProduct(d_g).sum();
    }
};

/// Five tokens in two segments after a memory of two, the order 3 2 4 1 0; targets at 3 and 0, and one unused.
TwoStreams example(Numbers& numbers, bool dropout) {
    constexpr Index kTokens = 5, kMemory = 2, kKeys = 7, kWidth = 4, kRows = kKeys + kTokens;
    TwoStreams all;
    all.keys = {numbers.matrix(kKeys, kWidth),
                numbers.matrix(kKeys, kWidth),
                numbers.matrix(kRows, kWidth),
                numbers.matrix(1, kWidth),
                numbers.matrix(1, kWidth),
                kKeys,
                kMemory};
    all.segments = {numbers.matrix(1, kWidth), numbers.matrix(2, kWidth), {0, 0, 0, 0, 1, 1, 1}};
    all.h.q = numbers.matrix(kTokens, kWidth);
    all.g.q = numbers.matrix(3, kWidth);
    all.g.positions = {3, 0, -1};
    TwoStreamHiding hiding;
    hiding.memory = kMemory;
    hiding.permutation = Mask::Ones(kTokens, kTokens);
    const std::vector<Index> order = {3, 2, 4, 1, 0};
    for (std::size_t later = 0; later < order.size(); ++later)
        for (std::size_t earlier = 0; earlier < later; ++earlier) hiding.permutation(order[later], order[earlier]) = 0;
    const TwoStreamMasks masks = two_stream_masks(kTokens, hiding);
    all.content = masks.content;
    all.query = Mask::Ones(3, kKeys);
    all.query.row(0) = masks.query.row(3);
    all.query.row(1) = masks.query.row(0);
    if (dropout)
        for (RelativeQueries<double>* stream : {&all.h, &all.g})
            stream->keep =
                numbers.matrix(stream->q.rows(), kKeys).unaryExpr([](double x) { return x > -0.5 ? 4.0 / 3 : 0.0; });
    all.d_h = numbers.matrix(kTokens, kWidth);
    all.d_g = numbers.matrix(3, kWidth);
    return all;
}

TwoStreamGradients<double> backward(const TwoStreams& all, bool with_segments) {
    return two_stream_backward<double>(all.keys, with_segments ? all.segments : SegmentKeys<double>{}, all.h, all.d_h,
                                       all.g, all.d_g);
}

}  // namespace

TEST_CASE("relative attention backward: torch's autograd of transformer-xl, with memory and same_length",
          "[backward][oracle]") {
    for (const std::string name : {"grads_txl_attention", "grads_txl_attention_same_length"}) {
        const GradientCase recorded(name);
        const auto& probes = recorded.json["probes"];
        const Index batch = probes["B"], heads = probes["H"], width = probes["d"], memory = probes["M"];
        const Mask mask = recorded.inputs.at("mask").as<std::int64_t>().matrix().cast<std::uint8_t>();
        for (Index h = 0; h < heads; ++h) {
            INFO(name << ", head " << h);
            Matrix<double> r_k, content_bias, position_bias;
            for (Index b = 0; b < batch; ++b) {
                const Index at = b * heads + h;
                const RelativeKeys<double> keys{recorded.input("k", at),
                                                recorded.input("v", at),
                                                recorded.input("r_k", h),
                                                recorded.input("r_w_bias").row(h),
                                                recorded.input("r_r_bias").row(h),
                                                mask.cols() - 1,
                                                memory};
                RelativeQueries<double> queries{recorded.input("q", at), {}, {}, {}};
                const Matrix<double> context = forward(keys, nullptr, queries, mask);
                CHECK(near(context, recorded.recorded("context", b).middleCols(h * width, width)));
                const Matrix<double> d_context = recorded.input("d_context", b).middleCols(h * width, width);
                const auto grad = relative_backward<double>(keys, queries, d_context);
                CHECK(recorded.agrees(grad.q, "grad.q", at));
                CHECK(recorded.agrees(grad.k, "grad.k", at));
                CHECK(recorded.agrees(grad.v, "grad.v", at));
                r_k = b == 0 ? grad.r_k : Matrix<double>(r_k + grad.r_k);
                content_bias = b == 0 ? Matrix<double>(grad.content_bias) : content_bias + grad.content_bias;
                position_bias = b == 0 ? Matrix<double>(grad.position_bias) : position_bias + grad.position_bias;
            }
            CHECK(recorded.agrees(r_k, "grad.r_k", h));
            CHECK(near(content_bias, recorded.recorded("grad.r_w_bias").row(h)));
            CHECK(near(position_bias, recorded.recorded("grad.r_r_bias").row(h)));
        }
    }
}

TEST_CASE("relative attention backward: central differences of every operand, with and without memory and dropout",
          "[backward]") {
    Numbers numbers(1);
    for (const Index memory : {0, 3})
        for (const bool dropout : {false, true}) {
            const Index tokens = 4, count = memory + tokens;
            RelativeKeys<double> keys{numbers.matrix(count, 5),
                                      numbers.matrix(count, 5),
                                      numbers.matrix(count, 5),
                                      numbers.matrix(1, 5),
                                      numbers.matrix(1, 5),
                                      count - 1,
                                      memory};
            RelativeQueries<double> queries{numbers.matrix(tokens, 5), {}, {}, {}};
            if (dropout)
                queries.keep = numbers.matrix(tokens, count).unaryExpr([](double x) { return x > 0 ? 2.0 : 0.0; });
            const Mask mask = transformer_xl_mask(tokens, memory, false, memory);
            const Matrix<double> d_context = numbers.matrix(tokens, 5);
            const auto loss = [&] {
                RelativeQueries<double> moved = queries;
                return forward(keys, nullptr, moved, mask).cwiseProduct(d_context).sum();
            };
            forward(keys, nullptr, queries, mask);
            const auto grad = relative_backward<double>(keys, queries, d_context);
            check_differences("q", queries.q, grad.q, loss);
            check_differences("k", keys.k, grad.k, loss);
            check_differences("v", keys.v, grad.v, loss);
            check_differences("r_k", keys.r_k, grad.r_k, loss);
            check_differences("u", keys.content_bias, grad.content_bias, loss);
            check_differences("v of positions", keys.position_bias, grad.position_bias, loss);
        }
}

TEST_CASE("relative attention backward: distances that nobody looks back teach their row exactly nothing",
          "[backward][law]") {
    Numbers numbers(2);
    RelativeKeys<double> keys{numbers.matrix(6, 3),
                              numbers.matrix(6, 3),
                              numbers.matrix(6, 3),
                              numbers.matrix(1, 3),
                              numbers.matrix(1, 3),
                              5,
                              0};
    RelativeQueries<double> queries{numbers.matrix(6, 3), {}, {}, {}};
    Mask mask(6, 6);  // a window of three: distances 0, 1 and 2
    for (Index i = 0; i < 6; ++i)
        for (Index j = 0; j < 6; ++j) mask(i, j) = j <= i && i - j <= 2;
    forward(keys, nullptr, queries, mask);
    const auto grad = relative_backward<double>(keys, queries, numbers.matrix(6, 3));
    CHECK(grad.r_k.topRows(3).isZero(0));  // distances 5, 4, 3
    for (Index row = 3; row < 6; ++row) CHECK(max_abs(grad.r_k.row(row)) > 1e-6);
    // q stands with u in the one term and with v in the other, so what its rows got is what both biases got.
    for (Index c = 0; c < 3; ++c)
        CHECK(std::abs(grad.content_bias[c] + grad.position_bias[c] - grad.q.col(c).sum()) <= rounding(30, 2));
}

TEST_CASE("shift back: the transpose of the shift, for queries anywhere", "[backward][law]") {
    Numbers numbers(3);
    const std::vector<Index> positions = {2, -1, 0, 4};
    for (const Index columns : {5, 7, 12}) {
        const Matrix<double> raw = numbers.matrix(4, columns), d_bd = numbers.matrix(4, 7);
        const Matrix<double> bd = shift_by_index<double>(raw, 7, 6, 2, positions),
                             d_raw = shift_back_by_index<double>(d_bd, columns, 6, 2, positions);
        CHECK(std::abs(bd.cwiseProduct(d_bd).sum() - raw.cwiseProduct(d_raw).sum()) <= rounding(40, 1));
        CHECK(d_raw.row(1).isZero(0));
        CHECK(!d_raw.row(0).isZero(0));
    }
    CHECK(refusal([&] { shift_back_by_index<double>(numbers.matrix(3, 7), 7, 6, 2, positions); }, Fault::usage) ==
          "shift_back_by_index: 4 positions for 3 queries, expected one each");
}

TEST_CASE("two streams backward: central differences of every operand of both streams", "[backward]") {
    Numbers numbers(4);
    for (const bool with_segments : {true, false})
        for (const bool dropout : {false, true}) {
            INFO("segments " << with_segments << ", dropout " << dropout);
            TwoStreams all = example(numbers, dropout);
            all.loss(with_segments);
            const auto grad = backward(all, with_segments);
            const auto loss = [&] { return all.loss(with_segments); };
            check_differences("q of h", all.h.q, grad.content_q, loss);
            check_differences("q of g", all.g.q, grad.query_q, loss);
            check_differences("k", all.keys.k, grad.k, loss);
            check_differences("v", all.keys.v, grad.v, loss);
            check_differences("r_k", all.keys.r_k, grad.r_k, loss);
            check_differences("r_w_bias", all.keys.content_bias, grad.content_bias, loss);
            check_differences("r_r_bias", all.keys.position_bias, grad.position_bias, loss);
            if (with_segments) {
                check_differences("r_s_bias", all.segments.bias, grad.segment_bias, loss);
                check_differences("seg_embed", all.segments.segments, grad.segments, loss);
            } else {
                CHECK((grad.segment_bias.size() == 0 && grad.segments.size() == 0));
            }
        }
}

TEST_CASE("two streams backward: an unused target gets exactly nothing, and without targets h is alone",
          "[backward][law]") {
    Numbers numbers(5);
    TwoStreams all = example(numbers, false);
    all.loss(true);
    const auto both = backward(all, true);
    CHECK(both.query_q.row(2).isZero(0));
    CHECK(!both.query_q.row(0).isZero(1e-6));

    all.d_g.setZero();
    const auto silent = backward(all, true);
    CHECK(silent.query_q.isZero(0));
    CHECK(silent.content_q == both.content_q);
    TwoStreams alone = all;
    alone.g.q.resize(0, 4);
    alone.g.positions.clear();
    alone.g.probs.resize(0, 7);
    alone.d_g.resize(0, 4);
    const auto h = backward(alone, true);
    CHECK(h.query_q.rows() == 0);
    CHECK((h.content_q == silent.content_q && h.k == silent.k && h.v == silent.v && h.r_k == silent.r_k));
    CHECK((h.content_bias == silent.content_bias && h.position_bias == silent.position_bias));
    CHECK((h.segment_bias == silent.segment_bias && h.segments == silent.segments));
    CHECK(max_abs(both.k - h.k) > 1e-3);
}

TEST_CASE("two streams backward: two rows alike make segments that nobody can tell apart", "[backward][law]") {
    Numbers numbers(6);
    TwoStreams all = example(numbers, false);
    all.segments.segments.row(1) = all.segments.segments.row(0);
    // The same number for every key of a query: the softmax takes it out again, and with it its whole gradient.
    all.loss(true);
    const auto grad = backward(all, true);
    CHECK(max_abs(grad.segments.row(0) + grad.segments.row(1)) <= rounding(60, 3));
    CHECK(max_abs(grad.segment_bias) <= rounding(60, 3));
    CHECK(max_abs(grad.segments) > 1e-3);
}

TEST_CASE("relative attention and two streams backward: float is double, rounded, and what does not fit is named",
          "[backward]") {
    Numbers numbers(7);
    TwoStreams all = example(numbers, false);
    all.loss(true);
    const auto exact = backward(all, true);
    const auto f = [](const auto& x) { return x.template cast<float>().eval(); };
    const RelativeKeys<float> keys{
        f(all.keys.k),  f(all.keys.v),  f(all.keys.r_k), f(all.keys.content_bias), f(all.keys.position_bias),
        all.keys.first, all.keys.memory};
    const SegmentKeys<float> segments{f(all.segments.bias), f(all.segments.segments), all.segments.key_ids};
    const RelativeQueries<float> h{f(all.h.q), {}, f(all.h.probs), {}},
        g{f(all.g.q), all.g.positions, f(all.g.probs), {}};
    const auto single = two_stream_backward<float>(keys, segments, h, f(all.d_h), g, f(all.d_g));
    CHECK(near(single.content_q.cast<double>(), exact.content_q, 1e-5));
    CHECK(near(single.query_q.cast<double>(), exact.query_q, 1e-5));
    CHECK(near(single.k.cast<double>(), exact.k, 1e-5));
    CHECK(near(single.r_k.cast<double>(), exact.r_k, 1e-5));
    CHECK(near(single.segments.cast<double>(), exact.segments, 1e-5));

    const auto refused = [&](auto change) {
        TwoStreams wrong = all;
        change(wrong);
        return refusal([&] { backward(wrong, true); }, Fault::usage);
    };
    CHECK(refused([](auto& one) { one.keys.r_k.resize(12, 3); }) ==
          "relative_backward: r_k is 12 x 3, expected 12 x 4");
    CHECK(refused([](auto& one) { one.h.probs.resize(5, 6); }) == "relative_backward: probs is 5 x 6, expected 5 x 7");
    CHECK(refused([](auto& one) { one.segments.key_ids.pop_back(); }) ==
          "two_stream_backward: 6 segment ids for 7 keys, expected one each");
    CHECK(refused([](auto& one) { one.g.positions[0] = 5; }) ==
          "two_stream_backward: a query at token 5, expected 0 to 4");
    CHECK(refused([](auto& one) { one.segments.segments.resize(3, 4); }) ==
          "segment_term_backward: segments is 3 x 4, expected 2 x 4");
}

}  // namespace locus::test::test_relative_backward
