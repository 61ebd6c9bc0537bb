#include "core/io/classes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/io/input_file.h"
#include "core/json_text.h"

namespace locus {

namespace {

using Logits = RowVector<double>;

Logits probabilities(const Logits& logits, ClassProbability kind) {
    if (kind == ClassProbability::none) return Logits::Constant(logits.size(), std::nan(""));
    if (kind == ClassProbability::sigmoid) return (1 + (-logits.array()).exp()).inverse();
    const Logits weight = (logits.array() - logits.maxCoeff()).exp();
    return weight / weight.sum();
}

/// Sorts one row of logits; name(n) is what number n is called.
template <class Name>
Classes ranked(Classes::Of of, const Logits& logits, ClassProbability kind, Index most, const Name& name) {
    const Logits probability = probabilities(logits, kind);
    std::vector<Index> order(static_cast<std::size_t>(logits.size()));
    std::iota(order.begin(), order.end(), Index(0));
    // Weights may hold NaN, which has no place in an order.
    const auto rank = [&](Index n) {
        return std::isnan(logits[n]) ? -std::numeric_limits<double>::infinity() : logits[n];
    };
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<Index>(most, logits.size()));
    std::partial_sort(order.begin(), end, order.end(),
                      [&](Index a, Index b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a < b; });
    Classes classes{of, -1, {}, logits.size(), logits.hasNaN()};
    for (auto n = order.begin(); n != end; ++n) classes.best.push_back({name(*n), *n, logits[*n], probability[*n]});
    return classes;
}

/// id2label: one name for each of "0", "1", ...
std::map<std::string, std::string> labels_in(const nlohmann::json& said, const std::filesystem::path& file) {
    const std::string expected = "expected one name for each of \"0\", \"1\", ...";
    if (!said.is_object()) throw_unreadable(file, "id2label is " + excerpt(said) + ", " + expected);
    std::map<std::string, std::string> names;
    for (const auto& [number, label] : said.items()) {
        if (!label.is_string() || label.get<std::string>().empty())
            throw_unreadable(file, "id2label calls class " + number + " " + excerpt(label) + ", " + expected);
        std::string name = label.get<std::string>();
        std::replace_if(
            name.begin(), name.end(), [](unsigned char byte) { return byte < 32; }, ' ');
        names[number] = one_line(std::move(name));
    }
    for (std::size_t n = 0; n < names.size(); ++n)
        if (!names.contains(std::to_string(n)))
            throw_unreadable(file, "id2label has " + std::to_string(names.size()) + " names, but none for class " +
                                       std::to_string(n) + ", " + expected);
    return names;
}

ClassProbability probability_of(const nlohmann::json& type, const std::filesystem::path& file) {
    if (type == "single_label_classification") return ClassProbability::softmax;
    if (type == "multi_label_classification") return ClassProbability::sigmoid;
    if (type == "regression") return ClassProbability::none;
    throw_unreadable(file, "problem_type is " + excerpt(type) +
                               ", expected single_label_classification, multi_label_classification or regression");
}

/// What is odd about the number of names, which transformers takes for the number of classes.  A single class is a
/// score, as of multiple choice, whatever is named.
std::string count_warning(const ClassNames& names, const Checkpoint& checkpoint) {
    if (names.names.empty()) return "";
    for (const char* head : {"logits_proj", "classifier.out_proj", "classifier", "qa_outputs"}) {
        const std::string weight = std::string(head) + ".weight";
        const std::optional<Shape> shape = checkpoint.weights->shape(weight);
        if (!shape || shape->empty()) continue;
        const auto classes = static_cast<std::size_t>(shape->front());
        if (classes == names.names.size() || classes == 1) return "";
        return checkpoint.config_file.string() + ": id2label names " + std::to_string(names.names.size()) +
               " classes, but " + weight + " " + to_string(*shape) + " has " + std::to_string(classes) +
               ": names may be beside the wrong class";
    }
    return "";
}

/// The numbers of a stage of float or double.
Logits row_of(const Stage& stage, Index first, Index count, Index step) {
    Logits row(count);
    for (Index n = 0; n < count; ++n) row[n] = stage.at(first + n * step);
    return row;
}

}  // namespace

std::string ClassNames::name(Index number) const {
    const auto known = names.find(std::to_string(number));
    return known != names.end() ? known->second : "class " + std::to_string(number);
}

ClassNames class_names(const Checkpoint& checkpoint) {
    const nlohmann::json config = nlohmann::json::parse(checkpoint.config_json);
    ClassNames names;
    if (const auto said = config.find("id2label"); said != config.end() && !said->is_null())
        names.names = labels_in(*said, checkpoint.config_file);
    const auto problem = config.find("problem_type");
    if (problem != config.end() && !problem->is_null())
        names.probability = probability_of(*problem, checkpoint.config_file);
    names.answers =
        !checkpoint.weights->shape("classifier.weight") && checkpoint.weights->shape("qa_outputs.weight").has_value();
    names.warning = count_warning(names, checkpoint);
    return names;
}

std::vector<Classes> classes_in(const Trace& trace, Index sample, const ClassNames& names,
                                const std::vector<std::string>& tokens, Index most) {
    std::vector<Classes> all;
    const auto class_name = [&](Index number) { return names.name(number); };
    if (const Stage* stage = trace.find("classifier.logits")) {
        const Index count = stage->shape().back();
        const bool score = count == 1 && names.probability == ClassProbability::softmax;
        all.push_back(ranked(Classes::Of::text, row_of(*stage, sample * count, count, 1),
                             score ? ClassProbability::sigmoid : names.probability, most, class_name));
    }
    const Stage* stage = trace.find("classifier.token_logits");
    if (!stage) return all;
    const Index length = stage->shape()[1], count = stage->shape()[2], first = sample * length * count;
    if (names.answers) {
        const auto token_name = [&](Index t) { return tokens[static_cast<std::size_t>(t)]; };
        for (const Classes::Of of : {Classes::Of::begin, Classes::Of::end})
            all.push_back(ranked(of, row_of(*stage, first + (of == Classes::Of::end), length, count),
                                 ClassProbability::softmax, most, token_name));
        return all;
    }
    for (Index t = 0; t < length; ++t) {
        all.push_back(ranked(Classes::Of::token, row_of(*stage, first + t * count, count, 1), names.probability, most,
                             class_name));
        all.back().token = t;
    }
    return all;
}

}  // namespace locus
