#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/text/tokenizer.h"

using namespace locus;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = LOCUS_SOURCE_DIR;

nlohmann::json read_json(const fs::path& file) {
    std::ifstream stream(file);
    REQUIRE(stream);
    return nlohmann::json::parse(stream);
}

}  // namespace

TEST_CASE("tokenizer: every line of the SentencePiece oracle", "[tokenizer][oracle]") {
    const fs::path folder = kSource / "tests/oracle/tokenizers/spm";
    const auto tokenizer = open_tokenizer(folder);
    const nlohmann::json cases = read_json(folder / "cases.json");
    REQUIRE(cases.size() == 64);
    for (const auto& line : cases) {
        INFO(line["text"]);
        const Tokens tokens = tokenizer->encode(line["text"]);
        CHECK(tokens.ids == line["ids"].get<std::vector<std::int64_t>>());
        REQUIRE(tokens.pieces.size() == tokens.ids.size());
        const std::vector<std::string> inner(tokens.pieces.begin() + 1, tokens.pieces.end() - 1);
        CHECK(inner == line["pieces"].get<std::vector<std::string>>());
    }
}

TEST_CASE("tokenizer: the trained model's sentences", "[tokenizer][oracle]") {
    const auto tokenizer = open_tokenizer(kSource / "assets/models/tiny-v3");
    const nlohmann::json json = read_json(kSource / "tests/oracle/tiny_v3_trained/case.json");
    for (std::size_t n = 0; n < json["sentences"].size(); ++n)
        CHECK(tokenizer->encode(json["sentences"][n]).pieces == json["tokens"][n].get<std::vector<std::string>>());
    CHECK(tokenizer->mask_id() == 6000);
    CHECK(tokenizer->piece(115) == "\u2581store");
    CHECK(tokenizer->piece(6000) == "[MASK]");
    CHECK(tokenizer->piece(999999) == "<999999>");
    CHECK(display_piece("\u2581store") == "store");
    CHECK(display_piece("\u2581") == "\u2581");
}

TEST_CASE("tokenizer: text that is not UTF-8 is refused", "[tokenizer]") {
    const auto tokenizer = open_tokenizer(kSource / "assets/models/tiny-v3");
    CHECK_THROWS_AS(tokenizer->encode("a \xff b"), Error);
    CHECK_THROWS_AS(tokenizer->encode("\xed\xa0\x80"), Error);  // half of a surrogate pair
}

TEST_CASE("tokenizer: a folder without one says to give token ids", "[tokenizer]") {
    try {
        open_tokenizer(kSource / "tests/oracle/formats/safetensors");
        FAIL("opened");
    } catch (const Error& error) {
        CHECK(error.exit_status() == 4);
        CHECK(std::string(error.what()).find("--tokens") != std::string::npos);
    }
}
