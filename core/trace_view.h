#pragma once
// A trace to read from, wherever it lies: in memory, or in a file whose stages are read one by one when they are asked
// for.  A trace of a whole model takes a gigabyte; what compares two of them looks at one stage of each at a time.
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/trace.h"

namespace locus {

/// What is known of a stage before its values are read.
struct StageHeading {
    std::string name;
    Shape shape;
};

class TraceView {
public:
    /// Without stages.
    TraceView() = default;
    /// The stages of a trace in memory, which must outlive the view; what is added to it later is seen.
    TraceView(const Trace& trace) : trace_(&trace) {}
    /// Stages that lie elsewhere, in this order: `read(n)` makes number n of them, and may be called by several
    /// threads.
    TraceView(std::vector<StageHeading> stages, std::function<Stage(std::size_t n)> read);

    std::vector<std::string> names() const;
    bool has(const std::string& name) const { return shape_of(name) != nullptr; }
    /// nullptr if there is none of that name.
    const Shape* shape_of(const std::string& name) const;
    /// The stage with its values, which a view of a file reads anew each time; nullptr if there is none of that name.
    std::shared_ptr<const Stage> find(const std::string& name) const;
    /// The same; throws Error(usage) that lists what there is.
    std::shared_ptr<const Stage> at(const std::string& name) const;

private:
    /// What stands in a file; the views of one share it.
    struct Elsewhere {
        std::vector<StageHeading> stages;
        std::unordered_map<std::string, std::size_t> numbers;
        std::function<Stage(std::size_t)> read;
    };

    const Trace* trace_ = nullptr;
    std::shared_ptr<const Elsewhere> elsewhere_;
};

}  // namespace locus
