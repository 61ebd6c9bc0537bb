#include "core/models/classifier_head.h"

namespace locus {

namespace {

/// [out,in] of a dense layer in the file; nothing where there is none, one without bias, or one that reads rows of
/// another width.
template <class Scalar>
std::optional<Shape> dense_shape(const WeightReader<Scalar>& weights, const std::string& name, Index width) {
    const std::optional<Shape> shape = weights.shape(name + ".weight");
    if (!shape || shape->size() != 2 || (*shape)[1] != width || (*shape)[0] < 1) return std::nullopt;
    return weights.shape(name + ".bias") == Shape{shape->front()} ? shape : std::nullopt;
}

}  // namespace

std::vector<std::string> head_tensors(const WeightSource& weights) {
    std::vector<std::string> found;
    for (const std::string& name : weights.names())
        for (const char* head : {"classifier.", "qa_outputs.", "logits_proj.", "start_logits.", "end_logits.",
                                 "answer_class.", "score."}) {
            if (!name.starts_with(head)) continue;
            if (found.size() == 4) {
                found.push_back("...");
                return found;
            }
            found.push_back(name + " " + to_string(*weights.shape(name)));
        }
    return found;
}

template <class Scalar>
ClassifierHead<Scalar> ClassifierHead<Scalar>::of_text(const PoolerLayout& layout, Index width, Index pooled,
                                                       Index classes) {
    ClassifierHead head;
    head.dense_ = layout.dense;
    head.output_ = layout.output;
    head.width_ = width;
    head.pooled_ = pooled;
    head.classes_ = classes;
    if (layout.token == "first")
        head.token_ = Token::first;
    else if (layout.token == "last")
        head.token_ = Token::last;
    else if (layout.token == "mean")
        head.token_ = Token::mean;
    else
        throw Error(Fault::unsupported, "config.json: " + layout.token_field + " is \"" + layout.token +
                                            "\", expected first, last or mean: the row before " + layout.output);
    if (!layout.activation.empty() && !parse_activation(layout.activation, head.activation_.emplace()))
        throw Error(Fault::unsupported, "config.json: " + layout.activation_field + " is \"" + layout.activation +
                                            "\", expected " + kActivationNames + ": the activation before " +
                                            layout.output);
    return head;
}

template <class Scalar>
std::optional<ClassifierHead<Scalar>> ClassifierHead<Scalar>::find(const WeightReader<Scalar>& weights, Index width,
                                                                   const PoolerLayout& layout) {
    // A whole text: both layers, or the second alone where config.json has no projection before it.
    const bool projects = !layout.dense.empty();
    const std::optional<Shape> dense = projects ? dense_shape(weights, layout.dense, width) : std::nullopt;
    if (dense || !projects) {
        const Index pooled = dense ? dense->front() : width;
        const std::optional<Shape> output = dense_shape(weights, layout.output, pooled);
        if (output) return of_text(layout, width, pooled, output->front());
    }

    // Every token, where no pooler stands before the layer.
    if (projects && weights.has(layout.dense + ".weight")) return std::nullopt;
    for (const char* name : {"classifier", "qa_outputs"}) {
        const std::optional<Shape> shape = dense_shape(weights, name, width);
        if (!shape || shape->front() < 2) continue;  // one class: a layer on rows that were pooled, of multiple choice
        ClassifierHead head;
        head.output_ = name;
        head.width_ = width;
        head.classes_ = shape->front();
        return head;
    }
    return std::nullopt;
}

template <class Scalar>
std::vector<std::string> ClassifierHead<Scalar>::stage_names() const {
    if (token_ == Token::each) return {"classifier.token_logits"};
    return {"classifier.pooled", "classifier.logits"};
}

template <class Scalar>
Matrix<Scalar> ClassifierHead<Scalar>::pool(const Tensor<Scalar>& x, const Operations<Scalar>& compute) const {
    const Index length = x.extent(1);
    // The mean is a context whose probabilities are all 1 / T.
    const Matrix<Scalar> evenly = Matrix<Scalar>::Constant(1, length, Scalar(1) / static_cast<Scalar>(length));
    Matrix<Scalar> rows(x.extent(0), width_);
    for (Index b = 0; b < rows.rows(); ++b) {
        if (token_ == Token::mean)
            rows.row(b) = compute.context(evenly, x.matrix(b));
        else
            rows.row(b) = x.matrix(b).row(token_ == Token::first ? 0 : length - 1);
    }
    return rows;
}

template <class Scalar>
void ClassifierHead<Scalar>::classify(const WeightReader<Scalar>& weights, const Tensor<Scalar>& x,
                                      const std::string& prefix, Trace& trace,
                                      const Operations<Scalar>& compute) const {
    const auto wants = [&](const char* stem) { return trace.wants(prefix + "classifier." + stem); };
    if (token_ == Token::each) {
        if (!wants("token_logits")) return;
        const Matrix<Scalar> logits = compute.dense(x.rows(), weights.dense(output_, classes_, width_));
        trace.add(prefix + "classifier.token_logits", as_tensor<Scalar>({x.extent(0), x.extent(1), classes_}, logits));
        return;
    }
    if (!wants("pooled") && !wants("logits")) return;

    // One row for the whole text: every layer has gathered into it what the classes depend on.
    Matrix<Scalar> pooled = pool(x, compute);
    if (!dense_.empty()) pooled = compute.dense(pooled, weights.dense(dense_, pooled_, width_));
    if (activation_) pooled = compute.activate(pooled, *activation_);
    trace.add(prefix + "classifier.pooled", as_tensor<Scalar>({pooled.rows(), pooled_}, pooled));
    if (!wants("logits")) return;

    const Matrix<Scalar> logits = compute.dense(pooled, weights.dense(output_, classes_, pooled_));
    trace.add(prefix + "classifier.logits", as_tensor<Scalar>({logits.rows(), classes_}, logits));
}

template class ClassifierHead<float>;
template class ClassifierHead<double>;

}  // namespace locus
