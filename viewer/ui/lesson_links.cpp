#include "viewer/ui/lesson_links.h"

namespace locus {

void draw_lesson_links(Scene& scene, SideColumn& column, const Rect& room, const std::vector<LessonLink>& lessons) {
    const auto label = [](const LessonLink& lesson) {
        return std::string("Lesson ") + lesson.number + " \u00b7 " + lesson.title;
    };
    // A title too long for the column takes the word "Lesson" from all of them.
    std::size_t skipped = 0;
    for (const LessonLink& lesson : lessons)
        if (scene.ui.text_width(label(lesson) + " \u2197") > column.width()) skipped = std::string("Lesson ").size();
    for (const LessonLink& lesson : lessons) {
        if (column.y() + scene.ui.px(10) > room.y1) return;
        if (!column.link(label(lesson).substr(skipped))) continue;
        const std::string command = "./locus lesson " + std::to_string(std::stoi(lesson.number));
        ImGui::SetClipboardText(command.c_str());
        scene.state.notice = "copied: " + command;
    }
}

}  // namespace locus
