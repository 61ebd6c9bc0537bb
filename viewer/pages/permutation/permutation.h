#pragma once
// Permutation: tokens as cards in the order of their prediction, two masks, two streams, and how sure the model is.
#include <array>
#include <optional>
#include <string>

#include "viewer/data/permutation_sentence.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/pages/permutation/token_cards.h"
#include "viewer/plots/heatmap.h"
#include "viewer/ui/relative_microscope.h"

namespace locus {

/// Three decimals, or as many as a small product needs.
std::string chance_text(double chance);

/// A sentence to play with, and orders worth seeing.
struct CardSentence {
    const char* name;
    std::vector<std::string> words;
    std::vector<std::pair<std::string, CardRow>> presets;
};

class PermutationPage : public Page {
public:
    PermutationPage();
    const char* name() const override { return "permutation"; }
    const char* title() const override { return "Permutation"; }
    char key() const override { return '6'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
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
    const PermutationAnswer& answer() const { return *answers_.shown(); }
    const PermutationSentence& sentence() const { return *answer().request.sentence; }
    static bool runs_model(const PermutationState& state) { return state.sentence == 0; }
    const std::vector<std::string>& words(const PermutationState& state) const;
    const std::string& word(const PermutationState& state, Index position) const;
    std::vector<std::pair<std::string, CardRow>> presets(const PermutationState& state) const;
    CardRow cards_in(const PermutationState& state, const PermutationSentence& sentence) const;
    CardRow cards(const PermutationState& state) const { return cards_in(state, sentence()); }
    void set_cards(PermutationState& state, const CardRow& cards) const;
    /// Keeps every number of the state inside what there is to show; another sentence begins anew.
    void fit(PermutationState& state);
    void refresh(Scene& scene);
    /// The row that is explained: the chosen one, or the last that is predicted.
    Index shown_row(const PermutationState& state) const;
    Stream stream_of(const PermutationState& state) const {
        return state.stream == 0 ? Stream::content : Stream::query;
    }
    CellColumn column_of(PermutationState& state) const { return {state.side, state.term, state.first_channel}; }
    /// Attention of row i of a stream to key j; nothing where no model is run.
    std::optional<float> attention(const PermutationState& state, bool query, Index i, Index j) const;
    const RelativeCellExplanation<float>* explain(const PermutationState& state);
    std::string hidden_because(const PermutationState& state) const;
    CellNames cell_names(const PermutationState& state) const;
    std::string copied_text(const PermutationState& state);
    void choose_cell(PermutationState& state, bool query, Cell cell) const;
    void draw_cards(Scene& scene, const Rect& area);
    void draw_card(Scene& scene, const CardPlaces& places, const Rect& lane, std::size_t slot);
    void draw_card_face(const Scene& scene, const Rect& box, Index position, bool hovered) const;
    void draw_mask(Scene& scene, const Rect& cells, bool query, bool labels);
    void draw_mask_cells(const Scene& scene, const Rect& cells, bool query, bool labels) const;
    void draw_mask_texture(Scene& scene, const Rect& cells, bool query);
    void draw_streams(Scene& scene, const Rect& area);
    std::vector<Index> nodes_of(const PermutationState& state, std::size_t count) const;
    void draw_chain(Scene& scene, const Rect& area);
    void draw_factors(const Scene& scene, const Rect& area, float y) const;
    /// Of the word that is named: of a [MASK] the model's best guess.
    double named_chance(const TargetChance& target) const;
    float draw_chances(const Scene& scene, const Rect& area, float y, const std::string& title,
                       const std::vector<TargetChance>& chances, ImU32 colour) const;
    void draw_row(Scene& scene, SideColumn& column);
    /// Where the query stream of a target looks most.
    void draw_looks(const Scene& scene, SideColumn& column, Index chosen) const;
    void draw_cell(Scene& scene, SideColumn& column, const Rect& area);
    void draw_cell_row(const Scene& scene, SideColumn& column, const RelativeCellExplanation<float>& cell) const;

    FamilySession<PermutationSentence> source_{Window::wake};
    AnswerSource<PermutationRequest, PermutationAnswer> answers_{Window::wake};
    std::array<CardSentence, 3> sentences_;  // the first is the model's own
    std::vector<std::string> fitted_;        // the model's sentence that the state was fitted to
    StreamVisibility visible_;
    CardRow visible_for_;
    std::shared_ptr<const PermutationSentence> visible_of_;  // none: of the page's own sentences
    std::array<Matrix<float>, 2> probabilities_;             // of the shown head, content and query
    std::array<RelativeHeadTensors<float>, 2> tensors_;
    std::optional<PictureVersion> shown_;
    std::array<Heatmap, 2> masks_;  // where there are too many cells to draw one by one
    std::optional<RelativeCellExplanation<float>> cell_;
    std::size_t cell_stream_ = 0;
    Index dragged_ = kDivider - 1;  // the card under a held button; below kDivider: none
    bool moved_ = false;            // since it was taken
    float grip_ = 0;                // from its left edge to the pointer
    float scroll_ = -1;             // of the cards, in slots; -1: the end
    float side_scroll_ = 0;
};

}  // namespace locus
