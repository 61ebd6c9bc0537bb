#pragma once
// RoPE: every plane of a head as a dial, their products as steps of a walk, and the score over distance.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/attention/linear.h"
#include "core/attention/rotary.h"
#include "core/positions/rope_scaling.h"
#include "viewer/data/rotary_sentence.h"
#include "viewer/page.h"
#include "viewer/pages/rope/phasors.h"
#include "viewer/plots/heatmap.h"

namespace locus {

/// Everything the page draws, computed once per change.
struct RopeNumbers {
    RowVector<double> q, k;       // [d], before the rotation
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
    bool constant = false;  // the bound is, up to rounding
};

class RopePage : public Page {
public:
    static constexpr Index kReach = 128;
    static constexpr double kLastShift = 128;

    const char* name() const override { return "rope"; }
    const char* title() const override { return "RoPE"; }
    char key() const override { return '4'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    bool has_dialects() const override { return false; }
    std::vector<std::string> warnings(const Answer*) const override { return sentence().warnings(); }
    void update(const State& state) override { source_.update(state.choices.roformer); }
    std::string error() override { return source_.error(); }
    Fault fault() const override { return source_.fault(); }
    bool ready() override { return source_.shown() != nullptr; }
    bool settled(const State& state) const override { return source_.settled(state.choices.roformer); }
    std::string stop() override { return source_.stop() ? kStoppedPicture : ""; }
    ModelCard card(const Scene& scene) override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    const RotarySentence& sentence() const { return *source_.shown(); }
    void fit(RopeState& state) const;
    void refresh(RopeState& state);
    void fill_curves(const RopeState& state);
    /// The cell of the positions on screen, in the arithmetic of the model.
    void explain(const RopeState& state);
    /// The query's and the key's vectors as they are now: one row each, rotated by m + t and n + t.
    RotaryHeadTensors<float> placed_head(const RopeState& state) const;
    /// True if the positions, angles and channels are those of the sentence, so that the cell is one of the model's.
    bool is_own_cell(const RopeState& state) const;
    /// The angles of the checkpoint where it stores others than theta, and the cell is one of the model's; else
    /// nullptr.
    const RotaryTable<float>* stored_angles(const RopeState& state) const;
    /// Puts query and key back where the sentence has them, read as the model reads them.
    void choose(RopeState& state, Cell cell) const;
    Index last_position() const { return std::max<Index>(255, sentence().length() - 1); }
    void draw_middle(Scene& scene, const Rect& area);
    void draw_head(Scene& scene, const Rect& area);
    void show_attention(const PictureVersion& version, const Matrix<float>& attention, const Mask& visible);
    void draw_head_tooltip(const Scene& scene, Cell cell) const;
    void draw_dials(Scene& scene, const Rect& area, bool query);
    double turn_of(const RopeState& state, std::size_t plane, bool query) const;
    void draw_dial(Scene& scene, const Rect& box, std::size_t plane, bool query);
    void draw_walk(Scene& scene, const Rect& area);
    void draw_wires(Scene& scene, const Rect& area);
    void draw_curves(Scene& scene, const Rect& area);
    void draw_vectors(Scene& scene, class SideColumn& column);
    void draw_softmax_cell(Scene& scene, class SideColumn& column);
    void draw_planes(const Scene& scene, class SideColumn& column) const;
    void draw_plane(const Scene& scene, class SideColumn& column, std::size_t plane) const;
    void draw_steps(Scene& scene, class SideColumn& column) const;
    void draw_shifts(const Scene& scene, class SideColumn& column) const;
    void draw_linear_cell(Scene& scene, class SideColumn& column);
    void draw_linear_formula(const Scene& scene, const Rect& bar) const;
    void draw_linear_keys(const Scene& scene, class SideColumn& column) const;
    std::string explanation(const RopeState& state) const;

    FamilySession<RotarySentence> source_{Window::wake};
    std::string made_for_;
    RopeNumbers numbers_;
    RotaryExplanation<float> cell_;
    LinearExplanation<float> linear_;
    std::optional<PictureVersion> head_version_;
    Heatmap head_;   // scores, probabilities or linear weights, [T,T]
    Answer labels_;  // the words beside its rows
    AnimationClock clock_;
    float scroll_ = 0;
    int plane_ = -1;       // under the pointer
    int next_plane_ = -1;  // found in this frame
};

/// Bases to choose from.
inline constexpr double kRopeBases[] = {100, 1000, 10000, 100000, 500000, 1000000};

RotaryLayout layout_of(const RopeState& state);

}  // namespace locus
