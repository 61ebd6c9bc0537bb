// One cell of relative attention, replayed: the same bits as the model's own matrices, in every cell.
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "core/attention/relative.h"
#include "core/attention/two_stream.h"
#include "core/io/checkpoint.h"
#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"

namespace locus::test::test_microscope_relative {

namespace {

std::vector<Index> count_up(Index count) {
    std::vector<Index> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), Index(0));
    return all;
}

ModelInput words(const std::vector<std::int64_t>& ids) {
    ModelInput input;
    input.tokens = IndexTensor({1, static_cast<Index>(ids.size())}, ids);
    return input;
}

/// The word itself is hidden from its own query stream by the order alone.
bool why_itself(const TwoStreamHiding& hiding, Index i, Index token) {
    const bool padded = !hiding.padding.empty() && hiding.padding[static_cast<std::size_t>(i)];
    return token == i && !padded && hiding.permutation.size() > 0 && hiding.permutation(i, i) != 0;
}

/// Every cell against the stages of the trace; returns how many cells were compared.
template <class Scalar>
Index compare_all(const RelativeHeadTensors<Scalar>& head, const Trace& trace, const std::string& prefix, Index at) {
    const auto stage = [&](const char* stem) { return trace.at(prefix + stem).as<Scalar>().matrix(at); };
    const auto ac = stage(".ac"), bd = stage(".bd"), scores = stage(".scores"), probs = stage(".probs");
    for (Index i = 0; i < scores.rows(); ++i)
        for (Index j = 0; j < scores.cols(); ++j) {
            const auto cell = explain_relative_cell<Scalar>(head, i, j);
            REQUIRE(cell.ac.value == ac(i, j));
            REQUIRE(cell.counted_bd == bd(i, j));
            if (head.has_segments()) REQUIRE(cell.ef.value == stage(".ef")(i, j));
            REQUIRE(cell.score == scores(i, j));
            REQUIRE(cell.softmax.probability == probs(i, j));
            if (cell.row >= 0) REQUIRE(cell.bd.value == stage(".bd_raw")(i, cell.row));
        }
    return scores.size();
}

template <class Scalar>
RelativeHeadTensors<Scalar> head_of(const Trace& trace, const std::string& keys, const std::string& queries, Index h) {
    const auto stage = [&](const std::string& name) -> Matrix<Scalar> {
        return trace.at(name).template as<Scalar>().matrix(h);
    };
    RelativeHeadTensors<Scalar> head;
    head.q = stage(queries + ".q");
    head.k = stage(keys + ".k");
    head.r_k = stage(keys + ".r_k");
    return head;
}

}  // namespace

TEMPLATE_TEST_CASE("relative microscope: every cell of tiny-txl to the last bit, memory and segment",
                   "[microscope][transformer-xl][law]", float, double) {
    const Checkpoint files = open_checkpoint(resolve_model("tiny-txl"));
    const TransformerXl<TestType> model(parse_transformer_xl_config(files.config_json, "config.json"), files.weights);
    const std::vector<ModelInput> segments = {words({2, 17, 40, 9, 33, 21, 5}), words({8, 3, 60, 12, 2, 45})};
    const Trace trace = model.forward(segments, Dialect::official);
    Index compared = 0;
    for (const Index segment : {0, 1})
        for (Index l = 0; l < model.sizes().layers; ++l)
            for (Index h = 0; h < model.sizes().heads; ++h) {
                const std::string at = "segment." + std::to_string(segment) + ".layer." + std::to_string(l);
                RelativeHeadTensors<TestType> head = head_of<TestType>(trace, at, at, h);
                head.u = model.layer(l).content_bias.row(h);
                head.v = model.layer(l).position_bias.row(h);
                head.memory = head.k.rows() - head.q.rows();
                head.first = head.k.rows() - 1;
                head.positions = count_up(head.q.rows());
                head.mask =
                    transformer_xl_mask(head.q.rows(), head.memory, model.config().same_length, model.config().mem_len);
                REQUIRE(head.memory == 7 * segment);
                compared += compare_all<TestType>(head, trace, at, h);
                const auto terms = relative_terms<TestType>(head.q, head.k, head.r_k, head.u, head.v, head.first);
                for (Index i = 0; i < head.q.rows(); ++i)
                    for (Index j = 0; j <= i + head.memory; ++j) {
                        const auto cell = explain_relative_cell<TestType>(head, i, j);
                        REQUIRE(cell.a.value == terms.a(i, j));
                        REQUIRE(cell.b.value == terms.b(i, j));
                        REQUIRE(cell.c.value == terms.c(i, j));
                        REQUIRE(cell.d.value == terms.d(i, j));
                        REQUIRE(cell.distance == head.memory + i - j);
                    }
            }
    CHECK(compared == 16 * (7 * 7 + 6 * 13));
}

TEMPLATE_TEST_CASE("relative microscope: every cell of tiny-xlnet to the last bit, both streams, two segments",
                   "[microscope][xlnet][law]", float, double) {
    const Checkpoint files = open_checkpoint(resolve_model("tiny-xlnet"));
    const Xlnet<TestType> model(parse_xlnet_config(files.config_json, "config.json"), files.weights);
    ModelInput input = words({9, 120, 26, 445, 23, 559});
    input.token_types = IndexTensor({1, 6}, {0, 0, 0, 0, 1, 1});
    const Index memory = 3;
    for (Index l = 0; l < model.sizes().layers; ++l) {
        Tensor<double> rows({1, memory, model.config().d_model});
        for (Index n = 0; n < rows.size(); ++n) rows[n] = std::sin(static_cast<double>(n + 7 * l));
        input.memories.push_back(rows);
    }
    // 3 and 5 are predicted, 5 first; the first of them sees no target, nobody sees padding.
    Mask hidden = Mask::Zero(6, 6);
    for (Index i = 0; i < 6; ++i)
        for (const Index j : {3, 5}) hidden(i, j) = !(i == 3 && j == 5);
    input.perm_mask = IndexTensor({1, 6, 6});
    for (Index n = 0; n < 36; ++n) input.perm_mask[n] = hidden.data()[n];
    input.target_mapping = IndexTensor({1, 2, 6});
    input.target_mapping[5] = input.target_mapping[6 + 3] = 1;
    const Trace trace = model.forward({input}, Dialect::official);
    const TwoStreamMasks masks = two_stream_masks(6, {memory, model.config().direction, false, hidden, {}});
    Index compared = 0;
    for (Index l = 0; l < model.sizes().layers; ++l)
        for (Index h = 0; h < model.sizes().heads; ++h)
            for (const bool query : {false, true}) {
                const std::string keys = "layer." + std::to_string(l), at = keys + (query ? ".g" : "");
                RelativeHeadTensors<TestType> head = head_of<TestType>(trace, keys, at, h);
                const XlnetLayer<TestType>& weights = model.layer(l);
                head.u = weights.content_bias.row(h);
                head.v = weights.position_bias.row(h);
                head.s = weights.segment_bias.row(h);
                head.segments = weights.segments.matrix(h);
                head.memory = memory;
                head.first = head.k.rows();
                head.masked_row = MaskedRow::uniform;
                head.positions = query ? std::vector<Index>{5, 3} : count_up(6);
                head.key_ids = {0, 0, 0, 0, 0, 0, 0, 1, 1};
                for (const Index position : head.positions) head.query_ids.push_back(position < 4 ? 0 : 1);
                head.mask.resize(head.q.rows(), 9);
                for (Index p = 0; p < head.q.rows(); ++p)
                    head.mask.row(p) =
                        (query ? masks.query : masks.content).row(head.positions[static_cast<std::size_t>(p)]);
                compared += compare_all<TestType>(head, trace, at, h);
                CHECK(explain_relative_cell<TestType>(head, 0, 8).other_segment == !query);
            }
    CHECK(compared == 16 * (6 * 9 + 2 * 9));
}

TEMPLATE_TEST_CASE("relative microscope: a query that sees nothing gets what its code makes of that",
                   "[microscope][xlnet]", float, double) {
    RelativeHeadTensors<TestType> head;
    head.q = Matrix<TestType>::Random(1, 5);
    head.k = Matrix<TestType>::Random(3, 5);
    head.r_k = Matrix<TestType>::Random(6, 5);
    head.u = head.v = RowVector<TestType>::Random(5);
    head.first = 3;
    head.positions = {1};
    head.mask = Mask::Zero(1, 3);
    CHECK(explain_relative_cell<TestType>(head, 0, 2).softmax.probability == 0);
    head.masked_row = MaskedRow::uniform;
    const auto cell = explain_relative_cell<TestType>(head, 0, 2);
    CHECK(cell.softmax.sees_nothing);
    CHECK(cell.softmax.probability ==
          masked_softmax<TestType>(Matrix<TestType>::Zero(1, 3), head.mask, MaskedRow::uniform)(0, 2));
}

TEST_CASE("relative microscope: what does not fit is refused with its name", "[microscope][transformer-xl]") {
    RelativeHeadTensors<float> head;
    head.q = Matrix<float>::Random(2, 4);
    head.k = Matrix<float>::Random(3, 4);
    head.r_k = Matrix<float>::Random(3, 4);
    head.u = head.v = RowVector<float>::Random(4);
    head.first = 2;
    head.memory = 1;
    head.positions = {0, 1};
    head.mask = transformer_xl_mask(2, 1, false, 1);
    CHECK_NOTHROW(explain_relative_cell<float>(head, 1, 2));
    CHECK_THROWS_WITH(explain_relative_cell<float>(head, 2, 0), Catch::Contains("(2, 0) lies outside [2, 3]"));
    const auto refuses = [&](auto damage, const char* named) {
        RelativeHeadTensors<float> damaged = head;
        damage(damaged);
        CHECK_THROWS_WITH(explain_relative_cell<float>(damaged, 1, 2), Catch::Contains(named));
    };
    refuses([](auto& h) { h.v = RowVector<float>::Random(3); }, "have 4, 4, 4 and 3 channels, expected 4 like q");
    refuses([](auto& h) { h.positions = {0}; }, "1 positions for 2 queries");
    refuses([](auto& h) { h.positions = {0, -1}; }, "not used");
    refuses([](auto& h) { h.mask = Mask::Ones(2, 2); }, "mask of [2, 2]");
    refuses([](auto& h) { h.mask = Mask::Ones(1, 3); }, "mask of [1, 3]");
    refuses([](auto& h) { h.u = RowVector<float>::Random(3); }, "have 4, 4, 3 and 4 channels, expected 4 like q");
    refuses([](auto& h) { h.r_k = Matrix<float>::Random(3, 5); }, "have 4, 5, 4 and 4 channels");
    refuses([](auto& h) { h.k = Matrix<float>::Random(3, 5); }, "have 5, 4, 4 and 4 channels");
    const auto with_segments = [](auto& h) {
        h.segments = Matrix<float>::Random(2, 4);
        h.s = RowVector<float>::Random(4);
        h.query_ids = {0, 1};
        h.key_ids = {0, 0, 1};
    };
    RelativeHeadTensors<float> both = head;
    with_segments(both);
    CHECK_NOTHROW(explain_relative_cell<float>(both, 1, 2));
    refuses([&](auto& h) { with_segments(h), h.s = RowVector<float>::Random(3); }, "segment table of [2, 4]");
    refuses([&](auto& h) { with_segments(h), h.query_ids = {0}; }, "1 and 3 segment ids for 2 queries and 3 keys");
    refuses([&](auto& h) { with_segments(h), h.key_ids = {0}; }, "2 and 1 segment ids for 2 queries and 3 keys");
    refuses([](auto& h) { h.segments = Matrix<float>::Random(3, 4); }, "segment table of [3, 4]");
}

TEST_CASE("explain_softmax: a key or a mask that does not fit is refused", "[softmax][explain]") {
    CHECK_THROWS_WITH(explain_softmax<float>({1, 2}, Mask::Ones(1, 2), 0, 2), Catch::Contains("key 2"));
    CHECK_THROWS_WITH(explain_softmax<float>({1, 2}, Mask::Ones(1, 1), 0, 0), Catch::Contains("mask of [1, 1]"));
}

TEST_CASE("explain_softmax: a row that sees nothing has what masked_softmax makes of it", "[softmax][explain]") {
    const Mask none = Mask::Zero(2, 3);
    for (const MaskedRow masked_row : {MaskedRow::zero, MaskedRow::uniform}) {
        const auto steps = explain_softmax<float>({1, 2, 3}, none, 1, 0, masked_row);
        CHECK(steps.sees_nothing);
        CHECK(steps.probability == masked_softmax<float>(Matrix<float>::Ones(2, 3), none, masked_row)(1, 0));
    }
}

TEST_CASE("explain_softmax: the largest visible score and its key, and no exponential for a hidden one",
          "[microscope][transformer-xl]") {
    Mask mask(1, 4);
    mask << 1, 0, 1, 1;
    const auto seen = explain_softmax<double>({1, 9, 3, 2}, mask, 0, 3);
    CHECK(seen.row_maximum == 3);
    CHECK(seen.row_maximum_key == 2);
    CHECK(seen.shifted == -1);
    CHECK(seen.probability == Approx(std::exp(-1) / (std::exp(-2) + 1 + std::exp(-1))));
    const auto hidden = explain_softmax<double>({1, 9, 3, 2}, mask, 0, 1, MaskedRow::uniform);
    CHECK_FALSE(hidden.visible);
    CHECK_FALSE(hidden.sees_nothing);
    CHECK(hidden.probability == 0);
    CHECK(hidden.exponential == 0);
}

TEST_CASE("relative microscope: the shift read backwards finds the number's place",
          "[microscope][transformer-xl][law]") {
    for (Index queries = 1; queries <= 5; ++queries)
        for (Index memory = 0; memory <= 4; ++memory) {
            const Index keys = memory + queries, rows = keys + queries;
            Matrix<double> raw(queries, rows);
            for (Index n = 0; n < raw.size(); ++n) raw.data()[n] = static_cast<double>(n + 1);
            const Matrix<double> causal = raw.leftCols(keys);
            const Matrix<double> shifted = shift_frames<double>(causal).back().values;
            const Matrix<double> both = shift_frames_xlnet<double>(raw, keys).back().values;
            for (Index i = 0; i < queries; ++i)
                for (Index j = 0; j < keys; ++j) {
                    const ShiftSource from = shift_source(queries, keys, i, j);
                    CHECK(shifted(i, j) == (from.column < 0 ? 0 : causal(from.row, from.column)));
                    CHECK(from.place == from.row * (keys + 1) + from.column + 1);
                    // Where the mask leaves it, it is the index that the trick stands for.
                    if (j <= i + memory) CHECK((from.row == i && from.column == keys - 1 - (memory + i - j)));
                    const ShiftSource wide = shift_source_xlnet(queries, rows, keys, i, j);
                    CHECK(both(i, j) == raw(wide.row, wide.column));
                    CHECK((wide.row == i && wide.column == keys - (memory + i - j)));
                }
        }
    CHECK_THROWS_WITH(shift_source(2, 3, 2, 0), Catch::Contains("(2, 0) lies outside [2, 3]"));
    CHECK_THROWS_WITH(shift_source_xlnet(2, 3, 3, 0, 0), Catch::Contains("expected more"));
}

TEST_CASE("two-stream microscope: a reason for every hidden entry and for no other", "[microscope][xlnet][law]") {
    const Index queries = 4;
    for (const Index memory : {0, 2})
        for (const Direction direction : {Direction::bidirectional, Direction::unidirectional})
            for (const bool same_length : {false, true})
                for (int permutation = 0; permutation < 8; ++permutation)
                    for (int padding = 0; padding < 4; ++padding) {
                        TwoStreamHiding hiding{memory, direction, same_length, {}, {}};
                        if (permutation > 0) {
                            hiding.permutation = Mask::Zero(queries, queries);
                            for (Index n = 0; n < queries * queries; ++n)
                                hiding.permutation.data()[n] = (n * (2 * permutation + 1) / 3 + permutation) % 3 == 0;
                        }
                        if (padding > 0) hiding.padding = {padding == 3, false, padding == 2, true};
                        const TwoStreamMasks masks = two_stream_masks(queries, hiding);
                        for (Index i = 0; i < queries; ++i)
                            for (Index j = 0; j < memory + queries; ++j) {
                                const auto content = hidden_by(queries, hiding, Stream::content, i, j);
                                const auto query = hidden_by(queries, hiding, Stream::query, i, j);
                                REQUIRE((content == HiddenBy::nothing) == (masks.content(i, j) == 1));
                                REQUIRE((query == HiddenBy::nothing) == (masks.query(i, j) == 1));
                                REQUIRE((std::string(reason_of(query)).empty()) == (query == HiddenBy::nothing));
                                if (query == HiddenBy::itself) REQUIRE(j - memory == i);
                                // Each reason is true of its pair, in either stream.
                                const Index token = j - memory;
                                for (const HiddenBy why : {content, query}) {
                                    if (why == HiddenBy::padding)
                                        REQUIRE((token >= 0 && hiding.padding[static_cast<std::size_t>(token)]));
                                    if (why == HiddenBy::permutation)
                                        REQUIRE((token != i && hiding.permutation(i, token) != 0));
                                    if (why == HiddenBy::later) REQUIRE(token > i);
                                    if (why == HiddenBy::too_old) REQUIRE((token < i && same_length));
                                }
                                if (why_itself(hiding, i, token)) REQUIRE(query == HiddenBy::itself);
                            }
                    }
    CHECK_THROWS_WITH(hidden_by(2, {}, Stream::query, 2, 0), Catch::Contains("(2, 0) lies outside [2, 2]"));
    CHECK_THROWS_WITH(hidden_by(2, {}, Stream::query, 0, 2), Catch::Contains("(0, 2) lies outside [2, 2]"));
    // Every reason is said in words of its own.
    std::set<std::string> said;
    for (const HiddenBy why : {HiddenBy::padding, HiddenBy::itself, HiddenBy::permutation, HiddenBy::later,
                               HiddenBy::too_old, HiddenBy::nothing})
        said.insert(reason_of(why));
    CHECK(said.size() == 6);
    CHECK_THAT(reason_of(HiddenBy::padding), Catch::Contains("padding"));
    CHECK_THAT(reason_of(HiddenBy::permutation), Catch::Contains("predicted later"));
    CHECK_THAT(reason_of(HiddenBy::later), Catch::Contains("right of the query"));
    CHECK_THAT(reason_of(HiddenBy::too_old), Catch::Contains("too far back"));
}

}  // namespace locus::test::test_microscope_relative
