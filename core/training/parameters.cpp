#include "core/training/parameters.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>

#include "core/models/deberta_weights.h"
#include "core/text/text_table.h"

namespace locus {

template <class Scalar>
Parameters<Scalar>::Parameters(const TensorShapes& tensors) {
    Index first = 0;
    for (const auto& [name, shape] : tensors) {
        LOCUS_CHECK(places_.emplace(name, entries_.size()).second, "parameters: " + name + " comes twice");
        entries_.push_back({name, shape, first, element_count(shape)});
        first += entries_.back().size;
    }
    numbers_.setZero(first);
}

template <class Scalar>
Parameters<Scalar> Parameters<Scalar>::zeros() const {
    Parameters same = *this;
    same.numbers_.setZero();
    return same;
}

template <class Scalar>
template <class Other>
Parameters<Other> Parameters<Scalar>::cast() const {
    Parameters<Other> other;
    for (const Entry& one : entries_) other.entries_.push_back({one.name, one.shape, one.first, one.size});
    other.places_ = places_;
    other.numbers_ = numbers_.template cast<Other>();
    return other;
}

template <class Scalar>
const typename Parameters<Scalar>::Entry& Parameters<Scalar>::entry(const std::string& name) const {
    const auto found = places_.find(name);
    LOCUS_CHECK(found != places_.end(), "parameters: there is no " + name);
    return entries_[found->second];
}

template <class Scalar>
typename Parameters<Scalar>::MatrixMap Parameters<Scalar>::matrix(const std::string& name) {
    const Entry& one = entry(name);
    return {numbers_.data() + one.first, one.shape.at(0), one.size / one.shape.at(0)};
}

template <class Scalar>
typename Parameters<Scalar>::ConstMatrixMap Parameters<Scalar>::matrix(const std::string& name) const {
    const Entry& one = entry(name);
    return {numbers_.data() + one.first, one.shape.at(0), one.size / one.shape.at(0)};
}

template <class Scalar>
typename Parameters<Scalar>::RowMap Parameters<Scalar>::row(const std::string& name) {
    const Entry& one = entry(name);
    return {numbers_.data() + one.first, one.size};
}

template <class Scalar>
typename Parameters<Scalar>::ConstRowMap Parameters<Scalar>::row(const std::string& name) const {
    const Entry& one = entry(name);
    return {numbers_.data() + one.first, one.size};
}

namespace {

template <class Scalar>
class ParameterWeights : public WeightSource {
public:
    ParameterWeights(std::shared_ptr<const Parameters<Scalar>> parameters, std::string location)
        : parameters_(std::move(parameters)), location_(std::move(location)) {}

    std::optional<Shape> shape(const std::string& name) const override {
        return parameters_->has(name) ? std::optional(parameters_->entry(name).shape) : std::nullopt;
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> all;
        for (const auto& one : parameters_->entries()) all.push_back(one.name);
        return all;
    }
    std::string location() const override { return location_; }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        return rows_of(name, first, rows).template cast<float>();
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return rows_of(name, first, rows).template cast<double>();
    }

private:
    Matrix<Scalar> rows_of(const std::string& name, Index first, Index rows) const {
        if (!parameters_->has(name)) throw Error(Fault::unreadable, location_ + ": there is no tensor " + name);
        const auto all = parameters_->matrix(name);
        if (first < 0 || rows < 0 || first + rows > all.rows())
            throw Error(Fault::unreadable, location_ + ": rows " + std::to_string(first) + " to " +
                                               std::to_string(first + rows - 1) + " of " + name + ", which has " +
                                               std::to_string(all.rows()));
        return all.middleRows(first, rows);
    }

    std::shared_ptr<const Parameters<Scalar>> parameters_;
    std::string location_;
};

}  // namespace

template <class Scalar>
std::shared_ptr<const WeightSource> weights_of(std::shared_ptr<const Parameters<Scalar>> parameters,
                                               std::string location) {
    return std::make_shared<ParameterWeights<Scalar>>(std::move(parameters), std::move(location));
}

template <class Scalar>
Parameters<Scalar> read_parameters(const TensorShapes& tensors, const WeightSource& weights,
                                   const std::function<std::string(const std::string&)>& stored_name) {
    Parameters<Scalar> parameters(tensors);
    for (const auto& [name, shape] : tensors) {
        const Matrix<Scalar> values = read_matrix<Scalar>(weights, stored_name ? stored_name(name) : name, shape);
        parameters.row(name) = Eigen::Map<const RowVector<Scalar>>(values.data(), values.size());
    }
    return parameters;
}

template class Parameters<float>;
template class Parameters<double>;
template Parameters<double> Parameters<float>::cast<double>() const;
template Parameters<float> Parameters<double>::cast<float>() const;
template std::shared_ptr<const WeightSource> weights_of<float>(std::shared_ptr<const Parameters<float>>, std::string);
template std::shared_ptr<const WeightSource> weights_of<double>(std::shared_ptr<const Parameters<double>>, std::string);
template Parameters<float> read_parameters<float>(const TensorShapes&, const WeightSource&,
                                                  const std::function<std::string(const std::string&)>&);
template Parameters<double> read_parameters<double>(const TensorShapes&, const WeightSource&,
                                                    const std::function<std::string(const std::string&)>&);

TensorShapes masked_language_tensors(const DebertaConfig& config, bool decoder) {
    if (config.version == 1)
        throw Error(Fault::unsupported,
                    "version 1 of DeBERTa can be run but not trained here, expected model_type "
                    "deberta-v2");
    TensorShapes tensors = expected_deberta_tensors(config);
    if (decoder && !config.position_biased_input)
        tensors.push_back({kAbsoluteTable, {config.max_position_embeddings, config.embedding_size}});
    const std::string head = kMaskedWordHead;
    tensors.push_back({head + "dense.weight", {config.embedding_size, config.hidden_size}});
    tensors.push_back({head + "dense.bias", {config.embedding_size}});
    tensors.push_back({head + "LayerNorm.weight", {config.embedding_size}});
    tensors.push_back({head + "LayerNorm.bias", {config.embedding_size}});
    tensors.push_back({head + "bias", {config.vocab_size}});
    return tensors;
}

void check_memory(const DebertaConfig& config, bool decoder, const std::string& file) {
    DebertaConfig shape = config;
    shape.vocab_size = 1;
    double all = 0, most = 0;  // not Index: sizes that nobody has multiply beyond it
    std::string largest;
    for (const auto& [name, extents] : masked_language_tensors(shape, decoder)) {
        double size = 1;
        for (const Index extent : extents) size *= static_cast<double>(extent);
        all += size;
        if (size <= most) continue;
        most = size;
        largest = name + " " + to_string(extents);
    }
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    const double needed = 16 * all / 1e9, room = static_cast<double>(pages) * static_cast<double>(page) / 1e9;
    if (needed <= room || pages <= 0 || page <= 0) return;  // a system need not say what it has
    const auto in_gigabytes = [](double size) { return format_number(std::round(size * 10) / 10) + " GB"; };
    throw Error(Fault::unsupported, file + ": a training of this model takes " + in_gigabytes(needed) +
                                        " of memory, expected at most the " + in_gigabytes(room) +
                                        " of this machine; its largest tensor is " + largest);
}

template <class Scalar>
void initialise(Parameters<Scalar>& parameters, RandomStream& random, double deviation, std::optional<Index> padding) {
    for (const auto& one : parameters.entries()) {
        auto values = parameters.row(one.name);
        if (one.name.ends_with("LayerNorm.weight"))
            values.setOnes();
        else if (one.name.ends_with("bias"))
            values.setZero();
        else
            for (Index n = 0; n < values.size(); ++n) values[n] = Scalar(deviation * random.gaussian());
    }
    if (!padding || !parameters.has(kWordTable)) return;
    auto words = parameters.matrix(kWordTable);
    if (*padding < words.rows()) words.row(*padding).setZero();
}

template void initialise<float>(Parameters<float>&, RandomStream&, double, std::optional<Index>);
template void initialise<double>(Parameters<double>&, RandomStream&, double, std::optional<Index>);

}  // namespace locus
