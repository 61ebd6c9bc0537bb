#pragma once
// Compare: one stage of two sources, their difference, and what a report says of it.
#include <array>
#include <map>
#include <string>
#include <vector>

#include "viewer/data/mistake_source.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/plots/difference.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/ui/report_view.h"
#include "viewer/ui/side_column.h"

namespace locus {

/// Asks in the background which mistakes change what; a program that still works is ended with it.
class MistakeAsker {
public:
    MistakeAsker();

    /// nullptr until the answer is there.
    const MistakeEffects* list_for(const MistakeQuery& query);
    bool busy() const { return worker_.busy(); }

private:
    std::optional<MistakeQuery> asked_;
    std::shared_ptr<const MistakeEffects> list_;
    Worker<MistakeQuery, MistakeEffects> worker_;  // last: its thread ends before what it reads
};

class ComparePage : public Page {
public:
    const char* name() const override { return "compare"; }
    const char* title() const override { return "Compare"; }
    char key() const override { return '8'; }
    bool shows_tokens() const override { return shows_tokens_; }
    bool has_dialects() const override { return false; }
    ModelCard card(const Scene& scene) override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;
    bool settled(const State& state) const override;

private:
    /// Where everything goes, decided once a frame.
    struct Layout {
        float left = 0, wide = 0, high = 0, gap = 0;          // of the matrices side by side
        float headline = 0, title = 0, cells = 0, below = 0;  // heights from the top of the area
        std::optional<Rect> large;                            // B - A under the other two, where the area is tall
        Rect panel(std::size_t n) const {
            if (n == 2 && large) return *large;
            const float x = left + static_cast<float>(n) * (wide + gap);
            return {x, cells, x + wide, cells + high};
        }
        /// The middle of the line with the title of a panel.
        float title_of(const Rect& panel) const { return panel.y0 - (cells - title); }
    };
    void refresh(Scene& scene);
    void name_refused_stage(Scene& scene);
    void measure(const Scene& scene, Index head, Index other);
    void show_matrices(const Scene& scene, const PictureVersion& version);
    void choose_place(Scene& scene);
    void jump(Scene& scene);
    std::vector<std::string> words_of_tokens(const Scene& scene) const;
    void name_axes(const Scene& scene);
    bool has_sides(const Scene& scene) const;
    bool shares_cursor(const State& state) const;
    Cell& cursor(State& state) const;
    void share_cursor(Scene& scene);
    bool& locked(State& state) const;
    Cell kept_inside(Cell cell) const;

    float draw_stage_picker(Scene& scene, float right, float y);
    float draw_case_picker(Scene& scene, const Rect& bar, float right);

    Layout arrange(const Scene& scene, const Rect& area) const;
    void draw_headline(const Scene& scene, const Rect& area) const;
    std::string headline_of_gaps() const;
    void draw_source(Scene& scene, const Rect& cells, const Layout& layout, std::size_t side);
    float draw_sides(Scene& scene, const Rect& area);
    void draw_side_line(Scene& scene, const Rect& area, float y, std::size_t side);
    void draw_model_picker(Scene& scene, float x, float y, float width, CompareSide& source);
    void draw_sentence_picker(Scene& scene, float x, float y, float width, CompareSide& source);
    void draw_formula_picker(Scene& scene, float x, float y, float width, std::size_t side);
    void draw_number_picker(Scene& scene, float x, float y, float width, CompareSide& source);
    float draw_place(Scene& scene, float right, float y, std::size_t side);
    void draw_verdict(const Scene& scene, const Rect& cells, const Layout& layout) const;
    void draw_panel(Scene& scene, const Layout& layout, std::size_t n, std::optional<Cell>& pointed);
    float pitch_of(float length, const MatrixView& view, Index count) const;
    void draw_row_names(const Scene& scene, const Rect& cells, Index chosen) const;
    void draw_column_names(const Scene& scene, const Rect& cells, Index chosen) const;
    void describe(Scene& scene, Cell cell) const;
    void draw_profile(Scene& scene, const Rect& area) const;
    void draw_stage_list(Scene& scene, const Rect& area);

    const MistakeEffects* mistake_list(const Scene& scene);
    void draw_mistakes(Scene& scene, const Rect& area);
    void draw_mistake_rows(Scene& scene, const Rect& rows, const std::vector<MistakeGroup>& groups,
                           const MistakeEffects* list);
    void draw_mistake_card(Scene& scene, const Rect& area, const MistakeEffects* list);
    void choose_mistake(Scene& scene, int number, const MistakeEffects* list);
    void glow(Scene& scene);

    void draw_report_words(Scene& scene, SideColumn& column) const;
    void draw_what_to_see(Scene& scene, SideColumn& column) const;
    void draw_cell_words(Scene& scene, SideColumn& column) const;
    void draw_statistics(Scene& scene, SideColumn& column) const;

    /// Six digits, for values of any size; rows of tables and masks as they are.
    std::string value_text(double value) const;
    std::string column_axis() const;
    std::string row_name(Index i) const;
    std::string column_name(Index j) const;
    /// "[MASK] looks at beside, 2 to the right" or "token 3, channel 7".
    std::string place_in_words(Cell cell) const;

    std::array<Heatmap, 3> heatmaps_;
    Matrix<double> a_, b_;  // the matrices on screen
    StageMatrices matrices_;
    Difference here_, whole_;
    double allowed_ = 0;
    std::string where_;
    std::vector<std::string> row_words_, column_words_;  // empty: numbers
    std::vector<std::string> stages_;
    std::string placed_for_, made_for_;
    bool whole_numbers_ = false;  // an index tensor
    bool outdated_ = false;       // the files are not those that the report judged
    bool shows_tokens_ = true;
    Index row_seen_ = -1;                // State::cell.i when it was last looked at
    Index column_seen_ = -1;             // State::cell.j then
    std::array<ChangedCells, 2> glows_;  // of A and B
    std::string glowed_for_;             // the mistake that B last lit up for
    std::unique_ptr<MistakeAsker> asker_;
    std::string typed_;  // in an open popup
    int hovered_mistake_ = 0, followed_mistake_ = 0;
    float mistake_scroll_ = 0, side_scroll_ = 0, card_height_ = 0;
    StageList list_;
};

}  // namespace locus
