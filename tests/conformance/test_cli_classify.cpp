// locus classify: classes of a text, of its tokens, and where an answer stands, from models with heads of their own.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/changed_model.h"
#include "tests/run_program.h"

namespace locus::test::test_cli_classify {

using Catch::Contains;
using Json = nlohmann::json;

namespace {

const fs::path kModels = fs::path(LOCUS_SOURCE_DIR) / "assets/models";
const std::string kPair = "a man plays the guitar. [SEP] somebody makes music.";

/// The trained model of a family with a head of classes.
std::string with_head(const fs::path& folder, const std::string& model, Index width, Index classes,
                      const Json& config = Json::object()) {
    copy_changed(kModels / model, folder / model, config,
                 model == "tiny-v3"
                     ? std::vector<std::pair<std::string, Shape>>{{"pooler.dense.weight", {width, width}},
                                                                  {"pooler.dense.bias", {width}},
                                                                  {"classifier.weight", {classes, width}},
                                                                  {"classifier.bias", {classes}}}
                 : model == "tiny-roformer"
                     ? std::vector<std::pair<std::string, Shape>>{{"classifier.dense.weight", {width, width}},
                                                                  {"classifier.dense.bias", {width}},
                                                                  {"classifier.out_proj.weight", {classes, width}},
                                                                  {"classifier.out_proj.bias", {classes}}}
                     : std::vector<std::pair<std::string, Shape>>{{"sequence_summary.summary.weight", {width, width}},
                                                                  {"sequence_summary.summary.bias", {width}},
                                                                  {"logits_proj.weight", {classes, width}},
                                                                  {"logits_proj.bias", {classes}}});
    return (folder / model).string();
}

Json classified(const std::string& model, const std::string& text, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--model", model, text, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run("locus-classify", arguments);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err.empty());
    return Json::parse(outcome.out);
}

/// Logits of a stage as locus trace writes them.
std::vector<double> traced(const std::string& model, const std::string& text, const std::string& stage) {
    const TemporaryFolder folder;
    const std::string file = (folder / "trace.safetensors").string();
    REQUIRE(run("locus-trace", {"--model", model, "--text", text, "--stages", stage, "--out", file}).status == 0);
    const Tensor<float> values = read_tensor<float>(*open_safetensors(file).find(stage));
    return {values.values().begin(), values.values().end()};
}

double sum_of(const Json& classes) {
    return std::accumulate(classes.begin(), classes.end(), 0.0,
                           [](double sum, const Json& one) { return sum + one["probability"].get<double>(); });
}

}  // namespace

TEST_CASE("classify: a pair of texts, its classes by their names, in every family", "[cli]") {
    const TemporaryFolder folder;
    const Json names = {{"id2label", {{"0", "entailment"}, {"1", "neutral"}, {"2", "contradiction"}}}};
    for (const auto& [name, width] :
         std::vector<std::pair<std::string, Index>>{{"tiny-v3", 192}, {"tiny-roformer", 128}, {"tiny-xlnet", 128}}) {
        INFO(name);
        const std::string model = with_head(folder.path(), name, width, 3, names);
        const Json classes = classified(model, kPair)["classes"];
        REQUIRE(classes.size() == 3);
        CHECK(std::abs(sum_of(classes) - 1) <= 1e-12);
        CHECK(classes[0]["probability"] >= classes[1]["probability"]);
        CHECK(classes[1]["probability"] >= classes[2]["probability"]);
        const std::vector<double> logits = traced(model, kPair, "classifier.logits");
        for (const Json& one : classes) {
            const auto id = one["id"].get<std::size_t>();
            CHECK(one["logit"] == logits.at(id));
            CHECK(one["name"] == names["id2label"][std::to_string(id)]);
        }
        // The two texts are not the one that they would be without the separator.
        const std::string one = "a man plays the guitar. somebody makes music.";
        const Json of_one = classified(model, one)["classes"];
        CHECK(of_one != classes);
        const std::vector<double> logits_of_one = traced(model, one, "classifier.logits");
        for (const Json& each : of_one) CHECK(each["logit"] == logits_of_one.at(each["id"].get<std::size_t>()));
        CHECK(classified(model, kPair, {"--top", "1"})["classes"].size() == 1);
        const Outcome table = run("locus-classify", {"--model", model, kPair});
        CHECK_THAT(table.out, Contains("probability\n  " + classes[0]["name"].get<std::string>()));
        CHECK_THAT(table.out, Contains("\u2588"));
    }
}

TEST_CASE("classify: an XLNet that was fine-tuned reads a single text with token types", "[cli]") {
    const TemporaryFolder folder;
    const auto status = [](const std::string& model) {
        return run("locus-trace", {"--model", model, "--text", "a store", "--stages", "layer.0.ef"}).status;
    };
    CHECK(status(with_head(folder.path(), "tiny-xlnet", 128, 3)) == 0);
    CHECK(status("tiny-xlnet") == 2);  // without types there is no ef
}

TEST_CASE("classify: several labels, one score and a regression are no softmax", "[cli]") {
    const TemporaryFolder folder;
    const auto at = [&](const std::string& name, Index classes, const Json& config) {
        fs::create_directory(folder / name);
        return classified(with_head(folder / name, "tiny-v3", 192, classes, config), kPair)["classes"];
    };
    const auto check_sigmoids = [](const Json& classes) {
        for (const Json& one : classes)
            CHECK(std::abs(one["probability"].get<double>() - 1 / (1 + std::exp(-one["logit"].get<double>()))) <=
                  1e-12);
    };
    const Json labels = at("several", 3, {{"problem_type", "multi_label_classification"}});
    REQUIRE(labels.size() == 3);
    check_sigmoids(labels);
    CHECK(std::abs(sum_of(labels) - 1) > 1e-3);
    CHECK(labels[0]["name"].get<std::string>().starts_with("class "));  // no id2label
    const Json score = at("score", 1, Json::object());
    REQUIRE(score.size() == 1);
    check_sigmoids(score);
    const Json regression = at("regression", 1, {{"problem_type", "regression"}});
    CHECK(regression[0]["probability"].is_null());
    CHECK(regression[0]["logit"] == score[0]["logit"]);
}

TEST_CASE("classify: classes of tokens, and where an answer begins and ends", "[cli]") {
    const TemporaryFolder folder;
    copy_changed(kModels / "tiny-v3", folder / "tokens", {{"id2label", {{"0", "O"}, {"1", "PER"}, {"2", "LOC"}}}},
                 {{"classifier.weight", {3, 192}}, {"classifier.bias", {3}}});
    const std::string of_tokens = (folder / "tokens").string(), text = "the capital of france";
    const Json tokens = classified(of_tokens, text)["tokens"];
    REQUIRE(tokens.size() == 6);
    CHECK(tokens[2]["piece"] == "capital");
    CHECK(tokens[5]["position"] == 5);
    const std::vector<double> logits = traced(of_tokens, text, "classifier.token_logits");
    for (std::size_t t = 0; t < 6; ++t)
        for (const Json& one : tokens[t]["classes"])
            CHECK(one["logit"] == logits.at(3 * t + one["id"].get<std::size_t>()));
    CHECK_THAT(run("locus-classify", {"--model", of_tokens, text}).out, Contains("  capital "));

    copy_changed(kModels / "tiny-v3", folder / "answers", Json::object(),
                 {{"qa_outputs.weight", {2, 192}}, {"qa_outputs.bias", {2}}});
    const std::string of_answers = (folder / "answers").string();
    const std::string question = "who went? [SEP] tom went home";
    const Json ends = classified(of_answers, question);
    const std::vector<double> both = traced(of_answers, question, "classifier.token_logits");
    for (const auto& [name, column] : std::vector<std::pair<const char*, std::size_t>>{{"begins", 0}, {"ends", 1}}) {
        REQUIRE(ends[name].size() == 5);
        double previous = 1e9;
        for (const Json& one : ends[name]) {
            CHECK(one["logit"] == both.at(2 * one["id"].get<std::size_t>() + column));
            CHECK(one["logit"] <= previous);
            previous = one["logit"];
        }
    }
    const Json every = classified(of_answers, question, {"--top", "100"});
    CHECK(std::abs(sum_of(every["begins"]) - 1) <= 1e-12);
    CHECK_THAT(run("locus-classify", {"--model", of_answers, question}).out,
               Contains("the answer begins at\n") && Contains("the answer ends at\n"));
}

TEST_CASE("classify: lines of a file say what each says alone, in every family", "[cli]") {
    for (const auto& [name, width] :
         std::vector<std::pair<std::string, Index>>{{"tiny-v3", 192}, {"tiny-roformer", 128}, {"tiny-xlnet", 128}}) {
        INFO(name);
        const TemporaryFolder folder;
        const std::string model = with_head(folder.path(), name, width, 3);
        write_file(folder / "lines.txt", kPair + "\n\nthe capital of france is paris.\n");
        const Outcome outcome =
            run("locus-classify", {"--model", model, "--text-file", (folder / "lines.txt").string(), "--json"});
        REQUIRE(outcome.status == 0);
        const Json lines = Json::parse(outcome.out)["lines"];
        REQUIRE(lines.size() == 2);
        CHECK(lines[1]["line"] == 3);
        const std::vector<std::string> texts = {kPair, "the capital of france is paris."};
        for (std::size_t n = 0; n < 2; ++n) {
            const Json alone = classified(model, texts[n])["classes"];
            REQUIRE(lines[n]["classes"].size() == alone.size());
            for (std::size_t c = 0; c < alone.size(); ++c) {
                CHECK(lines[n]["classes"][c]["name"] == alone[c]["name"]);
                CHECK(std::abs(lines[n]["classes"][c]["logit"].get<double>() - alone[c]["logit"].get<double>()) <=
                      1e-5);
            }
        }
        const Outcome table = run("locus-classify", {"--model", model, "--text-file", (folder / "lines.txt").string()});
        CHECK_THAT(table.out, Contains("line 1: a man plays") && Contains("line 3: the capital"));
    }
}

TEST_CASE("classify: what cannot be classified is said in one sentence", "[cli]") {
    const TemporaryFolder folder;
    const auto refused = [](const std::vector<std::string>& arguments, int status, const std::string& words) {
        const Outcome outcome = run("locus-classify", arguments);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, Contains(words));
    };
    refused({"--model", "tiny-v3", "a store"}, 4, "no head of classes, expected classifier.* or qa_outputs.*");
    refused({"--model", "tiny-txl", "a store"}, 4, "no head of classes");
    copy_changed(kModels / "tiny-v3", folder / "wide", Json::object(), {{"classifier.weight", {3, 20}}});
    refused(
        {"--model", (folder / "wide").string(), "a store"}, 4,
        "a weight [classes,width] and a bias [classes], of two classes or more; found classifier.weight [3, 20]; locus "
        "fill");
    const auto traced = [](const std::string& model) {
        const Outcome outcome = run("locus-trace", {"--model", model, "--tokens", "1,6,2", "--stages", "layer.0.q"});
        CHECK(outcome.status == 0);
        return outcome.err;
    };
    CHECK_THAT(traced((folder / "wide").string()), Contains("classifier.weight [3, 20]: no stage shows this head"));
    CHECK(traced("tiny-v3").empty());
    refused({"--model", "tiny-v3"}, 2, "neither a text nor --text-file");
    const std::string xlnet = with_head(folder.path(), "tiny-xlnet", 128, 2);
    write_file(folder / "lines.txt", " \n\n");
    refused({"--model", xlnet, "--text-file", (folder / "lines.txt").string()}, 3, "no line with a word");
    refused({"--model", xlnet, " "}, 2, "the text is empty");
    // Names for another number of classes.
    fs::create_directory(folder / "named");
    const Json names = {{"id2label", {{"0", "yes"}, {"1", "no"}, {"2", "perhaps"}}}};
    const Outcome named =
        run("locus-classify", {"--model", with_head(folder / "named", "tiny-v3", 192, 2, names), "a"});
    CHECK(named.status == 0);
    CHECK_THAT(named.err, Contains("id2label names 3 classes, but classifier.weight [2, 192] has 2"));
    // Weights that hold NaN rank nothing.
    fs::create_directory(folder / "nan");
    const std::string model = with_head(folder / "nan", "tiny-v3", 192, 2);
    {
        std::fstream weights(model + "/model.safetensors", std::ios::binary | std::ios::in | std::ios::out);
        weights.seekp(-4, std::ios::end);  // the last number of the last tensor: a bias
        weights.write("\0\0\xc0\x7f", 4);
    }
    const Outcome outcome = run("locus-classify", {"--model", model, "a store", "--top", "1"});
    CHECK(outcome.status == 3);
    CHECK_THAT(outcome.err, Contains("the logits of the classes hold NaN"));
}

}  // namespace locus::test::test_cli_classify
