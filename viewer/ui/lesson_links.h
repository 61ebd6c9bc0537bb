#pragma once
// From a page to the lessons that explain it.
#include <vector>

#include "viewer/page.h"
#include "viewer/ui/side_column.h"

namespace locus {

/// A lesson by its number and title, e.g. {"09", "The sign of p2c"}; a test holds both against lessons/.
struct LessonLink {
    const char* number;
    const char* title;
};

/// "Lesson 09 · The sign of p2c ↗", one line each, as many as fit between the column's end and the room's.
/// A click copies the command that runs the lesson, and says so.
void draw_lesson_links(Scene& scene, SideColumn& column, const Rect& room, const std::vector<LessonLink>& lessons);

}  // namespace locus
