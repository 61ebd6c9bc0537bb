// The column: what is guessed at the hidden word, what to look at, the run.
#include <algorithm>
#include <cmath>

#include "viewer/pages/training/training.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

namespace {

constexpr const char* kTrainCommand = "./locus train --corpus FILE --out DIR";

}  // namespace

void TrainingPage::draw_words(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const TrainingPageState& state = scene.state.training;
    if (look_->masks.empty()) {
        column.heading("No word is hidden");
        column.sentence("A double click on a word of the sentence hides it, and the model guesses it here.");
        column.rule();
        return;
    }
    for (std::size_t mask = 0; mask < std::min<std::size_t>(2, look_->masks.size()); ++mask) {
        const std::string& truth = look_->sentence.behind[static_cast<std::size_t>(look_->masks[mask])];
        column.heading(
            truth.empty() ? "What is hidden?" : "Hidden: \u201c" + ui.cut(truth, ui.px(110), Face::title) + "\u201d",
            "token " + std::to_string(look_->masks[mask]));
        for (const Word& word : look_->words(shown_snapshot(state), mask, 3)) {
            const bool right = word.id == look_->hidden[mask];
            column.bar({{ui.cut(word.piece, ui.px(74)), right ? theme.text : theme.muted}},
                       right || truth.empty() ? theme.accent : theme.muted, word.probability,
                       fixed(word.probability, 3));
            column.skip(23);
        }
        if (mask == 0) {
            const Index id = look_->followed(0);
            ui.note("training/chance", look_->chances(0, id)[shown_snapshot(state)]);
        }
    }
    if (look_->snapshots.size() > 1) draw_growth(scene, column);
    column.rule();
}

void TrainingPage::draw_growth(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    const Index id = look_->followed(0);
    column.skip(4);
    ui.text(column.left(), column.y(),
            "chance of \u201c" + ui.cut(look_->word(id), ui.px(90)) + "\u201d, snapshot by snapshot", ui.theme->muted,
            Face::label);
    column.skip(14);
    LinePlot plot;
    plot.x_name = "snapshot";
    plot.first_x = 1;
    plot.decimals = 3;
    plot.curves = {{look_->chances(0, id), ui.theme->accent, "chance"}};
    plot.marked_x = static_cast<double>(shown_snapshot(scene.state.training)) + 1;
    draw_line_plot(ui, "growth", {column.left() - ui.px(6), column.y(), column.right(), column.y() + ui.px(84)}, plot);
    column.skip(96);
}

void TrainingPage::draw_side(Scene& scene, const Rect& area) {
    if (!course_ || !look_) return;
    const Ui& ui = scene.ui;
    fit(scene.state.training);
    const Ui::Scrolled scrolled(ui);
    SideColumn column(ui, area, side_scroll_);
    draw_words(scene, column);
    column.heading("What to look at");
    const bool fresh = photographed(scene.state.training).step == 0;
    column.sentence(
        fresh ? "Fresh weights: every mean is near 0, every word is about as likely as any other. Faint lines "
                "are single words."
              : "A peak of an orange curve at one distance: this head looks there whatever the words "
                "are. Faint lines are single words; where they part, content decides. The dashed line is the mean "
                "of fresh weights. Try other heads.");
    if (!fresh) {
        const std::size_t at = shown_snapshot(scene.state.training);
        for (const auto& [term, animation] : {std::pair(1, &head_.c2p), std::pair(2, &head_.p2c)})
            column.row({{term == 1 ? "orange mean is highest" : "green mean is highest", term_colour(*ui.theme, term)}},
                       direction(peak_of(animation->means[at])));
    }
    column.rule();
    const CourseSnapshot& shown = photographed(scene.state.training);
    column.heading("The run", course_->query.train ? "seed " + std::to_string(course_->query.seed) : "");
    if (!course_->error.empty()) column.sentence(course_->error + ".", false);
    if (shown.step > 0) column.row("training loss", fixed(shown.loss, 3));
    column.row("held-out loss", fixed(shown.heldout, 3), true);
    column.rule();
    column.sentence("Longer, with your own text, and kept:");
    if (column.link(kTrainCommand)) {
        ImGui::SetClipboardText(kTrainCommand);
        scene.state.notice = std::string("copied: ") + kTrainCommand;
    }
    draw_lesson_links(scene, column, {{"29", "Watching position form"}, {"14", "SiFT"}});
    scroll_column(ui, column, area, side_scroll_);
}

void TrainingPage::draw_formula(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const auto plain = [&](const std::string& text) { return Span{text, theme.text, Face::formula}; };
    const auto small = [&](const std::string& text, ImU32 colour, float raise) {
        return Span{text, colour, Face::mono_tiny, raise};
    };
    const std::vector<Span> line = {
        {"q", theme.c2p, Face::formula}, small("i", theme.c2p, -4),          {" \u00b7 k", theme.c2p, Face::formula},
        small("r", theme.c2p, 5),        small(" \u03b4(d)", theme.c2p, -4), plain("  and  "),
        {"k", theme.p2c, Face::formula}, small("j", theme.p2c, -4),          {" \u00b7 q", theme.p2c, Face::formula},
        small("r", theme.p2c, 5),        small(" \u03b4(d)", theme.p2c, -4), plain("  for every d = i \u2212 j")};
    const float x = bar.x0 + ui.px(16);
    const float end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar, "terms are raw: no scale, no softmax", end);
}

}  // namespace locus
