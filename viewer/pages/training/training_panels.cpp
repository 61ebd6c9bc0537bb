// The lower half: the sentence with its hidden word, the three terms, what the head has learnt of distance.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "viewer/pages/training/training.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/ui.h"

namespace locus {

const std::array<TrainingPanel, 3> kTrainingPanels = {
    {{"c2c", "content \u2192 content"}, {"c2p", "content \u2192 position"}, {"p2c", "position \u2192 content"}}};

namespace {

constexpr const char* kGuessArrow = " \u2192";

}  // namespace

float TrainingPage::widest_guess(const Ui& ui, std::size_t mask) const {
    float widest = 0;
    for (std::size_t s = 0; s < look_->snapshots.size(); ++s)
        widest = std::max(widest, ui.text_width(look_->words(s, mask, 1).front().piece));
    return widest;
}

/// What the model reads at a hidden word, and at the right, `wide`, what it guesses there: the surer, the stronger.
void TrainingPage::draw_hidden_word(const Ui& ui, const Rect& box, const std::string& mask, const Word& guess,
                                    float wide) const {
    const Theme& theme = *ui.theme;
    ui.fill(box, theme.chip, 5);
    const Rect right{box.x1 - wide, box.y0, box.x1, box.y1};
    ui.fill(right, mixed(theme.chip, theme.accent, 0.65f * static_cast<float>(guess.probability)), 5);
    ui.text(box.x0 + ui.px(6), box.middle_y(), mask + kGuessArrow, theme.muted);
    ui.text(right.middle_x(), box.middle_y(), guess.piece, theme.text, Face::ui, Align::centre);
}

TrainingPage::SentenceWord TrainingPage::measured(const Ui& ui, const TrainingPageState& state, Index t) const {
    const auto at = static_cast<std::size_t>(t);
    const Answer& sentence = look_->sentence;
    const auto mask = std::find(look_->masks.begin(), look_->masks.end(), t);
    SentenceWord word;
    word.gap = t > 0 && !sentence.continues[at] ? ui.px(1) : 0;
    word.width = ui.text_width(sentence.labels[at]) + 2 * ui.px(sentence.continues[at] ? 1.0f : 2.0f);
    if (mask == look_->masks.end()) return word;
    const auto n = static_cast<std::size_t>(mask - look_->masks.begin());
    word.guess = look_->words(shown_snapshot(state), n, 1).front();
    // As wide as the widest guess: the sentence does not move while the animation runs.
    word.guess_wide = widest_guess(ui, n) + ui.px(12);
    word.width = ui.text_width(sentence.labels[at] + kGuessArrow) + ui.px(10) + word.guess_wide;
    return word;
}

void TrainingPage::draw_sentence(Scene& scene, const Rect& line) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    TrainingPageState& state = scene.state.training;
    const float y = line.middle_y();
    const float wide = ui.text_width("next") + ui.px(20);
    const Rect next{line.x1 - wide, y - ui.px(11), line.x1, y + ui.px(11)};
    if (ui.button("next sentence", next, "next")) next_sentence(state);
    const float end = next.x0 - ui.px(20), more = ui.px(20);
    std::vector<SentenceWord> words;
    for (Index t = 0; t < look_->length(); ++t) words.push_back(measured(ui, state, t));
    // Of a sentence that is too long its beginning gives way until the first hidden word can be seen.
    const auto first_hidden = static_cast<std::size_t>(look_->masks.empty() ? 0 : look_->masks.front());
    std::size_t first = 0;
    float needed = 0;
    for (std::size_t t = 0; t <= first_hidden; ++t) needed += words[t].gap + words[t].width;
    while (first < first_hidden && line.x0 + (first > 0 ? more : 0) + needed > end) {
        needed -= words[first].gap + words[first].width;
        ++first;
    }
    float x = line.x0;
    if (first > 0) {
        ui.text(x + ui.px(4), y, "\u2026", theme.muted);
        x += more;
    }
    for (std::size_t t = first; t < words.size(); ++t) {
        x += words[t].gap;
        const Rect box{x, y - ui.px(11), x + words[t].width, y + ui.px(11)};
        if (box.x1 > end) {
            ui.text(x + ui.px(4), y, "\u2026", theme.muted);
            break;
        }
        x = box.x1;
        draw_word(ui, state, box, t, words[t]);
    }
}

void TrainingPage::draw_word(const Ui& ui, TrainingPageState& state, const Rect& box, std::size_t at,
                             const SentenceWord& word) {
    const Theme& theme = *ui.theme;
    const Answer& sentence = look_->sentence;
    const auto t = static_cast<Index>(at);
    const Touch mouse = ui.touch(("word " + std::to_string(at)).c_str(), box);
    if (mouse.double_clicked) {
        hide(state, t);
    } else if (mouse.clicked) {
        (ImGui::GetIO().KeyShift ? state.cell.j : state.cell.i) = t;
        state.locked = true;
    }
    if (word.guess) draw_hidden_word(ui, box, sentence.labels[at], *word.guess, word.guess_wide);
    if (t == state.cell.i)
        ui.outline(box, theme.accent, 2, 5);
    else if (t == state.cell.j)
        ui.outline(box, theme.c2p, 2, 5);
    else if (mouse.hovered)
        ui.outline(box, theme.line, 1, 5);
    const bool pale = sentence.special[at] || sentence.unknown[at];
    if (!word.guess)
        ui.text(box.middle_x(), box.middle_y(), sentence.labels[at], pale ? theme.muted : theme.text, Face::ui,
                Align::centre);
    if (mouse.hovered) describe_word(ui, at, word.guess);
}

void TrainingPage::describe_word(const Ui& ui, std::size_t at, const std::optional<Word>& guess) const {
    const Theme& theme = *ui.theme;
    const Answer& sentence = look_->sentence;
    if (guess)
        draw_tooltip(ui, {{{"hidden here", theme.muted},
                           {sentence.behind[at].empty() ? "" : ": " + sentence.behind[at], theme.text}},
                          {{"guessed: ", theme.muted},
                           {guess->piece + "  ", theme.text},
                           {fixed(guess->probability, 3), theme.text, Face::mono}},
                          {{"double click brings the word back", theme.muted, Face::label}}});
    else if (!sentence.special[at])
        draw_tooltip(ui, {{{"click: this query, with Shift this key", theme.text}},
                          {{"double click hides the word", theme.muted, Face::label}}});
}

void TrainingPage::draw_labels(const Scene& scene, const Rect& cells) const {
    const Ui& ui = scene.ui;
    const TrainingPageState& state = scene.state.training;
    const Index length = look_->length();
    const float pitch = cells.height() / static_cast<float>(state.view.shown(length));
    const Face face = pitch >= ui.px(12) ? Face::label : Face::tiny;
    const Index step = label_step(ui, face, pitch, length);
    for (Index i = 0; i < length; ++i) {
        const Rect row = cell_rect(cells, state.view, length, {i, 0});
        const bool chosen = i == state.cell.i;
        if (!chosen && (i % step != 0 || std::abs(i - state.cell.i) < step)) continue;
        if (row.middle_y() < cells.y0 || row.middle_y() > cells.y1) continue;
        ui.text_within(cells.x0 - ui.px(6), row.middle_y(), ui.px(54),
                       look_->sentence.labels[static_cast<std::size_t>(i)], chosen ? ui.theme->text : ui.theme->muted,
                       face, Align::right);
    }
}

void TrainingPage::draw_panels(Scene& scene, const Rect& first, float gap) {
    const Ui& ui = scene.ui;
    TrainingPageState& state = scene.state.training;
    std::optional<Cell> pointed;
    for (std::size_t n = 0; n < panels_.size(); ++n) {
        const Rect cells = first.moved(static_cast<float>(n) * (first.width() + gap), 0);
        const float y = cells.y0 - ui.px(12);
        ui.text(cells.x0, y, kTrainingPanels[n].title, term_colour(*ui.theme, static_cast<int>(n)), Face::title);
        ui.text(cells.x1, y, kTrainingPanels[n].stem, ui.theme->muted, Face::mono_small, Align::right);
        bool clicked = false;
        const std::optional<Cell> cell =
            explore(ui, kTrainingPanels[n].stem, cells, look_->length(), state.view, clicked);
        if (cell && clicked) {
            state.locked = !(state.locked && state.cell == *cell);
            state.cell = *cell;
        }
        if (cell) pointed = cell;
        panels_[n].draw(ui, cells, state.view);
        panels_[n].draw_crosshair(ui, cells, state.view, state.cell);
        panels_[n].draw_legend(ui, cells.x0, cells.y1 + ui.px(10));
        if (n == 0) draw_labels(scene, cells);
        if (n == 2 && look_->snapshots.size() > 1) {
            const std::string words = state.own_scale ? "own scale" : "one scale";
            const float width = ui.text_width(words, Face::mono_small);
            const Rect box{cells.x1 - width, cells.y1 + ui.px(2), cells.x1, cells.y1 + ui.px(18)};
            const Touch mouse = ui.touch("scale", box);
            if (mouse.clicked) state.own_scale = !state.own_scale;
            ui.text(cells.x1, cells.y1 + ui.px(10), words, mouse.hovered ? ui.theme->text : ui.theme->muted,
                    Face::mono_small, Align::right);
            if (mouse.hovered)
                draw_tooltip(ui, {{{state.own_scale ? "colours as wide as this snapshot's values"
                                                    : "the same colours mean the same in every snapshot",
                                    ui.theme->text}},
                                  {{"click: the other way", ui.theme->muted, Face::label}}});
        }
        if (cell) describe(scene, *cell, n);
    }
    if (pointed && !state.locked) state.cell = *pointed;
}

void TrainingPage::describe(const Scene& scene, Cell cell, std::size_t n) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const auto token = [&](Index t) { return look_->sentence.labels[static_cast<std::size_t>(t)]; };
    const TrainingPageState& state = scene.state.training;
    draw_tooltip(ui,
                 {{{token(cell.i), theme.text}, {" looks at ", theme.muted}, {token(cell.j), theme.text}},
                  {{"i " + std::to_string(cell.i) + "  j " + std::to_string(cell.j) + "  " + direction(cell.i - cell.j),
                    theme.muted, Face::mono_small}},
                  {{std::string(kTrainingPanels[n].title) + "  ", theme.muted},
                   {fixed(panels_[n].values()(cell.i, cell.j), 3), theme.text, Face::mono}},
                  {{state.locked ? "click moves the lock here, Esc unlocks" : "click locks this cell", theme.muted,
                    Face::label}}});
}

void TrainingPage::draw_curves(Scene& scene, const Rect& area, float gap) {
    const float half = std::floor((area.width() - gap) / 2);
    draw_curve(scene, {area.x0, area.y0, area.x0 + half, area.y1}, false);
    draw_curve(scene, {area.x1 - half, area.y0, area.x1, area.y1}, true);
}

void TrainingPage::draw_curve(Scene& scene, const Rect& area, bool keys) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const TrainingPageState& state = scene.state.training;
    const CurveHistory& animation = keys ? head_.p2c : head_.c2p;
    const std::size_t shown = shown_snapshot(state);
    const ImU32 colour = term_colour(theme, keys ? 2 : 1);
    const float y = area.y0 + ui.px(8);
    const char* letters[] = {keys ? "k\u00b7q" : "q\u00b7k", "r"};
    const float after =
        area.x0 +
        ui.spans(area.x0, y,
                 {{letters[0], colour, Face::title},
                  {letters[1], colour, Face::tiny, 5},
                  {keys ? "  to the place of the query" : "  to the place of the key", theme.text, Face::title}});
    ui.text_within(area.x1, y, area.x1 - after - ui.px(10), "mean over words, by i - j", theme.muted, Face::mono_small,
                   Align::right);
    LinePlot plot;
    plot.first_x = -static_cast<double>(kCurveReach);
    plot.x_name = "i \u2212 j";
    plot.decimals = 3;
    plot.zero_line = true;
    const double spare = std::max(1e-6, (animation.high - animation.low) * 0.06);
    plot.low = animation.low - spare;
    plot.high = animation.high + spare;
    const Matrix<float>& tokens = animation.tokens[shown];
    for (Index t = 0; t < tokens.rows(); ++t) {
        Curve own;
        for (Index c = 0; c < tokens.cols(); ++c) own.values.push_back(static_cast<double>(tokens(t, c)));
        own.colour = faded(colour, 0.14f);
        plot.curves.push_back(std::move(own));
    }
    if (shown > 0) plot.curves.push_back({animation.means.front(), theme.muted, "fresh weights", true});
    plot.curves.push_back({animation.means[shown], colour, shown > 0 ? "now" : "fresh weights"});
    const Index distance = state.cell.i - state.cell.j;
    if (std::abs(distance) <= kCurveReach) plot.marked_x = static_cast<double>(distance);
    draw_line_plot(ui, keys ? "curve p2c" : "curve c2p", {area.x0, area.y0 + ui.px(20), area.x1, area.y1}, plot);
    ui.note(keys ? "training/p2c/peak" : "training/c2p/peak", static_cast<double>(peak_of(animation.means[shown])));
}

}  // namespace locus
