#pragma once
// Start: every page as a small picture of what is on it now, sentences to try, models, a tour.
#include <map>
#include <memory>
#include <string>

#include "viewer/data/previews.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"

namespace locus {

class StartPage : public Page {
public:
    const char* name() const override { return "start"; }
    const char* title() const override { return "Start"; }
    char key() const override { return '0'; }
    void update(const State&) override;
    bool settled(const State&) const override { return previews_ != nullptr; }
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;
    bool press(Scene& scene, const KeyPress& press) override;

private:
    void draw_sentences(Scene& scene, const Rect& area);
    void draw_strip(Scene& scene, const Rect& strip);
    void draw_card(Scene& scene, const Rect& card, const std::string& page, char key, const std::string& title,
                   const std::string& about);
    void draw_models(Scene& scene, const Rect& area);
    /// The matrix behind a page's small picture; false where it has none.
    bool show_matrix(const Scene& scene, const std::string& page, Heatmap& heatmap) const;
    void draw_words(Scene& scene, const Rect& box) const;
    void draw_dials(Scene& scene, const Rect& box) const;
    void draw_tour(Scene& scene, class SideColumn& column) const;
    void draw_recent(Scene& scene, class SideColumn& column) const;

    std::map<std::string, Heatmap> pictures_;
    std::shared_ptr<const Previews> previews_;
    std::unique_ptr<Worker<int, Previews>> worker_;  // last: its thread ends before what it reads
};

}  // namespace locus
