#pragma once
// The column at the right of a page: headings, rows with numbers that align and rules between them, from the top down;
// a chart of products, the links to the lessons, and the wheel that scrolls a column longer than its area.
#include <string>
#include <vector>

#include "viewer/page.h"
#include "viewer/ui/ui.h"

namespace locus {

class SideColumn {
public:
    /// Starts below the top of `area`, `scrolled` window units further up.
    SideColumn(const Ui& ui, const Rect& area, float scrolled = 0);

    float left() const { return left_; }
    float right() const { return right_; }
    float width() const { return right_ - left_; }
    /// Centre of the next line, and how far down the column has come.
    float y() const { return y_; }
    void skip(float design) { y_ += ui_.px(design); }

    void heading(const std::string& title, const std::string& note = "");
    void heading(const std::vector<Span>& title, const std::string& note = "");
    /// "sum ........ 56.2768"
    void row(const std::string& label, const std::string& value, bool strong = false);
    void row(const std::vector<Span>& label, const std::string& value, bool strong = false);
    /// A label, a bar whose length is share 0 ... 1 of the width for bars, and a number.
    void bar(const std::vector<Span>& label, ImU32 colour, double share, const std::string& value);
    void sentence(const std::string& text, bool muted = true);
    void rule();
    /// "Lesson 08 · Three terms ↗"; true when clicked.
    bool link(const std::string& text);

private:
    const Ui& ui_;
    float left_, right_, y_;
};

/// Products of two vectors, channel by channel: a bar each, and on hover the two numbers, their product and the sum so
/// far.
struct ProductChart {
    std::vector<double> left, right, products, running;
    ImU32 colour = 0;
};

inline std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// As wide as the column, 84 design pixels high together with the line below it.
void draw_product_chart(const Ui& ui, SideColumn& column, const char* id, const ProductChart& chart);

/// The bar at the right edge of what is `height` window units high and `scrolled` up; nothing where all of it fits.
void draw_scroll_bar(const Ui& ui, const Rect& area, float height, float scrolled);

/// Call after everything in the column, which was made with `scrolled`: where it is longer than its area the wheel
/// moves it and a bar says so.  A control that uses the wheel itself takes it before (Ui::take_wheel).
void scroll_column(const Ui& ui, const SideColumn& column, const Rect& area, float& scrolled);

/// A lesson by its number and title, e.g. {"09", "The sign of p2c"}; a test holds both against lessons/.
struct LessonLink {
    const char* number;
    const char* title;
};

/// "Lesson 09 · The sign of p2c ↗", one line each.  A click copies the command that runs the lesson, and says so.
void draw_lesson_links(Scene& scene, SideColumn& column, const std::vector<LessonLink>& lessons);

}  // namespace locus
