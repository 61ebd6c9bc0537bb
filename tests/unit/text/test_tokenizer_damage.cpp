// Vocabularies, merges and tokenizer.json that hold what they should not: one sentence each.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/text/tokenizers/tokenizer.h"
#include "tests/files.h"

namespace locus::test::test_tokenizer_damage {

using Catch::Contains;
using Json = nlohmann::json;

namespace {

const fs::path kTokenizers = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/tokenizers";
const char* const kVocab = R"({"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3, "a": 4, "b": 5, "ab": 6})";

std::string refused_bpe(const std::string& vocab, const std::string& merges) {
    const TemporaryFolder folder;
    write_bytes(folder / "vocab.json", vocab);
    write_bytes(folder / "merges.txt", merges);
    return refusal([&] { open_tokenizer(folder.path()); });
}

std::string refused_vocab_txt(const std::string& vocab, const std::string& model_type = "roformer") {
    const TemporaryFolder folder;
    write_bytes(folder / "vocab.txt", vocab);
    write_bytes(folder / "config.json", "{\"model_type\": \"" + model_type + "\"}");
    return refusal([&] { open_tokenizer(folder.path()); });
}

/// A sound tokenizer.json, changed by `change`.
std::string refused_json(const std::string& source, const std::function<void(Json&)>& change,
                         Fault fault = Fault::unreadable) {
    const TemporaryFolder folder;
    Json json = Json::parse(read_bytes(kTokenizers / source / "tokenizer.json"));
    change(json);
    write_bytes(folder / "tokenizer.json", json.dump());
    const std::string sentence = refusal([&] { open_tokenizer(folder.path()); }, fault);
    CHECK_THAT(sentence, Contains("tokenizer.json: "));
    return sentence;
}

}  // namespace

TEST_CASE("tokenizer: merges.txt that is none is refused by its line", "[tokenizer][bpe]") {
    CHECK_THAT(refused_bpe(kVocab, "#version: 0.2\na b\nb a\n"),
               Contains("merges.txt: line 3 merges \"b\" and \"a\", but the vocabulary has no piece \"ba\""));
    CHECK_THAT(refused_bpe(kVocab, "a x\n"), Contains("line 1 merges \"a\" and \"x\"") && Contains("no piece \"x\""));
    CHECK_THAT(refused_bpe(kVocab, "a b\na b\n"), Contains("line 2") && Contains("second time"));
    for (const std::string line : {"ab", "a b c", " b", "a ", "a  b", "a\tb", "\xff b"}) {
        INFO(line);
        CHECK_THAT(refused_bpe(kVocab, line + "\na b\n"),
                   Contains("merges.txt: line 1 is ") && Contains("expected two pieces with one blank"));
    }
    CHECK_THAT(refused_bpe(kVocab, "a b\n\na b"), Contains("line 2 is \"\""));
}

TEST_CASE("tokenizer: vocab.json that is none is refused by its piece", "[tokenizer][bpe]") {
    CHECK_THAT(refused_bpe("{}", ""), Contains("vocab.json: holds no piece"));
    CHECK_THAT(refused_bpe("[]", ""), Contains("vocab.json: is not a JSON object"));
    CHECK_THAT(refused_bpe(R"({"a": 1, "a": 2})", ""), Contains("vocab.json") && Contains("\"a\" twice"));
    CHECK_THAT(refused_bpe(R"({"a": 1, "b": 1})", ""), Contains("the id 1 belongs to \"a\" and to \"b\""));
    for (const std::string id : {"-1", "1.5", "\"1\"", "null", "[1]", "1000000000", "18446744073709551615"}) {
        INFO(id);
        CHECK_THAT(refused_bpe("{\"a\": " + id + "}", ""),
                   Contains("vocab.json: \"a\" is " + id) && Contains("expected a whole number"));
    }
    CHECK_THAT(refused_bpe(R"({"[PAD]": 0, "[CLS]": 1, "[SEP]": 2})", ""),
               Contains("vocab.json: has no piece [UNK], expected one for the unk_token"));
    CHECK_THAT(refused_bpe(R"({"a": 0})", ""), Contains("has no piece [CLS], expected one for the cls_token"));
}

TEST_CASE("tokenizer: vocab.txt that is none is refused by its line", "[tokenizer][wordpiece]") {
    const std::string specials = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
    CHECK_THAT(refused_vocab_txt(""), Contains("vocab.txt: holds no piece"));
    CHECK_THAT(refused_vocab_txt("\n\n"), Contains("vocab.txt: holds no piece"));
    CHECK_THAT(refused_vocab_txt(specials + "a\nb\na\n"),
               Contains("vocab.txt: line 7: the piece \"a\" is there twice, with the ids 4 and 6"));
    CHECK_THAT(refused_vocab_txt(specials + "\na\n"), Contains("vocab.txt: line 5 is blank"));
    CHECK_THAT(refused_vocab_txt(specials + "a\xff\n"), Contains("vocab.txt: line 5 is not UTF-8"));
    CHECK_THAT(refused_vocab_txt("[CLS]\n[SEP]\na\n"), Contains("has no piece [UNK], expected one for the unk_token"));
    CHECK_THAT(refused_vocab_txt("[UNK]\n[SEP]\na\n"), Contains("has no piece [CLS]"));
    CHECK_THAT(refused_vocab_txt("a\n<eos>\n", "transfo-xl"), Contains("has no piece <unk>"));
    CHECK_THAT(refused_vocab_txt("a\n<unk>\n", "transfo-xl"), Contains("has no piece <eos>"));
    const TemporaryFolder folder;
    write_bytes(folder / "vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\na");  // another system's line ends
    CHECK(open_tokenizer(folder.path())->encode("a").ids == std::vector<std::int64_t>{2, 4, 3});
    fs::remove(folder / "vocab.txt");
    fs::create_directory(folder / "vocab.txt");
    CHECK_THAT(refusal([&] { open_tokenizer(folder.path()); }), Contains("vocab.txt: cannot be read"));
}

TEST_CASE("tokenizer: a component of tokenizer.json that Locus does not know is named", "[tokenizer]") {
    const Fault unsupported = Fault::unsupported;
    const Json strange = {{"type", "Strange"}};
    for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "model"}) {
        INFO(part);
        CHECK_THAT(refused_json(
                       "bpe_fast", [&](Json& json) { json[part] = strange; }, unsupported),
                   Contains(std::string(part) + ": type is \"Strange\", expected one of "));
    }
    CHECK_THAT(refused_json(
                   "spm_fast", [&](Json& json) { json["normalizer"]["normalizers"][1] = strange; }, unsupported),
               Contains("normalizers[1]: type is \"Strange\""));
    CHECK_THAT(refused_json(
                   "bpe_fast", [](Json& json) { json["model"]["dropout"] = 0.1; }, unsupported),
               Contains("model: dropout is 0.1"));
    CHECK_THAT(refused_json(
                   "bpe_fast", [](Json& json) { json["model"]["end_of_word_suffix"] = "</w>"; }, unsupported),
               Contains("model: end_of_word_suffix is \"</w>\""));
}

TEST_CASE("tokenizer: damaged fields of tokenizer.json are named", "[tokenizer]") {
    const auto bpe = [](const std::function<void(Json&)>& change) { return refused_json("bpe_fast", change); };
    CHECK_THAT(bpe([](Json& json) { json.erase("model"); }), Contains("model is missing"));
    CHECK_THAT(bpe([](Json& json) { json["model"] = 3; }), Contains("model is 3, expected an object"));
    CHECK_THAT(bpe([](Json& json) { json["model"]["vocab"] = Json::object(); }), Contains("vocab: holds no piece"));
    CHECK_THAT(bpe([](Json& json) { json["model"]["vocab"]["a"] = "x"; }), Contains("vocab: \"a\" is \"x\""));
    CHECK_THAT(bpe([](Json& json) { json["model"]["merges"][1] = "abc"; }), Contains("merges[1] is \"abc\""));
    CHECK_THAT(bpe([](Json& json) {
                   json["model"]["merges"][2] = {"a", "\u4e2d"};
               }),
               Contains("merges[2] merges \"a\"") && Contains("no piece"));
    CHECK_THAT(bpe([](Json& json) { json["model"]["merges"] = Json::object(); }), Contains("merges is {}"));
    CHECK_THAT(bpe([](Json& json) { json["model"]["unk_token"] = "none"; }), Contains("unk_token is \"none\""));
    CHECK_THAT(bpe([](Json& json) { json["added_tokens"][0]["id"] = 77; }), Contains("added_tokens[0]: id is 77"));
    CHECK_THAT(bpe([](Json& json) { json["added_tokens"][0].erase("content"); }), Contains("added_tokens[0]"));
    CHECK_THAT(bpe([](Json& json) { json["pre_tokenizer"]["use_regex"] = 1; }), Contains("use_regex is 1"));
    CHECK_THAT(bpe([](Json& json) { json["post_processor"]["single"] = Json::array(); }), Contains("the text A once"));
    CHECK_THAT(refused_json("wordpiece_fast", [](Json& json) { json["model"]["unk_token"] = "none"; }),
               Contains("unk_token is \"none\", expected a piece"));
    const auto unigram = [](const std::function<void(Json&)>& change) { return refused_json("spm_fast", change); };
    CHECK_THAT(unigram([](Json& json) { json["model"]["vocab"] = Json::array(); }), Contains("holds no piece"));
    CHECK_THAT(unigram([](Json& json) { json["model"]["vocab"][9] = "x"; }), Contains("vocab[9] is \"x\""));
    CHECK_THAT(unigram([](Json& json) { json["model"]["unk_id"] = 6000; }), Contains("unk_id is 6000"));
    const auto charsmap = [&](const std::string& value) {
        return unigram([&](Json& json) { json["normalizer"]["normalizers"][2]["precompiled_charsmap"] = value; });
    };
    CHECK_THAT(charsmap("A*=="), Contains("precompiled_charsmap: is not base64"));
    CHECK_THAT(charsmap("AAAA"), Contains("the table has 3 bytes, expected 4"));
    CHECK_THAT(charsmap("/////wAA"), Contains("4294967295"));
    const auto pattern = [&](const Json& value) {
        return unigram([&](Json& json) { json["normalizer"]["normalizers"][3]["pattern"] = value; });
    };
    CHECK_THAT(pattern({{"Regex", "(a"}}), Contains("pattern: not a regular expression"));
    CHECK_THAT(pattern({{"Regex", std::string(20000, 'a')}}), Contains("20000 bytes"));
    CHECK_THAT(pattern({{"String", ""}}), Contains("pattern is "));
}

TEST_CASE("tokenizer: an expression that would run for ever is stopped", "[tokenizer]") {
    const TemporaryFolder folder;
    Json json = Json::parse(read_bytes(kTokenizers / "bpe_fast/tokenizer.json"));
    json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "(a+)+b"}}}, {"content", ""}};
    write_bytes(folder / "tokenizer.json", json.dump());
    const auto tokenizer = open_tokenizer(folder.path());
    CHECK(tokenizer->encode("aab").ids.size() == 2);
    CHECK_THAT(refusal([&] { tokenizer->encode(std::string(60, 'a')); }, Fault::unsupported),
               Contains("normalizer: pattern: ICU cannot match"));
}

TEST_CASE("tokenizer: ids of a post-processor that are none are refused", "[tokenizer]") {
    for (const std::uint64_t id : {std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{1000000000}}) {
        const auto processor = [&](Json& json) {
            json["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 1}}, {"cls", {"[CLS]", id}}};
        };
        CHECK_THAT(refused_json("bpe_fast", processor), Contains("cls is ") && Contains("from 0 to 999999999"));
        const auto one_template = [&](Json& json) {
            json["post_processor"] = {
                {"type", "TemplateProcessing"},
                {"single", {{{"SpecialToken", {{"id", "[C]"}}}}, {{"Sequence", {{"id", "A"}}}}}},
                {"special_tokens", {{"[C]", {{"id", "[C]"}, {"ids", {id}}, {"tokens", {"[C]"}}}}}}};
        };
        CHECK_THAT(refused_json("bpe_fast", one_template), Contains("ids is ") && Contains("from 0 to 999999999"));
    }
}

TEST_CASE("tokenizer: steps of tokenizer.json that blow a text up are stopped", "[tokenizer]") {
    const auto refused_text = [](const char* part, const Json& step, const std::string& text) {
        const TemporaryFolder folder;
        Json json = Json::parse(read_bytes(kTokenizers / "bpe_fast/tokenizer.json"));
        json[part] = step;
        write_bytes(folder / "tokenizer.json", json.dump());
        const auto tokenizer = open_tokenizer(folder.path());
        return refusal([&] { tokenizer->encode(text); }, Fault::unsupported);
    };
    const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
    const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    const Json replaces = {{"type", "Sequence"}, {"normalizers", std::vector<Json>(60, replace)}};
    const Json levels = {{"type", "Sequence"}, {"pretokenizers", std::vector<Json>(60, bytes)}};
    CHECK_THAT(refused_text("normalizer", replaces, "a"), Contains(" bytes out of "));
    CHECK_THAT(refused_text("pre_tokenizer", levels, "\u00e9"), Contains(" bytes out of "));
    // Each byte may become a piece, and each piece takes memory and time.
    const Json twelve = {{"type", "Sequence"}, {"normalizers", std::vector<Json>(12, replace)}};
    CHECK_THAT(refused_text("normalizer", twelve, std::string(64, 'a')), Contains("makes 32768 bytes out of 64,"));
    Json large = replace;
    large["content"] = std::string(1000000, 'b');
    CHECK_THAT(refused_text("normalizer", large, std::string(1000, 'a')), Contains(" bytes out of 1000,"));
    const auto metaspace = [](Json& json) { json["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "long"}}; };
    CHECK_THAT(refused_json("bpe_fast", metaspace), Contains("replacement is \"long\", expected one character"));
}

TEST_CASE("tokenizer: twenty thousand added tokens take a moment", "[tokenizer]") {
    const TemporaryFolder folder;
    Json json = Json::parse(read_bytes(kTokenizers / "bpe_fast/tokenizer.json"));
    for (int n = 0; n < 20000; ++n)
        json["added_tokens"].push_back({{"id", 100000 + n}, {"content", "[X" + std::to_string(n) + "]"}});
    write_bytes(folder / "tokenizer.json", json.dump());
    const auto start = std::chrono::steady_clock::now();
    const auto tokenizer = open_tokenizer(folder.path());
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));  // it was a minute
    const std::vector<std::int64_t> ids = tokenizer->encode("[X7][X19999]").ids;
    CHECK(std::count(ids.begin(), ids.end(), 100007) == 1);
    CHECK(std::count(ids.begin(), ids.end(), 119999) == 1);
}

}  // namespace locus::test::test_tokenizer_damage
