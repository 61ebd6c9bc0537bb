#pragma once
// Permutation: tokens as cards in the order of their prediction, two masks, two streams, and how sure the model is.
#include <array>
#include <optional>
#include <string>

#include "viewer/exhibits.h"
#include "viewer/page.h"
#include "viewer/plots/token_cards.h"

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
    const PermutationExhibit& exhibit();
    void refresh(Scene& scene);
    CardRow& cards(const PermutationState& state) { return cards_[state.sentence]; }
    const CardSentence& sentence(const PermutationState& state) const { return sentences_[state.sentence]; }
    const std::string& word(const PermutationState& state, Index position) const;
    /// The row that is explained: the chosen one, or the last that is predicted.
    Index shown_row(const PermutationState& state);
    PermutationAnswer answer_to(const CardRow& cards);
    /// Attention of row i of a stream to key j; nothing where no model is run.
    std::optional<float> attention(const PermutationState& state, bool query, Index i, Index j);
    void draw_cards(Scene& scene, const Rect& room);
    void draw_card(Scene& scene, const CardPlaces& places, const Rect& room, std::size_t slot);
    void draw_mask(Scene& scene, const Rect& cells, bool query, bool labels);
    void draw_streams(Scene& scene, const Rect& room);
    void draw_chain(Scene& scene, const Rect& room);
    float draw_chances(Scene& scene, const Rect& room, float y, const std::string& title,
                       const PermutationAnswer& answer, ImU32 colour);

    Opening<PermutationExhibit> exhibit_;
    std::array<CardSentence, 3> sentences_;
    std::array<CardRow, 3> cards_;
    StreamVisibility visible_;
    std::optional<PermutationAnswer> answer_, reversed_;  // of the model's sentence
    CardRow answered_;
    Index dragged_ = kDivider - 1;  // the card under a held button; below kDivider: none
    float grip_ = 0;                // from its left edge to the pointer
};

}  // namespace locus
