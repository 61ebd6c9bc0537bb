#pragma once
// The column at the right: headings, rows with numbers that align, rules between them, from the top down.
#include <string>
#include <vector>

#include "viewer/ui/ui.h"

namespace locus {

class SideColumn {
public:
    /// Starts below the top of `room`, `scrolled` window units further up.
    SideColumn(const Ui& ui, const Rect& room, float scrolled = 0);

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
    /// A label, a bar whose length is share 0 ... 1 of the room for bars, and a number.
    void bar(const std::vector<Span>& label, ImU32 colour, double share, const std::string& value);
    void sentence(const std::string& text, bool muted = true);
    void rule();
    /// "Lesson 08 · Three terms ↗"; true when clicked.
    bool link(const std::string& text);

private:
    const Ui& ui_;
    float left_, right_, y_;
};

}  // namespace locus
