// The films of both shift tricks against the index that they stand for.
#include "viewer/plots/shift_animation.h"

#include <catch2/catch.hpp>

namespace locus::test::test_shift_film {

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

TEST_CASE("film: every number goes where the next frame has it", "[viewer][transformer-xl][xlnet][law]") {
    for (Index queries = 1; queries <= 4; ++queries)
        for (Index memory = 0; memory <= 4; ++memory)
            for (const bool xlnet : {false, true}) {
                const std::vector<FilmFrame> film =
                    xlnet ? shift_film_xlnet(queries, memory) : shift_film(queries, memory);
                REQUIRE(film.size() == 6);
                for (std::size_t n = 0; n + 1 < film.size(); ++n) {
                    if (xlnet && n == 4) continue;  // the last frame is another code's
                    REQUIRE(film[n].goes_to.size() == film[n].cells.size());
                    std::vector<Index> arrived(film[n + 1].cells.size(), 0);
                    Index dropped = 0;
                    for (std::size_t cell = 0; cell < film[n].cells.size(); ++cell) {
                        const Index to = film[n].goes_to[cell];
                        if (to < 0) {
                            ++dropped;
                            continue;
                        }
                        const FilmCell &from = film[n].cells[cell], &there = film[n + 1].cells.at(to);
                        ++arrived[static_cast<std::size_t>(to)];
                        REQUIRE(from.padding == there.padding);
                        REQUIRE(from.query == there.query);
                        REQUIRE(from.distance == there.distance);
                    }
                    // Nothing appears from nowhere but the zeros of the padding, and nothing arrives twice.
                    for (std::size_t cell = 0; cell < arrived.size(); ++cell)
                        REQUIRE(arrived[cell] == (!xlnet && n == 0 && film[1].cells[cell].padding ? 0 : 1));
                    REQUIRE(dropped == static_cast<Index>(film[n].cells.size()) + (!xlnet && n == 0 ? queries : 0) -
                                           static_cast<Index>(film[n + 1].cells.size()));
                }
                CHECK(film.back().goes_to.empty());
            }
}

TEST_CASE("film: xlnet's slice is right on both sides, the causal code only on the left", "[viewer][xlnet][law]") {
    for (Index queries = 1; queries <= 4; ++queries)
        for (Index memory = 0; memory <= 3; ++memory) {
            const std::vector<FilmFrame> film = shift_film_xlnet(queries, memory);
            CHECK(film[0].columns == memory + 2 * queries);
            const FilmFrame &right = film[4], &causal = film[5];
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

}  // namespace locus::test::test_shift_film
