// The page: what is compared, layout, keys.
#include "viewer/pages/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/plots/number_format.h"

namespace locus {

bool ComparePage::has_sides(const Scene& scene) const {
    return scene.answer && scene.answer->compare.error.empty() && !scene.answer->compare.stage.empty();
}

bool ComparePage::shares_cursor(const State& state) const {
    return state.compare.from_model() && !state.compare.has_own_words() && matrices_.row_axis == "Tq" &&
           matrices_.col_axis == "Tk";
}

/// A report is about a port of a model of its own, which need not be the opened one.
ModelCard ComparePage::card(const Scene& scene) {
    const auto& report = scene.state.compare.report;
    if (!report) return Page::card(scene);
    return {report->file.filename().string(), "report of " + several(std::ssize(report->cases), "case")};
}

Cell& ComparePage::cursor(State& state) const { return shares_cursor(state) ? state.cell : state.compare.cell; }

bool& ComparePage::locked(State& state) const { return shares_cursor(state) ? state.locked : state.compare.locked; }

Cell ComparePage::kept_inside(Cell cell) const {
    return {std::clamp<Index>(cell.i, 0, matrices_.rows - 1), std::clamp<Index>(cell.j, 0, matrices_.cols - 1)};
}

/// Where rows or columns are tokens of the sentence on screen, its chips and the cursor mean the same ones.
void ComparePage::share_cursor(Scene& scene) {
    State& state = scene.state;
    if (shares_cursor(state) || !shows_tokens_ || state.compare.has_own_words()) return;
    const Index length = scene.answer->length();
    const auto share = [](Index& chips, Index& cursor, Index& seen) {
        if (seen >= 0 && chips != seen) cursor = chips;
        chips = seen = cursor;
    };
    if (counts_tokens(matrices_.row_axis) && matrices_.rows == length)
        share(state.cell.i, state.compare.cell.i, row_seen_);
    if (counts_tokens(matrices_.col_axis) && matrices_.cols == length)
        share(state.cell.j, state.compare.cell.j, column_seen_);
}

/// A refusal speaks of the stage that both sides were asked for, so the selector names that one, and has the others.
void ComparePage::name_refused_stage(Scene& scene) {
    const CompareAnswer& answer = scene.answer->compare;
    CompareState& state = scene.state.compare;
    if (answer.stage.empty() || scene.answer->request.compare != state.request()) return;
    state.stage = answer.stage;
    stages_ = answer.stages;
}

void ComparePage::refresh(Scene& scene) {
    CompareState& state = scene.state.compare;
    const CompareAnswer& answer = scene.answer->compare;
    stages_ = answer.stages;
    matrices_ = matrices_of(answer.a);
    // An answer that is a moment old must not undo what was chosen since.
    if (scene.answer->request.compare == state.request()) {
        state.stage = answer.stage;
        const auto& mistake = answer.mistake_b;
        if (state.opens_first && mistake) {
            state.opens_first = false;
            if (!mistake->first.empty() && mistake->first != state.stage) state.open_stage(mistake->first);
        }
        choose_place(scene);
    }
    state.sample = std::clamp<Index>(state.sample, 0, matrices_.samples - 1);
    const Index head = std::clamp<Index>(state.head, 0, matrices_.heads - 1);
    const Index other = std::clamp<Index>(state.head_of_b(), 0, matrices_.heads - 1);
    const PictureVersion version{scene.answer->serial, (state.sample * 4096 + head) * 4096 + other, scene.state.theme};
    cursor(scene.state) = kept_inside(cursor(scene.state));
    name_axes(scene);
    const std::string made = std::to_string(version.answer) + " " + std::to_string(version.part) + " " +
                             kThemeNames[static_cast<std::size_t>(version.theme)];
    if (made == made_for_) return;
    made_for_ = made;
    measure(scene, head, other);
    show_matrices(scene, version);
    glow(scene);
}

/// Cells that a switch has changed light up once: those of one side where its dialect was changed, those of B that
/// differ from A where it has just begun to make a mistake.
void ComparePage::glow(Scene& scene) {
    State& state = scene.state;
    const CompareState& compare = state.compare;
    const CompareAnswer& answer = scene.answer->compare;
    const double now = ImGui::GetTime();
    bool begins = false;
    const std::string mistake = compare.b.mistake;
    for (std::size_t side = 0; side < 2; ++side) {
        const CompareSide& source = side == 0 ? compare.a : compare.b;
        const Index head = side == 0 ? compare.head : compare.head_of_b();
        const std::string place = answer.stage + " " + std::to_string(head) + " " + std::to_string(source.layer) + " " +
                                  scene.answer->request.text + source.text + source.model + source.file;
        const std::string setting = std::string(to_string(source.dialect)) + " " + source.mistake;
        begins = glows_[side].update(place, setting, side == 0 ? a_ : b_, allowed_, now) || begins;
    }
    const bool shown = answer.mistake_b && answer.stage == answer.mistake_b->first && !compare.opens_first;
    if (shown && glowed_for_ != mistake) begins = glows_[1].flash(a_, b_, allowed_, now) || begins;
    if (shown || mistake.empty()) glowed_for_ = mistake;
    if (begins && !state.reduce_motion) state.flash_until = now + ChangedCells::kFade;
}

void ComparePage::measure(const Scene& scene, Index head, Index other) {
    const CompareState& state = scene.state.compare;
    const CompareAnswer& answer = scene.answer->compare;
    const ReportedStage* reported = state.report ? state.reported()->find(answer.stage) : nullptr;
    whole_numbers_ =
        std::holds_alternative<IndexTensor>(answer.a.values) && std::holds_alternative<IndexTensor>(answer.b.values);
    outdated_ = reported && !is_judged_by(*reported, answer.a, answer.b);
    a_ = matrix_of(answer.a, state.sample, head);
    b_ = matrix_of(answer.b, state.sample, other);
    allowed_ = reported && std::isfinite(reported->allowed) ? reported->allowed : answer.allowed;
    here_ = difference_of(a_, b_, allowed_);
    where_ = where_outside(a_, b_, allowed_);
    Matrix<double> all_a(1, answer.a.size()), all_b(1, answer.a.size());
    for (Index n = 0; n < answer.a.size(); ++n) {
        all_a(0, n) = answer.a.at(n);
        all_b(0, n) = answer.b.at(n);
    }
    whole_ = difference_of(all_a, all_b, allowed_);
}

void ComparePage::show_matrices(const Scene& scene, const PictureVersion& version) {
    const CompareAnswer& answer = scene.answer->compare;
    const Mask& seen = scene.answer->visible;
    const bool pairs = shares_cursor(scene.state) && seen.rows() == matrices_.rows && seen.cols() == matrices_.cols;
    const Mask visible = pairs ? seen : Mask();
    const bool shares = answer.stage.ends_with(".probs");
    const Matrix<float> a = a_.cast<float>(), b = b_.cast<float>(), gap = (b_ - a_).cast<float>();
    const double most = std::max(probability_range(a).high, probability_range(b).high);
    const double high = std::max(symmetric_range(a, visible).high, symmetric_range(b, visible).high);
    const ValueRange range = shares ? ValueRange{0, most} : ValueRange{-high, high};
    const MapKind map = shares ? MapKind::sequential : MapKind::diverging;
    heatmaps_[0].show(version, a, visible, map, range);
    heatmaps_[1].show(version, b, visible, map, range);
    heatmaps_[2].show(version, gap, visible, MapKind::diverging);
}

void ComparePage::choose_place(Scene& scene) {
    CompareState& state = scene.state.compare;
    const CompareAnswer& answer = scene.answer->compare;
    const std::string place = state.a.file + " " + state.b.file + " " + answer.stage + " " +
                              (state.report ? std::to_string(state.shown_case) : "");
    if (placed_for_ == place) return;
    placed_for_ = place;
    if (std::exchange(state.keeps_place, false) || state.from_model()) return;
    const ReportedStage* reported = state.report ? state.reported()->find(answer.stage) : nullptr;
    StagePlace at;
    const auto named = reported ? place_of(answer.a, reported->index) : std::nullopt;
    if (named)
        at = *named;
    else if (const auto worst = worst_cell(matrix_of(answer.a, 0, 0), matrix_of(answer.b, 0, 0)))
        at.cell = *worst;
    state.sample = at.sample;
    state.head = at.head;
    state.other_head = -1;
    state.cell = state.wished.value_or(at.cell);
    state.wished.reset();
    state.locked = true;
}

void ComparePage::jump(Scene& scene) {
    CompareState& state = scene.state.compare;
    state.jumps = false;
    const std::optional<Cell> next = state.jump(a_, b_, kept_inside(cursor(scene.state)));
    if (!next) {
        scene.state.notice = "A and B are equal here: there is no worst cell";
        return;
    }
    cursor(scene.state) = *next;
    locked(scene.state) = true;
    state.view.reveal(*next, matrices_.rows, matrices_.cols);
}

ComparePage::Layout ComparePage::arrange(const Scene& scene, const Rect& area) const {
    const Ui& ui = scene.ui;
    const Rect inside = area.inset(ui.px(16), ui.px(10));
    float names = ui.px(24), header = ui.px(16);
    for (const std::string& word : row_words_) names = std::max(names, ui.text_width(word, Face::label));
    names = std::max(names, ui.text_width(column_axis(), Face::mono_small) - ui.px(14));  // is beside the numbers
    for (const std::string& word : column_words_) header = std::max(header, ui.text_width(word, Face::label));
    names = std::min(names, ui.px(96)) + ui.px(22);  // and the name of the axis
    header = std::min(header, ui.px(96)) + ui.px(24);
    const CompareState& state = scene.state.compare;
    Layout layout;
    layout.gap = ui.px(18);
    layout.headline = inside.y0 + ui.px(10);
    layout.title = layout.headline + ui.px(34);
    layout.cells = layout.title + ui.px(20) + header;
    const float below = state.report ? std::min(list_.height(ui, inside.width()), inside.height() * 0.36f) : ui.px(128);
    const float by_width = (inside.width() - names - 2 * layout.gap) / 3;
    const float by_height = inside.y1 - layout.cells - ui.px(40) - below;
    const float side = std::floor(std::max(ui.px(60), std::min(by_width, by_height)));
    const auto most = [&](Index count) { return std::max(ui.px(60), ui.px(56) * static_cast<float>(count)); };
    const bool square = matrices_.rows == matrices_.cols;
    layout.high = square ? side : std::min(side, most(matrices_.rows) / (matrices_.rows == 1 ? 2 : 1));
    layout.wide = side;
    const float legend = ui.px(40);
    layout.below = layout.cells + layout.high + legend;
    // Two on a line, and what they differ by as wide as both.
    const float half = std::floor((inside.width() - names - layout.gap) / 2);
    const float top = layout.cells + half + legend + (layout.cells - layout.title) + ui.px(8);
    const float spared = inside.y1 - top - legend - std::max(below, ui.px(220));
    const float whole = std::floor(std::min(2 * half + layout.gap, spared));
    if (square && whole > 1.5f * half) {
        layout.wide = layout.high = half;
        layout.left = inside.x0 + names;
        layout.large = Rect{layout.left, top, layout.left + whole, top + whole};
        layout.below = layout.large->y1 + legend;
        return layout;
    }
    const float spare = inside.width() - names - 3 * layout.wide - 2 * layout.gap;
    const float wider = std::clamp(spare / 4, 0.0f, ui.px(60));
    layout.gap += std::floor(wider);
    layout.left = inside.x0 + names + std::floor(std::max(0.0f, spare - 2 * wider) / 2);
    return layout;
}

void ComparePage::draw_stage_list(Scene& scene, const Rect& area) {
    CompareState& state = scene.state.compare;
    const std::string clicked = list_.draw(scene.ui, area, *state.reported(), state.stage);
    if (!clicked.empty()) state.open_stage(clicked);
}

void ComparePage::draw(Scene& scene, const Rect& whole) {
    if (!scene.answer) return;
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Rect area{whole.x0, whole.y0 + draw_sides(scene, whole), whole.x1, whole.y1};
    const Rect inside = area.inset(ui.px(16), ui.px(10));
    draw_headline(scene, area);
    if (!has_sides(scene)) {
        name_refused_stage(scene);
        if (state.compare.report) draw_stage_list(scene, {inside.x0, inside.middle_y(), inside.x1, inside.y1});
        return;
    }
    refresh(scene);
    if (state.compare.jumps) jump(scene);
    state.compare.view.clamp(std::max(matrices_.rows, matrices_.cols));
    const Layout layout = arrange(scene, area);
    std::optional<Cell> pointed;
    for (std::size_t side = 0; side < 2; ++side) draw_source(scene, layout.panel(side), layout, side);
    draw_verdict(scene, layout.panel(2), layout);
    for (std::size_t n = 0; n < heatmaps_.size(); ++n) draw_panel(scene, layout, n, pointed);
    if (pointed && !locked(state)) cursor(state) = *pointed;
    share_cursor(scene);
    const Rect below{inside.x0, layout.below, inside.x1, inside.y1};
    if (state.compare.report)
        draw_stage_list(scene, below);
    else
        draw_profile(scene, below);
}

bool ComparePage::press(Scene& scene, const KeyPress& press) {
    CompareState& state = scene.state.compare;
    if (press.key == Key::character) {
        const Index cases = state.report ? static_cast<Index>(state.report->cases.size()) : 0;
        const auto turn = [&](Index by) {
            if (cases > 0)
                state.open_case(static_cast<std::size_t>(
                    std::clamp<Index>(static_cast<Index>(state.shown_case) + by, 0, cases - 1)));
            return cases > 0;
        };
        if (press.character == 's' || press.character == 'S') {
            state.step_stage(stages_, press.character == 's' ? 1 : -1);
            return true;
        }
        if (press.character == 'c' || press.character == 'C') return turn(press.character == 'c' ? 1 : -1);
        if (press.character == 'z' && !state.report) {
            state.shows_mistakes = !state.shows_mistakes;
            return true;
        }
        if (press.character == 'd' && state.b.file.empty()) {
            state.b.dialect = state.b.dialect == Dialect::paper      ? Dialect::official
                              : state.b.dialect == Dialect::official ? Dialect::hf
                                                                     : Dialect::paper;
            return true;
        }
        if ((press.character == '[' || press.character == ']') && state.from_model()) {
            state.step_layer(press.character == '[' ? -1 : 1, scene.session.config().num_hidden_layers);
            return true;
        }
    }
    if (!has_sides(scene) || a_.size() == 0) return false;
    if (press.character == ',' || press.character == '.') {
        state.head = std::clamp<Index>(state.head + (press.character == ',' ? -1 : 1), 0, matrices_.heads - 1);
        return true;
    }
    if (press.character == 'n' || press.character == 'N') {
        state.jumps = true;
        return true;
    }
    return move_cell(cursor(scene.state), locked(scene.state), state.view, matrices_.rows, matrices_.cols, press);
}

std::vector<NamedMatrix> ComparePage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    if (!has_sides(scene) || a_.size() == 0) return matrices;
    const CompareState& state = scene.state.compare;
    const CompareAnswer& answer = scene.answer->compare;
    const auto inside = [&](Index head) { return std::clamp<Index>(head, 0, matrices_.heads - 1); };
    matrices.push_back(named_slice("A", "A", answer.a, state.sample, inside(state.head)));
    matrices.push_back(named_slice("B", "B", answer.b, state.sample, inside(state.head_of_b())));
    matrices.push_back(named_matrix("B-A", "B \u2212 A", answer.stage, Matrix<double>(b_ - a_)));
    for (std::size_t n = 0; n < matrices.size(); ++n) {
        matrices[n].rows = row_words_;
        matrices[n].cols = column_words_;
        matrices[n].map = heatmaps_[n].map();
        matrices[n].range = heatmaps_[n].range();
    }
    return matrices;
}

std::unique_ptr<Page> make_compare_page() { return std::make_unique<ComparePage>(); }

}  // namespace locus
