// locus tokens for every kind of tokenizer, texts that are not UTF-8, and padding on the side the tokenizer says.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/io/model_request.h"
#include "tests/run_program.h"

namespace locus::test::test_cli_tokens {

using Catch::Contains;
using Json = nlohmann::json;

namespace {

const fs::path kTokenizers = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/tokenizers";

Json tokens_of(const std::string& kind, const std::string& text) {
    const Outcome outcome = run("locus-tokens", {"--model", (kTokenizers / kind).string(), text, "--json"});
    INFO(kind << ": " << outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err.empty());
    return Json::parse(outcome.out);
}

}  // namespace

TEST_CASE("tokens: every kind of tokenizer prints what was recorded", "[cli][tokenizer]") {
    for (const char* kind : {"bpe", "bpe_fast", "roberta", "wordpiece", "wordpiece_fast", "spm", "spm_fast", "xlnet"}) {
        const Json line = Json::parse(read_file(kTokenizers / kind / "cases.json"))[2];
        const Json printed = tokens_of(kind, line["text"]);
        CHECK(printed["ids"] == line["ids"]);
        CHECK(printed["pieces"] == line["pieces"]);
    }
    const Json words = tokens_of("txl", "tom went home.");
    CHECK(words["pieces"] == Json({"tom", "went", "home", "."}));
    CHECK(words["ids"].size() == 5);
    const Outcome table = run("locus-tokens", {"--model", (kTokenizers / "xlnet").string(), "the"});
    CHECK_THAT(table.out, Contains("<sep>") && Contains("<cls>"));
}

TEST_CASE("tokens: a text that is not UTF-8 is repaired, and one line says so", "[cli]") {
    const std::string model = (kTokenizers / "spm").string(), mark = "\uFFFD";
    const Outcome sound = run("locus-tokens", {"--model", model, "a " + mark + mark + " b"});
    const Outcome broken = run("locus-tokens", {"--model", model, "a \xff\xe2\x96 b"});
    CHECK(broken.status == 0);
    CHECK(broken.out == sound.out);
    CHECK(broken.sentences() == 1);
    CHECK_THAT(broken.err, Contains("warning: the text is not UTF-8: 2 places replaced by U+FFFD"));
    CHECK(sound.err.empty());
    for (const char* program : {"locus-trace", "locus-fill"}) {
        INFO(program);
        const bool trace = std::string(program) == "locus-trace";
        std::vector<std::string> arguments = {"--model", "tiny-v3"};
        if (trace) arguments.insert(arguments.end(), {"--stages", "layer.0.q", "--text"});
        arguments.push_back("a \xff [MASK].");
        const Outcome outcome = run(program, arguments);
        CHECK(outcome.status == 0);
        CHECK(outcome.sentences() == 1);
        CHECK_THAT(outcome.err, Contains("1 place replaced by U+FFFD"));
    }
}

TEST_CASE("input: padding goes on the side the tokenizer says", "[tokenizer]") {
    const auto xlnet = open_tokenizer(kTokenizers / "xlnet"), bert = open_tokenizer(kTokenizers / "wordpiece");
    const std::vector<std::string> texts = {"the capital of france", "the"};
    const ModelInput left = input_of_texts(texts, *xlnet, Family::xlnet),
                     right = input_of_texts(texts, *bert, Family::roformer);
    const Index width = left.tokens.extent(1), short_text = 3;  // a piece, <sep>, <cls>
    REQUIRE(left.tokens.extent(0) == 2);
    REQUIRE(width > short_text);
    for (Index t = 0; t < width; ++t) {
        CHECK(left.mask[t] == 1);
        CHECK(left.mask[width + t] == (t >= width - short_text));
        if (t < width - short_text) CHECK(left.tokens[width + t] == 5);
    }
    CHECK(left.tokens[2 * width - 1] == left.tokens[width - 1]);  // both end with <cls>
    const Index behind = 2 * right.tokens.extent(1) - 1;
    CHECK(right.tokens[behind] == 0);
    CHECK(right.mask[behind] == 0);
    CHECK(right.tokens[right.tokens.extent(1)] == 2);  // [CLS] in front
}

TEST_CASE("input: texts of several lengths need a padding token", "[tokenizer]") {
    const auto words = open_tokenizer(kTokenizers / "txl");
    const ModelInput input = input_of_texts({"tom went home", "anna went home"}, *words, Family::transformer_xl);
    CHECK(input.tokens.extent(1) == 4);
    CHECK(input.mask.size() == 0);
    CHECK_THAT(refusal(
                   [&] {
                       input_of_texts({"tom went", "anna went home"}, *words, Family::transformer_xl);
                   },
                   Fault::usage),
               Contains("3 and 4 tokens") && Contains("no padding token"));
}

}  // namespace locus::test::test_cli_tokens
