#pragma once
// Decoder: absolute positions enter after the encoder, through the query alone; two passes of the last layer.
#include <array>

#include "viewer/page.h"
#include "viewer/plots/heatmap.h"

namespace locus {

class DecoderPage : public Page {
public:
    const char* name() const override { return "decoder"; }
    const char* title() const override { return "Decoder"; }
    char key() const override { return '3'; }
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& room) override;
    void draw_side(Scene& scene, const Rect& room) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    void refresh(const Scene& scene);
    void draw_flow(Scene& scene, const Rect& room) const;
    void draw_box(const Scene& scene, const Rect& box, const std::vector<Span>& title, const std::string& caption,
                  const Heatmap* picture, ImU32 border) const;
    void draw_pass(Scene& scene, const Rect& cells, int pass, bool labels);
    void draw_moves(Scene& scene, const Rect& room, const Rect& rows) const;
    void draw_words(const Scene& scene, class SideColumn& column, const MaskWords& mask) const;

    // I, H, the query after pass 1 and 2, what meets the word table: [T, columns], each the mean of some channels.
    std::array<Heatmap, 5> streams_;
    std::array<Heatmap, 2> passes_;             // attention [T,T], one head or the mean
    std::array<std::vector<double>, 2> moves_;  // how far pass 1 and 2 moved each token's query
    float scroll_ = 0;
};

}  // namespace locus
