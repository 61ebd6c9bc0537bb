// The page: what is judged, its controls, keys, and what opens the numbers of a wrong stage.
#include "viewer/pages/conformance/conformance.h"

#include <algorithm>

namespace locus {

namespace {

ConformanceQuery query_of(const ConformanceState& state) {
    return {state.report, state.dumps, state.mistake, state.dialect, state.checks};
}

bool fails(const ReportedCase& one) { return one.verdict == "fail"; }

}  // namespace

void ConformancePage::update(const State& state) {
    if (!worker_)
        worker_ = std::make_unique<Worker<ConformanceQuery, ConformanceAnswer>>(
            [this](const ConformanceQuery& query, const CancelToken& stop) { return runs_.answer(query, stop); },
            Window::wake);
    if (mistakes_.empty()) mistakes_ = read_mistake_list(mistake_list_file());
    if (const auto answer = worker_->take()) {
        answered_ = answer->query;
        error_ = answer->error;
        fault_ = answer->fault;
        if (answer->report) shown_ = answer;
    }
    const ConformanceQuery query = query_of(state.conformance);
    if (asked_ == query) return;
    asked_ = query;
    worker_->submit(query);
}

bool ConformancePage::settled(const State& state) const { return answered_ == query_of(state.conformance); }

std::string ConformancePage::stop() {
    if (!worker_ || !worker_->cancel_long_work()) return {};
    answered_ = asked_;
    return "Stopped: the report is the one before. Any change checks again.";
}

ModelCard ConformancePage::card(const Scene&) {
    return {"conformance kit",
            std::to_string(report().cases.size()) + (report().cases.size() == 1 ? " case" : " cases")};
}

const ReportedCase& ConformancePage::shown_case(const ConformanceState& state) const {
    const auto& cases = report().cases;
    const auto chosen =
        std::find_if(cases.begin(), cases.end(), [&](const ReportedCase& one) { return one.id == state.shown_case; });
    return chosen != cases.end() && !state.shown_case.empty() ? *chosen : cases[report().opening()];
}

std::string ConformancePage::shown_stage(const ConformanceState& state) const {
    const ReportedCase& one = shown_case(state);
    if (one.find(state.stage)) return state.stage;
    if (!one.first.empty() || one.stages.empty()) return one.first;
    return one.stages.back().name;
}

const MistakeEntry* ConformancePage::rehearsed(const ConformanceState& state) const {
    const auto found = std::find_if(mistakes_.begin(), mistakes_.end(),
                                    [&](const MistakeEntry& entry) { return entry.number == state.mistake; });
    return found == mistakes_.end() ? nullptr : &*found;
}

void ConformancePage::step_mistake(ConformanceState& state, int by) const {
    if (!state.report.empty() || !state.dumps.empty()) return;
    state.mistake = std::clamp(state.mistake + by, 1, static_cast<int>(mistakes_.size()));
    state.shown_case.clear();
    state.stage.clear();
}

void ConformancePage::step_case(ConformanceState& state, int by, bool failing) const {
    const auto& cases = report().cases;
    const auto count = static_cast<int>(cases.size());
    const auto here = static_cast<int>(&shown_case(state) - cases.data());
    for (int n = here + by; n >= 0 && n < count; n += by) {
        const ReportedCase& one = cases[static_cast<std::size_t>(n)];
        if (failing && !fails(one)) continue;
        state.shown_case = one.id;
        state.stage.clear();
        return;
    }
}

void ConformancePage::step_stage(ConformanceState& state, int by) const {
    const auto& stages = shown_case(state).stages;
    const std::string name = shown_stage(state);
    const auto at = std::find_if(stages.begin(), stages.end(), [&](const auto& stage) { return stage.name == name; });
    if (at == stages.end()) return;
    const auto place = std::clamp<std::ptrdiff_t>(at - stages.begin() + by, 0, std::ssize(stages) - 1);
    state.stage = stages[static_cast<std::size_t>(place)].name;
}

void ConformancePage::open_in_compare(State& state) const {
    const ReportedCase& one = shown_case(state.conformance);
    if (!one.has_dumps()) {
        state.refusal = "This report names no files for the case " + one.id + ", so there are no numbers to compare.";
        return;
    }
    state.compare.open(shown_->report);
    state.compare.open_case(static_cast<std::size_t>(&one - report().cases.data()));
    state.compare.open_stage(shown_stage(state.conformance));
    state.page = "compare";
}

float ConformancePage::draw_port(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    ConformanceState& state = scene.state.conformance;
    const float y = bar.middle_y(), x = bar.x0 + ui.px(16);
    if (!state.report.empty() || !state.dumps.empty()) {
        const float width = ui.text_width("one with a mistake") + ui.px(22);
        const Rect back{x, y - ui.px(13), x + width, y + ui.px(13)};
        if (ui.button("rehearse", back, "one with a mistake")) state = {};
        return back.x1;
    }
    const float after = x + ui.text(x, y, "a port with mistake", ui.theme->muted) + ui.px(10);
    Index number = state.mistake;
    const float wide = ui.px(64);
    ui.stepper("mistake", after + wide, y, std::to_string(number), number, 1, static_cast<Index>(mistakes_.size()));
    if (number != state.mistake) step_mistake(state, static_cast<int>(number) - state.mistake);
    return after + wide;
}

float ConformancePage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    ConformanceState& state = scene.state.conformance;
    const float y = bar.middle_y();
    const float x = draw_port(scene, bar) + ui.px(12);
    float right = bar.x1 - ui.px(16);
    if (state.report.empty()) {
        const float width = ui.text_width("check again") + ui.px(22);
        if (ui.button("check again", {right - width, y - ui.px(13), right, y + ui.px(13)}, "check again"))
            ++state.checks;
        right -= width + ui.px(14);
    }
    if (!state.dumps.empty()) {
        const std::vector<std::string> values = {"", "official", "hf", "paper"};
        std::size_t chosen =
            static_cast<std::size_t>(std::find(values.begin(), values.end(), state.dialect) - values.begin());
        chosen = std::min(chosen, values.size() - 1);
        const std::vector<std::string> labels = {"as recorded", "official", "hf", "paper"};
        float width = 0;
        for (const std::string& label : labels) width += ui.text_width(label) + ui.px(22);
        ui.choice("dialect", right - width, y, labels, chosen);
        state.dialect = values[chosen];
        right -= width + ui.px(14);
    }
    const MistakeEntry* entry = rehearsed(state);
    const std::string what = !state.report.empty()  ? state.report
                             : !state.dumps.empty() ? state.dumps
                             : entry                ? entry->name
                                                    : "";
    ui.text_within(x, y, right - x, what, ui.theme->text);
    return bar.x1;
}

bool ConformancePage::press(Scene& scene, const KeyPress& press) {
    if (!ready()) return false;
    ConformanceState& state = scene.state.conformance;
    if (press.key == Key::enter) {
        open_in_compare(scene.state);
        return true;
    }
    if (press.key != Key::character) return false;
    switch (press.character) {
        case 'm':
        case 'M':
            step_mistake(state, press.character == 'm' ? 1 : -1);
            return true;
        case 'n':
        case 'N':
            step_case(state, press.character == 'n' ? 1 : -1, true);
            return true;
        case 'c':
        case 'C':
            step_case(state, press.character == 'c' ? 1 : -1, false);
            return true;
        case 's':
        case 'S':
            step_stage(state, press.character == 's' ? 1 : -1);
            return true;
        case 'o':
            state.only_failing = !state.only_failing;
            return true;
        case 'r':
            if (state.report.empty()) ++state.checks;
            return true;
        default:
            return false;
    }
}

std::vector<NamedMatrix> ConformancePage::numbers(const Scene& scene) {
    if (!ready()) return {};
    const ConformanceState& state = scene.state.conformance;
    pictures_.show(shown_case(state), shown_stage(state), scene.state.theme);
    return pictures_.numbers();
}

std::unique_ptr<Page> make_conformance_page() { return std::make_unique<ConformancePage>(); }

}  // namespace locus
