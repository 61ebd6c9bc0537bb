// Options of tokenizers that Locus does not follow, and texts that it cannot cut, are refused by name.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/tokenizer.h"
#include "tests/files.h"

namespace locus::test::test_tokenizer_options {

using Catch::Contains;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

namespace {

const fs::path kTokenizers = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/tokenizers";

/// Why a folder with this tokenizer_config.json is refused.
std::string refused(const std::string& base, const std::string& config, Fault fault = Fault::unsupported) {
    const TemporaryFolder folder;
    for (const auto& entry : fs::directory_iterator(kTokenizers / base)) fs::copy(entry.path(), folder.path());
    write_bytes(folder / "tokenizer_config.json", config);
    return refusal([&] { open_tokenizer(folder.path()); }, fault);
}

/// The files of a recorded folder.
Json recorded(const std::string& name) {
    const Json kinds = Json::parse(read_bytes(kTokenizers / "options/folders.json"));
    for (const Json& kind : kinds)
        if (kind["name"] == name) return kind["files"];
    FAIL("nothing recorded of " << name);
    return {};
}

}  // namespace

TEST_CASE("tokenizer: options that would change the ids are refused by name", "[tokenizer]") {
    for (const char* base : {"spm", "spm_fast", "bpe", "wordpiece", "wordpiece_fast"})
        CHECK_THAT(refused(base, R"({"split_special_tokens": true})"),
                   Contains("tokenizer_config.json: split_special_tokens is true, expected false"));
    CHECK_THAT(refused("bpe", R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "unk_token": "[UNK]",
                                  "bos_token": "[CLS]", "eos_token": "[SEP]"})"),
               Contains("add_bos_token is true, expected false"));
    for (const char* name : {"add_bos", "add_eos", "reverse", "emit_unk_piece", "enable_sampling"}) {
        const std::string option = "{\"sp_model_kwargs\": {\"" + std::string(name) + "\": true}}";
        for (const char* base : {"spm", "xlnet"})
            CHECK_THAT(refused(base, option),
                       Contains("sp_model_kwargs: " + std::string(name) + " is true, expected false"));
    }
    const TemporaryFolder folder;
    fs::copy(kTokenizers / "spm/spm.model", folder.path());
    write_bytes(folder / "tokenizer_config.json",
                R"({"split_special_tokens": false, "sp_model_kwargs": {"reverse": false, "alpha": 0.1}})");
    CHECK_NOTHROW(open_tokenizer(folder.path()));
}

TEST_CASE("tokenizer: a class that is refused is named as its file writes it", "[tokenizer]") {
    CHECK_THAT(refused("wordpiece", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"),
               Contains("tokenizer_class is \"PreTrainedTokenizerFast\", expected one of"));
}

TEST_CASE("tokenizer: RoFormer as tokenizer.json refuses Chinese where its words are Chinese", "[tokenizer]") {
    const TemporaryFolder folder;
    const Json files = recorded("RoFormer as tokenizer.json with Chinese words");
    for (const auto& [name, text] : files.items()) write_bytes(folder / name, text);
    const auto encode = [&] { open_tokenizer(folder.path())->encode("a \u4eca\u5929"); };
    CHECK_THAT(refusal(encode, Fault::unsupported), Contains("jieba"));
    // The class decides, and the model only where no file names a class.
    write_bytes(folder / "config.json", R"({"model_type": "roformer"})");
    write_bytes(folder / "tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
    CHECK_NOTHROW(encode());
    fs::remove(folder / "tokenizer_config.json");
    CHECK_THAT(refusal(encode, Fault::unsupported), Contains("jieba"));
}

TEST_CASE("jieba: runs of ASCII letters and digits, and five words of signs", "[text]") {
    CHECK(jieba_words("") == Words{});
    CHECK(jieba_words("caf\u00e9 au") == Words{"caf", "\u00e9", " ", "au"});
    CHECK(jieba_words("abc++11 C# c+") == Words{"ab", "c++", "11", " ", "C#", " ", "c", "+"});
    CHECK(jieba_words("xAT&T&T") == Words{"x", "AT&T", "&", "T"});
    CHECK(jieba_words("a\r\n\nb_3.14%") == Words{"a", "\r\n", "\n", "b", "_", "3", ".", "14", "%"});
}

TEST_CASE("expression: what ICU would read in another way than Oniguruma", "[text]") {
    for (const std::string sign : {R"(\h)", R"(\H)", R"(\O)", R"(\K)", "(?m", "(?im", "(?i-m"}) {
        const std::string text = "a" + sign + (sign.front() == '(' ? ":b)" : "b");
        CHECK(refusal([&] { icu_expression(text, "here"); }, Fault::unsupported) ==
              "here: the expression has " + sign +
                  ", which ICU reads in another way than Oniguruma, expected one without it");
    }
    CHECK_THROWS_AS(icu_expression(R"([\h])", "here"), Error);
    for (const std::string same : {R"(\\h\.\[m)", "(?i)a|(?=m)(?<!m)(m)", "[(?m)]", "[[:alpha:]]", "[:punct:]", "\\"})
        CHECK(icu_expression(same, "here") == same);
}

}  // namespace locus::test::test_tokenizer_options
