#pragma once
// Parameters read by name with their shapes checked; what every family reads through.
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/models/layers.h"
#include "core/weights.h"

namespace locus {

/// Names and shapes that a checkpoint must hold, built up piece by piece.
class ExpectedTensors {
public:
    void add(const std::string& name, Shape shape) { tensors_.emplace_back(name, std::move(shape)); }
    void add_dense(const std::string& name, Index out, Index in, bool bias = true);
    void add_norm(const std::string& name, Index width);
    const std::vector<std::pair<std::string, Shape>>& all() const { return tensors_; }

private:
    std::vector<std::pair<std::string, Shape>> tensors_;
};

/// Reads on request, keeps nothing but the notes about odd values.  Safe to use from several threads.
template <class Scalar>
class WeightReader {
public:
    explicit WeightReader(std::shared_ptr<const WeightSource> source) : source_(std::move(source)) {}

    bool has(const std::string& name) const { return shape(name).has_value(); }
    /// Nothing where the file has no such tensor.
    std::optional<Shape> shape(const std::string& name) const { return source_->shape(name); }
    /// Throws Error(unreadable) naming the tensor, its shape and the one expected; reads no values.
    void require(const std::string& name, const Shape& expected) const;
    void require_all(const ExpectedTensors& expected) const;

    /// The whole tensor as [first axis, rest], or as one row.
    Matrix<Scalar> matrix(const std::string& name, const Shape& expected) const;
    RowVector<Scalar> vector(const std::string& name, Index width) const;
    /// name.weight [out,in] and name.bias [out], none where the file has none.
    Dense<Scalar> dense(const std::string& name, Index out, Index in) const;
    /// name.weight and name.bias [width].
    Norm<Scalar> norm(const std::string& name, Index width) const;
    /// Rows of a table, one per id -> [N, width].
    Matrix<Scalar> rows(const std::string& name, const std::vector<std::int64_t>& ids) const;
    /// Rows first ... first + count - 1.
    Matrix<Scalar> block(const std::string& name, Index first, Index count) const;

    /// One sentence per tensor read so far that holds NaN or infinity, and what note() was told.
    std::vector<std::string> warnings() const;
    /// Adds "FILE: <what>" to the warnings, once.
    void note(const std::string& what) const;
    /// Notes layers that the file holds beyond `count`: tensors named prefix + number + ".".
    void note_more_layers(const std::string& prefix, Index count) const;
    /// Notes tensors inside layers, prefix + number + ".", that are not expected there: adapters, or projections that
    /// the configuration does not ask for.
    void note_unread_in_layers(const std::string& prefix,
                               const std::vector<std::pair<std::string, Shape>>& expected) const;
    /// Notes that the file holds `own` with other numbers than `table`, to which config.json ties it: `table` is read,
    /// as by transformers before 5; since 5 it keeps both.  Reads the two until they differ, once; nothing is said
    /// where there is no `own` of that shape.
    void note_if_untied(const std::string& own, const std::string& table) const;
    std::string location() const { return source_->location(); }

private:
    void note_unusual(const std::string& name, const Matrix<Scalar>& values) const;

    std::shared_ptr<const WeightSource> source_;
    mutable std::mutex guard_;
    mutable std::vector<std::string> warnings_;
    mutable std::set<std::string> compared_;  // what note_if_untied has read
};

/// One value per layer, made on first use and then kept; references stay valid.
template <class Layer>
class LazyLayers {
public:
    explicit LazyLayers(Index count) : layers_(static_cast<std::size_t>(count)) {}
    template <class Make>
    const Layer& at(Index layer, Make make) const {
        const std::lock_guard lock(guard_);
        std::unique_ptr<Layer>& kept = layers_.at(static_cast<std::size_t>(layer));
        if (!kept) kept = std::make_unique<Layer>(make(layer));
        return *kept;
    }

private:
    mutable std::mutex guard_;
    mutable std::vector<std::unique_ptr<Layer>> layers_;
};

extern template class WeightReader<float>;
extern template class WeightReader<double>;

}  // namespace locus
