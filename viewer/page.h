#pragma once
// A page: it fills the area in the middle, and says what is beside and below it.
#include <memory>
#include <string>
#include <vector>

#include "viewer/data/deberta_session.h"
#include "viewer/data/named_matrix.h"
#include "viewer/pages/page_names.h"
#include "viewer/state/state.h"
#include "viewer/ui/ui.h"
#include "viewer/ui/window.h"

namespace locus {

/// The model that a page shows, for the top bar.
struct ModelCard {
    std::string name, size;
};

/// What a page may look at while it draws one frame.
struct Scene {
    Ui& ui;
    State& state;
    const DebertaSession& session;
    const Answer* answer;  // of the text on screen, perhaps a moment old; nullptr before the first one
    bool busy = false;     // a newer answer is being computed
    std::string warning;   // of the model that the page shows: weights that are no numbers; empty: none
};

class Page {
public:
    virtual ~Page() = default;
    virtual const char* name() const = 0;   // as in --page
    virtual const char* title() const = 0;  // as on the rail
    virtual char key() const = 0;
    /// True if the sentence bar shows the tokens; false if `draw_bar` has it all.
    virtual bool shows_tokens() const { return true; }
    /// True if the page has a text box of its own, in place of the one in the sentence bar.
    virtual bool edits_itself() const { return false; }
    /// True if the page can be drawn without an answer of the model.
    virtual bool needs_answer() const { return true; }
    /// The opened model, unless the page shows one of another family.
    virtual ModelCard card(const Scene& scene);
    /// True if the dialects make a difference here.
    virtual bool has_dialects() const { return true; }
    /// One sentence for each weight of the shown model that holds NaN or infinity.  The opened DeBERTa's, where the
    /// page is about it.
    virtual std::vector<std::string> warnings(const Answer* answer) const {
        return answer && needs_answer() ? answer->warnings : std::vector<std::string>();
    }
    /// Once a frame, before anything else: asks for what the page shows besides the answer.
    virtual void update(const State&) {}
    /// Why that cannot be shown as it was asked for: one sentence, or nothing.
    virtual std::string error() { return {}; }
    virtual Fault fault() const { return Fault::unreadable; }
    /// True if there is something to draw, perhaps of a moment ago.
    virtual bool ready() { return error().empty(); }
    /// True if the page shows, or its trouble speaks of, what this state asks for.
    virtual bool settled(const State&) const { return true; }
    /// True while the page runs something for long, beside which one can go on: settled() is its end.
    virtual bool runs() const { return false; }
    /// Ends what the page has run for long: a sentence for the reader, or nothing where nothing runs.
    virtual std::string stop() { return {}; }
    /// Controls on the sentence bar, centred on y: right-aligned ones return the left end they leave free.
    virtual float draw_bar(Scene& scene, const Rect& bar) = 0;
    virtual void draw(Scene& scene, const Rect& area) = 0;
    virtual void draw_side(Scene& scene, const Rect& area) = 0;
    virtual void draw_formula(Scene& scene, const Rect& bar) = 0;
    /// The matrices of the last frame, whole even where they are zoomed: what can be exported by name.  A stage of the
    /// answer keeps its name and its bits.
    virtual std::vector<NamedMatrix> numbers(const Scene&) { return {}; }
    /// The trace of the layer that the page shows, which can be exported whole; nullptr: it shows none.  The answer is
    /// of the opened DeBERTa, so a page of another family, or of a model of its own, has nothing to do with its trace.
    virtual const Trace* layer_trace(const Scene&) const { return nullptr; }
    /// What makes the page show a matrix of this name that it has not on screen: "--set attention.picture=heads";
    /// empty: nothing does.
    virtual std::string shown_by(const std::string&) const { return {}; }
    /// A key that the frame did not take; true if the page did.
    virtual bool press(Scene&, const KeyPress&) { return false; }
};

/// What Page::stop says of work whose answer would have taken the place of a picture.
inline constexpr const char* kStoppedPicture = "Stopped: the picture is the one before. Any change computes again.";

/// In the order of the rail.
std::vector<std::unique_ptr<Page>> make_pages();
/// "4 layers × 4 heads · f32"
std::string size_line(Index layers, Index heads);
/// [ ] , . for a page with a layer and a head of its own; false for other keys.
bool step_head(const KeyPress& press, Index layers, Index heads, Index& layer, Index& head);

std::unique_ptr<Page> make_start_page();
std::unique_ptr<Page> make_positions_page();
std::unique_ptr<Page> make_attention_page();
std::unique_ptr<Page> make_decoder_page();
std::unique_ptr<Page> make_rope_page();
std::unique_ptr<Page> make_transformer_xl_page();
std::unique_ptr<Page> make_permutation_page();
std::unique_ptr<Page> make_text_page();
std::unique_ptr<Page> make_compare_page();
std::unique_ptr<Page> make_conformance_page();
std::unique_ptr<Page> make_training_page();

}  // namespace locus
