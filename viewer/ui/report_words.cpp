#include "viewer/ui/report_words.h"

#include "viewer/plots/number_format.h"

namespace locus {

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
        if (!mistake.betrays.empty()) column.sentence("What betrays it: " + mistake.betrays + ".");
        if (!mistake.lesson.empty() && column.link("Lesson " + mistake.lesson)) {
            const std::string command = "./locus lesson " + std::to_string(std::stoi(mistake.lesson));
            ImGui::SetClipboardText(command.c_str());
            scene.state.notice = "copied: " + command;
        }
    } else {
        column.heading("No known mistake fits");
        column.sentence(one.pattern.empty() ? "No mistake of the catalogue explains these values." : one.pattern + ".",
                        false);
    }
    std::string more;
    for (const std::string& name : one.would_narrow) more += (more.empty() ? "" : " and ") + name;
    if (!more.empty()) column.sentence("Report " + more + " too: that narrows it down most.");
    column.rule();
}

}  // namespace

void draw_report_verdict(Scene& scene, SideColumn& column, const CheckReport& report, const ReportedCase& one,
                         const std::string& stage_name) {
    if (report.pass) column.sentence("This report passes: nothing that the port reported is wrong.", false);
    for (std::size_t n = 0; n < report.errors.size() && n < 2; ++n) column.sentence(report.errors[n], false);
    const ReportedStage* stage = one.find(stage_name);
    if (!stage) return;
    column.heading(scene.ui.cut(stage->name, column.width() * 0.62f, Face::title), in_words(stage->state));
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
}

}  // namespace locus
