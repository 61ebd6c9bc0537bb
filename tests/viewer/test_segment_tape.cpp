// Places on the tape.
#include "viewer/plots/segment_tape.h"

#include <catch2/catch.hpp>

namespace locus::test::test_segment_tape {

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

}  // namespace locus::test::test_segment_tape
