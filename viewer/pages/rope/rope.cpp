// The page: its numbers, its controls, layout, keys.
#include "viewer/pages/rope/rope.h"

#include <algorithm>
#include <cmath>

#include "core/positions/rotary.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/animation_controls.h"

namespace locus {

namespace {

constexpr double kPositionsPerSecond = 4;
constexpr double kBoundRounding = 1e-12;
constexpr Index kTrainedLength = 64;  // tokens of the texts that tiny-roformer was trained on

double dot(const std::vector<Point>& steps) {
    double sum = 0;
    for (const Point& step : steps) sum += step.x;
    return sum;
}

double rotated_score(const RowVector<double>& q, const RowVector<double>& k, const RopeFrequencies& frequencies,
                     RotaryLayout layout, double m, double n) {
    const auto& [theta, factor] = frequencies;
    return dot(product_steps(rotate_hands(hands_of(q, layout), theta, m, factor),
                             rotate_hands(hands_of(k, layout), theta, n, factor)));
}

/// The score as a model computes it, in single precision.
double float_score(const RopeNumbers& numbers, RotaryLayout layout, Index m, Index n) {
    const auto turn = [&](const RowVector<double>& x, Index position) -> Matrix<float> {
        const Matrix<float> row = x.cast<float>();
        return rotate<float>(
            row, rotary_table<float>(numbers.frequencies.theta, position, 1, numbers.frequencies.attention_factor),
            layout);
    };
    return static_cast<double>(turn(numbers.q, m).row(0).dot(turn(numbers.k, n).row(0)));
}

}  // namespace

RotaryLayout layout_of(const RopeState& state) {
    return state.layout == 0 ? RotaryLayout::interleaved : RotaryLayout::half_split;
}

ModelCard RopePage::card(const Scene& scene) {
    const ModelSizes sizes = sentence().sizes();
    // As on the page Transformer-XL.
    const bool other = scene.state.dialect != State().dialect;
    return {sentence().name(), size_line(sizes.layers, sizes.heads) + (other ? " \u00b7 official" : "")};
}

void RopePage::fit(RopeState& state) const {
    const ModelSizes sizes = sentence().sizes();
    const auto below = [](Index& value, Index count) { value = std::clamp<Index>(value, 0, count - 1); };
    below(state.layer, sizes.layers);
    below(state.head, sizes.heads);
    // A token that a shorter sentence no longer has gives way, and its position with it.
    const Index tokens = sentence().length();
    if (state.query >= tokens) state.m = state.query = tokens - 1;
    if (state.key >= tokens) state.n = state.key = tokens - 1;
    below(state.m, last_position() + 1);
    below(state.n, last_position() + 1);
    below(state.factor, 17);
    below(state.base, static_cast<Index>(std::size(kRopeBases)));
    below(state.scaling, 5);
}

void RopePage::refresh(RopeState& state) {
    fit(state);
    std::string wanted = std::to_string(source_.serial()) + " ";
    for (const double value :
         {static_cast<double>(state.m), static_cast<double>(state.n), state.shift.at, static_cast<double>(state.query),
          static_cast<double>(state.key), static_cast<double>(state.layer), static_cast<double>(state.head),
          static_cast<double>(state.layout), static_cast<double>(state.base), static_cast<double>(state.scaling),
          static_cast<double>(state.factor)})
        wanted += std::to_string(value) + " ";
    if (wanted == made_for_) return;
    made_for_ = wanted;
    RopeNumbers& now = numbers_;
    now.q = sentence().query(state.layer, state.head, state.query);
    now.k = sentence().key(state.layer, state.head, state.key);
    RopeOptions options{kRopeBases[state.base], static_cast<RopeScaling>(state.scaling),
                        static_cast<double>(state.factor), kTrainedLength};
    now.frequencies = rope_frequencies(now.q.size(), options, last_position() + 1);
    const std::vector<double>& theta = now.frequencies.theta;
    const double factor = now.frequencies.attention_factor;
    const RotaryLayout layout = layout_of(state);
    const auto m = static_cast<double>(state.m), n = static_cast<double>(state.n);
    const RotaryTable<float>* stored = stored_angles(state);
    const auto rotated = [&](const std::vector<Point>& hands, double position) {
        return stored ? rotate_hands(hands, *stored, static_cast<Index>(position))
                      : rotate_hands(hands, theta, position, factor);
    };
    const auto score_at = [&](double at_m, double at_n) {
        return rotated_score(now.q, now.k, now.frequencies, layout, at_m, at_n);
    };
    now.q_before = hands_of(now.q, layout);
    now.k_before = hands_of(now.k, layout);
    now.q_after = rotated(now.q_before, m + state.shift.at);
    now.k_after = rotated(now.k_before, n + state.shift.at);
    now.steps = product_steps(now.q_after, now.k_after);
    now.corners = head_to_tail(now.steps);
    now.score = dot(now.steps);
    now.unshifted = score_at(m, n);
    now.shifts = {std::max<Index>(1, static_cast<Index>(state.shift.at)), 100};
    now.difference = now.float32_difference = 0;
    for (std::size_t at = 0; at < now.shifts.size(); ++at) {
        const Index t = now.shifts[at];
        const auto by = static_cast<double>(t);
        now.shifted[at] = score_at(m + by, n + by);
        const double gap = std::abs(now.shifted[at] - now.unshifted);
        const double single =
            std::abs(float_score(now, layout, state.m + t, state.n + t) - float_score(now, layout, state.m, state.n));
        now.difference = std::isnan(gap) ? gap : std::max(now.difference, gap);
        now.float32_difference = std::isnan(single) ? single : std::max(now.float32_difference, single);
    }
    RowVector<double> q_ordered(now.q.size()), k_ordered(now.k.size());
    const std::vector<Index> order = half_split_order(now.q.size());
    for (Index c = 0; c < now.q.size(); ++c) {
        q_ordered[c] = now.q[order[static_cast<std::size_t>(c)]];
        k_ordered[c] = now.k[order[static_cast<std::size_t>(c)]];
    }
    now.permuted = rotated_score(q_ordered, k_ordered, now.frequencies, RotaryLayout::half_split, m, n);
    fill_curves(state);
    explain(state);
}

void RopePage::fill_curves(const RopeState& state) {
    RopeNumbers& now = numbers_;
    const auto& [theta, factor] = now.frequencies;
    const RotaryLayout layout = layout_of(state);
    // Keys to the right: q_0 . k_r is the curve with the roles exchanged.
    std::vector<double> left = score_curve(now.q, now.k, theta, layout, kReach + 1);
    const std::vector<double> right = score_curve(now.k, now.q, theta, layout, kReach + 1);
    now.curve.assign(right.rbegin(), right.rend() - 1);
    now.curve.insert(now.curve.end(), left.begin(), left.end());
    for (double& value : now.curve) value *= factor * factor;
    if (!std::all_of(now.curve.begin(), now.curve.end(), [](double value) { return std::isfinite(value); }))
        now.curve.assign(now.curve.size(), std::nan(""));  // one plane that is no number makes the whole sum none
    const auto size = [](double a, double b) { return std::abs(a) < std::abs(b); };
    const auto largest = std::max_element(now.curve.begin(), now.curve.end(), size);
    now.largest = std::abs(*largest);
    now.largest_at =
        static_cast<Index>(std::max_element(now.curve.begin(), now.curve.end()) - now.curve.begin()) - kReach;
    const auto at = static_cast<std::size_t>(std::abs(largest - now.curve.begin() - kReach));
    now.ceiling = factor * factor * score_bound(now.q, now.k, theta, layout, kReach + 1)[at];
    now.bound.clear();
    now.first_rise = now.rises = 0;
    for (Index r = 0; r <= kReach; ++r) {
        now.bound.push_back(decay_bound(theta, static_cast<double>(r)));
        // A rise by the rounding of a sum is none: the bound of a head of one plane is constant.
        const double before = r == 0 ? 0 : now.bound[static_cast<std::size_t>(r - 1)];
        if (r == 0 || now.bound[static_cast<std::size_t>(r)] <= before * (1 + kBoundRounding)) continue;
        if (++now.rises == 1) now.first_rise = r;
    }
    const auto [lowest, highest] = std::minmax_element(now.bound.begin(), now.bound.end());
    now.constant = *highest - *lowest <= *highest * kBoundRounding;
}

float RopePage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const float y = bar.middle_y();
    float x = bar.x0 + ui.px(16);
    // A name, then a stepper whose left end follows it.
    const auto stepper = [&](const char* id, const std::string& name, const std::string& shown, Index& value, Index low,
                             Index high, ImU32 colour) {
        x += ui.text(x, y, name, colour) + ui.px(7);
        const float width = std::max(ui.px(20), ui.text_width(shown, Face::mono) + ui.px(4)) + 2 * ui.px(20);
        ui.stepper(id, x + width, y, shown, value, low, high);
        x += width + ui.px(14);
    };
    const ImU32 muted = ui.theme->muted;
    stepper("m", "query position m", std::to_string(state.m), state.m, 0, last_position(), ui.theme->c2c);
    stepper("n", "key position n", std::to_string(state.n), state.n, 0, last_position(), ui.theme->c2p);
    x += ui.text(x, y, "shift t", muted) + ui.px(7);
    const bool whole_shift = state.shift.at == std::floor(state.shift.at);
    x = draw_animation_controls(ui, "shift", x, y, ui.px(56), state.shift, kLastShift,
                                fixed(state.shift.at, whole_shift ? 0 : 1), scene.state.reduce_motion) +
        ui.px(12);
    stepper("base", "base", grouped(static_cast<std::int64_t>(kRopeBases[state.base])), state.base, 0,
            static_cast<Index>(std::size(kRopeBases)) - 1, muted);
    stepper("scaling", "scaling", to_string(static_cast<RopeScaling>(state.scaling)), state.scaling, 0, 4, muted);
    if (state.scaling != 0) stepper("factor", "factor s", std::to_string(state.factor), state.factor, 1, 16, muted);
    return bar.x1;
}

void RopePage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    clock_.advance(scene.state.rope.shift, ImGui::GetTime(), kLastShift, kPositionsPerSecond,
                   scene.state.reduce_motion);
    refresh(scene.state.rope);
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float curves = std::max(ui.px(176), inside.height() * 0.27f), gap = ui.px(18);
    const float below = inside.y1 - curves, middle = inside.x0 + std::floor(inside.width() * 0.38f);
    const float half = std::floor((below - ui.px(10) - inside.y0) / 2), wires = ui.px(112);
    next_plane_ = -1;
    Rect walk{middle + gap, inside.y0, inside.x1, below - wires - ui.px(16)};
    if (inside.height() > 1.6f * inside.width()) {  // the dials above the walk, beside each other
        walk.x0 = inside.x0;
        walk.y0 += std::floor(inside.width() * 0.55f);
        draw_dials(scene, {inside.x0, inside.y0, inside.middle_x() - gap / 2, walk.y0 - gap}, true);
        draw_dials(scene, {inside.middle_x() + gap / 2, inside.y0, inside.x1, walk.y0 - gap}, false);
    } else {
        draw_dials(scene, {inside.x0, inside.y0, middle, inside.y0 + half - ui.px(12)}, true);
        draw_dials(scene, {inside.x0, inside.y0 + half, middle, inside.y0 + 2 * half - ui.px(12)}, false);
    }
    draw_middle(scene, walk);
    draw_wires(scene, {walk.x0, below - wires - ui.px(2), inside.x1, below - ui.px(14)});
    draw_curves(scene, {inside.x0, below, inside.x1, inside.y1});
    plane_ = next_plane_;
}

bool RopePage::press(Scene& scene, const KeyPress& press) {
    RopeState& state = scene.state.rope;
    const auto step = [this](Index& value, Index by) {
        value = std::clamp<Index>(value + by, 0, last_position());
        return true;
    };
    const bool matrix = state.shown > 0;
    if (matrix) {
        Cell cell{state.query, state.key};
        bool locked = true;
        if (move_cell(cell, locked, state.view, sentence().length(), press)) {
            choose(state, cell);
            return true;
        }
    }
    if (press_animation(state.shift, kLastShift, press)) return true;
    switch (press.key) {
        case Key::left:
            return step(state.m, -1);
        case Key::right:
            return step(state.m, 1);
        case Key::down:
            return step(state.n, -1);
        case Key::up:
            return step(state.n, 1);
        case Key::character:
            break;
        default:
            return false;
    }
    switch (press.character) {
        case 's':
            step_animation(state.shift, 1, kLastShift);
            return true;
        case 'S':
            step_animation(state.shift, -1, kLastShift);
            return true;
        case 'w':
            state.shown = (state.shown + 1) % 4;
            return true;
        case 'c':
            ImGui::SetClipboardText(explanation(state).c_str());
            scene.state.notice = "copied: every number of this cell";
            return true;
        case 'x':
            state.layout = 1 - state.layout;
            return true;
        case 'y':
            state.scaling = (state.scaling + 1) % 5;
            return true;
        case 'b':
            state.base = (state.base + 1) % static_cast<Index>(std::size(kRopeBases));
            return true;
        default:
            return step_head(press, sentence().sizes().layers, sentence().sizes().heads, state.layer, state.head);
    }
}

std::vector<NamedMatrix> RopePage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    const RopeNumbers& now = numbers_;
    if (now.curve.empty()) return matrices;
    const std::string layer = "layer." + std::to_string(scene.state.rope.layer) + ".";
    const std::string head = "head " + std::to_string(scene.state.rope.head);
    const auto add = [&](const char* id, const char* title, const std::string& stage, const RowVector<double>& row) {
        matrices.push_back(named_matrix(id, title, stage, Matrix<double>(row)));
        matrices.back().part = head;
    };
    add("query", "query before the rotation", layer + "q", now.q);
    add("key", "key before the rotation", layer + "k", now.k);
    add("scores", "score over m \u2212 n", "rope.scores",
        Eigen::Map<const RowVector<double>>(now.curve.data(), static_cast<Index>(now.curve.size())));
    for (Index offset = -kReach; offset <= kReach; ++offset) matrices.back().cols.push_back(std::to_string(offset));
    if (const std::size_t shown = scene.state.rope.shown; shown > 0 && head_.values().size() > 0) {
        static constexpr const char* kTitles[] = {"scores", "probabilities", "weights of linear attention"};
        static constexpr const char* kStems[] = {"scores", "probs", "weights"};
        matrices.push_back(named_matrix("matrix", kTitles[shown - 1], layer + kStems[shown - 1],
                                        Matrix<float>(head_.values()), Scheme::rotary));
        matrices.back().part = head;
        matrices.back().rows = matrices.back().cols = sentence().words();
        matrices.back().visible = sentence().visible();
        if (shown == 2) matrices.back().map = MapKind::sequential, matrices.back().range = head_.range();
    }
    add("bound", "the paper's bound B(r)", "rope.bound",
        Eigen::Map<const RowVector<double>>(now.bound.data(), static_cast<Index>(now.bound.size())));
    return matrices;
}

std::unique_ptr<Page> make_rope_page() { return std::make_unique<RopePage>(); }

}  // namespace locus
