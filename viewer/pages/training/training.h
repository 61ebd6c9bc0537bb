#pragma once
// Training: a small model learns on the spot, with snapshots of one head: its terms, its curves over
// distance, and the word it puts at a hidden place.
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "viewer/data/training_look.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/plots/heatmap.h"

namespace locus {

class TrainingPage : public Page {
public:
    const char* name() const override { return "training"; }
    const char* title() const override { return "Training"; }
    char key() const override { return 'a'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    bool has_dialects() const override { return false; }
    ModelCard card(const Scene& scene) override;
    void update(const State& state) override;
    std::string error() override;
    Fault fault() const override { return look_error_.empty() ? course_fault_ : look_fault_; }
    bool ready() override { return error().empty() || course_; }
    bool settled(const State& state) const override;
    bool runs() const override { return trains(); }
    std::string stop() override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;
    bool press(Scene& scene, const KeyPress& press) override;

private:
    struct CourseJob {
        CourseQuery query;
        std::shared_ptr<CourseBoard> board;
    };

    /// From the moment that it was asked for.
    bool trains() const {
        return asked_ && asked_->train && course_error_.empty() &&
               !(course_ && course_->query == *asked_ && course_->done);
    }
    double last_frame() const { return static_cast<double>(look_->snapshots.size()) - 1; }
    /// The animation as far as there are snapshots.
    Animation history_of(const TrainingPageState& state) const;
    /// An animation that is at its end follows the training.
    void keep_animation(TrainingPageState& state, const Animation& animation) const;
    std::size_t shown_snapshot(const TrainingPageState& state) const;
    const CourseSnapshot& photographed(const TrainingPageState& state) const;
    void fit(TrainingPageState& state) const;
    void refresh(Scene& scene);
    void train(TrainingPageState& state) const;
    void next_sentence(TrainingPageState& state) const;
    void hide(TrainingPageState& state, Index token) const;
    std::string run_words(const TrainingPageState& state) const;

    void draw_run(const Scene& scene, const Rect& area, float x) const;
    void draw_opening(Scene& scene, const Rect& area) const;
    void draw_loss(Scene& scene, const Rect& area);
    /// A tooltip for the step under the pointer; a press shows the snapshot nearest to it.
    void point_at_loss(const Ui& ui, TrainingPageState& state, const Rect& plot, double last_step);
    void draw_animation(Scene& scene, const Rect& line);
    float widest_guess(const Ui& ui, std::size_t mask) const;
    void draw_hidden_word(const Ui& ui, const Rect& box, const std::string& mask, const Word& guess, float wide) const;
    /// How wide a word of the sentence is; of a hidden one also its guess.
    struct SentenceWord {
        float gap = 0, width = 0, guess_wide = 0;
        std::optional<Word> guess;
    };
    SentenceWord measured(const Ui& ui, const TrainingPageState& state, Index t) const;
    void draw_sentence(Scene& scene, const Rect& line);
    void draw_word(const Ui& ui, TrainingPageState& state, const Rect& box, std::size_t at, const SentenceWord& word);
    void describe_word(const Ui& ui, std::size_t at, const std::optional<Word>& guess) const;
    void draw_panels(Scene& scene, const Rect& cells, float gap);
    void draw_labels(const Scene& scene, const Rect& cells) const;
    void describe(const Scene& scene, Cell cell, std::size_t n) const;
    void draw_curves(Scene& scene, const Rect& area, float gap);
    void draw_curve(Scene& scene, const Rect& area, bool keys);
    void draw_words(Scene& scene, class SideColumn& column);
    void draw_growth(Scene& scene, class SideColumn& column);

    std::shared_ptr<CourseBoard> board_;
    std::optional<CourseQuery> asked_;
    std::shared_ptr<const Course> course_;  // as it was published last
    std::string course_error_, look_error_;
    Fault course_fault_ = Fault::unreadable, look_fault_ = Fault::usage;
    std::optional<LookQuery> look_asked_, look_answered_;
    std::shared_ptr<const TrainingLook> look_;  // the newest without an error
    TrainingLooks looks_;
    Courses courses_;
    std::array<Heatmap, 3> panels_;
    std::optional<std::array<Index, 3>> history_of_head_;  // look, layer, head
    HeadHistory head_;
    AnimationClock clock_;
    float side_scroll_ = 0;
    std::unique_ptr<Worker<LookQuery, TrainingLook>> observer_;  // last: their threads end before what they use
    std::unique_ptr<Worker<CourseJob, Course>> trainer_;
};

/// What a panel shows, in the order of their terms.
struct TrainingPanel {
    const char* stem;
    const char* title;
};
extern const std::array<TrainingPanel, 3> kTrainingPanels;

}  // namespace locus
