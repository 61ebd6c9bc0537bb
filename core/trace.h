#pragma once
// The spine of Locus: a forward pass returns an ordered list of named stages.
// Names, shapes and meanings are a contract with ports, files and pictures; core/stages.cpp holds the table.
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/stages.h"
#include "core/tensor.h"

namespace locus {

/// Values of one stage: scores are float or double, index tables are 64-bit integers.
using StageValues = std::variant<Tensor<float>, Tensor<double>, IndexTensor>;

/// One named intermediate result.
struct Stage {
    std::string name;               // "layer.0.c2p"
    std::vector<std::string> axes;  // {"B", "H", "Tq", "Tk"}
    std::string formula;            // "q_i . k_r[delta(i,j)]"
    std::string source;             // "He et al. 2021, eq. 4 (b)"
    StageValues values;

    const Shape& shape() const;
    /// "F32", "F64" or "I64", as safetensors spells it.
    const char* dtype() const;
    Index size() const;
    /// One value widened to double, counted row-major.
    double at(Index flat) const;
    /// All values of a float stage as Scalar.  Throws if the stage holds another type.
    template <class Scalar>
    const Tensor<Scalar>& as() const;
};

/// Which stages to keep.  Patterns are globs with * and ?; several are separated by commas.
class StageFilter {
public:
    /// Keeps everything.
    StageFilter() = default;
    /// "layer.0.c2?,mlm.*".  Throws Error(usage) if a pattern is empty.
    explicit StageFilter(const std::string& globs);
    /// Keeps nothing: a pass whose caller wants no stage.
    static StageFilter none();

    bool keeps(const std::string& name) const;
    /// True if any of the names is kept.
    bool keeps_any(const std::vector<std::string>& names) const;
    /// Patterns that match none of the names, for the sentence that refuses them.
    std::vector<std::string> unmatched(const std::vector<std::string>& names) const;

private:
    bool everything_ = true;
    std::vector<std::string> patterns_;
};

/// Ordered stages of one pass, and the filter that says which of them are stored.
class Trace {
public:
    Trace() = default;
    explicit Trace(StageFilter filter, Scheme scheme = Scheme::disentangled)
        : filter_(std::move(filter)), scheme_(scheme) {}

    bool wants(const std::string& name) const { return filter_.keeps(name); }
    const StageFilter& filter() const { return filter_; }

    /// Appends a stage if the filter keeps its name; axes, formula and source come from the table in core/stages.cpp.
    /// Throws if the name is taken or unknown.
    template <class Scalar>
    void add(const std::string& name, Tensor<Scalar> values);
    /// Appends as it is, e.g. what a file held.
    void add(Stage stage);

    const std::vector<Stage>& stages() const { return stages_; }
    /// nullptr if there is none of that name.
    const Stage* find(const std::string& name) const;
    /// Throws Error(usage) that lists what there is.
    const Stage& at(const std::string& name) const;
    std::vector<std::string> names() const;

private:
    StageFilter filter_;
    Scheme scheme_ = Scheme::disentangled;
    std::vector<Stage> stages_;
};

}  // namespace locus
