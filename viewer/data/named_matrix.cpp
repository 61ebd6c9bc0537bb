#include "viewer/data/named_matrix.h"

#include <algorithm>

#include "viewer/plots/stage_slice.h"

namespace locus {

namespace {

template <class Scalar>
NamedMatrix make(const std::string& id, const std::string& title, const std::string& stage,
                 const ConstView<Scalar>& values, Scheme scheme) {
    NamedMatrix made;
    made.id = id;
    made.title = title;
    made.stage.name = stage;
    if (const auto known = describe_stage(stage, scheme)) {
        made.stage.formula = known->formula;
        made.stage.source = known->source;
        // One sample and one head of them: the last two axes.
        if (known->axes.size() >= 2) made.stage.axes = {known->axes.end() - 2, known->axes.end()};
    }
    Tensor<Scalar> copy({values.rows(), values.cols()});
    if (values.size() > 0) copy.matrix() = values;
    made.stage.values = std::move(copy);
    return made;
}

}  // namespace

NamedMatrix named_matrix(const std::string& id, const std::string& title, const std::string& stage,
                         const ConstView<float>& values, Scheme scheme) {
    return make<float>(id, title, stage, values, scheme);
}

NamedMatrix named_matrix(const std::string& id, const std::string& title, const std::string& stage,
                         const ConstView<double>& values, Scheme scheme) {
    return make<double>(id, title, stage, values, scheme);
}

NamedMatrix named_slice(const std::string& id, const std::string& title, const Stage& stage, Index sample, Index head) {
    const StageMatrices sheets = matrices_of(stage);
    LOCUS_CHECK(sample >= 0 && sample < sheets.samples && head >= 0 && head < sheets.heads,
                stage.name + " has no sample " + std::to_string(sample) + ", head " + std::to_string(head));
    NamedMatrix made;
    made.id = id;
    made.title = title;
    if (sheets.samples > 1) made.part = "sample " + std::to_string(sample) + (sheets.heads > 1 ? ", " : "");
    if (sheets.heads > 1) made.part += "head " + std::to_string(head);
    made.stage.name = stage.name;
    made.stage.axes = {sheets.row_axis, sheets.col_axis};
    made.stage.formula = stage.formula;
    made.stage.source = stage.source;
    std::visit(
        [&](const auto& tensor) {
            const Index size = sheets.rows * sheets.cols;
            const auto first = tensor.values().begin() + (sample * sheets.heads + head) * size;
            made.stage.values = std::decay_t<decltype(tensor)>({sheets.rows, sheets.cols}, {first, first + size});
        },
        stage.values);
    return made;
}

const NamedMatrix* find_matrix(const std::vector<NamedMatrix>& matrices, const std::string& name) {
    const auto found = std::find_if(matrices.begin(), matrices.end(), [&](const NamedMatrix& matrix) {
        return matrix.id == name || matrix.stage.name == name;
    });
    return found == matrices.end() ? nullptr : &*found;
}

}  // namespace locus
