// Where A and B come from, which stage of them is shown, and in one line what came of it.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "viewer/pages/compare/compare.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/utf8.h"

namespace locus {

namespace {

std::string file_name(const std::string& file) { return std::filesystem::path(file).filename().string(); }

std::string source_in_words(const CompareState& state, std::size_t side) {
    const CompareSide& source = side == 0 ? state.a : state.b;
    if (state.report) return side == 0 ? "reference" : "your port";
    if (!source.file.empty()) return file_name(source.file);
    const std::string formulas = source.mistake.empty() ? to_string(source.dialect) : "mistake " + source.mistake;
    return formulas + (source.exact ? ", f64" : ", f32");
}

}  // namespace

float ComparePage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const float y = bar.middle_y();
    shows_tokens_ = !state.report && (state.a.file.empty() || state.b.file.empty());
    float x = bar.x1 - ui.px(16);
    const bool sheets = ready(scene);
    if (sheets && sheets_.heads > 1 && !state.from_model()) {
        x = ui.stepper("head", x, y, std::to_string(state.head), state.head, 0, sheets_.heads - 1) - ui.px(6);
        x -= ui.text(x, y, "head", ui.theme->muted, Face::ui, Align::right) + ui.px(12);
    }
    if (sheets && sheets_.samples > 1) {
        x = ui.stepper("sample", x, y, std::to_string(state.sample), state.sample, 0, sheets_.samples - 1) - ui.px(6);
        x -= ui.text(x, y, "sample", ui.theme->muted, Face::ui, Align::right) + ui.px(12);
    }
    x = draw_stage_picker(scene, x, y);
    return state.report ? draw_case_picker(scene, bar, x) : x;
}

float ComparePage::draw_stage_picker(Scene& scene, float right, float y) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const std::string label = ui.cut(state.stage.empty() ? "no stage" : state.stage, ui.px(200), Face::mono);
    const float wide = ui.text_width(label, Face::mono) + ui.px(34);
    const Rect box{right - wide, y - ui.px(13), right, y + ui.px(13)};
    const Touch mouse = ui.touch("stage", box);
    if (mouse.clicked) ImGui::OpenPopup("stages");
    ui.fill(box, mouse.hovered ? ui.theme->chip : ui.theme->panel, 5);
    ui.outline(box, ui.theme->line, 1, 5);
    ui.text(box.x0 + ui.px(10), y, label, ui.theme->text, Face::mono);
    const float tip = box.x1 - ui.px(14);
    ui.draw().triangle({tip - ui.px(4), y - ui.px(2)}, {tip + ui.px(4), y - ui.px(2)}, {tip, y + ui.px(3)},
                       ui.theme->muted);
    ImGui::SetNextWindowPos({box.x0, box.y1 + ui.px(4)});
    ImGui::SetNextWindowSizeConstraints({box.width(), 0}, {ui.px(320), ui.px(420)});
    ImGui::PushStyleColor(ImGuiCol_Header, ui.theme->chip);
    ImGui::PushStyleColor(ImGuiCol_HeaderHovered, ui.theme->chip);
    ImGui::PushStyleColor(ImGuiCol_HeaderActive, ui.theme->chip);
    ImGui::PushFont(ui.fonts->font(Face::mono));
    if (ImGui::BeginPopup("stages")) {
        for (const std::string& name : stages_) {
            if (ImGui::Selectable(name.c_str(), name == state.stage)) state.open_stage(name);
            if (name == state.stage && ImGui::IsWindowAppearing()) ImGui::SetScrollHereY();
        }
        ImGui::EndPopup();
    }
    ImGui::PopFont();
    ImGui::PopStyleColor(3);
    return box.x0 - ui.px(8) - ui.text(box.x0 - ui.px(8), y, "stage", ui.theme->muted, Face::ui, Align::right);
}

float ComparePage::draw_case_picker(Scene& scene, const Rect& bar, float right) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const float y = bar.middle_y();
    float x = bar.x0 + ui.px(16);
    x += ui.text(x, y, file_name(state.report->file.string()), ui.theme->text, Face::title) + ui.px(14);
    const auto count = static_cast<Index>(state.report->cases.size());
    const ReportedCase& one = *state.reported();
    if (count > 1) {
        x += ui.text(x, y, "case", ui.theme->muted) + ui.px(8);
        Index chosen = static_cast<Index>(state.shown_case);
        const std::string label = std::to_string(chosen + 1) + " of " + std::to_string(count);
        const float wide = std::max(ui.px(20), ui.text_width(label, Face::mono) + ui.px(4)) + ui.px(40);
        ui.stepper("case", x + wide, y, label, chosen, 0, count - 1);
        x += wide + ui.px(10);
        if (chosen != static_cast<Index>(state.shown_case)) state.open_case(static_cast<std::size_t>(chosen));
    }
    const std::string name = one.id.empty() ? file_name(one.candidate.string()) : one.id;
    ui.text_within(x, y, right - ui.px(20) - x, name, ui.theme->text, Face::mono);
    return right;
}

void ComparePage::draw_headline(const Scene& scene, const Rect& room) const {
    const Ui& ui = scene.ui;
    const CompareState& state = scene.state.compare;
    const float x = room.x0 + ui.px(16), y = room.y0 + ui.px(20), wide = room.width() - ui.px(32);
    const Index passed = state.report ? state.reported()->count(StageState::pass) : 0;
    const bool passes = state.report && state.report->pass && passed > 0 && !(ready(scene) && outdated_);
    if (passes) {
        ui.text_within(x, y, wide,
                       "Everything passes: " + std::to_string(passed) +
                           " stages of this case, no value outside what "
                           "rounding explains.",
                       ui.theme->text, Face::title);
    }
    if (!ready(scene)) {
        const ReportedCase* one = state.reported();
        const std::string why =
            !scene.answer->compare.trouble.empty() ? scene.answer->compare.trouble
            : one && !one->refusal.empty()         ? one->refusal
            : one && one->verdict == "not reported"
                ? "The port reported no stage of this case."
                : "The report names no dump files of this case, so there are no values to show; what "
                  "it says stands at the right.";
        ui.paragraph(x, y + ui.px(18), std::min(wide, ui.px(640)), why, ui.theme->text);
        return;
    }
    if (passes) return;
    std::string line;
    if (outdated_)
        line = "These are not the values that the report judged: a file was written since. Check again.";
    else if (scene.answer->compare.mistake_b && scene.answer->compare.mistake_b->first.empty())
        line = "Mistake " + state.b.mistake + " changes nothing with this model and sentence.";
    else if (here_.largest == 0 && here_.not_finite == 0)
        line = "A and B are equal here, to the last bit.";
    else if (here_.outside == 0)
        line = "A and B agree here: no cell differs by more than rounding explains.";
    else
        line = (where_.empty() ? std::string("A and B differ") : capital(where_)) + ": " + grouped(here_.outside) +
               " of " + grouped(here_.cells) + " cells are farther apart than rounding explains.";
    ui.text_within(x, y, wide, line, ui.theme->text, Face::title);
}

void ComparePage::draw_source(Scene& scene, const Rect& cells, const Layout& layout, std::size_t side) {
    const Ui& ui = scene.ui;
    const CompareState& state = scene.state.compare;
    const CompareSide& source = side == 0 ? state.a : state.b;
    const float end = cells.x0 + ui.text(cells.x0, layout.title, side == 0 ? "A" : "B", ui.theme->text, Face::title);
    const bool names_file = !source.file.empty() && state.report;
    const std::string words = source_in_words(state, side) + (names_file ? " \u00b7 " + file_name(source.file) : "");
    ui.text_within(cells.x1, layout.title, cells.x1 - end - ui.px(10), words, ui.theme->muted, Face::mono_small,
                   Align::right);
}

void ComparePage::draw_verdict(const Scene& scene, const Rect& cells, const Layout& layout) const {
    const Ui& ui = scene.ui;
    ui.text(cells.x0, layout.title, "A \u2212 B", ui.theme->text, Face::title);
    ui.text(cells.x1, layout.title, "blue: B is larger", ui.theme->muted, Face::mono_small, Align::right);
}

}  // namespace locus
