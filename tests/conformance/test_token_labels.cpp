// The words around a wrong value: from the model's tokenizer, from the traces' own metadata, or ids.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/conformance/kit/check.h"
#include "core/conformance/kit/export.h"
#include "core/conformance/kit/token_labels.h"
#include "core/conformance/report/place.h"
#include "core/io/safetensors.h"
#include "tests/changed_model.h"
#include "tests/run_program.h"

namespace locus::test::test_token_labels {

using namespace locus::conformance;
using Json = nlohmann::json;

namespace {

const fs::path kModels = fs::path(LOCUS_SOURCE_DIR) / "assets/models";
const std::string kText = "the cat sat on the mat.";

/// A right trace of the text, and one of a port that follows the paper in p2c, by the program.
void record(const fs::path& folder, const std::string& model, const std::vector<std::string>& given) {
    for (const char* dialect : {"reference", "paper"}) {
        std::vector<std::string> arguments = {"--model",   model,
                                              "--dialect", dialect,
                                              "--out",     (folder / (std::string(dialect) + ".safetensors")).string()};
        arguments.insert(arguments.end(), given.begin(), given.end());
        REQUIRE(run("locus-trace", arguments).status == 0);
    }
}

Outcome check(const fs::path& folder, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {(folder / "reference.safetensors").string(),
                                          (folder / "paper.safetensors").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run("locus-check", arguments);
}

/// "b0 h4 q6 'mat' k7 '.'" of a report.
std::string place_in(const std::string& text) {
    const std::size_t begin = text.find("\n  [");
    return begin == std::string::npos ? text : text.substr(begin + 4, text.find("] is off by") - begin - 4);
}

/// The place that JSON names, put into words by its tokens.
std::string place_by(const Json& said) {
    const std::vector<std::size_t> index = said["first"]["index"];
    const auto named = [&](std::size_t at) {
        return std::to_string(at) + " '" + said["tokens"][at].get<std::string>() + "'";
    };
    return "b" + std::to_string(index[0]) + " h" + std::to_string(index[1]) + " q" + named(index[2]) + " k" +
           named(index[3]);
}

/// Both traces again, with this metadata instead of their own.
void rewrite(const fs::path& folder, const std::map<std::string, std::string>& reference,
             const std::map<std::string, std::string>& candidate) {
    write_trace(folder / "reference.safetensors", read_trace(folder / "reference.safetensors"), reference);
    write_trace(folder / "paper.safetensors", read_trace(folder / "paper.safetensors"), candidate);
}

}  // namespace

TEST_CASE("check: the worst cell is named by its words where the model has a tokenizer", "[kit][words][cli]") {
    const TemporaryFolder folder;
    record(folder.path(), "tiny-v3", {"--text", kText, "--stages", "layer.0.*"});
    const Json said = Json::parse(check(folder.path(), {"--model", "tiny-v3", "--json"}).out);
    const std::vector<std::string> tokens = said["tokens"];
    REQUIRE(tokens.size() == 9);
    CHECK(tokens.front() == "[CLS]");
    CHECK(tokens[1] == "the");
    CHECK(tokens[5] == "the");
    CHECK(tokens[7] == ".");
    CHECK(said["first"]["stage"] == "layer.0.p2c");
    CHECK(place_in(check(folder.path(), {"--model", "tiny-v3"}).out) == place_by(said));
}

TEST_CASE("check: a model without a tokenizer, or with a damaged one, has ids and is judged all the same",
          "[kit][words][cli][bad]") {
    const TemporaryFolder folder;
    copy_changed(kModels / "tiny-v3", folder / "model", Json::object());
    fs::remove(folder / "model/spm.model");
    record(folder.path(), (folder / "model").string(), {"--tokens", "1,5,814,2236,2", "--stages", "layer.0.*"});
    const std::vector<std::string> model = {"--model", (folder / "model").string()};
    for (const bool damaged : {false, true}) {
        INFO(damaged);
        if (damaged) write_file(folder / "model/spm.model", "no tokenizer");
        const Outcome text = check(folder.path(), model);
        CHECK(text.status == 1);
        CHECK(place_in(text.out).find('\'') == std::string::npos);
        const Json said = Json::parse(check(folder.path(), {model[0], model[1], "--json"}).out);
        CHECK(said["tokens"] == std::vector<std::string>{"1", "5", "814", "2236", "2"});
        CHECK(said["diagnosis"]["mistake"] == 1);
    }
}

TEST_CASE("check: without a model the metadata of the traces name the tokens", "[kit][words][cli]") {
    const TemporaryFolder folder;
    record(folder.path(), "tiny-v3", {"--tokens", "1,5,814,2236,2", "--stages", "layer.0.*"});
    const auto tokens = [&] { return Json::parse(check(folder.path(), {"--json"}).out)["tokens"]; };
    const std::vector<std::string> ids = {"1", "5", "814", "2236", "2"}, words = {"[CLS]", "the", "ca", "t", "[SEP]"};
    CHECK(tokens() == ids);
    CHECK(place_in(check(folder.path(), {}).out).find('\'') == std::string::npos);
    const std::string pieces = R"([["[CLS]", "▁the", "▁ca", "t", "[SEP]"]])", same = "[[1, 5, 814, 2236, 2]]";
    rewrite(folder.path(), {{"pieces", pieces}}, {});
    CHECK(tokens() == words);
    CHECK(place_in(check(folder.path(), {}).out) == place_by(Json::parse(check(folder.path(), {"--json"}).out)));
    rewrite(folder.path(), {{"tokens", "[[1,5,814,2236,2]]"}}, {{"tokens", same}, {"pieces", pieces}});
    CHECK(tokens() == words);
    // Of a model without a tokenizer they were recorded as numbers, which are no words.
    rewrite(folder.path(), {{"pieces", R"([["1","5","814","2236","2"]])"}}, {});
    CHECK(tokens() == ids);
    CHECK(place_in(check(folder.path(), {}).out).find('\'') == std::string::npos);
    // A candidate that names other ids speaks of another text.
    rewrite(folder.path(), {{"tokens", "[[1,5,814,2236,2]]"}}, {{"tokens", "[[1,5,814,7,2]]"}, {"pieces", pieces}});
    CHECK(tokens() == ids);
    // Not one for each token, and no lists of words: nothing is named, and the traces are judged.
    for (const char* other : {R"([["the","cat"]])", "[5]", "[[1.5]]", "{", "[]", R"([[["the"]]])"}) {
        INFO(other);
        rewrite(folder.path(), {{"pieces", other}}, {});
        CHECK(tokens().empty());
        CHECK(check(folder.path(), {}).status == 1);
    }
}

TEST_CASE("check: no word stands at an axis that is not as long as the text", "[kit][words]") {
    ShownStage shown;
    shown.name = "layer.0.scores";
    shown.expected = shown.found = Tensor<double>({1, 1, 2, 3});
    shown.axes = {"B", "H", "Tq", "Tk"};
    StageVerdict verdict;
    verdict.name = shown.name;
    verdict.worst_index = {0, 0, 1, 2};
    name_tokens(shown, verdict, {}, "", {{{"a", "b\x1b"}}, true});
    CHECK(shown.tokens == std::vector<std::string>{"a", "b\x1b"});
    CHECK(place_in_words(shown, verdict.worst_index) == "[b0 h0 q1 'b?' k2]");
    verdict.worst_index.front() = 1;  // a sample that nobody named
    shown.tokens.clear();
    name_tokens(shown, verdict, {}, "", {{{"a", "b"}}, true});
    CHECK(shown.tokens.empty());
}

TEST_CASE("kit check: a case of a checkpoint with a tokenizer shows words", "[kit][words][for]") {
    const TemporaryFolder folder;
    REQUIRE(run("locus-kit", {"export", (folder / "kit").string(), "--for", (kModels / "tiny-v3").string()}).status ==
            0);
    const Kit kit = open_kit(folder / "kit");
    const auto found = std::find_if(kit.cases.begin(), kit.cases.end(), [](const KitCase& one) {
        return std::find(one.stages.begin(), one.stages.end(), "layer.0.p2c") != one.stages.end();
    });
    REQUIRE(found != kit.cases.end());
    Dump dump;
    const Trace right = reference_of(*found);
    for (const Stage& stage : right.stages()) {
        if (stage.name != "layer.0.p2c") continue;
        Tensor<double> values = widened(stage);
        values[0] += 1 + std::abs(values[0]);
        dump.trace.add(Stage{stage.name, stage.axes, stage.formula, stage.source, values});
    }
    const CaseReport report = check_case(kit, *found, dump, {});
    REQUIRE(report.first);
    CHECK(report.first->in_words);
    REQUIRE(!report.first->tokens.empty());
    CHECK(report.first->tokens.front().find_first_not_of("0123456789") != std::string::npos);
}

}  // namespace locus::test::test_token_labels
