#pragma once
// Positions: from the offset i - j to a row of the relative table, for every pair at once.
#include <optional>
#include <string>

#include "core/positions/relative_buckets.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"

namespace locus {

/// What happens to an offset on its way to a row.
enum class Part { itself, logarithm, edge };

class PositionsPage : public Page {
public:
    const char* name() const override { return "positions"; }
    const char* title() const override { return "Positions"; }
    char key() const override { return '1'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    void refresh(Scene& scene);
    void draw_matrix(Scene& scene, const Rect& cells, int which, std::optional<Cell>& pointed);
    void draw_numbers(const Scene& scene, const Rect& cells) const;
    void draw_diagonal(const Scene& scene, const Rect& cells) const;
    void draw_edge(const Scene& scene, const Rect& cells) const;
    void draw_staircase(Scene& scene, const Rect& area);
    /// Which part of the line serves an offset.
    Part part_of(const PositionsState& state, Index offset) const;
    Index mid(const PositionsState& state) const { return static_cast<Index>(state.span) / 2; }

    std::string made_for_;
    std::uint64_t version_ = 0;
    std::optional<RelativeBuckets> line_;
    Heatmap offsets_, rows_;
};

/// The dialect decides what happens beyond the farthest offset, as it does in a model.
OffsetClamp clamp_of(const State& state);

}  // namespace locus
