// A film plays in real time, steps frame by frame, and holds still where motion is reduced.
#include "viewer/ui/animation.h"

#include <catch2/catch.hpp>
#include <vector>

namespace locus::test::test_film {

TEST_CASE("film: it plays at its pace and stops at its end", "[viewer][film]") {
    FilmClock clock;
    Film film{0, true, 2};
    clock.advance(film, 100, 3, 1, false);
    CHECK(film.at == 0);
    clock.advance(film, 100.1, 3, 1, false);
    CHECK(film.at == Approx(0.2));
    clock.advance(film, 100.2, 3, 0.5, false);
    CHECK(film.at == Approx(0.3));
    for (int n = 0; n < 100; ++n) clock.advance(film, 100.3 + 0.1 * n, 3, 1, false);
    CHECK(film.at == 3);
    CHECK_FALSE(film.playing);
    clock.advance(film, 200, 3, 1, false);
    CHECK(film.at == 3);
}

TEST_CASE("film: after a pause it goes on where it was", "[viewer][film]") {
    FilmClock clock;
    Film film{0, true, 1};
    clock.advance(film, 0, 10, 1, false);
    clock.advance(film, 0.1, 10, 1, false);
    toggle_film(film, 10);
    clock.advance(film, 5, 10, 1, false);
    toggle_film(film, 10);
    clock.advance(film, 60, 10, 1, false);
    CHECK(film.at == Approx(0.1));
    // A window that slept does not make it jump.
    clock.advance(film, 160, 10, 1, false);
    CHECK(film.at < 0.5);
}

TEST_CASE("film: where motion is reduced, play is one step", "[viewer][film]") {
    FilmClock clock;
    Film film{1.4, true, 1};
    clock.advance(film, 0, 3, 1, true);
    CHECK(film.at == 2);
    CHECK_FALSE(film.playing);
    clock.advance(film, 50, 3, 1, true);
    CHECK(film.at == 2);
}

TEST_CASE("film: steps go to whole frames and around the ends", "[viewer][film]") {
    Film film{1.4, true, 1};
    step_film(film, 1, 3);
    CHECK(film.at == 2);
    CHECK_FALSE(film.playing);
    step_film(film, -1, 3);
    CHECK(film.at == 1);
    film.at = 1.4;
    step_film(film, -1, 3);
    CHECK(film.at == 1);
    film.at = 3;
    step_film(film, 1, 3);
    CHECK(film.at == 0);
    step_film(film, -1, 3);
    CHECK(film.at == 3);
    toggle_film(film, 3);
    CHECK(film.at == 0);
    CHECK(film.playing);
    CHECK(whole_frame({2.999, false, 1}) == 2);
    CHECK(whole_frame({3, false, 1}) == 3);
}

TEST_CASE("film: speeds go round", "[viewer][film]") {
    Film film;
    std::vector<double> seen;
    for (int n = 0; n < 5; ++n) {
        next_film_speed(film);
        seen.push_back(film.speed);
    }
    CHECK(seen == std::vector<double>{2, 4, 0.25, 0.5, 1});
}

}  // namespace locus::test::test_film
