#include "viewer/state/compare_state.h"

#include <algorithm>

#include "viewer/plots/difference.h"
#include "viewer/plots/stage_slice.h"

namespace locus {

const ReportedCase* CompareState::reported() const { return report ? &report->cases.at(shown_case) : nullptr; }

CompareRequest CompareState::request() const {
    const ReportedCase* one = reported();
    return {a, b, one && !one->has_dumps() ? "" : stage, report != nullptr};
}

void CompareState::open(std::shared_ptr<const CheckReport> opened) {
    report = std::move(opened);
    open_case(report->opening());
}

void CompareState::open_case(std::size_t number) {
    shown_case = std::min(number, report->cases.size() - 1);
    const ReportedCase& one = *reported();
    a = {one.reference.string()};
    b = {one.candidate.string()};
    std::string name = one.first;
    for (const ReportedStage& known : one.stages)
        if (one.first.empty() && known.state == StageState::pass) name = known.name;
    if (name.empty() && !one.stages.empty()) name = one.stages.front().name;
    open_stage(name);
}

void CompareState::open_stage(const std::string& name) {
    stage = name;
    sample = 0;
    view = {};
    jumped.reset();
}

void CompareState::step_stage(const std::vector<std::string>& stages, Index by) {
    if (stages.empty()) return;
    const auto at = std::find(stages.begin(), stages.end(), stage);
    const Index here = at == stages.end() ? 0 : at - stages.begin();
    const Index next = std::clamp<Index>(here + by, 0, static_cast<Index>(stages.size()) - 1);
    if (stages[static_cast<std::size_t>(next)] != stage) open_stage(stages[static_cast<std::size_t>(next)]);
}

std::optional<Cell> CompareState::jump(const ConstView<double>& values_a, const ConstView<double>& values_b,
                                       Cell from) {
    jumped = jumped == from ? next_worst(values_a, values_b, from) : worst_cell(values_a, values_b);
    return jumped;
}

void CompareState::make_mistake(const std::string& mistake) {
    if (mistake == b.mistake && from_model()) return;
    if (!from_model()) {
        a = {};
        b = {};
        report.reset();
    }
    // What B shows beside A is then the mistake alone, not also the paper's p2c that the page opens with.
    if (b.mistake.empty() && !mistake.empty()) b.dialect = a.dialect;
    b.mistake = mistake;
    b.layer = -1;
    opens_first = !mistake.empty();
    jumped.reset();
}

void CompareState::step_layer(Index by, Index layers) {
    const Index layer = layer_of(stage);
    if (layer < 0) return;
    const Index next = std::clamp<Index>(layer + by, 0, layers - 1);
    if (next != layer) stage = at_layer(stage, next);
}

}  // namespace locus
