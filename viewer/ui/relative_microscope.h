#pragma once
// The column at the right where a cell of relative attention is taken apart; two pages share it.
#include "viewer/page.h"
#include "viewer/plots/cell_text.h"
#include "viewer/ui/side_column.h"

namespace locus {

/// Which part of the column is shown, and what of it.
struct CellColumn {
    std::size_t& side;     // 0: the page's own, 1 the cell, 2 its channels
    Index& term;           // of named_terms; -1: the strongest
    Index& first_channel;  // at the top of the table
};

/// "next word | this cell | channels" at the top of the column.
void draw_column_choice(const Ui& ui, SideColumn& column, const char* own, CellColumn choice);

/// Colours of named_terms.
ImU32 named_term_colour(const Theme& theme, RelativeScheme scheme, std::size_t term);

/// The terms as bars; a click shows the channels of one.  Scripts read them and the rest of the cell as
/// `place`/a, `place`/score, `place`/probability ...
void draw_named_terms(const Ui& ui, SideColumn& column, const RelativeCellExplanation<float>& cell,
                      RelativeScheme scheme, CellColumn choice, const std::string& place);

/// Sum, scale, row maximum, exp, row sum, probability; `why` is said where the mask hides the pair.
void draw_score_steps(SideColumn& column, const RelativeCellExplanation<float>& cell, const std::string& why);

/// Every channel of one term with its product and the sum so far; wheel and arrows move through it.
void draw_channel_table(const Ui& ui, SideColumn& column, const Rect& area, const RelativeCellExplanation<float>& cell,
                        RelativeScheme scheme, CellColumn choice);

/// "copy as text": puts it on the clipboard and says so.
void draw_copy_button(Scene& scene, SideColumn& column, const std::string& text);
void copy_cell(State& state, const std::string& text);

/// Tab is the next term, w the next part of the column, j and k move through the table.  False for other keys.
bool press_cell_column(const KeyPress& press, CellColumn choice, std::size_t terms, Index channels);

}  // namespace locus
