#include "viewer/ui/animation.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace locus {

namespace {

constexpr double kLongestGap = 0.25;  // seconds: after a pause of the window the film goes on, it does not jump

}  // namespace

void FilmClock::advance(Film& film, double now, double last, double pace, bool reduce_motion) {
    film.at = std::clamp(film.at, 0.0, last);
    if (!film.playing) {
        ran_ = false;
        return;
    }
    if (reduce_motion) {
        film.at = std::min(last, std::floor(film.at) + 1);
        film.playing = ran_ = false;
        return;
    }
    if (ran_) film.at += std::min(now - before_, kLongestGap) * pace * film.speed;
    ran_ = true;
    before_ = now;
    if (film.at < last) return;
    film.at = last;
    film.playing = ran_ = false;
}

Index whole_frame(const Film& film) { return static_cast<Index>(std::floor(film.at + 1e-9)); }

void step_film(Film& film, int by, double last) {
    const double next = by > 0 ? std::floor(film.at + 1e-9) + 1 : std::ceil(film.at - 1e-9) - 1;
    film.at = next > last + 1e-9 ? 0 : next < 0 ? last : next;
    film.playing = false;
}

void toggle_film(Film& film, double last) {
    film.playing = !film.playing;
    if (film.playing && film.at >= last) film.at = 0;
}

void next_film_speed(Film& film) {
    const auto* next = std::upper_bound(std::begin(kFilmSpeeds), std::end(kFilmSpeeds), film.speed);
    film.speed = next == std::end(kFilmSpeeds) ? kFilmSpeeds[0] : *next;
}

}  // namespace locus
