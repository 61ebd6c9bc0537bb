#pragma once
// Transformer-XL: a segment on a tape behind its memory, the four terms of a score, and the shift as a film.
#include <array>
#include <optional>
#include <string>

#include "core/attention/relative.h"
#include "viewer/exhibits.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/segment_tape.h"

namespace locus {

class TransformerXlPage : public Page {
public:
    const char* name() const override { return "transformer-xl"; }
    const char* title() const override { return "Transformer-XL"; }
    char key() const override { return '5'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    bool has_dialects() const override { return false; }
    std::string trouble() override { return exhibit_.trouble(); }
    ModelCard card(const Scene& scene) override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& room) override;
    void draw_side(Scene& scene, const Rect& room) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    const MemoryExhibit& exhibit();
    void refresh(Scene& scene);
    SegmentTape tape_of(const MemoryState& state, const Rect& room);
    const std::string& word(Index on_tape);
    /// Column of the chosen key, negative where it is forgotten.
    Index chosen_key(const MemoryState& state);
    /// Number of a term (a, b, c, d), of the score or of the probability at the chosen cell.
    double value(std::size_t panel, const MemoryState& state);
    void draw_tape(Scene& scene, const Rect& room);
    void draw_tape_word(const Scene& scene, const SegmentTape& tape, const Rect& column, Index on_tape);
    void draw_panel(Scene& scene, const Rect& cells, std::size_t panel);
    void draw_film(Scene& scene, const Rect& room);
    void draw_frames(Scene& scene, const Rect& room);
    void draw_frame(const Scene& scene, const FilmFrame& frame, ImVec2 corner, float side) const;
    void play(MemoryState& state);

    Opening<MemoryExhibit> exhibit_;
    std::optional<MemoryAnswer> answer_, without_;
    std::uint64_t version_ = 0;
    std::optional<PictureVersion> shown_;
    std::array<Heatmap, 6> panels_;
    std::vector<FilmFrame> film_ = shift_film(3, 3);
    double next_frame_ = 0;  // when the film goes on, seconds
};

/// a b c d in the colours of the terms that they resemble.
ImU32 relative_term_colour(const Theme& theme, std::size_t term);

}  // namespace locus
