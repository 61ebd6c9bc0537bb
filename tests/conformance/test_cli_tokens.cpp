// locus tokens for every kind of tokenizer, texts that are not UTF-8, and padding on the side the tokenizer says.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/io/model_request.h"
#include "core/io/safetensors.h"
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

TEST_CASE("tokens: two texts are one input, each token with its type", "[cli][tokenizer]") {
    const std::string model = (kTokenizers / "xlnet").string();
    const Json pair = Json::parse(read_file(kTokenizers / "xlnet/pairs.json"))[0];
    const std::string first = pair["first"], second = pair["second"];
    const Outcome printed = run("locus-tokens", {"--model", model, first, second, "--json"});
    INFO(printed.err);
    REQUIRE(printed.status == 0);
    const Json object = Json::parse(printed.out);
    CHECK(object["ids"] == pair["ids"]);
    CHECK(object["types"] == pair["types"]);
    CHECK(object["pieces"].size() + 2 == pair["ids"].size());
    const Outcome table = run("locus-tokens", {"--model", model, first, second});
    CHECK_THAT(table.out, Contains("type") && Contains("<sep>         1") && Contains("<cls>         2"));
    const Outcome none = run("locus-tokens", {"--model", (kTokenizers / "txl").string(), "tom", "lucy"});
    CHECK(none.status == 4);
    CHECK_THAT(none.err, Contains("no form for two texts"));
    // The same ids where one text with [SEP] is given to a model.
    const TemporaryFolder folder;
    const std::string file = folder / "pair.safetensors";
    const Outcome traced = run("locus-trace", {"--model", "tiny-xlnet", "--text", first + " [SEP] " + second,
                                               "--stages", "layer.0.ef", "--out", file});
    INFO(traced.err);
    REQUIRE(traced.status == 0);  // without types there is no ef
    const auto metadata = open_safetensors(file).metadata;
    const auto inputs =
        std::find_if(metadata.begin(), metadata.end(), [](const auto& one) { return one.first == "inputs"; });
    REQUIRE(inputs != metadata.end());
    CHECK_THAT(inputs->second, Contains(Json(pair["types"]).dump()));
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

TEST_CASE("tokens: [MASK] and [SEP] stand for the model's own names, as the model reads them", "[cli][tokenizer]") {
    const auto check = [](const std::string& kind, Family family, const std::string& text) {
        INFO(kind << ": " << text);
        const auto tokenizer = open_tokenizer(kTokenizers / kind);
        const ModelInput input = input_of_texts({text}, *tokenizer, family);
        const Json printed = tokens_of(kind, text);
        CHECK(printed["ids"] == Json(input.tokens.values()));
        CHECK(printed.contains("types") == (text.find("[SEP]") != std::string::npos));
        if (printed.contains("types")) CHECK(printed["types"] == Json(input.token_types.values()));
    };
    for (const char* text : {"the [MASK].", "the [MASK] is red", "who opened it? [SEP] the [MASK] opened."}) {
        check("xlnet", Family::xlnet, text);  // no lone mark of a word between a mask and "."
        check("roberta", Family::deberta, text);
        check("wordpiece", Family::roformer, text);
    }
    const Outcome pair =
        run("locus-tokens", {"--model", (kTokenizers / "roberta").string(), "a [MASK]", "the [MASK]", "--json"});
    REQUIRE(pair.status == 0);
    const Json pieces = Json::parse(pair.out)["pieces"];
    CHECK(std::count(pieces.begin(), pieces.end(), "<mask>") == 2);
}

TEST_CASE("fill: texts from a file in UTF-16 are refused, those of the standard input read", "[cli]") {
    const TemporaryFolder folder;
    for (const std::string mark : {"\xff\xfe", "\xfe\xff"}) {
        const std::string file = (folder / "wide.txt").string();
        write_file(file, mark + std::string("a\0", 2));
        for (const std::string program : {"locus-fill", "locus-trace", "locus-classify"}) {
            std::vector<std::string> arguments = {"--model", "tiny-v3", "--text-file", file};
            if (program == "locus-trace") arguments.insert(arguments.end(), {"--stages", "layer.0.q"});
            const Outcome outcome = run(program, arguments);
            INFO(program << ": " << outcome.err);
            CHECK(outcome.status == 3);
            CHECK_THAT(outcome.err, Contains("wide.txt: is UTF-16, expected UTF-8"));
        }
    }
    const Outcome piped = run_with_input("locus-fill", {"--text-file", "-", "--json"}, "a [MASK].\n");
    CHECK(piped.status == 0);
    CHECK(Json::parse(piped.out)["lines"].size() == 1);
    const Outcome none = run_with_input("locus-fill", {"--text-file", "-"}, "a [MASK].\nno mask\n");
    CHECK(none.status == 3);
    CHECK_THAT(none.err, Contains("standard input: line 2: the text has no [MASK]"));
}

TEST_CASE("fill: an order without a word is one sentence", "[cli]") {
    for (const std::string order : {",", "new,", ",new"}) {
        const Outcome outcome = run("locus-fill", {"--model", "tiny-xlnet", "a new store.", "--order", order});
        CHECK(outcome.status == 2);
        CHECK(outcome.sentences() == 1);
        CHECK_THAT(outcome.err,
                   Contains("--order is \"" + order + "\", expected words of the text separated by commas"));
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
