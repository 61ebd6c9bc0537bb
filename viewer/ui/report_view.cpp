#include "viewer/ui/report_view.h"

#include <algorithm>
#include <cctype>

#include "viewer/data/mistake_source.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

/// "layer.0.p2c" -> "layer 0" and "p2c"; "embeddings.output" -> "embeddings" and "output".
std::pair<std::string, std::string> split(const std::string& name) {
    std::size_t at = name.find('.');
    while (at != std::string::npos && at + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[at + 1])) &&
           name.find('.', at + 1) != std::string::npos)
        at = name.find('.', at + 1);
    if (at == std::string::npos) return {"", name};
    std::string group = name.substr(0, at);
    std::replace(group.begin(), group.end(), '.', ' ');
    return {group, name.substr(at + 1)};
}

constexpr float kRowPitch = 25, kGroupNames = 92, kSign = 16;  // design pixels

float chip_width(const Ui& ui, const std::string& stem) {
    return ui.text_width(stem, Face::label) + ui.px(kSign) + ui.px(14);
}

/// Calls place(stage, rectangle) for every chip and heading(group, y) for every group; returns the height.
template <class Place, class Heading>
float lay_out(const Ui& ui, const std::vector<ReportedStage>& stages, float wide, Place&& place, Heading&& heading) {
    std::string group;
    float x = ui.px(kGroupNames), y = 0;
    bool any = false;
    for (const ReportedStage& stage : stages) {
        const auto [own, stem] = split(stage.name);
        const float chip = chip_width(ui, stem);
        const bool starts = !any || own != group;
        if (any && (starts || x + chip > wide)) {
            x = ui.px(kGroupNames);
            y += ui.px(kRowPitch);
        }
        if (starts) heading(own, y + ui.px(kRowPitch) / 2);
        group = own;
        any = true;
        place(stage, stem, Rect{x, y + ui.px(1), x + chip, y + ui.px(kRowPitch - 2)});
        x += chip + ui.px(4);
    }
    return y + ui.px(kRowPitch);
}

}  // namespace

void draw_sign(const Ui& ui, ImVec2 at, StageState state) {
    const float r = ui.px(3.5f);
    Canvas draw = ui.draw();
    const float width = ui.px(1.5f);
    if (state == StageState::pass) {
        const ImVec2 corners[] = {{at.x - r, at.y}, {at.x - r * 0.3f, at.y + r * 0.8f}, {at.x + r, at.y - r * 0.8f}};
        draw.polyline(corners, 3, ui.theme->muted, width);
    } else if (state == StageState::fail) {
        draw.line({at.x - r, at.y - r}, {at.x + r, at.y + r}, ui.theme->fault, width);
        draw.line({at.x - r, at.y + r}, {at.x + r, at.y - r}, ui.theme->fault, width);
    } else {
        draw.circle(at, r, faded(ui.theme->muted, 0.7f), 1);
    }
}

float StageList::height(const Ui& ui, float width) const {
    return height_ > 0 && width_ == width ? height_ : ui.px(170);
}

std::string StageList::draw(const Ui& ui, const Rect& area, const ReportedCase& one, const std::string& stage_name) {
    const Theme& theme = *ui.theme;
    const float y = area.y0 + ui.px(8);
    const Rect list{area.x0, area.y0 + ui.px(24), area.x1, area.y1};
    const bool overflows = height_ - ui.px(28) > list.height() + 1;
    const float end = area.x0 + ui.text(area.x0, y, "stages in the order of the model", theme.text, Face::title);
    if (overflows) ui.text(end + ui.px(14), y, "wheel scrolls", theme.muted, Face::mono_small);
    const auto count = [&](StageState which) { return std::to_string(one.count(which)); };
    float x = area.x1;
    const auto key = [&](StageState which, const std::string& words) {
        x -= ui.text(x, y, count(which) + " " + words, theme.muted, Face::mono_small, Align::right) + ui.px(10);
        draw_sign(ui, {x, y}, which);
        x -= ui.px(16);
    };
    key(StageState::not_reported, "not reported");
    key(StageState::fail, "fail");
    key(StageState::pass, "pass");

    const bool wheel = list.holds(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered();
    if (wheel) scroll_ -= Ui::scrolled_by(ui.px(kRowPitch));
    scroll_ = std::clamp(scroll_, 0.0f, std::max(0.0f, height_ - ui.px(28) - list.height()));
    ui.draw().push_clip(list.min(), list.max());
    std::string clicked;
    float chosen_at = -1;
    const float top = list.y0 - scroll_;
    const float height = lay_out(
        ui, one.stages, list.width(),
        [&](const ReportedStage& stage, const std::string& stem, const Rect& at) {
            const Rect box = at.moved(list.x0, top);
            if (stage.name == stage_name) chosen_at = at.y0;
            if (box.y0 < list.y0 - ui.px(2) || box.y1 > list.y1 + ui.px(2)) return;
            const bool chosen = stage.name == stage_name;
            const Touch mouse = ui.touch(stage.name.c_str(), box);
            if (mouse.clicked) clicked = stage.name;
            if (chosen || mouse.hovered) ui.fill(box, theme.chip, 5);
            if (chosen) ui.outline(box, theme.accent, 2, 5);
            draw_sign(ui, {box.x0 + ui.px(12), box.middle_y()}, stage.state);
            const ImU32 ink = stage.state == StageState::not_reported ? theme.muted : theme.text;
            ui.text(box.x0 + ui.px(kSign + 6), box.middle_y(), stem, ink, Face::label);
        },
        [&](const std::string& group, float at) {
            const float middle = top + at;
            if (middle > list.y0 && middle < list.y1)
                ui.text_within(list.x0, middle, ui.px(kGroupNames - 8), group, theme.muted, Face::label);
        });
    ui.draw().pop_clip();
    height_ = height + ui.px(28);
    width_ = area.width();
    if (chosen_at >= 0 && followed_ != one.id + stage_name) {
        followed_ = one.id + stage_name;
        scroll_ = std::clamp(scroll_, std::min(chosen_at, chosen_at + ui.px(2 * kRowPitch) - list.height()), chosen_at);
    }
    return clicked;
}

namespace {

std::string joined(const std::vector<Index>& index) {
    std::string text;
    for (const Index at : index) text += (text.empty() ? "[" : ", ") + std::to_string(at);
    return text.empty() ? text : text + "]";
}

const char* in_words(StageState state) {
    return state == StageState::pass ? "passes" : state == StageState::fail ? "fails" : "not reported";
}

void draw_mistake(Scene& scene, SideColumn& column, const ReportedCase& one) {
    if (one.mistake) {
        const ReportedMistake& mistake = *one.mistake;
        column.heading("This is mistake " + std::to_string(mistake.number), "residual " + brief(mistake.residual));
        column.sentence(mistake.name + (mistake.how.empty() ? "" : " (" + mistake.how + ")") + ".", false);
        if (mistake.runner_up)
            column.row(*mistake.runner_up == 0 ? "next best: the right formula"
                                               : "next best: mistake " + std::to_string(*mistake.runner_up),
                       (mistake.runner_up_is_bound ? "at least " : "") + brief(mistake.runner_up_residual));
        if (!mistake.betrays.empty()) column.sentence("How to recognise it: " + mistake.betrays + ".");
        if (!mistake.lesson.empty() && column.link("Lesson " + mistake.lesson)) {
            const std::string command = "./locus lesson " + std::to_string(std::stoi(mistake.lesson));
            ImGui::SetClipboardText(command.c_str());
            scene.state.notice = "copied: " + command;
        }
        if (!one.saved_first().empty()) column.sentence("Yet " + one.saved_first() + ".");
    } else if (const std::string saved = one.saved_first(); !saved.empty()) {
        column.heading("Other numbers were saved");
        column.sentence(as_sentence(saved), false);
        if (one.pattern != saved && one.pattern != "no pattern found") column.sentence(as_sentence(one.pattern));
    } else {
        column.heading("No known mistake fits");
        column.sentence(
            one.pattern.empty() ? "No mistake of the catalogue explains these values." : as_sentence(one.pattern),
            false);
    }
    if (!one.doubt.empty()) column.sentence("But " + one.doubt);
    std::string more;
    for (const std::string& name : one.would_narrow) more += (more.empty() ? "" : " and ") + name;
    if (!more.empty()) column.sentence("Report " + more + " too: that narrows it down most.");
    column.rule();
}

/// Every stage that is wrong by itself, in the order of the model; a click opens it.
std::string draw_all_mistakes(Scene& scene, SideColumn& column, const ReportedCase& one, const std::string& shown) {
    const Ui& ui = scene.ui;
    std::string clicked;
    column.heading("Wrong by themselves", std::to_string(one.by_themselves.size()));
    std::size_t number = 0;
    for (const WrongByItself& wrong : one.by_themselves) {
        const Rect line{column.left(), column.y() - ui.px(10), column.right(), column.y() + ui.px(10)};
        const Touch mouse = ui.touch(("wrong/" + std::to_string(number++)).c_str(), line);
        const bool here = wrong.stage == shown;
        ui.text(line.x0, line.middle_y(), ui.cut(wrong.stage, line.width() * 0.62f, Face::mono),
                here || mouse.hovered ? ui.theme->text : ui.theme->muted, here ? Face::mono_strong : Face::mono);
        ui.text(line.x1, line.middle_y(),
                wrong.mistake != 0    ? "mistake " + std::to_string(wrong.mistake)
                : wrong.saved.empty() ? "no name"
                                      : "saved",
                ui.theme->text, Face::ui, Align::right);
        if (mouse.hovered && !wrong.name.empty()) draw_tooltip(ui, {{{wrong.name, ui.theme->text}}});
        if (mouse.clicked) clicked = wrong.stage;
        column.skip(23);
        if (wrong.mistake == 0 && !wrong.saved.empty() && wrong.stage != one.first)
            column.sentence(as_sentence(wrong.saved));
        else if (wrong.mistake == 0 && !wrong.pattern.empty() && wrong.saved.empty() && wrong.stage != one.first)
            column.sentence(as_sentence(wrong.pattern));
    }
    if (one.right_once_repaired == "yes") column.sentence("With these repaired, every stage of this dump is right.");
    if (one.right_once_repaired == "no") column.sentence("What has no name has to be found before the rest is known.");
    if (one.right_once_repaired == "unknown")
        column.sentence("Whether anything else is wrong cannot be told from the stages that this dump holds.");
    column.rule();
    return clicked;
}

/// A name that is too long for one line goes on below, from one of its dots on: gradients of parameters do.
void draw_stage_name(const Ui& ui, SideColumn& column, const std::string& name, const std::string& state) {
    std::vector<std::string> lines = {""};
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t end = std::min(name.find('.', at), name.size() - 1) + 1;
        const std::string part = name.substr(at, end - at);
        const float width = column.width() * (lines.size() == 1 ? 0.72f : 1);
        if (!lines.back().empty() && ui.text_width(lines.back() + part, Face::title) > width) lines.emplace_back();
        lines.back() += part;
        at = end;
    }
    for (std::size_t n = 0; n < lines.size(); ++n) {
        if (n > 0) column.skip(-7);
        column.heading(ui.cut(lines[n], column.width(), Face::title), n == 0 ? state : "");
    }
}

}  // namespace

std::string draw_report_verdict(Scene& scene, SideColumn& column, const CheckReport& report, const ReportedCase& one,
                                const std::string& stage_name) {
    if (report.pass) column.sentence("This report passes: nothing that the port reported is wrong.", false);
    for (std::size_t n = 0; n < report.errors.size() && n < 2; ++n) column.sentence(report.errors[n], false);
    const ReportedStage* stage = one.find(stage_name);
    if (!stage) return "";
    draw_stage_name(scene.ui, column, stage->name, in_words(stage->state));
    const bool first = stage->name == one.first;
    if (stage->state == StageState::fail) {
        column.sentence((first ? "The first wrong stage: " : "") + stage->reason + ".", false);
        if (!stage->index.empty()) column.row("worst cell", joined(stage->index));
        column.row("allowed", brief(stage->allowed));
    } else if (stage->state == StageState::pass) {
        column.row("worst cell", joined(stage->index));
        column.row("allowed", brief(stage->allowed));
    } else {
        column.sentence("The port's dump does not hold this stage. That is no failure.");
    }
    column.rule();
    if (first) draw_mistake(scene, column, one);
    return one.by_themselves.size() > 1 ? draw_all_mistakes(scene, column, one, stage_name) : "";
}

}  // namespace locus
