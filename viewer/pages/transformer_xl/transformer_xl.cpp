// The page: what the model answers, layout, keys.
#include "viewer/pages/transformer_xl/transformer_xl.h"

#include <algorithm>
#include <cmath>

#include "viewer/ui/animation_controls.h"

namespace locus {

namespace {

MemoryRequest request_of(const State& state, std::shared_ptr<const MemoryText> sentence, const MemoryAnswer* shown) {
    const MemoryState& memory = state.memory;
    // Where the stages of all layers are kept, the layer is not asked for.
    const bool all = shown && shown->request.sentence == sentence && shown->layer < 0;
    return {std::move(sentence), memory.segment_tokens, memory.segment, memory.memory, all ? 0 : memory.layer};
}

}  // namespace

void TransformerXlPage::update(const State& state) {
    source_.update(state.choices.transformer_xl);
    if (source_.shown()) answers_.update(request_of(state, source_.share(), answers_.shown()));
}

std::string TransformerXlPage::error() { return source_.error().empty() ? answers_.error() : source_.error(); }

bool TransformerXlPage::settled(const State& state) const {
    if (!source_.settled(state.choices.transformer_xl)) return false;
    return !source_.error().empty() || !source_.shown() || answers_.settled();
}

ModelCard TransformerXlPage::card(const Scene& scene) {
    const ModelSizes sizes = sentence().sizes();
    // The other pages' dialect stays as it was chosen; where it is not the usual one, it might be thought to hold here.
    const bool other = scene.state.dialect != State().dialect;
    return {sentence().name(), size_line(sizes.layers, sizes.heads) + (other ? " \u00b7 reference" : "")};
}

const std::string& TransformerXlPage::word(Index on_tape) const {
    return sentence().words().at(static_cast<std::size_t>(answer().begin - answer().longest + on_tape));
}

const std::string& TransformerXlPage::query_word(const MemoryState& state) const {
    return word(answer().longest + state.cell.i);
}

Index TransformerXlPage::chosen_key(const MemoryState& state) const {
    return state.cell.j - (answer().longest - answer().memory);
}

void TransformerXlPage::fit(MemoryState& state) const {
    const ModelSizes sizes = sentence().sizes();
    const auto inside = [](Index& value, Index low, Index high) {
        value = std::clamp(value, low, std::max(low, high));
    };
    inside(state.layer, 0, sizes.layers - 1);
    inside(state.head, 0, sizes.heads - 1);
    inside(state.cell.i, 0, answer().length - 1);
    inside(state.cell.j, 0, answer().longest + answer().length - 1);
    inside(state.animation_queries, 1, 4);
    inside(state.animation_memory, 0, 4);
    inside(state.term, -1, 5);
    state.side = std::min<std::size_t>(state.side, 2);
    state.strip = std::min<std::size_t>(state.strip, 1);
    state.trick = std::min<std::size_t>(state.trick, 1);
}

void TransformerXlPage::refresh(Scene& scene) {
    MemoryState& state = scene.state.memory;
    fit(state);
    const std::array<Index, 3> wanted = {static_cast<Index>(state.trick), state.animation_queries,
                                         state.animation_memory};
    if (history_of_ != wanted) {
        history_of_ = wanted;
        animation_ = state.trick == 0 ? shift_animation(state.animation_queries, state.animation_memory)
                                      : shift_animation_xlnet(state.animation_queries, state.animation_memory);
    }
    show_panels(scene);
}

const RelativeCellExplanation<float>* TransformerXlPage::explain(const MemoryState& state) {
    const Index key = chosen_key(state);
    if (key < 0 || tensors_.k.rows() != answer().keys() || tensors_.q.rows() <= state.cell.i) return nullptr;
    if (!cell_ || cell_->i != state.cell.i || cell_->j != key)
        cell_ = explain_relative_cell<float>(tensors_, state.cell.i, key);
    return &*cell_;
}

float TransformerXlPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    fit(state);
    const float y = bar.middle_y();
    const ModelSizes sizes = sentence().sizes();
    const float end =
        ui.layer_and_head(bar.x1 - ui.px(16), y, sizes.layers, state.layer, sizes.heads, state.head) - ui.px(18);
    float x = bar.x0 + ui.px(16);
    x += ui.text(x, y, "memory M", ui.theme->muted) + ui.px(8);
    auto length = static_cast<double>(answer().memory);
    if (ui.slider("memory", x, y, ui.px(110), length, 0, static_cast<double>(answer().longest), 1))
        state.memory = static_cast<Index>(length);
    x += ui.px(118);
    x += ui.text(x, y, std::to_string(answer().memory), ui.theme->text, Face::mono);
    x += ui.text(x, y, " of " + std::to_string(answer().longest) + " tokens", ui.theme->muted) + ui.px(18);
    // A name, then a stepper; what does not fit is left to the keys.
    const auto stepper = [&](const char* id, const std::string& name, const std::string& shown, Index& value, Index low,
                             Index high) {
        const float wide = std::max(ui.px(20), ui.text_width(shown, Face::mono) + ui.px(4)) + ui.px(40);
        const float title = ui.text_width(name) + ui.px(8);
        if (x + title + wide > end) return;
        ui.text(x, y, name, ui.theme->muted);
        x += title + wide;
        ui.stepper(id, x, y, shown, value, low, high);
        x += ui.px(14);
    };
    Index segment = answer().segment,
          words = answer().request.segment_tokens > 0 ? answer().request.segment_tokens : sentence().usual_segment();
    const Index segment_before = segment, words_before = words;
    stepper("segment", "segment", std::to_string(segment + 1) + " of " + std::to_string(answer().segments), segment, 0,
            answer().segments - 1);
    stepper("segment tokens", "tokens in a segment", std::to_string(words), words, 1,
            static_cast<Index>(sentence().words().size()));
    if (segment != segment_before) state.segment = segment;
    if (words != words_before) state.segment_tokens = words;
    return end;
}

namespace {

/// How the six panels stand, around each of them its title and legend.
struct PanelGrid {
    std::size_t columns = 3;
    float wide = 0, high = 0;
};

/// Three in a row, or two where the page is so high that they become much larger.
PanelGrid grid_of(float across, float down, float gap, float around) {
    const auto grid = [&](std::size_t columns, float shape) {
        const auto n = static_cast<float>(columns);
        const float wide = std::floor((across - (n - 1) * gap) / n);
        return PanelGrid{columns, wide, std::floor(std::min(down * n / 6 - around, wide * shape))};
    };
    const PanelGrid three = grid(3, 0.75f), two = grid(2, 1.45f);
    return two.wide * two.high > 1.6f * three.wide * three.high ? two : three;
}

}  // namespace

void TransformerXlPage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    refresh(scene);
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float tape = ui.px(128), title = ui.px(22), legend = ui.px(20), gap = ui.px(18);
    const bool tall = inside.height() > 1.3f * inside.width();
    const float strip = tall ? ui.px(240) : std::max(ui.px(172), inside.height() * 0.26f);
    const float labels = ui.px(60);
    const PanelGrid grid =
        grid_of(inside.width() - labels, inside.height() - tape - strip - ui.px(22), gap, title + legend);
    draw_tape(scene, {inside.x0 + labels, inside.y0, inside.x1, inside.y0 + tape - ui.px(10)});
    float y = inside.y0 + tape + title;
    // The terms, then their sum and what comes of it.
    static constexpr std::array<std::size_t, 6> kThree = {0, 1, 2, 3, 4, 5}, kTwo = {0, 1, 3, 4, 2, 5};
    for (std::size_t n = 0; n < panels_.size(); ++n) {
        const std::size_t column = n % grid.columns;
        const float x = inside.x0 + labels + static_cast<float>(column) * (grid.wide + gap);
        const float top = y + static_cast<float>(n / grid.columns) * (grid.high + legend + title);
        draw_panel(scene, {x, top, x + grid.wide, top + grid.high}, (grid.columns == 3 ? kThree : kTwo)[n],
                   column == 0);
    }
    y += static_cast<float>(6 / grid.columns) * (grid.high + legend + title) - title + ui.px(12);
    draw_strip(scene, {inside.x0, y, inside.x1, inside.y1});
}

bool TransformerXlPage::press(Scene& scene, const KeyPress& press) {
    MemoryState& state = scene.state.memory;
    fit(state);
    const Index words = answer().longest + answer().length;
    const auto move = [&](Index di, Index dj) {
        state.cell.i = std::clamp<Index>(state.cell.i + di, 0, answer().length - 1);
        state.cell.j = std::clamp<Index>(state.cell.j + dj, answer().longest - answer().memory, words - 1);
        state.locked = true;
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
    if (press_cell_column(press, column_of(state), 6, sentence().sizes().head_width)) return true;
    if (press_animation(state.animation, last_frame(), press)) return true;
    const auto step = [](Index& value, Index now, Index by, Index low, Index high) {
        value = std::clamp(now + by, low, high);
        return true;
    };
    switch (press.key == Key::character ? press.character : U'\0') {
        case 'm':
            return step(state.memory, answer().memory, -1, 0, answer().longest);
        case 'M':
            return step(state.memory, answer().memory, 1, 0, answer().longest);
        case 's':
            return step(state.segment, answer().segment, 1, 0, answer().segments - 1);
        case 'S':
            return step(state.segment, answer().segment, -1, 0, answer().segments - 1);
        case 'c':
            if (explain(state)) copy_cell(scene.state, copied_text(state));
            return true;
        case 'x':
            state.trick = 1 - state.trick;
            state.animation.at = std::min(state.animation.at, 5.0);
            return true;
        case 'e':
            state.strip = 1 - state.strip;
            return true;
        default:
            return step_head(press, sentence().sizes().layers, sentence().sizes().heads, state.layer, state.head);
    }
}

std::unique_ptr<Page> make_transformer_xl_page() { return std::make_unique<TransformerXlPage>(); }

}  // namespace locus
