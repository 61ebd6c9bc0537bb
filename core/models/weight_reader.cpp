#include "core/models/weight_reader.h"

#include <algorithm>
#include <set>

namespace locus {

template <class Scalar>
void WeightReader<Scalar>::require(const std::string& name, const Shape& expected) const {
    const auto found = source_->shape(name);
    if (found && *found == expected) return;
    std::string behind_prefix;
    if (!found)
        for (const std::string& other : source_->names())
            if (other.ends_with("." + name))
                behind_prefix = "; it holds " + other + ", whose prefix is not one that is taken off";
    throw Error(Fault::unreadable, location() + ": tensor " + name +
                                       (found ? " has shape " + to_string(*found) : " is missing") + ", expected " +
                                       (found ? "" : "one of shape ") + to_string(expected) + behind_prefix);
}

template <class Scalar>
void WeightReader<Scalar>::require_all(const ExpectedTensors& expected) const {
    for (const auto& [name, shape] : expected.all()) require(name, shape);
}

template <class Scalar>
void WeightReader<Scalar>::note_unusual(const std::string& name, const Matrix<Scalar>& values) const {
    // 0 times what is no finite number is NaN; Eigen's allFinite looks at one value at a time, nine times as slow.
    const bool all_finite = (values.array() * Scalar(0)).sum() == 0;
    if (!all_finite) note("weight " + name + " holds NaN or infinity, and so will what is computed from it");
}

template <class Scalar>
void WeightReader<Scalar>::note_more_layers(const std::string& prefix, Index count) const {
    const std::string next = prefix + std::to_string(count) + ".";
    for (const std::string& name : source_->names())
        if (name.starts_with(next))
            return note("holds " + name + ", but config.json counts " + std::to_string(count) +
                        (count == 1 ? " layer" : " layers") + ": what lies beyond is not computed");
}

template <class Scalar>
void WeightReader<Scalar>::note_unread_in_layers(const std::string& prefix,
                                                 const std::vector<std::pair<std::string, Shape>>& expected) const {
    std::set<std::string> layers, names;  // "encoder.layer.0."; a layer beyond the last one is note_more_layers' matter
    const auto layer_of = [&](const std::string& name) {
        return name.starts_with(prefix) ? name.substr(0, name.find('.', prefix.size()) + 1) : "";
    };
    for (const auto& [name, shape] : expected) {
        names.insert(name);
        layers.insert(layer_of(name));
    }
    layers.erase("");
    std::vector<std::string> unread;
    for (const std::string& name : source_->names())
        if (layers.contains(layer_of(name)) && !names.contains(name)) unread.push_back(name);
    if (unread.empty()) return;
    note("holds " + std::to_string(unread.size()) + (unread.size() == 1 ? " tensor" : " tensors") +
         " inside its layers that no part of this model reads, such as " +
         *std::min_element(unread.begin(), unread.end()) + ": what they change is not computed");
}

template <class Scalar>
void WeightReader<Scalar>::note_if_untied(const std::string& own, const std::string& table) const {
    const auto found = shape(own), expected = shape(table);
    if (!found || found != expected || found->empty()) return;
    {
        const std::lock_guard lock(guard_);
        if (!compared_.insert(own).second) return;
    }
    // A block of rows at a time: a word table may take gigabytes.
    constexpr Index kRows = 4096;
    for (Index first = 0; first < found->at(0); first += kRows) {
        const Index count = std::min(kRows, found->at(0) - first);
        const Matrix<Scalar> here = read_rows<Scalar>(*source_, own, first, count),
                             there = read_rows<Scalar>(*source_, table, first, count);
        const auto both_nan = here.array() != here.array() && there.array() != there.array();
        if ((here.array() == there.array() || both_nan).all()) continue;
        return note("config.json ties " + own + " to " + table + ", but the file holds other numbers for it: " + table +
                    " is read for both, as transformers did before version 5, which keeps the two apart");
    }
}

template <class Scalar>
void WeightReader<Scalar>::note(const std::string& what) const {
    const std::string sentence = location() + ": " + what;
    const std::lock_guard lock(guard_);
    if (std::find(warnings_.begin(), warnings_.end(), sentence) == warnings_.end()) warnings_.push_back(sentence);
}

template <class Scalar>
Matrix<Scalar> WeightReader<Scalar>::matrix(const std::string& name, const Shape& expected) const {
    Matrix<Scalar> values = read_matrix<Scalar>(*source_, name, expected);
    note_unusual(name, values);
    return values;
}

template <class Scalar>
RowVector<Scalar> WeightReader<Scalar>::vector(const std::string& name, Index width) const {
    return matrix(name, {width});
}

template <class Scalar>
Dense<Scalar> WeightReader<Scalar>::dense(const std::string& name, Index out, Index in) const {
    Dense<Scalar> layer{matrix(name + ".weight", {out, in}), {}};
    if (has(name + ".bias")) layer.bias = vector(name + ".bias", out);
    return layer;
}

template <class Scalar>
Norm<Scalar> WeightReader<Scalar>::norm(const std::string& name, Index width) const {
    return {vector(name + ".weight", width), vector(name + ".bias", width)};
}

template <class Scalar>
Matrix<Scalar> WeightReader<Scalar>::rows(const std::string& name, const std::vector<std::int64_t>& ids) const {
    const Shape shape = source_->shape(name).value_or(Shape{0, 0});
    Matrix<Scalar> rows(static_cast<Index>(ids.size()), element_count(shape) / std::max<Index>(1, shape.at(0)));
    for (std::size_t n = 0; n < ids.size(); ++n)
        rows.row(static_cast<Index>(n)) = read_rows<Scalar>(*source_, name, ids[n], 1);
    note_unusual(name, rows);
    return rows;
}

template <class Scalar>
Matrix<Scalar> WeightReader<Scalar>::block(const std::string& name, Index first, Index count) const {
    Matrix<Scalar> values = read_rows<Scalar>(*source_, name, first, count);
    note_unusual(name, values);
    return values;
}

template <class Scalar>
std::vector<std::string> WeightReader<Scalar>::warnings() const {
    const std::lock_guard lock(guard_);
    return warnings_;
}

void ExpectedTensors::add_dense(const std::string& name, Index out, Index in, bool bias) {
    add(name + ".weight", {out, in});
    if (bias) add(name + ".bias", {out});
}

void ExpectedTensors::add_norm(const std::string& name, Index width) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
}

template class WeightReader<float>;
template class WeightReader<double>;

}  // namespace locus
