// What the Compare page calls the tokens of a dump, and what a picture of it ends with where there is nothing to see.
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "tests/viewer/run_view.h"
#include "viewer/data/deberta_session.h"
#include "viewer/state/state.h"

namespace locus::test::test_compare_words {

using Json = nlohmann::json;
using Words = std::vector<std::vector<std::string>>;

namespace {

const std::string kText = "the cat sat on the mat.";
constexpr Index kLength = 9;
const std::string kIds = "[[1,5,814,2236,52,5,1812,4,2]]";  // of that text
const Words kWords = {{"[CLS]", "the", "cat", "sat", "on", "the", "mat", ".", "[SEP]"}};

/// Scores of the text's length, the last of which differs, with this metadata.
std::string dump(const fs::path& file, double last, const std::map<std::string, std::string>& metadata) {
    Trace trace;
    Tensor<float> values({1, 6, kLength, kLength});
    values[values.size() - 1] = static_cast<float>(last);
    trace.add("layer.0.scores", std::move(values));
    write_trace(file, trace, metadata);
    return file.string();
}

CompareAnswer compared(const CompareSide& a, const CompareSide& b) {
    static const DebertaSession session("tiny-v3");
    Request request;
    request.text = kText;
    request.compare = CompareRequest{a, b, "layer.0.scores", false};
    const auto answer = session.answer(request);
    REQUIRE(answer->error.empty());
    REQUIRE(answer->compare.error.empty());
    return answer->compare;
}

/// Plays a script of the program on the Compare page that asserts these texts.
void sees(const TemporaryFolder& folder, std::vector<std::string> arguments, const std::vector<std::string>& texts,
          const std::string& not_seen) {
    Json actions = Json::array({{{"wait", "settled"}}});
    for (const std::string& text : texts) actions.push_back({{"assert", {{"text", text}}}});
    actions.push_back({{"assert", {{"no_text", not_seen}}}});
    write_file(folder / "script.json", Json{{"size", {1280, 800}}, {"actions", actions}}.dump());
    arguments.insert(arguments.end(), {"--script", (folder / "script.json").string()});
    const Outcome outcome = view(arguments);
    INFO(outcome.out + outcome.err);
    CHECK(outcome.status == 0);
}

}  // namespace

TEST_CASE("compare: ids of a dump are words where the model that made them is open", "[viewer][compare]") {
    const TemporaryFolder folder;
    const auto words_of = [&](const std::map<std::string, std::string>& metadata) {
        const std::string file = dump(folder / "a.safetensors", 1, metadata);
        fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(metadata.size()));
        const std::string other = dump(folder / "b.safetensors", 2, {});
        const CompareAnswer answer = compared({file}, {other});
        CHECK(answer.tokens_in_words == (answer.tokens == kWords));
        return answer.tokens;
    };
    const Words ids = {{"1", "5", "814", "2236", "52", "5", "1812", "4", "2"}};
    CHECK(words_of({{"tokens", kIds}, {"model", "tiny-v3"}}) == kWords);
    // Of a model that is not open, or that nobody names, ids are not made into words of another vocabulary.
    CHECK(words_of({{"tokens", kIds}, {"model", "tiny-xlnet"}, {"x", "1"}}) == ids);
    CHECK(words_of({{"tokens", kIds}, {"model", "/no/such/model"}, {"x", "1"}, {"y", "1"}}) == ids);
    CHECK(words_of({{"tokens", kIds}}) == ids);
    const std::string pieces = R"([["[CLS]","▁the","▁cat","▁sat","▁on","▁the","▁mat",".","[SEP]"]])";
    CHECK(words_of({{"pieces", pieces}, {"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}}) == kWords);
    // Held against a pass of the open model, a dump that names no model is of that one.
    const CompareAnswer beside = compared({}, {dump(folder / "port.safetensors", 1, {{"tokens", kIds}})});
    CHECK(beside.tokens == kWords);
    CHECK(beside.words_a == kWords.front());
}

TEST_CASE("compare: the page shows words of two dumps, of a dump beside a pass, and of a report",
          "[viewer][compare][screens]") {
    if (!has_virtual_display()) return;
    const TemporaryFolder folder;
    const std::string right = dump(folder / "right.safetensors", 1, {{"tokens", kIds}, {"model", "tiny-v3"}}),
                      port = dump(folder / "port.safetensors", 9, {});
    sees(folder, {"--compare", right, "--compare", port}, {"cat", "mat"}, "814");
    sees(folder, {"--compare", port, "--text", kText}, {"cat", "mat"}, "814");
    const std::string nameless = dump(folder / "nameless.safetensors", 1, {{"tokens", kIds}});
    write_file(folder / "check.json", run("locus-check", {nameless, port, "--json"}).out);
    sees(folder, {"--report", (folder / "check.json").string()}, {"814"}, "cat");
    Json report = Json::parse(read_file(folder / "check.json"));
    report["tokens"] = kWords.front();
    write_file(folder / "check.json", report.dump());
    sees(folder, {"--report", (folder / "check.json").string()}, {"cat", "mat"}, "814");
}

TEST_CASE("compare: a picture of what cannot be compared is refused, and none is written",
          "[viewer][mistakes][screens]") {
    if (!has_virtual_display()) return;
    const TemporaryFolder folder;
    const auto refused = [&](std::vector<std::string> arguments, int status, const std::string& sentence) {
        arguments.insert(arguments.end(), {"--screenshot", (folder / "page.png").string()});
        const Outcome outcome = view(arguments);
        INFO(outcome.err);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(sentence) != std::string::npos);
        CHECK_FALSE(fs::exists(folder / "page.png"));
    };
    refused({"--mistake", "60"}, 2, "mistake 60 is one of roformer, transfo-xl, xlnet, and this model is a deberta");
    refused({"--mistake", "22"}, 4, "mistake 22 cannot be made with this model and input: it needs ");
    refused({"--compare", dump(folder / "long.safetensors", 1, {})}, 3, "only one shape can be subtracted");
    const Outcome seen = view({"--mistake", "7", "--screenshot", (folder / "page.png").string()});
    CHECK(seen.status == 0);
    CHECK(fs::exists(folder / "page.png"));
}

}  // namespace locus::test::test_compare_words
