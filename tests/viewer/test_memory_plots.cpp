// How far back a vector knows: as counted, and as the model itself shows when one word is changed.
#include <catch2/catch.hpp>

#include "core/io/checkpoint.h"
#include "core/models/transformer_xl.h"
#include "viewer/pages/transformer_xl/memory_plots.h"

namespace locus::test::test_memory_plots {

TEST_CASE("effective context: grows by a segment with every layer", "[viewer][transformer-xl][golden]") {
    // Segments of 3, memory 3, the last token of the fifth segment: 3 + 2, and 3 more with each layer.
    CHECK(oldest_known(14, 4, 3, 3) == std::vector<Index>{14, 9, 6, 3, 0});
    CHECK(oldest_known(14, 4, 3, 0) == std::vector<Index>{14, 12, 12, 12, 12});
    CHECK(oldest_known(14, 3, 3, 1) == std::vector<Index>{14, 11, 8, 5});
    CHECK(oldest_known(2, 3, 3, 3) == std::vector<Index>{2, 0, 0, 0});
    CHECK_THROWS_WITH(oldest_known(2, 3, 0, 3), Catch::Contains("segments of at least 1"));
}

TEST_CASE("effective context: a changed word shows exactly where it is within reach", "[viewer][transformer-xl][law]") {
    const Checkpoint files = open_checkpoint(resolve_model("tiny-txl"));
    for (const Index memory : {1, 2, 3}) {
        TransformerXlConfig config = parse_transformer_xl_config(files.config_json, "config.json");
        config.mem_len = memory;
        const TransformerXl<float> model(config, files.weights);
        constexpr Index kSegment = 2, kSegments = 6, kLast = kSegment * kSegments - 1;
        const auto outputs = [&](Index changed) {
            std::vector<ModelInput> segments(kSegments);
            for (Index s = 0; s < kSegments; ++s) {
                segments[s].tokens = IndexTensor({1, kSegment});
                for (Index t = 0; t < kSegment; ++t) {
                    const Index at = s * kSegment + t;
                    segments[s].tokens[t] = (7 * at) % 60 + (at == changed ? 3 : 2);
                }
            }
            return model.forward(segments, Dialect::official, StageFilter("segment.5.layer.*.output"));
        };
        const Trace before = outputs(-1);
        const std::vector<Index> oldest = oldest_known(kLast, model.sizes().layers, kSegment, memory);
        for (Index changed = 0; changed <= kLast; ++changed) {
            const Trace after = outputs(changed);
            for (Index layer = 1; layer <= model.sizes().layers; ++layer) {
                const std::string name = "segment.5.layer." + std::to_string(layer - 1) + ".output";
                const bool same = before.at(name).as<float>().rows().row(kSegment - 1) ==
                                  after.at(name).as<float>().rows().row(kSegment - 1);
                INFO("memory " << memory << ", layer " << layer << ", word " << changed);
                CHECK(same == (changed < oldest[static_cast<std::size_t>(layer)]));
            }
        }
    }
}

// Places on the tape.

TEST_CASE("tape: dragging the left end of the memory is the inverse of drawing it", "[viewer][transformer-xl]") {
    SegmentTape tape{100, 580, 24, 24, 24};
    CHECK(tape.pitch() == 10);
    for (Index memory = 0; memory <= 24; ++memory) {
        tape.memory = memory;
        const float edge = tape.edge(tape.longest - tape.memory);
        CHECK(tape.memory_at(edge) == memory);
        CHECK(tape.memory_at(edge + 4) == memory);
    }
    CHECK(tape.memory_at(-1000) == 24);
    CHECK(tape.memory_at(1000) == 0);
}

TEST_CASE("tape: a word keeps its place when the memory shrinks, its key does not", "[viewer][transformer-xl]") {
    SegmentTape tape{0, 48, 24, 24, 24};
    CHECK(tape.word_at(18.5f) == 18);
    CHECK(tape.key_of(18) == 18);
    tape.memory = 5;
    CHECK(tape.word_at(18.5f) == 18);
    CHECK(tape.key_of(18) == -1);
    CHECK(tape.key_of(19) == 0);
    CHECK(tape.word_of(tape.key_of(30)) == 30);
    CHECK(tape.word_at(-5) == 0);
    CHECK(tape.word_at(500) == 47);
    const SegmentTape aside{100, 580, 24, 5, 24};
    for (Index word = 0; word < aside.words(); ++word) {
        CHECK(aside.word_at(aside.edge(word) + 1) == word);
        CHECK(aside.word_at(aside.edge(word + 1) - 1) == word);
    }
}

// The animations of both shift tricks against the index that they stand for.

TEST_CASE("shift animation: the source's example, three queries and six keys", "[viewer][transformer-xl][golden]") {
    const std::vector<AnimationFrame> animation = shift_animation(3, 3);
    REQUIRE(animation.size() == 6);
    const Index shapes[][2] = {{3, 6}, {3, 7}, {7, 3}, {6, 3}, {3, 6}, {3, 6}};
    for (std::size_t n = 0; n < animation.size(); ++n) {
        CHECK(animation[n].rows == shapes[n][0]);
        CHECK(animation[n].columns == shapes[n][1]);
        CHECK(static_cast<Index>(animation[n].cells.size()) == animation[n].rows * animation[n].columns);
    }
    // Row 0 after the shift: distances 3 2 1 0, a zero, and the first number of query 1.
    const AnimationFrame& placed = animation[4];
    for (Index j = 0; j < 4; ++j) CHECK(placed.at(0, j).distance == 3 - j);
    CHECK(placed.at(0, 4).padding);
    CHECK(placed.at(0, 5).leaked);
    CHECK(placed.at(0, 5).query == 1);
    CHECK(placed.at(0, 5).distance == 5);
    CHECK(placed.at(1, 5).padding);
}

TEST_CASE("shift animation: what the mask leaves stands at its distance, what leaked is hidden",
          "[viewer][transformer-xl][law]") {
    for (Index queries = 1; queries <= 5; ++queries)
        for (Index memory = 0; memory <= 4; ++memory) {
            const std::vector<AnimationFrame> animation = shift_animation(queries, memory);
            const AnimationFrame& masked = animation.back();
            Index shown = 0;
            for (Index i = 0; i < queries; ++i)
                for (Index j = 0; j < memory + queries; ++j) {
                    const AnimationCell& cell = masked.at(i, j);
                    CHECK(cell.hidden == (j > i + memory));
                    if (cell.hidden) continue;
                    ++shown;
                    CHECK(!cell.padding);
                    CHECK(!cell.leaked);
                    CHECK(cell.query == i);
                    CHECK(cell.distance == memory + i - j);
                }
            CHECK(shown == queries * memory + queries * (queries + 1) / 2);
        }
}

TEST_CASE("shift animation: every number goes where the next frame has it", "[viewer][transformer-xl][xlnet][law]") {
    for (Index queries = 1; queries <= 4; ++queries)
        for (Index memory = 0; memory <= 4; ++memory)
            for (const bool xlnet : {false, true}) {
                const std::vector<AnimationFrame> animation =
                    xlnet ? shift_animation_xlnet(queries, memory) : shift_animation(queries, memory);
                REQUIRE(animation.size() == 6);
                for (std::size_t n = 0; n + 1 < animation.size(); ++n) {
                    if (xlnet && n == 4) continue;  // the last frame is another code's
                    REQUIRE(animation[n].goes_to.size() == animation[n].cells.size());
                    std::vector<Index> arrived(animation[n + 1].cells.size(), 0);
                    Index dropped = 0;
                    for (std::size_t cell = 0; cell < animation[n].cells.size(); ++cell) {
                        const Index to = animation[n].goes_to[cell];
                        if (to < 0) {
                            ++dropped;
                            continue;
                        }
                        const AnimationCell &from = animation[n].cells[cell], &there = animation[n + 1].cells.at(to);
                        ++arrived[static_cast<std::size_t>(to)];
                        REQUIRE(from.padding == there.padding);
                        REQUIRE(from.query == there.query);
                        REQUIRE(from.distance == there.distance);
                    }
                    // Nothing appears from nowhere but the zeros of the padding, and nothing arrives twice.
                    for (std::size_t cell = 0; cell < arrived.size(); ++cell)
                        REQUIRE(arrived[cell] == (!xlnet && n == 0 && animation[1].cells[cell].padding ? 0 : 1));
                    REQUIRE(dropped == static_cast<Index>(animation[n].cells.size()) +
                                           (!xlnet && n == 0 ? queries : 0) -
                                           static_cast<Index>(animation[n + 1].cells.size()));
                }
                CHECK(animation.back().goes_to.empty());
            }
}

TEST_CASE("shift animation: xlnet's slice is right on both sides, the causal code only on the left",
          "[viewer][xlnet][law]") {
    for (Index queries = 1; queries <= 4; ++queries)
        for (Index memory = 0; memory <= 3; ++memory) {
            const std::vector<AnimationFrame> animation = shift_animation_xlnet(queries, memory);
            CHECK(animation[0].columns == memory + 2 * queries);
            const AnimationFrame &right = animation[4], &causal = animation[5];
            CHECK(leaked_cells(right) == 0);
            for (Index i = 0; i < queries; ++i)
                for (Index j = 0; j < memory + queries; ++j) {
                    CHECK(right.at(i, j).query == i);
                    CHECK(right.at(i, j).distance == memory + i - j);
                    const bool left = j <= i + memory;
                    CHECK((!causal.at(i, j).padding && !causal.at(i, j).leaked) == left);
                    CHECK(!causal.at(i, j).hidden);
                }
            // With one query there is nothing to the right, with two only a zero.
            CHECK((leaked_cells(causal) > 0) == (queries > 2));
        }
}

}  // namespace locus::test::test_memory_plots
