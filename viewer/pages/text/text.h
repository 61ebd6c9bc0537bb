#pragma once
// Text: what counting words knows of documents, what it misses, and how far words must travel from one to another.
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "viewer/data/text_study.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"

namespace locus {

/// Where everything goes, decided once a frame.
struct TextLayout {
    Rect weights;               // cells of documents and words
    std::array<Rect, 4> alike;  // cells of four matrices of documents
    Rect travel;                // the words of two documents and what flows between them
    Rect flow, costs;           // cells of words and words
};

/// The words that the cursors are on.
struct ChosenWords {
    std::string weight, from, to;
};

class TextPage : public Page {
public:
    const char* name() const override { return "text"; }
    const char* title() const override { return "Text"; }
    char key() const override { return '7'; }
    bool shows_tokens() const override { return false; }
    bool edits_itself() const override { return true; }
    bool needs_answer() const override { return false; }
    bool has_dialects() const override { return false; }
    bool settled(const State& state) const override;
    std::string stop() override;
    ModelCard card(const Scene& scene) override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;
    bool press(Scene& scene, const KeyPress& press) override;

private:
    void refresh(Scene& scene);
    /// The numbers, or nothing before the first answer, where there are none, and while the cursors are those of
    /// documents on their way (after undo, say).
    const TextStudy* shown(const TextPageState& state) const;
    void keep_inside(TextPageState& state) const;
    /// Called before the set of words changes.
    void follow_words(const TextPageState& state);
    void find_followed(TextPageState& state);
    void paint(const State& screen);
    TextLayout arrange(const Scene& scene, const Rect& inside) const;
    std::string name_of(Index document) const;
    void draw_editor(Scene& scene, const Rect& box);
    void draw_weights(Scene& scene, const Rect& cells);
    void draw_alike(Scene& scene, const Rect& cells, std::size_t which);
    void draw_travel(Scene& scene, const Rect& box);
    void draw_moves(Scene& scene, const Rect& cells, bool flow);
    /// A click or, where nothing is locked, the pointer itself moves a cursor.
    void move_cursor(TextPageState& state, Cell& cursor, const std::optional<Cell>& pointed, bool clicked) const;
    void describe_weight(const Scene& scene, Cell cell) const;
    void describe_alike(const Scene& scene, Cell cell) const;
    void describe_move(const Scene& scene, Cell cell) const;
    void explain_weight(Scene& scene, class SideColumn& column) const;
    void explain_alike(Scene& scene, class SideColumn& column) const;
    void explain_travel(Scene& scene, class SideColumn& column) const;

    TextStudies studies_;
    std::shared_ptr<const TextStudy> study_;
    std::optional<TextQuery> asked_;
    Heatmap weights_, flow_, costs_;
    std::array<Heatmap, 4> alike_;
    std::optional<PictureVersion> painted_;
    std::optional<ChosenWords> follows_;  // the next answer has other columns: the cursors stay on these words
    float side_scroll_ = 0;
    bool focus_ = true;                                     // the editor takes the keyboard when it opens
    bool stopped_ = false;                                  // what is asked was given up
    std::unique_ptr<Worker<TextQuery, TextStudy>> worker_;  // last: its thread ends before what it reads
};

/// "0.165", or why there is none.
std::string distance_text(double distance);
/// Four ways to say how alike two documents are.
double likeness(const TextStudy& study, std::size_t which, Cell pair);
extern const std::array<const char*, 4> kLikenesses;

}  // namespace locus
