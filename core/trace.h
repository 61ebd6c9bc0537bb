#pragma once
// The spine of Locus: a forward pass writes an ordered list of named stages.
// Names, shapes and meanings are a contract with ports, files and pictures; core/stages.cpp holds the table.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
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

/// Which stages to keep.  Patterns are globs with *, ? and classes of characters ([02], [0-3], [!0]); several are
/// separated by commas.
class StageFilter {
public:
    /// Keeps everything.
    StageFilter() = default;
    /// "layer.0.c2?,mlm.*".  Throws Error(usage) if a pattern is empty.
    explicit StageFilter(const std::string& globs);
    /// Keeps these stages; the names may be patterns.
    static StageFilter of(std::vector<std::string> names);
    /// Keeps nothing: a pass whose caller wants no stage.
    static StageFilter none();

    bool keeps(const std::string& name) const;
    /// True if any of the names is kept.
    bool keeps_any(const std::vector<std::string>& names) const;
    /// Patterns that match none of the names, for the sentence that refuses them.
    std::vector<std::string> unmatched(const std::vector<std::string>& names) const;
    /// Throws Error(usage) naming the first pattern that matches none of the names.
    void check_against(const std::vector<std::string>& names) const;

private:
    bool everything_ = true;
    std::vector<std::string> patterns_;
};

/// Ordered stages of one pass, and the filter that says which of them are stored.
///
/// A pass also asks its trace how far it has to run.  It announces every stage that it could write (`expect`), writes
/// them in the order of the model, and asks `complete` after each sublayer: once everything that the filter keeps is
/// there, the rest of the model is not computed.
class Trace {
public:
    Trace() = default;
    explicit Trace(StageFilter filter, Scheme scheme = Scheme::disentangled)
        : filter_(std::move(filter)), scheme_(scheme) {}

    bool wants(const std::string& name) const { return filter_.keeps(name); }
    const StageFilter& filter() const { return filter_; }

    /// Appends a stage if the filter keeps its name; axes, formula and source come from the table in core/stages.cpp.
    /// Nothing is copied for a name that is not kept.  Throws if the name is taken or unknown.
    template <class Scalar>
    void add(const std::string& name, Tensor<Scalar>&& values);
    template <class Scalar>
    void add(const std::string& name, const Tensor<Scalar>& values) {
        if (wants(name)) add(name, Tensor<Scalar>(values));
    }
    /// Appends as it is, e.g. what a file held.
    void add(Stage stage);

    /// Announces all stages that the coming pass can write.  Throws Error(usage) naming the first pattern of the filter
    /// that matches none of them.
    void expect(const std::vector<std::string>& names);
    /// True once every announced stage that the filter keeps has been added.  False where nothing was announced: the
    /// pass then runs to its end, because its caller wants what it returns.
    bool complete() const { return announced_ && awaited_.empty(); }
    /// True if a stage that was announced and is kept, but not added yet, has a name that starts with this.
    bool awaits(const std::string& prefix) const;

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
    std::unordered_map<std::string, std::size_t> numbers_;  // of the stages, by name
    bool announced_ = false;
    std::set<std::string> awaited_;  // announced, kept by the filter, not added yet
};

}  // namespace locus
