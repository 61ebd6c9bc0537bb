#pragma once
// Attention: one head of one layer term by term; every head of every layer; any stage by name.
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/page.h"
#include "viewer/plots/difference.h"
#include "viewer/plots/head_terms.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/ui/microscope.h"

namespace locus {

struct AttentionPanel {
    const char *stem, *title, *note;
};
inline constexpr std::array<AttentionPanel, 5> kAttentionPanels = {{{"c2c", "content \u2192 content", "c2c"},
                                                                    {"c2p", "content \u2192 position", "c2p"},
                                                                    {"p2c", "position \u2192 content", "p2c"},
                                                                    {"scores", "scores", ""},
                                                                    {"probs", "probabilities", "softmax over j"}}};

/// Where the six panels of a head go, decided once a frame.
struct PanelLayout {
    float left, top, side, gap, labels, header, title, legend;
    std::size_t columns = 3;
    // Where the page is much higher than wide: the side of the probabilities, which then have a row of their own, and
    // the lower edge of the curves below them.
    float large = 0, bottom = 0;

    Rect cells(std::size_t panel) const {
        if (large > 0 && panel == 5) {
            const Rect above = cells(4);
            return {above.x0, above.y1 + legend + row_gap() + title, above.x1, bottom};
        }
        const float x = left + labels + static_cast<float>(panel % columns) * (side + gap);
        const float down = side + legend + row_gap() + title;
        const float y = std::floor(top + title + header + static_cast<float>(panel / columns) * down);
        const float size = large > 0 && panel == 4 ? large : side;
        return {x, y, x + size, y + size};
    }
    bool in_first_row(std::size_t panel) const { return panel < columns; }
    bool in_first_column(std::size_t panel) const { return panel % columns == 0; }
    float row_gap() const { return title * 14 / 22; }
};

class AttentionPage : public Page {
public:
    const char* name() const override { return "attention"; }
    const char* title() const override { return "Attention"; }
    char key() const override { return '2'; }
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;
    std::string shown_by(const std::string& region) const override {
        return region == "shares"                          ? "--set attention.picture=heads"
               : region == "strength" || region == "share" ? "--set attention.picture=head"
                                                           : "";
    }
    const Trace* layer_trace(const Scene& scene) const override {
        return scene.answer ? &scene.answer->trace : nullptr;
    }

private:
    /// Everything that the pictures of a head depend on.
    struct Shown {
        std::uint64_t answer = 0;
        Index head = -1;
        ThemeName theme = ThemeName::dark;
        KeptTerms kept;
        bool follows = true, transposed = false;
        Selection selection;
        bool operator==(const Shown&) const = default;
    };

    // attention.cpp
    void refresh(Scene& scene);
    void glow(Scene& scene, const std::array<Matrix<float>, 5>& values);
    void show_strips(const Answer& answer, const PictureVersion& version, const std::array<Matrix<float>, 5>& values);
    bool press_character(Scene& scene, char32_t character);
    std::optional<DrawnRow> drawn_row(const Scene& scene) const;
    // attention_matrices.cpp
    PanelLayout arrange(const Scene& scene, const Rect& area) const;
    void draw_head(Scene& scene, const Rect& area);
    void draw_panel(Scene& scene, const PanelLayout& layout, std::size_t panel, std::optional<Cell>& pointed);
    void draw_panel_title(Scene& scene, const Rect& cells, std::size_t panel, float y);
    void draw_scale_switch(Scene& scene, const Rect& cells, float y);
    void draw_absent(Scene& scene, const Rect& cells, std::size_t panel) const;
    void draw_axes(Scene& scene, const PanelLayout& layout);
    void describe(const Scene& scene, Cell cell, std::size_t panel) const;
    // attention_heads.cpp
    void draw_curves(Scene& scene, const Rect& cells);
    // attention_matrices.cpp
    void select_cells(Scene& scene, const Rect& cells, std::optional<Cell> under, bool held, bool& clicked);
    void touch_labels(Scene& scene, const PanelLayout& layout, std::size_t panel);
    void draw_selection(Scene& scene, const Rect& cells, std::size_t panel);
    void draw_strip(Scene& scene, const Rect& strip, const Heatmap& heatmap, std::size_t panel, bool below);
    void draw_selection_card(Scene& scene, SideColumn& column);
    // attention_heads.cpp
    void draw_heads(Scene& scene, const Rect& area);
    void refresh_heads(const Scene& scene);
    /// Columns and rows of the pictures of all heads, in window units.
    struct HeadGrid {
        float across = 0, down = 0;  // from one picture to the next
        float side = 0;              // of a picture
        float height = 0;            // of all layers
        bool numbers = false;        // beside each picture
    };
    HeadGrid arrange_heads(const Ui& ui, const Rect& grid) const;
    void draw_grid_of_heads(Scene& scene, const Rect& grid, const HeadGrid& layout);
    void draw_one_head(Scene& scene, const Rect& picture, const Rect& seen, Index layer, Index head, bool numbers);
    void describe_head(const Scene& scene, Index layer, Index head) const;
    /// A curve as numbers: a row for each i - j, a column for each term.
    static NamedMatrix by_distance(const std::string& id, const std::string& title,
                                   const std::array<std::vector<double>, 3>& curves);
    /// The bars below the heads as numbers: a row for each head of each layer, a column for each term.
    static NamedMatrix shares_of(const Overview& overview);
    // attention_stage.cpp
    void draw_stage(Scene& scene, const Rect& area);
    void draw_stage_names(Scene& scene, const Rect& area);
    void refresh_stage(const Scene& scene, const Stage& stage);
    void draw_stage_matrix(Scene& scene, const Rect& area);
    /// Which columns of the stage are column c of the picture: "7", or "14 … 15".
    std::string columns_text(Index c) const;
    void draw_stage_labels(const Scene& scene, const Rect& cells) const;
    void describe_stage(const Scene& scene, Cell cell) const;
    void step_stage(State& state, const Answer& answer, Index by) const;

    Shown shown_;
    std::uint64_t revision_ = 0;  // of the pictures
    std::array<Heatmap, 5> heatmaps_;
    std::array<ChangedCells, 5> glows_;
    std::array<Heatmap, 5> below_, beside_;  // means over the selected rows and columns of the screen
    std::array<bool, 5> present_{};
    std::array<std::vector<double>, 3> strength_, share_;
    std::array<SelectionTotal, 5> totals_{};
    bool dragged_ = false;  // the left button draws a rectangle
    int divisor_terms_ = 1;

    std::shared_ptr<const Overview> overview_;
    ThemeName overview_theme_ = ThemeName::dark;
    std::uint64_t overview_revision_ = 0;
    std::vector<Heatmap> heads_;
    float heads_scroll_ = 0;
    Index followed_layer_ = -1;  // the layer that was last scrolled into sight

    /// What the picture of the stage depends on.
    struct ShownStage {
        std::uint64_t answer = 0;
        std::string name;
        Index head = 0;
        ThemeName theme = ThemeName::dark;
        bool operator==(const ShownStage&) const = default;
    };
    ShownStage shown_stage_;
    Heatmap stage_;
    StageMatrices matrices_;
    Index pooled_ = 1;  // columns of the stage in one of the picture
    float names_scroll_ = 0, names_height_ = 0;
    std::string followed_;

    float side_height_ = 0;
    Microscope microscope_;
};

/// A cell of the head as it is on screen, and back.
inline Cell transposed_if(Cell cell, bool transposed) { return transposed ? Cell{cell.j, cell.i} : cell; }

/// A small square with a tick; true when clicked.
bool draw_check_box(const Ui& ui, const char* id, ImVec2 left_middle, ImU32 colour, bool checked, bool& hovered);

}  // namespace locus
