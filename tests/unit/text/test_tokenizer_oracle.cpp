// Every line that the foreign tokenizers were recorded on, for every kind of tokenizer.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/text/tokenizers/tokenizer.h"
#include "tests/files.h"

namespace locus::test::test_tokenizer_oracle {

using Json = nlohmann::json;
using Ids = std::vector<std::int64_t>;
using Pieces = std::vector<std::string>;

namespace {

const fs::path kTokenizers = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/tokenizers";

/// The Rust library shows the blanks that an added token took with it; Locus shows its name.
std::string without_blanks(std::string piece) {
    while (piece.size() > 1 && piece.ends_with(' ')) piece.pop_back();
    while (piece.size() > 1 && piece.starts_with(' ')) piece.erase(0, 1);
    return piece;
}

/// `framed`: the recorded pieces hold the special tokens around the text.
void check_lines(const Tokenizer& tokenizer, const Json& cases, std::size_t expected, bool framed) {
    REQUIRE(cases.size() == expected);
    const auto [front, behind] = tokenizer.frame();
    for (const Json& line : cases) {
        INFO(line["text"]);
        const Tokens tokens = tokenizer.encode(line["text"]);
        CHECK(tokens.ids == line["ids"].get<Ids>());
        REQUIRE(tokens.pieces.size() == tokens.ids.size());
        REQUIRE(tokens.special.size() == tokens.ids.size());
        const auto recorded = line["pieces"].get<Pieces>();
        const std::size_t skipped = framed ? 0 : front;
        REQUIRE(recorded.size() + (framed ? 0 : front + behind) == tokens.pieces.size());
        for (std::size_t n = 0; n < recorded.size(); ++n) {
            const std::size_t at = n + skipped;
            CHECK(tokens.pieces[at] == (tokens.special[at] ? without_blanks(recorded[n]) : recorded[n]));
        }
    }
}

void check_folder(const std::string& name, std::size_t expected, bool framed = false) {
    const fs::path folder = kTokenizers / name;
    check_lines(*open_tokenizer(folder), Json::parse(read_bytes(folder / "cases.json")), expected, framed);
}

void check_pairs(const Tokenizer& tokenizer, const Json& cases) {
    REQUIRE(cases.size() == 11);
    for (const Json& pair : cases) {
        INFO(pair["first"] << " | " << pair["second"]);
        const bool one = pair["second"].is_null();  // the last, whose tokens have types too
        const Tokens tokens =
            one ? tokenizer.encode(pair["first"]) : tokenizer.encode_pair(pair["first"], pair["second"]);
        CHECK(tokens.pair == !one);
        CHECK(tokens.ids == pair["ids"].get<Ids>());
        CHECK(tokens.types == pair["types"].get<Ids>());
        CHECK(tokens.pieces.size() == tokens.ids.size());
        CHECK(tokens.special.size() == tokens.ids.size());
        CHECK(tokens.behind.size() == tokens.ids.size());
    }
}

}  // namespace

TEST_CASE("tokenizer: every line of the SentencePiece oracle", "[tokenizer][oracle]") { check_folder("spm", 64); }

TEST_CASE("tokenizer: every line of SentencePiece as tokenizer.json", "[tokenizer][oracle]") {
    check_folder("spm_fast", 64);
}

TEST_CASE("tokenizer: every line of byte-level BPE", "[tokenizer][oracle]") { check_folder("bpe", 64); }

TEST_CASE("tokenizer: every line of byte-level BPE under RoBERTa's names", "[tokenizer][oracle]") {
    check_folder("roberta", 70);
}

TEST_CASE("tokenizer: every line of byte-level BPE as tokenizer.json", "[tokenizer][oracle]") {
    check_folder("bpe_fast", 70);
}

TEST_CASE("tokenizer: every line of WordPiece", "[tokenizer][oracle]") { check_folder("wordpiece", 64); }

TEST_CASE("tokenizer: every line of WordPiece as tokenizer.json", "[tokenizer][oracle]") {
    check_folder("wordpiece_fast", 70);
}

TEST_CASE("tokenizer: every line of XLNet's SentencePiece", "[tokenizer][oracle]") { check_folder("xlnet", 70); }

TEST_CASE("tokenizer: the sentences of the trained RoFormer", "[tokenizer][oracle]") {
    check_folder("roformer", 3, /*framed=*/true);
}

TEST_CASE("tokenizer: the story of the trained Transformer-XL", "[tokenizer][oracle]") {
    check_folder("txl", 1, /*framed=*/true);
}

TEST_CASE("tokenizer: tokenizer.json part by part", "[tokenizer][oracle]") {
    const Json parts = Json::parse(read_bytes(kTokenizers / "json_parts/parts.json"));
    REQUIRE(parts.size() == 23);
    const TemporaryFolder folder;
    for (const Json& part : parts) {
        INFO(part["name"]);
        write_bytes(folder / "tokenizer.json", part["tokenizer"].dump());
        check_lines(*open_tokenizer(folder.path()), part["cases"], 24, /*framed=*/true);
    }
}

TEST_CASE("tokenizer: options that change the ids, as the folders say them", "[tokenizer][oracle]") {
    const Json kinds = Json::parse(read_bytes(kTokenizers / "options/folders.json"));
    REQUIRE(kinds.size() == 15);
    for (const Json& kind : kinds) {
        INFO(kind["name"]);
        const TemporaryFolder folder;
        if (kind["base"].is_string())
            for (const auto& entry : fs::directory_iterator(kTokenizers / kind["base"].get<std::string>()))
                fs::copy(entry.path(), folder.path());
        for (const auto& [name, text] : kind["files"].items()) write_bytes(folder / name, text);
        check_lines(*open_tokenizer(folder.path()), kind["cases"], kind["cases"].size(), /*framed=*/false);
    }
}

TEST_CASE("tokenizer: parts of tokenizer.json, sign by sign", "[tokenizer][oracle]") {
    const Json file = Json::parse(read_bytes(kTokenizers / "options/signs.json"));
    REQUIRE(file["parts"].size() == 35);
    for (const Json& part : file["parts"]) {
        INFO(part["name"]);
        Json tokenizer = file["tokenizer"];
        tokenizer.update(part["fields"]);
        const TemporaryFolder folder;
        write_bytes(folder / "tokenizer.json", tokenizer.dump());
        check_lines(*open_tokenizer(folder.path()), part["cases"], part["cases"].size(), /*framed=*/true);
    }
}

TEST_CASE("tokenizer: pairs of texts, ids and token types", "[tokenizer][oracle]") {
    const std::string kind =
        GENERATE("spm", "spm_fast", "bpe", "bpe_fast", "roberta", "wordpiece", "wordpiece_fast", "xlnet");
    INFO(kind);
    const auto tokenizer = open_tokenizer(kTokenizers / kind);
    check_pairs(*tokenizer, Json::parse(read_bytes(kTokenizers / kind / "pairs.json")));
    REQUIRE(tokenizer->separator_id());
    const std::string separator = tokenizer->piece(*tokenizer->separator_id());
    CHECK(separator == (kind == "roberta" ? "</s>" : kind == "xlnet" ? "<sep>" : "[SEP]"));
}

TEST_CASE("tokenizer: what tokenizer.json says of pairs", "[tokenizer][oracle]") {
    Json tokenizer = Json::parse(read_bytes(kTokenizers / "wordpiece_fast/tokenizer.json"));
    const Json parts = Json::parse(read_bytes(kTokenizers / "json_parts/pairs.json"));
    REQUIRE(parts.size() == 5);
    const TemporaryFolder folder;
    for (const Json& part : parts) {
        INFO(part["name"]);
        tokenizer["post_processor"] = part["post_processor"];
        write_bytes(folder / "tokenizer.json", tokenizer.dump());
        check_pairs(*open_tokenizer(folder.path()), part["cases"]);
    }
}

TEST_CASE("tokenizer: no form for two texts is said", "[tokenizer]") {
    const auto words = open_tokenizer(kTokenizers / "txl");
    CHECK(!words->separator_id());
    CHECK(refusal([&] { words->encode_pair("a", "b"); }, Fault::unsupported) ==
          "this tokenizer has no form for two texts; locus trace takes token ids instead: --tokens or --input");
    // A template for one text alone, and damaged ones for two.
    Json tokenizer = Json::parse(read_bytes(kTokenizers / "wordpiece_fast/tokenizer.json"));
    const TemporaryFolder folder;
    const auto opened_with = [&](const Json& pair) {
        tokenizer["post_processor"]["pair"] = pair;
        write_bytes(folder / "tokenizer.json", tokenizer.dump());
        return open_tokenizer(folder.path());
    };
    CHECK(!opened_with(nullptr)->separator_id());
    const Json first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    CHECK(refusal(
              [&] {
                  opened_with(Json::array({first, first}));
              },
              Fault::unreadable)
              .ends_with("expected the texts A and B once"));
    const Json second = {{"Sequence", {{"id", "B"}}}}, third = {{"Sequence", {{"id", "C"}}}};
    CHECK(opened_with(Json::array({first, second}))->encode_pair("a", "b").ids.size() == 2);
    CHECK(refusal(
              [&] {
                  opened_with(Json::array({first, second, third}));
              },
              Fault::unreadable)
              .ends_with("expected the texts A and B once"));
    const Json huge = {{"Sequence", {{"id", "B"}, {"type_id", -1}}}};
    CHECK(refusal(
              [&] {
                  opened_with(Json::array({first, huge}));
              },
              Fault::unreadable)
              .ends_with("expected a whole number from 0 to 999999999"));
}

}  // namespace locus::test::test_tokenizer_oracle
