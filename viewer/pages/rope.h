#pragma once
// RoPE: every plane of a head as a dial, their products as steps of a walk, and the score over distance.
#include <array>
#include <string>
#include <vector>

#include "core/positions/rope_scaling.h"
#include "viewer/exhibits.h"
#include "viewer/page.h"
#include "viewer/plots/phasors.h"

namespace locus {

/// Everything the page draws, computed once per change.
struct RopeNumbers {
    RowVector<double> q, k;       // [d], before the turn
    RopeFrequencies frequencies;  // theta [d/2], and what sine and cosine are multiplied with
    std::vector<Point> q_before, k_before, q_after, k_after, steps, corners;
    double score = 0;                               // raw, of the positions on screen
    double unshifted = 0;                           // of m and n alone
    std::array<Index, 2> shifts{};                  // t, and a large one
    std::array<double, 2> shifted{};                // the score of (m + t, n + t)
    double difference = 0, float32_difference = 0;  // largest, exactly and in the arithmetic of a model
    double permuted = 0;                            // read half-split, channels reordered as that wants them
    std::vector<double> curve;                      // score over m - n, -kReach ... kReach
    std::vector<double> bound;                      // the paper's B(r), r = 0 ... kReach
    double largest = 0, ceiling = 0;                // largest |score| of the curve; what the bound allows there
    Index largest_at = 0, first_rise = 0, rises = 0;
};

class RopePage : public Page {
public:
    static constexpr Index kReach = 128, kLastPosition = 255;

    const char* name() const override { return "rope"; }
    const char* title() const override { return "RoPE"; }
    char key() const override { return '4'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    bool has_dialects() const override { return false; }
    void follow(const State& state) override { source_.follow(state.exhibits.roformer); }
    std::string trouble() override { return source_.trouble(); }
    Fault fault() const override { return source_.fault(); }
    bool ready() override { return source_.shown() != nullptr; }
    bool settled(const State& state) const override { return source_.settled(state.exhibits.roformer); }
    ModelCard card(const Scene& scene) override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& room) override;
    void draw_side(Scene& scene, const Rect& room) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;

private:
    const RotaryExhibit& exhibit() const { return *source_.shown(); }
    void fit(RopeState& state) const;
    void refresh(RopeState& state);
    void fill_curves(const RopeState& state);
    void draw_dials(Scene& scene, const Rect& room, bool query);
    void draw_dial(Scene& scene, const Rect& box, std::size_t plane, bool query);
    void draw_walk(Scene& scene, const Rect& room);
    void draw_wires(Scene& scene, const Rect& room);
    void draw_curves(Scene& scene, const Rect& room);
    void draw_vectors(Scene& scene, class SideColumn& column);

    ExhibitSource<RotaryExhibit> source_{Window::wake};
    std::string made_for_;
    RopeNumbers numbers_;
    int plane_ = -1;       // under the pointer
    int next_plane_ = -1;  // found in this frame
};

/// Bases to choose from.
inline constexpr double kRopeBases[] = {100, 1000, 10000, 100000, 500000, 1000000};

RotaryLayout layout_of(const RopeState& state);

}  // namespace locus
