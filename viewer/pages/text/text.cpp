// The page: its question, layout, controls, the editor, keys.
#include "viewer/pages/text/text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <imgui_stdlib.h>  // after imgui.h, which it does not include

namespace locus {

namespace {

constexpr double kRounding = 1e-6;  // of a cosine that is 0

TextQuery query_of(const TextPageState& state) { return {state.documents, state.stop_words, state.topics, state.pair}; }

}  // namespace

bool TextPage::settled(const State& state) const {
    const TextQuery query = query_of(state.text_page);
    return (study_ && study_->query == query) || (stopped_ && asked_ == query);
}

std::string TextPage::stop() {
    if (!worker_ || !worker_->cancel_long_work()) return {};
    stopped_ = true;
    return kStoppedPicture;
}

void TextPage::refresh(Scene& scene) {
    if (!worker_)
        worker_ = std::make_unique<Worker<TextQuery, TextStudy>>(
            [this](const TextQuery& query) { return studies_.answer(query); }, Window::wake);
    if (const auto answer = worker_->take()) {
        study_ = answer;
        TextPageState& state = scene.state.text_page;
        if (study_->query.stop_words == state.stop_words && study_->query.documents == state.documents)
            find_followed(state);
        keep_inside(state);
    }
    if (settled(scene.state)) keep_inside(scene.state.text_page);
    const TextQuery query = query_of(scene.state.text_page);
    if (asked_ == query) return;
    asked_ = query;
    stopped_ = false;
    worker_->submit(query);
}

const TextStudy* TextPage::shown(const TextPageState& state) const {
    if (!study_ || !study_->error.empty()) return nullptr;
    TextPageState inside = state;
    keep_inside(inside);
    const bool fits = inside.weight == state.weight && inside.pair == state.pair && inside.move == state.move;
    return fits ? study_.get() : nullptr;
}

void TextPage::keep_inside(TextPageState& state) const {
    if (!study_ || !study_->error.empty()) return;
    const TextTables& tables = *study_->tables;
    const auto inside = [](Cell& cell, Index rows, Index cols) {
        cell = {std::clamp<Index>(cell.i, 0, std::max<Index>(0, rows - 1)),
                std::clamp<Index>(cell.j, 0, std::max<Index>(0, cols - 1))};
    };
    inside(state.weight, tables.counts.rows(), tables.counts.cols());
    inside(state.pair, study_->documents(), study_->documents());
    inside(state.move, study_->plan.movers.flow.rows(), study_->plan.movers.flow.cols());
    state.topics = std::clamp<Index>(state.topics, 1, std::min(tables.counts.rows(), tables.counts.cols()));
}

void TextPage::follow_words(const TextPageState& state) {
    if (!shown(state) || follows_) return;
    const auto word = [](const PlacedWords& words, Index at) {
        return at < std::ssize(words.words) ? words.words[static_cast<std::size_t>(at)].text : std::string();
    };
    follows_ = {study_->tables->bag.words.word(state.weight.j),
                word(study_->words_of(study_->plan.pair.i), state.move.i),
                word(study_->words_of(study_->plan.pair.j), state.move.j)};
}

void TextPage::find_followed(TextPageState& state) {
    if (!follows_ || !study_ || !study_->error.empty()) return;
    const ChosenWords wanted = *std::exchange(follows_, std::nullopt);
    // A word that is gone leaves its cursor where it is.
    for (Index n = 0; n < study_->tables->counts.cols(); ++n)
        if (study_->tables->bag.words.word(n) == wanted.weight) state.weight.j = n;
    const auto find = [](const PlacedWords& words, const std::string& wished, Index& at) {
        for (Index n = 0; n < std::ssize(words.words); ++n)
            if (words.words[static_cast<std::size_t>(n)].text == wished) at = n;
    };
    find(study_->words_of(study_->plan.pair.i), wanted.from, state.move.i);
    find(study_->words_of(study_->plan.pair.j), wanted.to, state.move.j);
}

ModelCard TextPage::card(const Scene& scene) {
    if (!shown(scene.state.text_page)) return {"counting models", ""};
    return {"counting models",
            several(study_->documents(), "document") + " \u00b7 " + several(study_->tables->bag.words.size(), "word")};
}

std::string TextPage::name_of(Index document) const {
    return std::to_string(document + 1) + "  " + study_->tables->lines[static_cast<std::size_t>(document)];
}

float TextPage::draw_bar(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    TextPageState& state = scene.state.text_page;
    const float y = bar.middle_y();
    float x = ui.choice("weights", bar.x0 + ui.px(16), y, {"counts", "tf\u00b7idf"}, state.weights) + ui.px(14);
    std::size_t words = state.stop_words ? 1 : 0;
    x = ui.choice("stop words", x, y, {"without stop words", "every word"}, words) + ui.px(14);
    if (state.stop_words != (words == 1)) follow_words(state);
    state.stop_words = words == 1;
    x += ui.text(x, y, "topics", ui.theme->muted) + ui.px(8);
    const Index most =
        shown(state) ? std::min(study_->tables->counts.rows(), study_->tables->counts.cols()) : state.topics;
    const std::string topics = std::to_string(state.topics);
    const float wide = 2 * ui.px(20) + std::max(ui.px(20), ui.text_width(topics, Face::mono) + ui.px(4));
    ui.stepper("topics", x + wide, y, topics, state.topics, 1, std::max<Index>(1, most));
    const char* label = scene.state.editing ? "done" : "edit the documents";
    const float left = bar.x1 - ui.px(16) - ui.text_width(label) - ui.px(24);
    if (ui.button("edit", {left, y - ui.px(13), bar.x1 - ui.px(16), y + ui.px(13)}, label))
        scene.state.editing = !scene.state.editing;
    ui.text(left - ui.px(12), y, "Ctrl L", ui.theme->muted, Face::mono_small, Align::right);
    return left;
}

TextLayout TextPage::arrange(const Scene& scene, const Rect& inside) const {
    const Ui& ui = scene.ui;
    const TextTables& tables = *study_->tables;
    TextLayout layout;
    const auto rows = static_cast<float>(tables.counts.rows()), cols = static_cast<float>(tables.counts.cols());
    const float names = ui.px(168), title = ui.px(22), above = ui.px(58), legend = ui.px(22), gap = ui.px(18);
    // On a page that is much higher than wide the words travel below the four matrices.
    const bool tall = inside.height() > 1.3f * inside.width();
    const float high = std::min(rows * ui.px(tall ? 40.0f : 26.0f), ui.px(tall ? 280.0f : 156.0f));
    const float wide = std::min(cols * ui.px(80), inside.width() - names);
    const float top = inside.y0 + title + above;
    layout.weights = {inside.x0 + names, top, inside.x0 + names + wide, top + high};

    const float lower = layout.weights.y1 + legend + ui.px(10);
    // Few documents leave height, but the words at the right need their width.
    const float numbers = ui.px(18), down = inside.y1 - lower - 2 * title - legend;
    const float side = std::floor(tall ? std::min(down * 0.29f, (inside.width() - numbers - gap) / 2)
                                       : std::min(down / 2, inside.width() * 0.23f));
    for (std::size_t n = 0; n < 4; ++n) {
        const float x = inside.x0 + numbers + static_cast<float>(n % 2) * (side + gap);
        const float y = lower + title + static_cast<float>(n / 2) * (side + title);
        layout.alike[n] = {x, y, x + side, y + side};
    }
    const float left = tall ? inside.x0 : layout.alike[1].x1 + ui.px(30);
    const float travel = tall ? layout.alike[2].y1 + legend + ui.px(16) : lower;
    const auto from = std::max<Index>(1, study_->plan.movers.flow.rows()),
               to = std::max<Index>(1, study_->plan.movers.flow.cols());
    const float labels = ui.px(78), half = (inside.x1 - left - labels - gap) / 2;
    const float area = inside.y1 - travel;
    const float cells =
        std::min(std::min(half / static_cast<float>(to), ui.px(46)) * static_cast<float>(from), area * 0.34f);
    const float bottom = inside.y1 - legend;
    layout.flow = {left + labels, bottom - cells, left + labels + half, bottom};
    layout.costs = layout.flow.moved(half + gap, 0);
    layout.travel = {left, travel + title - ui.px(6), inside.x1, layout.flow.y0 - above - title};
    return layout;
}

void TextPage::draw_editor(Scene& scene, const Rect& box) {
    const Ui& ui = scene.ui;
    std::string& text = scene.state.text_page.documents;
    ui.text(box.x0, box.y0 + ui.px(8), "One document per line", ui.theme->text, Face::title);
    ui.text(box.x1, box.y0 + ui.px(8), "Esc or Ctrl L returns", ui.theme->muted, Face::mono_small, Align::right);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    ImGui::PushStyleColor(ImGuiCol_Border, ui.theme->accent);
    ImGui::SetCursorScreenPos({box.x0, box.y0 + ui.px(24)});
    if (focus_) ImGui::SetKeyboardFocusHere();
    ui.fonts->require(text);
    if (ImGui::InputTextMultiline("##documents", &text, {box.width(), box.height() - ui.px(24)}))
        follow_words(scene.state.text_page);
    ImGui::PopStyleColor();
    ImGui::PopFont();
}

void TextPage::paint(const State& screen) {
    const TextPageState& state = screen.text_page;
    const PictureVersion version{study_->serial, static_cast<Index>(state.weights), screen.theme};
    if (painted_ == version) return;
    painted_ = version;
    const TextTables& tables = *study_->tables;
    const Matrix<float> weights = (state.weights == 0 ? tables.counts : tables.weights).cast<float>();
    weights_.show(version, weights, {}, MapKind::sequential,
                  ValueRange{0, std::max(1e-6, static_cast<double>(weights.maxCoeff()))}, Pooling::largest);
    const Index n = study_->documents();
    std::array<Matrix<float>, 4> alike;
    // One scale for the four of them; a cosine of topics may be negative.
    ValueRange range{0, 1};
    for (std::size_t which = 0; which < 4; ++which) {
        alike[which].resize(n, n);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < n; ++j) {
                const double value = likeness(*study_, which, {i, j});
                alike[which](i, j) = static_cast<float>(value);
                if (std::isfinite(value)) range.low = std::min(range.low, value);
            }
    }
    if (range.low > -kRounding) range.low = 0;
    Mask in_topics = Mask::Ones(n, n);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) in_topics(i, j) = study_->outside_topics({i, j}).empty();
    for (std::size_t which = 0; which < 4; ++which)
        alike_[which].show(version, alike[which], which == 2 && !in_topics.all() ? in_topics : Mask(),
                           MapKind::sequential, range);
    const WordMovers& movers = study_->plan.movers;
    if (movers.flow.size() == 0) return;
    flow_.show(version, movers.flow.cast<float>(), {}, MapKind::sequential, ValueRange{0, movers.flow.maxCoeff()},
               Pooling::largest);
    costs_.show(version, movers.costs.cast<float>(), {}, MapKind::sequential,
                ValueRange{0, std::max(1e-6, movers.costs.maxCoeff())});
}

void TextPage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    if (!shown(scene.state.text_page)) {
        const float top = inside.y0 + ui.px(260);
        if (scene.state.editing) draw_editor(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + ui.px(240)});
        if (study_)
            ui.paragraph(inside.x0, top, ui.px(560),
                         study_->error + "; \u201cedit the documents\u201d or Ctrl L opens a box for them.",
                         ui.theme->text);
        else
            ui.text(inside.x0, top, "learning the words \u2026", ui.theme->muted);
        focus_ = !scene.state.editing;
        return;
    }
    paint(scene.state);
    const TextLayout layout = arrange(scene, inside);
    const Rect top{inside.x0, inside.y0, inside.x1, layout.weights.y1 + ui.px(20)};
    if (scene.state.editing)
        draw_editor(scene, top);
    else
        draw_weights(scene, layout.weights);
    focus_ = !scene.state.editing;
    for (std::size_t which = 0; which < 4; ++which) draw_alike(scene, layout.alike[which], which);
    draw_travel(scene, layout.travel);
    if (!study_->plan.unavailable.empty()) return;
    draw_moves(scene, layout.flow, true);
    draw_moves(scene, layout.costs, false);
}

void TextPage::move_cursor(TextPageState& state, Cell& cursor, const std::optional<Cell>& pointed, bool clicked) const {
    if (!pointed) return;
    if (clicked) {
        state.locked = !(state.locked && cursor == *pointed);
        cursor = *pointed;
    } else if (!state.locked) {
        cursor = *pointed;
    }
}

bool TextPage::press(Scene& scene, const KeyPress& press) {
    TextPageState& state = scene.state.text_page;
    if (!shown(state)) return false;
    const Index documents = study_->documents(), words = study_->tables->counts.cols();
    if (press.key != Key::character) {
        MatrixView whole;
        return move_cell(state.pair, state.locked, whole, documents, press);
    }
    const auto step = [](Index& value, Index by, Index first, Index last) {
        value = std::clamp<Index>(value + by, first, last);
        return true;
    };
    switch (press.character) {
        case 'x':
            state.weights = 1 - state.weights;
            return true;
        case 'w':
            follow_words(state);
            state.stop_words = !state.stop_words;
            return true;
        case '[':
            return step(state.topics, -1, 1, std::min(documents, words));
        case ']':
            return step(state.topics, 1, 1, std::min(documents, words));
        case ',':
            return step(state.weight.j, -1, 0, words - 1);
        case '.':
            return step(state.weight.j, 1, 0, words - 1);
        default:
            return move_cell(state.weight, state.locked, state.view, documents, words, press);
    }
}

std::unique_ptr<Page> make_text_page() { return std::make_unique<TextPage>(); }

}  // namespace locus
