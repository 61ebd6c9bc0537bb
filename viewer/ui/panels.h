#pragma once
// The bars around a page: model and dialect at the top, the pages at the left, the sentence above the page, and the
// sentence of the tour at the bottom.  app_layout.cpp says where each of them is.
#include "viewer/page.h"

namespace locus {

/// Name, the model on the page, dialect; keys at the right.
void draw_top_bar(Scene& scene, const ModelCard& card, bool dialects, const Rect& bar);
/// The pages with their number keys; a click turns to one.
void draw_rail(Scene& scene, const Rect& rail, const std::vector<std::unique_ptr<Page>>& pages);

/// The tokens as chips, or the text box while the sentence is edited.
class SentenceBar {
public:
    /// Between the bar's left end and `right`.
    void draw(Scene& scene, const Rect& bar, float right);
    /// Instead of draw() where nothing of it is on screen: the next text box takes the keyboard anew.
    void skip() { focus_ = true; }

private:
    void draw_chips(Scene& scene, const Rect& area);
    void draw_box(Scene& scene, const Rect& area);
    /// What a click on a token does: the query, with Shift the key, with Ctrl the selection; twice: [MASK] and back.
    void click(Scene& scene, Index token, const Touch& mouse);

    float scroll_ = 0;
    Cell followed_;      // the cell whose chips were last scrolled into sight
    bool focus_ = true;  // the box takes the keyboard when it opens
};

/// The sentence of the tour with its controls, in place of the formula.
void draw_tour_strip(Scene& scene, const Rect& bar);
/// One step forward or back.
void step_tour(Scene& scene, Index by);

}  // namespace locus
