// An animation plays in real time, steps frame by frame, and holds still where motion is reduced.
#include "viewer/ui/animation.h"

#include <catch2/catch.hpp>
#include <vector>

namespace locus::test::test_animation {

TEST_CASE("animation: it plays at its pace and stops at its end", "[viewer][animation]") {
    AnimationClock clock;
    Animation animation{0, true, 2};
    clock.advance(animation, 100, 3, 1, false);
    CHECK(animation.at == 0);
    clock.advance(animation, 100.1, 3, 1, false);
    CHECK(animation.at == Approx(0.2));
    clock.advance(animation, 100.2, 3, 0.5, false);
    CHECK(animation.at == Approx(0.3));
    for (int n = 0; n < 100; ++n) clock.advance(animation, 100.3 + 0.1 * n, 3, 1, false);
    CHECK(animation.at == 3);
    CHECK_FALSE(animation.playing);
    clock.advance(animation, 200, 3, 1, false);
    CHECK(animation.at == 3);
}

TEST_CASE("animation: after a pause it goes on where it was", "[viewer][animation]") {
    AnimationClock clock;
    Animation animation{0, true, 1};
    clock.advance(animation, 0, 10, 1, false);
    clock.advance(animation, 0.1, 10, 1, false);
    toggle_animation(animation, 10);
    clock.advance(animation, 5, 10, 1, false);
    toggle_animation(animation, 10);
    clock.advance(animation, 60, 10, 1, false);
    CHECK(animation.at == Approx(0.1));
    // A window that slept does not make it jump.
    clock.advance(animation, 160, 10, 1, false);
    CHECK(animation.at < 0.5);
}

TEST_CASE("animation: where motion is reduced, play is one step", "[viewer][animation]") {
    AnimationClock clock;
    Animation animation{1.4, true, 1};
    clock.advance(animation, 0, 3, 1, true);
    CHECK(animation.at == 2);
    CHECK_FALSE(animation.playing);
    clock.advance(animation, 50, 3, 1, true);
    CHECK(animation.at == 2);
}

TEST_CASE("animation: steps go to whole frames and around the ends", "[viewer][animation]") {
    Animation animation{1.4, true, 1};
    step_animation(animation, 1, 3);
    CHECK(animation.at == 2);
    CHECK_FALSE(animation.playing);
    step_animation(animation, -1, 3);
    CHECK(animation.at == 1);
    animation.at = 1.4;
    step_animation(animation, -1, 3);
    CHECK(animation.at == 1);
    animation.at = 3;
    step_animation(animation, 1, 3);
    CHECK(animation.at == 0);
    step_animation(animation, -1, 3);
    CHECK(animation.at == 3);
    toggle_animation(animation, 3);
    CHECK(animation.at == 0);
    CHECK(animation.playing);
    CHECK(whole_frame({2.999, false, 1}) == 2);
    CHECK(whole_frame({3, false, 1}) == 3);
}

TEST_CASE("animation: speeds go round", "[viewer][animation]") {
    Animation animation;
    std::vector<double> seen;
    for (int n = 0; n < 5; ++n) {
        next_animation_speed(animation);
        seen.push_back(animation.speed);
    }
    CHECK(seen == std::vector<double>{2, 4, 0.25, 0.5, 1});
}

}  // namespace locus::test::test_animation
