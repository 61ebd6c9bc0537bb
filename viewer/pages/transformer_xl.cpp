// The page: what the model answers, the terms of one head, where everything stands, keys.
#include "viewer/pages/transformer_xl.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

struct Panel {
    const char* title;
    const char* note;
};

constexpr std::array<Panel, 6> kPanels = {{{"a  content \u2192 content", "q\u00b7k"},
                                           {"b  content \u2192 distance", "q\u00b7r"},
                                           {"scores", "sum / \u221ad"},
                                           {"c  which key, for all queries", "u\u00b7k"},
                                           {"d  which distance, for all", "v\u00b7r"},
                                           {"probabilities", "softmax over j"}}};
// Where a, b, c, d stand among the panels.
constexpr std::array<std::size_t, 4> kTerms = {0, 1, 3, 4};

}  // namespace

ImU32 relative_term_colour(const Theme& theme, std::size_t term) {
    return std::array{theme.c2c, theme.c2p, theme.p2c, theme.p2p}[term];
}

const MemoryExhibit& TransformerXlPage::exhibit() { return *exhibit_; }

ModelCard TransformerXlPage::card(const Scene&) {
    const ModelSizes sizes = exhibit().sizes();
    return {exhibit().name(), size_line(sizes.layers, sizes.heads)};
}

const std::string& TransformerXlPage::word(Index on_tape) {
    const auto& first = exhibit().first();
    const auto at = static_cast<std::size_t>(on_tape);
    return at < first.size() ? first[at] : exhibit().second().at(at - first.size());
}

Index TransformerXlPage::chosen_key(const MemoryState& state) {
    return state.cell.j - (exhibit().longest_memory() - state.memory);
}

double TransformerXlPage::value(std::size_t panel, const MemoryState& state) {
    const Index key = chosen_key(state);
    return key < 0 ? 0 : panels_[panel].values()(state.cell.i, key);
}

void TransformerXlPage::refresh(Scene& scene) {
    const MemoryState& state = scene.state.memory;
    if (!without_) without_ = exhibit().answer(0);
    const bool fresh = !answer_ || answer_->memory != state.memory;
    if (fresh) answer_ = exhibit().answer(state.memory);
    const PictureVersion wanted{version_, state.layer * exhibit().sizes().heads + state.head, scene.state.theme};
    if (!fresh && shown_ == wanted) return;
    if (fresh) ++version_;
    shown_ = {version_, wanted.part, wanted.theme};
    const std::string layer = "layer." + std::to_string(state.layer) + ".";
    const auto stage = [&](const char* stem) { return answer_->trace.at(layer + stem).as<float>().matrix(state.head); };
    const Matrix<float> scores = stage("scores"), probabilities = stage("probs");
    const Index keys = scores.cols();
    const Mask visible = transformer_xl_mask(scores.rows(), state.memory, false, state.memory);
    const RelativeTerms<float> terms =
        relative_terms<float>(stage("q"), stage("k"), stage("r_k"), exhibit().content_bias(state.head),
                              exhibit().position_bias(state.head), keys - 1);
    const std::array<const Matrix<float>*, 6> shown = {&terms.a, &terms.b, &scores, &terms.c, &terms.d, &probabilities};
    for (std::size_t n = 0; n < shown.size(); ++n)
        panels_[n].show(*shown_, *shown[n], visible, n == 5 ? MapKind::sequential : MapKind::diverging,
                        n == 5 ? std::optional(ValueRange{0, 1}) : std::nullopt);
}

float TransformerXlPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const float y = bar.middle_y();
    float x = bar.x0 + ui.px(16);
    x += ui.text(x, y, "memory M", ui.theme->muted) + ui.px(8);
    auto length = static_cast<double>(state.memory);
    ui.slider("memory", x, y, ui.px(140), length, 0, static_cast<double>(exhibit().longest_memory()), 1);
    state.memory = static_cast<Index>(length);
    x += ui.px(140) + ui.px(30);
    ui.text(x, y, std::to_string(state.memory), ui.theme->text, Face::mono, Align::right);
    ui.text(x + ui.px(8), y, state.memory == 1 ? "token of the segment before" : "tokens of the segment before",
            ui.theme->muted);
    const ModelSizes sizes = exhibit().sizes();
    return ui.layer_and_head(bar.x1 - ui.px(16), y, sizes.layers, state.layer, sizes.heads, state.head);
}

void TransformerXlPage::draw(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    refresh(scene);
    play(scene.state.memory);
    const Rect inside = room.inset(ui.px(16), ui.px(12));
    const float tape = ui.px(128), title = ui.px(22), legend = ui.px(20), gap = ui.px(18);
    const float film = std::max(ui.px(150), inside.height() * 0.23f);
    const float labels = ui.px(46);
    const float wide = std::floor((inside.width() - labels - 2 * gap) / 3);
    const float room_high = inside.height() - tape - film - 2 * (title + legend) - ui.px(22);
    const float high = std::floor(std::min(room_high / 2, wide * 0.75f));
    draw_tape(scene, {inside.x0 + labels, inside.y0, inside.x1, inside.y0 + tape - ui.px(10)});
    float y = inside.y0 + tape + title;
    for (std::size_t n = 0; n < kPanels.size(); ++n) {
        const float x = inside.x0 + labels + static_cast<float>(n % 3) * (wide + gap);
        const float top = y + static_cast<float>(n / 3) * (high + legend + title);
        draw_panel(scene, {x, top, x + wide, top + high}, n);
    }
    y += 2 * (high + legend) + title + ui.px(12);
    draw_film(scene, {inside.x0, y, inside.x1, inside.y1});
}

void TransformerXlPage::draw_panel(Scene& scene, const Rect& cells, std::size_t n) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const Heatmap& panel = panels_[n];
    const Index rows = panel.values().rows(), keys = panel.values().cols();
    const auto term = std::find(kTerms.begin(), kTerms.end(), n);
    const ImU32 colour = term == kTerms.end()
                             ? ui.theme->text
                             : relative_term_colour(*ui.theme, static_cast<std::size_t>(term - kTerms.begin()));
    const float note = ui.text_width(kPanels[n].note, Face::mono_small) + ui.px(8);
    ui.text_within(cells.x0, cells.y0 - ui.px(13), cells.width() - note, kPanels[n].title, colour, Face::title);
    ui.text(cells.x1, cells.y0 - ui.px(13), kPanels[n].note, ui.theme->muted, Face::mono_small, Align::right);
    panel.draw(ui, cells);
    // Left of the line: remembered; right of it: the segment itself.
    if (state.memory > 0) {
        const float x = whole_cell_rect(cells, rows, keys, {0, state.memory}).x0;
        ui.fill({x - ui.px(1), cells.y0, x, cells.y1}, faded(ui.theme->text, 0.6f));
    }
    const Index key = chosen_key(state);
    if (key >= 0) panel.draw_crosshair(ui, cells, {}, {state.cell.i, key});
    panel.draw_legend(ui, cells.x0, cells.y1 + ui.px(10));
    if (n == 5 && state.memory > 0)
        ui.text(cells.x1, cells.y1 + ui.px(10), "memory | now", ui.theme->muted, Face::mono_small, Align::right);
    if (n % 3 == 0) {
        const Rect row = whole_cell_rect(cells, rows, keys, {state.cell.i, 0});
        ui.text_within(cells.x0 - ui.px(6), row.middle_y(), ui.px(56),
                       exhibit().second()[static_cast<std::size_t>(state.cell.i)], ui.theme->text, Face::label,
                       Align::right);
    }
    const Touch mouse = ui.touch(kPanels[n].title, cells);
    if (!mouse.hovered) return;
    const auto at = [](float share, Index count) {
        return std::clamp<Index>(static_cast<Index>(share * static_cast<float>(count)), 0, count - 1);
    };
    const Cell under{at((mouse.at.y - cells.y0) / cells.height(), rows),
                     at((mouse.at.x - cells.x0) / cells.width(), keys)};
    const Cell on_tape{under.i, under.j + exhibit().longest_memory() - state.memory};
    if (mouse.clicked) state.locked = !(state.locked && state.cell == on_tape);
    if (mouse.clicked || !state.locked) state.cell = on_tape;
    const std::string number =
        panel.hidden(under.i, under.j) ? "hidden by the mask" : fixed(panel.values()(under.i, under.j), 4);
    const Index distance = state.memory + under.i - under.j;
    draw_tooltip(
        ui,
        {{{exhibit().second()[static_cast<std::size_t>(under.i)], ui.theme->text},
          {" looks at ", ui.theme->muted},
          {word(on_tape.j), ui.theme->text}},
         {{direction(distance) + (under.j < state.memory ? ", in the memory" : ""), ui.theme->muted, Face::mono_small}},
         {{std::string(kPanels[n].title) + "  ", ui.theme->muted}, {number, ui.theme->text, Face::mono}}});
}

bool TransformerXlPage::press(Scene& scene, const KeyPress& press) {
    MemoryState& state = scene.state.memory;
    const Index words = exhibit().longest_memory() + static_cast<Index>(exhibit().second().size());
    const auto frames = static_cast<Index>(film_.size());
    const auto move = [&](Index di, Index dj) {
        state.cell.i = std::clamp<Index>(state.cell.i + di, 0, words - exhibit().longest_memory() - 1);
        state.cell.j = std::clamp<Index>(state.cell.j + dj, exhibit().longest_memory() - state.memory, words - 1);
        state.locked = true;
        return true;
    };
    const auto remember = [&](Index by) {
        state.memory = std::clamp<Index>(state.memory + by, 0, exhibit().longest_memory());
        return true;
    };
    const auto turn = [&](Index by) {
        state.frame = (state.frame + by + frames) % frames;
        state.playing = false;
        return true;
    };
    if (press.key == Key::up) return move(-1, 0);
    if (press.key == Key::down) return move(1, 0);
    if (press.key == Key::left) return move(0, -1);
    if (press.key == Key::right) return move(0, 1);
    if (press.key == Key::space) {
        state.locked = !state.locked;
        return true;
    }
    switch (press.key == Key::character ? press.character : U'\0') {
        case 'm':
            return remember(-1);
        case 'M':
            return remember(1);
        case 'p':
            state.playing = !state.playing;
            return true;
        case 'n':
            return turn(1);
        case 'N':
            return turn(-1);
        default:
            return step_head(press, exhibit().sizes().layers, exhibit().sizes().heads, state.layer, state.head);
    }
}

std::vector<NamedMatrix> TransformerXlPage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    if (!answer_) return matrices;
    const MemoryState& state = scene.state.memory;
    const std::string layer = "layer." + std::to_string(state.layer) + ".";
    constexpr std::array<const char*, 6> kIds = {"a", "b", "scores", "c", "d", "probs"};
    const Index longest = exhibit().longest_memory();
    for (std::size_t n = 0; n < kIds.size(); ++n) {
        const bool is_stage = n == 2 || n == 5;
        NamedMatrix matrix =
            is_stage ? named_sheet(kIds[n], kPanels[n].title, answer_->trace.at(layer + kIds[n]), 0, state.head)
                     : named_matrix(kIds[n], kPanels[n].title, layer + "term." + kIds[n], panels_[n].values());
        if (!is_stage) matrix.part = "head " + std::to_string(state.head);
        matrix.visible = transformer_xl_mask(matrix.height(), state.memory, false, state.memory);
        matrix.rows = exhibit().second();
        for (Index j = 0; j < matrix.width(); ++j) matrix.cols.push_back(word(longest - state.memory + j));
        if (n == 5) {
            matrix.map = MapKind::sequential;
            matrix.range = ValueRange{0, 1};
        }
        matrices.push_back(std::move(matrix));
    }
    return matrices;
}

std::unique_ptr<Page> make_transformer_xl_page() { return std::make_unique<TransformerXlPage>(); }

}  // namespace locus
