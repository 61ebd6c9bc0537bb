#pragma once
// Decoder: absolute positions enter after the encoder, through the query alone; two passes of the last layer.
#include <array>

#include "core/attention/disentangled.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"

namespace locus {

/// Of all numbers of one part of the flow.
struct PartStatistics {
    double mean = 0, deviation = 0, smallest = 0, largest = 0;
    Index rows = 0, columns = 0;
};

class DecoderPage : public Page {
public:
    static constexpr double kLastPart = 4;  // of the animation: H, H + I, pass 1, pass 2, the head

    const char* name() const override { return "decoder"; }
    const char* title() const override { return "Decoder"; }
    char key() const override { return '3'; }
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    void refresh(const Scene& scene);
    void draw_flow(Scene& scene, const Rect& area) const;
    void draw_arrows(const Scene& scene, const std::array<Rect, 6>& boxes, float sag) const;
    void draw_animation(Scene& scene, const std::array<Rect, 6>& boxes, const Rect& area) const;
    /// `part` of the animation in which the box comes into play; `statistics` of what it holds.
    void draw_box(const Scene& scene, const Rect& box, const std::vector<Span>& title, const std::string& caption,
                  const Heatmap* picture, int part, const PartStatistics* statistics) const;
    /// How strongly something of this part of the animation is drawn, 0 ... 1.
    float presence(const Scene& scene, int part) const;
    void draw_tall(Scene& scene, const Rect& inside, float labels);
    void draw_pass(Scene& scene, const Rect& cells, int pass, bool labels);
    void draw_moves(Scene& scene, const Rect& area, const Rect& rows) const;
    void draw_words(const Scene& scene, class SideColumn& column, const MaskWords& mask) const;
    std::size_t words_that_fit(const Scene& scene) const;
    void draw_all_words(Scene& scene, class SideColumn& column) const;
    void draw_classes(const Scene& scene, class SideColumn& column) const;
    void draw_cell(Scene& scene, class SideColumn& column);
    void draw_heads(Scene& scene, class SideColumn& column) const;
    void draw_cell_steps(Scene& scene, class SideColumn& column);
    /// The chosen cell of the chosen pass in the chosen head, to the last bit.
    const CellExplanation<float>& explain(const Scene& scene);
    std::string explanation(const Scene& scene);

    // I, H, the query after pass 1 and 2, what meets the word table: [T, columns], each the mean of some channels.
    std::array<Heatmap, 5> streams_;
    std::array<Heatmap, 2> passes_;             // attention [T,T], one head or the mean
    std::array<std::vector<double>, 2> moves_;  // how far pass 1 and 2 moved each token's query
    std::array<PartStatistics, 6> statistics_;  // of streams_, and of the query before the passes
    CellExplanation<float> cell_;
    std::string explained_;  // what `cell_` was made for
    std::uint64_t serial_ = 0;
    AnimationClock clock_;
    float scroll_ = 0, side_height_ = 0;  // of the column, in design pixels
};

}  // namespace locus
