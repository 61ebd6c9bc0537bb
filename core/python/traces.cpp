// Traces as Python sees them: NumPy arrays by name.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/attention/softmax.h"
#include "core/io/safetensors.h"
#include "core/products.h"
#include "core/python/module.h"
#include "core/trace.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace locus::python {

namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// The values of a stage, read-only and not copied: the trace lives as long as the array.
nb::object array_of(const nb::handle& owner, const std::string& name) {
    const Stage& stage = nb::cast<const Trace&>(owner).at(name);
    return std::visit(
        [&]<class Scalar>(const Tensor<Scalar>& tensor) {
            const std::vector<std::size_t> shape(tensor.shape().begin(), tensor.shape().end());
            return nb::cast(nb::ndarray<nb::numpy, const Scalar>(tensor.data(), shape.size(), shape.data(), owner));
        },
        stage.values);
}

template <class Scalar>
Tensor<Scalar> copied(const AnyArray& array) {
    Shape shape;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape.push_back(static_cast<Index>(array.shape(axis)));
    const auto* first = static_cast<const Scalar*>(array.data());
    return {std::move(shape), std::vector<Scalar>(first, first + array.size())};
}

/// One stage of float32, float64 or int64 values.
Stage stage_of(const std::string& name, const AnyArray& array) {
    Stage stage;
    stage.name = name;
    if (const auto known = describe_stage(name)) {
        if (known->axes.size() == array.ndim()) stage.axes = known->axes;
        stage.formula = known->formula;
        stage.source = known->source;
    }
    if (array.dtype() == nb::dtype<float>())
        stage.values = copied<float>(array);
    else if (array.dtype() == nb::dtype<double>())
        stage.values = copied<double>(array);
    else if (array.dtype() == nb::dtype<std::int64_t>())
        stage.values = copied<std::int64_t>(array);
    else
        throw Error(Fault::usage, name + ": expected an array of float32, float64 or int64");
    return stage;
}

Trace trace_of(const nb::list& stages) {
    Trace trace;
    for (const nb::handle entry : stages) {
        const auto [name, array] = nb::cast<std::pair<std::string, AnyArray>>(entry);
        trace.add(stage_of(name, array));
    }
    return trace;
}

Scheme scheme_named(const std::string& family) {
    return family == "roformer"     ? Scheme::rotary
           : family == "transfo-xl" ? Scheme::transformer_xl
           : family == "xlnet"      ? Scheme::two_stream
                                    : Scheme::disentangled;
}

/// What is known of a stage by its name: axes, formula, source, meaning; None where no stage has that name.
nb::object described(const std::string& name, const std::string& family) {
    const auto known = describe_stage(name, scheme_named(family));
    if (!known) return nb::none();
    return nb::make_tuple(known->axes, known->formula, known->source, known->meaning);
}

/// left . right, channel by channel: products and partial sums, rounded as every score of Locus is.
template <class Scalar>
nb::tuple replayed_product(const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
    LOCUS_CHECK(left.size() == right.size(), "the vectors have " + std::to_string(left.size()) + " and " +
                                                 std::to_string(right.size()) + " channels, expected the same");
    const TermExplanation<Scalar> term = explain_term<Scalar>(left, right, -1);
    return nb::make_tuple(term.products, term.running);
}

/// From the scores of one query to the probability of key j: what SoftmaxSteps holds.  visible: one number per key.
template <class Scalar>
nb::dict replayed_softmax(const std::vector<Scalar>& scores, const std::vector<int>& visible, Index j) {
    LOCUS_CHECK(visible.size() == scores.size(), "expected as many marks of visible keys as there are scores");
    Mask mask(1, static_cast<Index>(visible.size()));
    for (Index key = 0; key < mask.cols(); ++key) mask(0, key) = visible[static_cast<std::size_t>(key)] != 0;
    const SoftmaxSteps<Scalar> steps = explain_softmax<Scalar>(scores, mask, 0, j);
    nb::dict dict;
    dict["visible"] = steps.visible;
    dict["sees_nothing"] = steps.sees_nothing;
    dict["row_maximum"] = steps.row_maximum;
    dict["row_maximum_key"] = steps.row_maximum_key;
    dict["exponential"] = steps.exponential;
    dict["denominator"] = steps.denominator;
    dict["probability"] = steps.probability;
    return dict;
}

nb::tuple read_trace_file(const std::string& file) {
    std::map<std::string, std::string> stored;
    Trace trace;
    std::vector<std::pair<std::string, std::string>> metadata;
    {
        nb::gil_scoped_release released;
        trace = read_trace(file, &stored);
        metadata = open_safetensors(file).metadata;
    }
    nb::dict words;
    for (const auto& [key, value] : metadata) words[key.c_str()] = value;
    return nb::make_tuple(std::move(trace), stored, words);
}

}  // namespace

void bind_traces(nb::module_& module) {
    nb::class_<Trace>(module, "Trace")
        .def("names", &Trace::names)
        .def("array", [](nb::handle_t<Trace> self, const std::string& name) { return array_of(self, name); })
        .def("describe", [](const Trace& self, const std::string& name) {
            const Stage& stage = self.at(name);
            return nb::make_tuple(stage.axes, stage.formula, stage.source);
        });
    module.def("trace_of", trace_of, "stages"_a);
    module.def("read_trace", read_trace_file, "file"_a);
    module.def("describe", described, "name"_a, "family"_a = "");
    module.def("comes_before", &stage_comes_before, "a"_a, "b"_a);
    module.def(
        "keeps_stage",
        [](const std::string& globs, const std::string& name) {
            return globs.empty() || StageFilter(globs).keeps(name);
        },
        "globs"_a, "name"_a);
    module.def("replayed_product_f32", &replayed_product<float>, "left"_a, "right"_a);
    module.def("replayed_product_f64", &replayed_product<double>, "left"_a, "right"_a);
    module.def("replayed_softmax_f32", &replayed_softmax<float>, "scores"_a, "visible"_a, "key"_a);
    module.def("replayed_softmax_f64", &replayed_softmax<double>, "scores"_a, "visible"_a, "key"_a);
}

}  // namespace locus::python
