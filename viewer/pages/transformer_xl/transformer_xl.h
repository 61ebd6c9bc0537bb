#pragma once
// Transformer-XL: a segment on a tape after its memory, the four terms of a score, the shift as an animation, and how
// far back every layer knows.
#include <array>
#include <optional>
#include <string>

#include "core/attention/relative.h"
#include "viewer/data/memory_text.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/pages/transformer_xl/memory_plots.h"
#include "viewer/plots/heatmap.h"
#include "viewer/ui/relative_microscope.h"

namespace locus {

class TransformerXlPage : public Page {
public:
    const char* name() const override { return "transformer-xl"; }
    const char* title() const override { return "Transformer-XL"; }
    char key() const override { return '5'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    bool has_dialects() const override { return false; }
    std::vector<std::string> warnings(const Answer*) const override { return answer().warnings; }
    void update(const State& state) override;
    std::string error() override;
    Fault fault() const override { return source_.error().empty() ? Fault::unsupported : source_.fault(); }
    bool ready() override { return answers_.shown() != nullptr; }
    bool settled(const State& state) const override;
    std::string stop() override { return source_.stop() || answers_.stop() ? kStoppedPicture : ""; }
    ModelCard card(const Scene& scene) override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    struct NextWords {
        std::uint64_t serial = 0;
        Index query = -1;
        std::vector<WordGuess> with, without;
    };

    const MemoryAnswer& answer() const { return *answers_.shown(); }
    const MemoryText& sentence() const { return *answer().request.sentence; }
    /// Keeps every number of the state inside what there is to show.
    void fit(MemoryState& state) const;
    void refresh(Scene& scene);
    void show_panels(const Scene& scene);
    const RelativeCellExplanation<float>* explain(const MemoryState& state);
    CellNames cell_names(const MemoryState& state);
    std::string copied_text(const MemoryState& state);
    CellColumn column_of(MemoryState& state) const { return {state.side, state.term, state.first_channel}; }
    SegmentTape tape_of(const Rect& area) const;
    const std::string& word(Index on_tape) const;
    const std::string& query_word(const MemoryState& state) const;
    /// Column of the chosen key, negative where it is forgotten.
    Index chosen_key(const MemoryState& state) const;
    void draw_tape(Scene& scene, const Rect& area);
    void draw_tape_word(const Scene& scene, const SegmentTape& tape, const Rect& column, Index on_tape);
    /// `first`: the first in its row, which has the words of all of them.
    void draw_panel(Scene& scene, const Rect& cells, std::size_t n, bool first);
    void describe(Scene& scene, std::size_t panel, Cell under, Index on_tape);
    void draw_strip(Scene& scene, const Rect& area);
    void draw_animation(Scene& scene, const Rect& area);
    void draw_frame(const Scene& scene, const AnimationFrame& frame, ImVec2 corner, float side, bool pale) const;
    void draw_flight(const Scene& scene, const Rect& area, const std::vector<ImVec2>& corners, float side) const;
    void draw_shift_cell(const Ui& ui, const AnimationCell& cell, ImVec2 corner, float side, bool pale) const;
    void draw_reach(Scene& scene, const Rect& area);
    void draw_next_word(Scene& scene, SideColumn& column);
    void draw_cell(Scene& scene, SideColumn& column, const Rect& area);
    void draw_row_of_r(SideColumn& column, const RelativeCellExplanation<float>& cell) const;
    double last_frame() const { return static_cast<double>(animation_.size()) - 1; }

    FamilySession<MemoryText> source_{Window::wake};
    AnswerSource<MemoryRequest, MemoryAnswer> answers_{Window::wake};
    std::optional<PictureVersion> shown_;
    std::array<Heatmap, 6> panels_;
    RelativeHeadTensors<float> tensors_;  // of the shown head
    std::optional<RelativeCellExplanation<float>> cell_;
    NextWords next_words_;
    std::vector<AnimationFrame> animation_;
    std::array<Index, 3> history_of_{-1, -1, -1};  // trick, queries, memory
    AnimationClock clock_;
    float side_scroll_ = 0;
};

}  // namespace locus
