// The map of cases, the stages of one of them, and what the report says of it.
#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/data/stand_in.h"
#include "viewer/pages/conformance/conformance.h"
#include "viewer/plots/line_plot.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/report_view.h"
#include "viewer/ui/side_column.h"

namespace locus {

namespace {

struct Named {
    const char* key;
    const char* label;
};

constexpr std::array<Named, 4> kLevels = {
    {{"L0", "index"}, {"L1", "one term"}, {"L2", "one layer"}, {"L3", "whole model"}}};

constexpr float kSquare = 20, kSquarePitch = 24, kLabels = 84;  // design pixels

using Cases = std::vector<const ReportedCase*>;

/// Cases by level and family; those of neither are in the last column of the last row.
std::array<std::array<Cases, kFamilies.size()>, kLevels.size()> sorted(const CheckReport& report) {
    std::array<std::array<Cases, kFamilies.size()>, kLevels.size()> table;
    for (const ReportedCase& one : report.cases) {
        std::size_t level = kLevels.size() - 1, family = 0;
        for (std::size_t n = 0; n < kLevels.size(); ++n)
            if (one.id.starts_with(kLevels[n].key)) level = n;
        for (std::size_t n = 0; n < kFamilies.size(); ++n)
            if (one.family == to_string(kFamilies[n])) family = n;
        table[level][family].push_back(&one);
    }
    return table;
}

Index count(const CheckReport& report, const std::string& verdict) {
    return std::count_if(report.cases.begin(), report.cases.end(),
                         [&](const ReportedCase& one) { return one.verdict == verdict; });
}

/// How many squares are side by side in each column, so that all columns together fill the width.
template <class Table>
std::array<Index, kFamilies.size()> columns_of(const Table& table, Index places) {
    std::array<double, kFamilies.size()> wish{};
    double sum = 0;
    for (std::size_t f = 0; f < kFamilies.size(); ++f) {
        for (const auto& row : table) wish[f] = std::max(wish[f], static_cast<double>(row[f].size()));
        wish[f] = std::max(5.0, wish[f]);  // width for its name
        sum += wish[f];
    }
    std::array<Index, kFamilies.size()> columns{};
    for (std::size_t f = 0; f < kFamilies.size(); ++f)
        columns[f] = std::max<Index>(3, static_cast<Index>(wish[f] / sum * static_cast<double>(places)));
    return columns;
}

}  // namespace

void ConformancePage::draw_square(Scene& scene, const ReportedCase& one, const Rect& box) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    ConformanceState& state = scene.state.conformance;
    const Touch mouse = ui.touch(one.id.c_str(), box);
    if (mouse.clicked) {
        state.shown_case = one.id;
        state.stage.clear();
    }
    if (mouse.double_clicked) open_in_compare(scene.state);
    const StageState sign = one.verdict == "pass"   ? StageState::pass
                            : one.verdict == "fail" ? StageState::fail
                                                    : StageState::not_reported;
    const bool faint = state.only_failing && sign != StageState::fail;
    if (sign == StageState::fail) ui.fill(box, faded(theme.fault, 0.22f), 3);
    if (sign == StageState::pass && !faint) ui.fill(box, theme.chip, 3);
    if (!faint) draw_sign(ui, {box.middle_x(), box.middle_y()}, sign);
    if (&one == &shown_case(state))
        ui.outline(box.inset(-ui.px(2), -ui.px(2)), theme.accent, 2, 5);
    else if (mouse.hovered || one.verdict == "waived")
        ui.outline(box, mouse.hovered ? theme.text : theme.muted, 1, 3);
    if (!mouse.hovered) return;
    std::vector<std::vector<Span>> lines = {{{one.id, theme.text}}, {{one.verdict, theme.muted, Face::label}}};
    if (!one.first.empty()) lines.push_back({{"first wrong: ", theme.muted}, {one.first, theme.text, Face::mono}});
    if (one.mistake) lines.push_back({{"mistake " + std::to_string(one.mistake->number), theme.text}});
    for (std::size_t n = 0; n < one.by_themselves.size() && n < 6; ++n)
        if (one.by_themselves[n].stage != one.first)
            lines.push_back({{"after it: ", theme.muted},
                             {one.by_themselves[n].stage, theme.text, Face::mono},
                             {": " + one.by_themselves[n].in_words(), theme.text}});
    if (one.by_themselves.size() > 1)
        lines.push_back({{"right once these are repaired: " + one.right_once_repaired, theme.muted, Face::label}});
    draw_tooltip(ui, lines);
}

void ConformancePage::draw_headline(Scene& scene, const Rect& line) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const float y = line.middle_y();
    const Index failed = count(report(), "fail"), all = std::ssize(report().cases);
    ui.text(line.x0, y,
            failed == 0
                ? "nothing that the port reported is wrong"
                : std::to_string(failed) + " of " + std::to_string(all) + (all == 1 ? " case fails" : " cases fail"),
            failed == 0 ? theme.text : theme.fault, Face::title);
    float x = line.x1;
    const auto key = [&](StageState which, Index number, const std::string& words) {
        x -= ui.text(x, y, std::to_string(number) + " " + words, theme.muted, Face::mono_small, Align::right) +
             ui.px(10);
        draw_sign(ui, {x, y}, which);
        x -= ui.px(16);
    };
    const Index waived = count(report(), "waived");
    key(StageState::not_reported, count(report(), "not reported"), "not reported");
    if (waived > 0) key(StageState::not_reported, waived, "waived");
    key(StageState::fail, failed, "fail");
    key(StageState::pass, count(report(), "pass"), "pass");
}

float ConformancePage::draw_map(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const auto table = sorted(report());
    const auto places = static_cast<Index>((area.width() - ui.px(kLabels) - 3 * ui.px(22)) / ui.px(kSquarePitch));
    const auto columns = columns_of(table, places);
    float x = area.x0 + ui.px(kLabels);
    for (std::size_t f = 0; f < kFamilies.size(); ++f) {
        ui.text(x, area.y0 + ui.px(10), written_name(kFamilies[f]), ui.theme->muted, Face::label);
        x += static_cast<float>(columns[f]) * ui.px(kSquarePitch) + ui.px(22);
    }
    float y = area.y0 + ui.px(24);
    for (std::size_t level = 0; level < kLevels.size(); ++level) {
        Index rows = 0;
        for (std::size_t f = 0; f < kFamilies.size(); ++f)
            rows = std::max(rows, (std::ssize(table[level][f]) + columns[f] - 1) / columns[f]);
        if (rows == 0) continue;
        const float middle = y + ui.px(kSquare) / 2;
        ui.text(area.x0, middle, kLevels[level].label, ui.theme->muted, Face::label);
        x = area.x0 + ui.px(kLabels);
        for (std::size_t f = 0; f < kFamilies.size(); ++f) {
            for (std::size_t n = 0; n < table[level][f].size(); ++n) {
                const auto at = static_cast<Index>(n);
                const float left = x + static_cast<float>(at % columns[f]) * ui.px(kSquarePitch);
                const float top = y + static_cast<float>(at / columns[f]) * ui.px(kSquarePitch);
                draw_square(scene, *table[level][f][n], {left, top, left + ui.px(kSquare), top + ui.px(kSquare)});
            }
            x += static_cast<float>(columns[f]) * ui.px(kSquarePitch) + ui.px(22);
        }
        y += static_cast<float>(rows) * ui.px(kSquarePitch) + ui.px(10);
    }
    return y;
}

void ConformancePage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    ConformanceState& state = scene.state.conformance;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    draw_headline(scene, {inside.x0, inside.y0, inside.x1, inside.y0 + ui.px(22)});
    const ReportedCase& one = shown_case(state);
    // The names are those of what is seen, once the report is the one that was asked for; none: the page chooses.
    if (settled(scene.state)) {
        if (!state.stage.empty()) state.stage = shown_stage(state);
        if (!state.shown_case.empty()) state.shown_case = one.id;
    }
    float below = inside.y0 + ui.px(28);
    if (!one.id.empty()) below = draw_map(scene, {inside.x0, below, inside.x1, inside.y1}) + ui.px(6);  // a kit's cases
    ui.hairline_across(inside.x0, inside.x1, below);
    const float y = below + ui.px(20);
    ui.text_within(inside.x0, y, inside.width() - ui.px(180), one.id.empty() ? "two dumps" : one.id, ui.theme->text,
                   Face::mono_strong);
    const float wide = ui.text_width("open in Compare") + ui.px(22);
    const Rect open{inside.x1 - wide, y - ui.px(13), inside.x1, y + ui.px(13)};
    if (one.has_dumps() && ui.button("open in Compare", open, "open in Compare")) open_in_compare(scene.state);
    const float top = y + ui.px(22);
    const float list = std::min(stages_.height(ui, inside.width()), (inside.y1 - top) * 0.42f);
    const std::string clicked = stages_.draw(ui, {inside.x0, top, inside.x1, top + list}, one, shown_stage(state));
    pictures_.show(one, shown_stage(state), scene.state.theme);
    pictures_.draw(ui, {inside.x0, top + list + ui.px(14), inside.x1, inside.y1});
    if (!clicked.empty()) {
        state.shown_case = one.id;
        state.stage = clicked;
    }
}

void ConformancePage::draw_side(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Ui::Scrolled scrolled(ui);
    SideColumn column(ui, area, side_scroll_);
    ConformanceState& state = scene.state.conformance;
    const ReportedCase& one = shown_case(state);
    if (!one.refusal.empty()) column.sentence(one.refusal + ".", false);
    if (!one.waiver.empty()) column.sentence("Waived: " + one.waiver + ".");
    const std::string chosen = draw_report_verdict(scene, column, report(), one, shown_stage(state));
    if (!chosen.empty()) {
        state.shown_case = one.id;
        state.stage = chosen;
    }
    if (state.report.empty() && state.dumps.empty()) {
        column.sentence(
            "This port is a rehearsal: everything in it is right but the one mistake above. Drop the folder "
            "with your own port's dumps on the window to have them judged.");
        column.rule();
    }
    draw_lesson_links(scene, column, {{"28", "Port clinic"}});
    scroll_column(ui, column, area, side_scroll_);
}

void ConformancePage::draw_formula(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    const float x = bar.x0 + ui.px(16);
    const float end =
        x + ui.text_within(x, bar.middle_y(), bar.width() * 0.68f, shown_->command, ui.theme->text, Face::formula);
    draw_bar_note(scene, bar, "n: next case that fails, Enter: its numbers", end);
}

}  // namespace locus
