// Logits of a fine-tuned head: names, order and probabilities.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/io/classes.h"
#include "tests/files.h"

namespace locus::test::test_classes {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A checkpoint of a configuration and of tensors that have names alone.
class NamedWeights : public WeightSource {
public:
    explicit NamedWeights(std::vector<std::string> names) : names_(std::move(names)) {}
    std::optional<Shape> shape(const std::string& name) const override {
        if (std::find(names_.begin(), names_.end(), name) == names_.end()) return std::nullopt;
        return Shape{2, 4};
    }
    std::vector<std::string> names() const override { return names_; }
    std::string location() const override { return "named"; }
    Matrix<float> rows_f32(const std::string&, Index, Index) const override { return {}; }
    Matrix<double> rows_f64(const std::string&, Index, Index) const override { return {}; }

private:
    std::vector<std::string> names_;
};

ClassNames names_of(const std::string& config, const std::vector<std::string>& weights = {"classifier.weight"}) {
    Checkpoint checkpoint;
    checkpoint.config_json = config;
    checkpoint.weights = std::make_shared<NamedWeights>(weights);
    return class_names(checkpoint);
}

Trace trace_of(const std::string& stage, const Shape& shape, const std::vector<float>& values) {
    Trace trace;
    trace.add(stage, Tensor<float>(shape, values));
    return trace;
}

std::vector<std::string> ranked(const Classes& classes) {
    std::vector<std::string> names;
    for (const ClassScore& one : classes.best) names.push_back(one.name);
    return names;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("classes: names are id2label's, on one line, and numbers where it says nothing", "[classes]") {
    const ClassNames names = names_of(R"({"id2label": {"0": "entailment", "1": "two\nlines", "2": "a\u009bb\u007f"}})");
    CHECK(names.name(0) == "entailment");
    CHECK(names.name(1) == "two lines");
    CHECK(names.name(2) == "a?b?");
    CHECK(names.name(3) == "class 3");
    CHECK(names.probability == ClassProbability::softmax);
    CHECK(names_of(R"({"id2label": null})").name(0) == "class 0");
    CHECK(names_of(R"({"problem_type": "single_label_classification"})").probability == ClassProbability::softmax);
    CHECK(names_of(R"({"problem_type": "multi_label_classification"})").probability == ClassProbability::sigmoid);
    CHECK(names_of(R"({"problem_type": "regression"})").probability == ClassProbability::none);
    CHECK(names_of(R"({"problem_type": null})").probability == ClassProbability::softmax);
    CHECK(names_of("{}", {"qa_outputs.weight"}).answers);
    CHECK(!names_of("{}", {"qa_outputs.weight", "classifier.weight"}).answers);
}

TEST_CASE("classes: more or fewer names than classes are said", "[classes]") {
    const std::string three = R"({"id2label": {"0": "a", "1": "b", "2": "c"}})";
    CHECK_THAT(names_of(three).warning,
               Catch::Contains(": id2label names 3 classes, but classifier.weight [2, 4] has 2"));
    CHECK_THAT(names_of(three, {"logits_proj.weight"}).warning, Catch::Contains("but logits_proj.weight [2, 4] has 2"));
    CHECK(names_of(three, {"pooler.dense.weight"}).warning.empty());
    CHECK(names_of(R"({"id2label": {"0": "a", "1": "b"}})").warning.empty());
    CHECK(names_of("{}").warning.empty());
}

TEST_CASE("classes: what config.json says otherwise than transformers would is refused by name", "[classes]") {
    for (const auto& [config, sentence] : std::vector<std::pair<std::string, std::string>>{
             {R"({"id2label": ["a", "b"]})", "id2label is [\"a\",\"b\"], expected one name for each"},
             {R"({"id2label": {"0": "a", "1": 7}})", "id2label calls class 1 7, expected one name for each"},
             {R"({"id2label": {"0": "a", "1": ""}})", "id2label calls class 1 \"\", expected one name for each"},
             {R"({"id2label": {"1": "a", "2": "b"}})", "id2label has 2 names, but none for class 0"},
             {R"({"id2label": {"0": "a", "01": "b"}})", "id2label has 2 names, but none for class 1"},
             {R"({"problem_type": "multi_label"})", "problem_type is \"multi_label\", expected single_label"},
             {R"({"problem_type": 3})", "problem_type is 3, expected single_label"}})
        CHECK_THAT(refusal([&, text = config] { names_of(text); }), Catch::Contains(sentence));
}

TEST_CASE("classes: a text's classes by softmax, sigmoid or none, the likeliest first", "[classes]") {
    const Trace trace = trace_of("classifier.logits", {2, 3}, {9, 9, 9, 0, 2, -1});
    ClassNames names = names_of(R"({"id2label": {"0": "a", "1": "b", "2": "c"}})");
    const std::vector<Classes> all = classes_in(trace, 1, names, {}, 10);
    REQUIRE(all.size() == 1);
    CHECK(all[0].of == Classes::Of::text);
    CHECK(all[0].count == 3);
    CHECK(ranked(all[0]) == Strings{"b", "a", "c"});
    CHECK(all[0].best[0].number == 1);
    CHECK(all[0].best[0].logit == 2);
    const double sum = std::exp(0) + std::exp(2) + std::exp(-1);
    CHECK(std::abs(all[0].best[0].probability - std::exp(2) / sum) <= 1e-15);
    CHECK(ranked(classes_in(trace, 1, names, {}, 2)[0]) == Strings{"b", "a"});
    names.probability = ClassProbability::sigmoid;
    CHECK(std::abs(classes_in(trace, 1, names, {}, 1)[0].best[0].probability - 1 / (1 + std::exp(-2.0))) <= 1e-15);
    names.probability = ClassProbability::none;
    CHECK(std::isnan(classes_in(trace, 1, names, {}, 1)[0].best[0].probability));
    // One score alone is a sigmoid, for a softmax of one number says nothing.
    const std::vector<Classes> score =
        classes_in(trace_of("classifier.logits", {1, 1}, {-3}), 0, names_of("{}"), {}, 5);
    CHECK(std::abs(score[0].best[0].probability - 1 / (1 + std::exp(3.0))) <= 1e-15);
    CHECK(classes_in(Trace(), 0, names, {}, 5).empty());
}

TEST_CASE("classes: of each token, and of the ends of an answer", "[classes]") {
    const Trace trace = trace_of("classifier.token_logits", {1, 3, 2}, {0, 5, 2, 1, -1, 7});
    const std::vector<Classes> tokens = classes_in(trace, 0, names_of("{}"), {"x", "y", "z"}, 1);
    REQUIRE(tokens.size() == 3);
    for (Index t = 0; t < 3; ++t) CHECK(tokens[static_cast<std::size_t>(t)].token == t);
    CHECK(ranked(tokens[0]) == Strings{"class 1"});
    CHECK(ranked(tokens[1]) == Strings{"class 0"});
    CHECK(tokens[2].best[0].logit == 7);
    const std::vector<Classes> ends = classes_in(trace, 0, names_of("{}", {"qa_outputs.weight"}), {"x", "y", "z"}, 9);
    REQUIRE(ends.size() == 2);
    CHECK(ends[0].of == Classes::Of::begin);
    CHECK(ends[1].of == Classes::Of::end);
    CHECK(ranked(ends[0]) == Strings{"y", "x", "z"});
    CHECK(ranked(ends[1]) == Strings{"z", "x", "y"});
    CHECK(ends[1].best[0].number == 2);
}

TEST_CASE("classes: a logit that is NaN comes last and is told", "[classes]") {
    const Trace trace = trace_of("classifier.logits", {1, 3}, {kNan, -4, 6});
    const Classes classes = classes_in(trace, 0, names_of("{}"), {}, 3)[0];
    CHECK(classes.holds_nan);
    CHECK(ranked(classes) == Strings{"class 2", "class 1", "class 0"});
    CHECK(!classes_in(trace_of("classifier.logits", {1, 2}, {1, 2}), 0, names_of("{}"), {}, 3)[0].holds_nan);
}

}  // namespace locus::test::test_classes
