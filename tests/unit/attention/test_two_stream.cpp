#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/two_stream.h"
#include "core/positions/factorisation_order.h"
#include "tests/files.h"

namespace locus::test::test_two_stream {

namespace {

Mask hidden_of(const Visibility& visible) { return (1 - visible.array()).matrix(); }

}  // namespace

TEST_CASE("two streams: an order gives both masks, memory is seen by all", "[two_stream][law]") {
    const std::vector<Index> order = {2, 1, 3, 0};
    const Visibility query = query_visibility(order), content = content_visibility(order);
    for (const Index memory : {0, 3}) {
        TwoStreamHiding hiding;
        hiding.memory = memory;
        hiding.permutation = hidden_of(query);
        const TwoStreamMasks masks = two_stream_masks(4, hiding);
        CHECK(masks.query.rightCols(4) == query);
        CHECK(masks.content.rightCols(4) == content);
        CHECK((masks.query.leftCols(memory).array() == 1).all());
        CHECK((masks.content.leftCols(memory).array() == 1).all());
    }
}

TEST_CASE("two streams: padding is hidden from all but itself, the future where the model looks one way",
          "[two_stream][law]") {
    TwoStreamHiding hiding;
    hiding.padding = {true, false, false};
    const TwoStreamMasks padded = two_stream_masks(3, hiding);
    CHECK(padded.query.col(0).isZero(0));
    CHECK(padded.content(0, 0) == 1);
    CHECK(padded.content(1, 0) == 0);
    hiding = {};
    hiding.direction = Direction::unidirectional;
    const TwoStreamMasks causal = two_stream_masks(3, hiding);
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 3; ++j) CHECK(causal.query(i, j) == (j <= i));  // the diagonal too: g sees its own token
    CHECK(causal.content == causal.query);
}

TEST_CASE("two streams: same_length hides older keys, only one way", "[two_stream][golden]") {
    TwoStreamHiding hiding;
    hiding.memory = 3;
    hiding.same_length = true;
    CHECK((two_stream_masks(3, hiding).query.array() == 1).all());
    hiding.direction = Direction::unidirectional;
    Mask expected(3, 6);
    expected << 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1;
    CHECK(two_stream_masks(3, hiding).query == expected);
}

TEST_CASE("two streams: the segment term knows only same and different", "[two_stream][twin]") {
    const Matrix<double> q = Matrix<double>::Random(3, 4), segments = Matrix<double>::Random(2, 4);
    const RowVector<double> s = RowVector<double>::Random(4);
    const std::vector<std::int64_t> queries = {0, 7, 7}, keys = {0, 0, 0, 7, 7};
    const Matrix<double> ef = segment_term<double>(q, s, segments, queries, keys);
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 5; ++j) {
            const bool same = queries[static_cast<std::size_t>(i)] == keys[static_cast<std::size_t>(j)];
            double expected = 0;
            for (Index c = 0; c < 4; ++c) expected += (q(i, c) + s[c]) * segments(same ? 0 : 1, c);
            CHECK(std::abs(ef(i, j) - expected) <= 1e-15);
        }
    CHECK(ef.row(0).head(3) == RowVector<double>::Constant(3, ef(0, 0)));
}

TEST_CASE("two streams: a target mapping selects one token per row, or none", "[two_stream][law]") {
    Matrix<double> mapping = Matrix<double>::Zero(3, 5);
    mapping(0, 4) = mapping(2, 1) = 1;
    CHECK(target_positions(mapping) == std::vector<Index>{4, -1, 1});
}

TEST_CASE("two streams: what cannot be is refused in one sentence", "[two_stream][bad]") {
    const auto refused = [](auto call) { return test::refusal(call, Fault::usage); };
    Matrix<double> mapping = Matrix<double>::Zero(2, 4);
    mapping(1, 0) = mapping(1, 3) = 1;
    CHECK(refused([&] { target_positions(mapping); }).find("row 1 has ones at 0 and 3") != std::string::npos);
    mapping(1, 0) = 0;
    mapping(0, 3) = 1;
    CHECK(refused([&] { target_positions(mapping); }).find("two rows have their one at 3") != std::string::npos);
    mapping(1, 3) = 0.5;
    CHECK(refused([&] { target_positions(mapping); }).find("expected 0 or 1") != std::string::npos);
    TwoStreamHiding hiding;
    hiding.permutation = Mask::Zero(3, 4);
    CHECK(refused([&] { two_stream_masks(4, hiding); }).find("perm_mask is [3, 4]") != std::string::npos);
    hiding = {};
    hiding.padding = {true};
    CHECK(refused([&] { two_stream_masks(4, hiding); }).find("input_mask has 1") != std::string::npos);
    CHECK(refused([&] {
              segment_term<double>(Matrix<double>::Zero(2, 4), RowVector<double>::Zero(4), Matrix<double>::Zero(3, 4),
                                   {0, 0}, {0, 0});
          }).find("[3, 4]") != std::string::npos);
}

}  // namespace locus::test::test_two_stream
