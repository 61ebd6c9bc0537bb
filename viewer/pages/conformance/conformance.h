#pragma once
// Conformance: which cases of the kit a port passes, and in each that fails the first wrong stage and its cause.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/io/mistake_list.h"
#include "viewer/data/conformance_run.h"
#include "viewer/data/worker.h"
#include "viewer/page.h"
#include "viewer/plots/stage_triple.h"
#include "viewer/ui/report_view.h"

namespace locus {

class ConformancePage : public Page {
public:
    const char* name() const override { return "conformance"; }
    const char* title() const override { return "Conformance"; }
    char key() const override { return '9'; }
    bool shows_tokens() const override { return false; }
    bool needs_answer() const override { return false; }
    bool has_dialects() const override { return false; }
    ModelCard card(const Scene& scene) override;
    void update(const State& state) override;
    std::string error() override { return error_; }
    Fault fault() const override { return fault_; }
    bool ready() override { return error_.empty() && shown_; }
    bool settled(const State& state) const override;
    std::string stop() override;
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& area) override;
    void draw_side(Scene& scene, const Rect& area) override;
    void draw_formula(Scene& scene, const Rect& bar) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;
    bool press(Scene& scene, const KeyPress& press) override;

private:
    const CheckReport& report() const { return *shown_->report; }
    /// The chosen case, or the first that fails, or the first of all.
    const ReportedCase& shown_case(const ConformanceState& state) const;
    std::string shown_stage(const ConformanceState& state) const;
    const MistakeEntry* rehearsed(const ConformanceState& state) const;
    void step_mistake(ConformanceState& state, int by) const;
    void step_case(ConformanceState& state, int by, bool failing) const;
    void step_stage(ConformanceState& state, int by) const;
    void open_in_compare(State& state) const;
    float draw_port(Scene& scene, const Rect& bar);
    /// The cases as squares, families across and levels down; returns its lower end.
    float draw_map(Scene& scene, const Rect& area);
    void draw_square(Scene& scene, const ReportedCase& one, const Rect& box);
    void draw_headline(Scene& scene, const Rect& line) const;

    ConformanceRuns runs_;
    std::vector<MistakeEntry> mistakes_;
    std::shared_ptr<const ConformanceAnswer> shown_;  // the newest with a report
    std::optional<ConformanceQuery> asked_, answered_;
    std::string error_;
    Fault fault_ = Fault::unreadable;
    StageList stages_;
    StageTriple pictures_;
    float side_scroll_ = 0;
    std::unique_ptr<Worker<ConformanceQuery, ConformanceAnswer>> worker_;  // last: its thread ends before what it uses
};

}  // namespace locus
