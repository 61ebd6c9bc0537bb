// The two vectors of a term, channel by channel: as bars, and as a table with the running sum.
#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"

namespace locus {

namespace {

/// Names of the vectors: {base, raised}.
struct Factors {
    const char *left, *right, *raised;
};
constexpr Factors kFactors[] = {{"q", "k", ""}, {"q", "k", "r"}, {"k", "q", "r"}};

/// Four decimals, fewer where the whole part needs the room: at most nine characters.
std::string narrow(float value) {
    const double size = std::abs(static_cast<double>(value));
    return fixed(static_cast<double>(value), size < 100 ? 4 : size < 1000 ? 3 : size < 10000 ? 2 : 0);
}

}  // namespace

void Microscope::draw_channels(Scene& scene, SideColumn& column, const Rect& room, int term) const {
    const Ui& ui = scene.ui;
    const Factors& names = kFactors[term];
    bool& table = scene.state.attention.table;
    const std::string note =
        std::to_string(term_of(*cell_, term).products.size()) + (table ? " products \u25b4" : " products \u25be");
    const float wide = ui.text_width(note, Face::mono_small) + ui.px(8);
    const Touch mouse =
        ui.touch(("table " + std::to_string(term)).c_str(),
                 {column.right() - wide, column.y() - ui.px(10), column.right(), column.y() + ui.px(10)});
    if (mouse.clicked) table = !table;
    if (mouse.hovered) ui.hairline_across(column.right() - wide + ui.px(8), column.right(), column.y() + ui.px(8));
    column.heading({{std::string(names.left) + " \u00b7 " + names.right, ui.theme->text, Face::title},
                    {names.raised, ui.theme->text, Face::tiny, 5},
                    {", channel by channel", ui.theme->text, Face::title}},
                   note);
    draw_chart(scene, column, term);
    if (table) draw_table(scene, column, room, term);
}

void Microscope::draw_chart(Scene& scene, SideColumn& column, int term) const {
    const Ui& ui = scene.ui;
    const TermExplanation<float>& part = term_of(*cell_, term);
    double low = 0, high = 0;
    for (const float product : part.products)
        if (std::isfinite(product)) {
            low = std::min(low, static_cast<double>(product));
            high = std::max(high, static_cast<double>(product));
        }
    const Rect chart{column.left(), column.y() - ui.px(9), column.right(), column.y() + ui.px(51)};
    const Touch mouse = ui.touch(("channels " + std::to_string(term)).c_str(), chart);
    const double reach = high > low ? high - low : 1;
    const auto y = [&](double value) { return chart.y1 - static_cast<float>((value - low) / reach) * chart.height(); };
    const auto count = static_cast<float>(part.products.size());
    for (std::size_t c = 0; c < part.products.size(); ++c) {
        const auto n = static_cast<float>(c);
        const Rect slot{chart.x0 + chart.width() * n / count, chart.y0, chart.x0 + chart.width() * (n + 1) / count,
                        chart.y1};
        const bool under = mouse.hovered && slot.holds(mouse.at);
        const ImU32 colour = under                   ? ui.theme->text
                             : part.products[c] >= 0 ? term_colour(*ui.theme, term)
                                                     : ui.theme->muted;
        const float gap = slot.width() > ui.px(4) ? ui.px(1) : 0;
        const float top = std::floor(y(std::max(0.0f, part.products[c])));
        const float bottom = std::floor(y(std::min(0.0f, part.products[c])));
        ui.fill({std::floor(slot.x0), top, std::floor(slot.x1) - gap, std::max(bottom, top + ui.px(1))}, colour);
        if (under)
            ui.text(chart.x1, chart.y1 + ui.px(12),
                    "channel " + std::to_string(c) + "   " + fixed(part.left[c], 4) + " \u00b7 " +
                        fixed(part.right[c], 4) + " = " + fixed(part.products[c], 4),
                    ui.theme->muted, Face::mono_small, Align::right);
    }
    column.skip(84);
}

void Microscope::draw_table(Scene& scene, SideColumn& column, const Rect& room, int term) const {
    const Ui& ui = scene.ui;
    const TermExplanation<float>& part = term_of(*cell_, term);
    const Factors& names = kFactors[term];
    const float pitch = ui.px(18), first = column.left() + ui.px(20);
    const auto right = [&](int at) { return first + (column.right() - first) * static_cast<float>(at) / 4; };
    const auto write = [&](int at, const std::string& text, ImU32 colour) {
        ui.text(right(at), column.y(), text, colour, Face::mono_small, Align::right);
    };
    column.skip(-6);
    write(1, names.left, ui.theme->muted);
    write(2, std::string(names.right) + (names.raised[0] ? "\u02b3" : ""), ui.theme->muted);
    write(3, "product", ui.theme->muted);
    write(4, "sum", ui.theme->muted);
    ui.hairline_across(column.left(), column.right(), column.y() + ui.px(8));
    column.skip(18);
    for (std::size_t c = 0; c < part.products.size(); ++c, column.skip(18)) {
        if (column.y() < room.y0 - pitch || column.y() > room.y1 + pitch) continue;
        ui.text(column.left() + ui.px(14), column.y(), std::to_string(c), ui.theme->muted, Face::mono_small,
                Align::right);
        write(1, narrow(part.left[c]), ui.theme->muted);
        write(2, narrow(part.right[c]), ui.theme->muted);
        write(3, narrow(part.products[c]), ui.theme->text);
        write(4, narrow(part.running[c]), term_colour(*ui.theme, term));
    }
    column.skip(10);
}

std::string Microscope::text(const Scene& scene, const std::optional<DrawnRow>& drawn) {
    const CellExplanation<float>* cell = explain(scene);
    if (!cell) return {};
    const Answer& answer = *scene.answer;
    CellText about;
    about.where = scene.session.name() + ", layer " + std::to_string(answer.request.layer) + ", head " +
                  std::to_string(head_) + ", dialect " + to_string(answer.request.dialect);
    about.tokens = answer.labels;
    about.softmax_follows = !scene.session.config().talking_head;
    if (answer.line)
        about.steps = table_steps(TableRule::of(scene.session.config(), answer.options.offset_clamp), cell->offset);
    if (drawn) about.scores = drawn->scores;
    if (answer.visible.size() > 0)
        for (Index j = 0; j < answer.length(); ++j) about.visible.push_back(answer.visible(cell->i, j) != 0);
    return cell_text(*cell, about);
}

void Microscope::draw_copy(Scene& scene, SideColumn& column, const std::optional<DrawnRow>& drawn) {
    const Ui& ui = scene.ui;
    const float wide = ui.text_width("copy as text") + ui.px(20);
    const Rect box{column.left(), column.y() - ui.px(12), column.left() + wide, column.y() + ui.px(12)};
    if (ui.button("copy", box, "copy as text") || scene.state.attention.copies) {
        scene.state.attention.copies = false;
        const std::string all = text(scene, drawn);
        ImGui::SetClipboardText(all.c_str());
        scene.state.notice = "copied: " + std::to_string(std::count(all.begin(), all.end(), '\n')) + " lines";
    }
    if (drawn) {
        const bool mixed = scene.session.config().talking_head;
        const auto j = static_cast<std::size_t>(cell_->j);
        const bool same = drawn->scores[j] == cell_->score && (mixed || drawn->probs[j] == cell_->probability);
        ui.text_within(column.right(), column.y(), column.width() - wide - ui.px(12),
                       same ? "same bits as the matrix" : "differs from the matrix",
                       same ? ui.theme->muted : ui.theme->fault, Face::mono_small, Align::right);
    }
    column.skip(32);
}

}  // namespace locus
