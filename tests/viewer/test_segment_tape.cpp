// Places on the tape, and the film of the shift against the index that it stands for.
#include "viewer/plots/segment_tape.h"

#include <catch2/catch.hpp>

using namespace locus;

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
}

TEST_CASE("film: the seed's example, three queries and six keys", "[viewer][transformer-xl][golden]") {
    const std::vector<FilmFrame> film = shift_film(3, 3);
    REQUIRE(film.size() == 6);
    const Index shapes[][2] = {{3, 6}, {3, 7}, {7, 3}, {6, 3}, {3, 6}, {3, 6}};
    for (std::size_t n = 0; n < film.size(); ++n) {
        CHECK(film[n].rows == shapes[n][0]);
        CHECK(film[n].columns == shapes[n][1]);
        CHECK(static_cast<Index>(film[n].cells.size()) == film[n].rows * film[n].columns);
    }
    // Row 0 after the shift: distances 3 2 1 0, a zero, and the first number of query 1.
    const FilmFrame& placed = film[4];
    for (Index j = 0; j < 4; ++j) CHECK(placed.at(0, j).distance == 3 - j);
    CHECK(placed.at(0, 4).padding);
    CHECK(placed.at(0, 5).leaked);
    CHECK(placed.at(0, 5).query == 1);
    CHECK(placed.at(0, 5).distance == 5);
    CHECK(placed.at(1, 5).padding);
}

TEST_CASE("film: what the mask leaves stands at its distance, what leaked is hidden", "[viewer][transformer-xl][law]") {
    for (Index queries = 1; queries <= 5; ++queries)
        for (Index memory = 0; memory <= 4; ++memory) {
            const std::vector<FilmFrame> film = shift_film(queries, memory);
            const FilmFrame& masked = film.back();
            Index shown = 0;
            for (Index i = 0; i < queries; ++i)
                for (Index j = 0; j < memory + queries; ++j) {
                    const FilmCell& cell = masked.at(i, j);
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
