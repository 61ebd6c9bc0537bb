#include "core/trace_view.h"

#include <utility>

namespace locus {

TraceView::TraceView(std::vector<StageHeading> stages, std::function<Stage(std::size_t n)> read) {
    auto elsewhere = std::make_shared<Elsewhere>();
    elsewhere->stages = std::move(stages);
    elsewhere->read = std::move(read);
    for (std::size_t n = 0; n < elsewhere->stages.size(); ++n) {
        const std::string& name = elsewhere->stages[n].name;
        LOCUS_CHECK(elsewhere->numbers.emplace(name, n).second, "trace: stage " + name + " is there already");
    }
    elsewhere_ = std::move(elsewhere);
}

std::vector<std::string> TraceView::names() const {
    if (trace_) return trace_->names();
    std::vector<std::string> names;
    if (elsewhere_)
        for (const StageHeading& stage : elsewhere_->stages) names.push_back(stage.name);
    return names;
}

const Shape* TraceView::shape_of(const std::string& name) const {
    if (trace_) {
        const Stage* stage = trace_->find(name);
        return stage ? &stage->shape() : nullptr;
    }
    if (!elsewhere_) return nullptr;
    const auto number = elsewhere_->numbers.find(name);
    return number == elsewhere_->numbers.end() ? nullptr : &elsewhere_->stages[number->second].shape;
}

std::shared_ptr<const Stage> TraceView::find(const std::string& name) const {
    if (trace_) return {std::shared_ptr<const void>(), trace_->find(name)};  // the trace keeps it
    if (!elsewhere_) return nullptr;
    const auto number = elsewhere_->numbers.find(name);
    if (number == elsewhere_->numbers.end()) return nullptr;
    return std::make_shared<const Stage>(elsewhere_->read(number->second));
}

std::shared_ptr<const Stage> TraceView::at(const std::string& name) const {
    if (std::shared_ptr<const Stage> stage = find(name)) return stage;
    std::string known;
    for (const std::string& other : names()) known += (known.empty() ? "" : ", ") + other;
    throw Error(Fault::usage, "trace: no stage " + name + "; there is " + (known.empty() ? "none" : known));
}

}  // namespace locus
