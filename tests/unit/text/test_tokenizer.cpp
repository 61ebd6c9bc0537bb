#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/text/tokenizers/lower_case.h"
#include "core/text/tokenizers/tokenizer.h"
#include "tests/files.h"

namespace locus::test::test_tokenizer {

using Catch::Contains;

namespace {

const fs::path kSource = LOCUS_SOURCE_DIR;

nlohmann::json read_json(const fs::path& file) {
    std::ifstream stream(file);
    REQUIRE(stream);
    return nlohmann::json::parse(stream);
}

/// The trained model's pieces in a folder of their own, with other files beside them.
struct Folder {
    TemporaryFolder folder;
    explicit Folder(const std::string& config = {}, const std::string& added = {}) {
        fs::create_symlink(kSource / "assets/models/tiny-v3/spm.model", folder / "spm.model");
        if (!config.empty()) write_bytes(folder / "tokenizer_config.json", config);
        if (!added.empty()) write_bytes(folder / "added_tokens.json", added);
    }
    std::unique_ptr<Tokenizer> open() const { return open_tokenizer(folder.path()); }
    std::string refused() const {
        return refusal([&] { open(); });
    }
};

}  // namespace

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

TEST_CASE("tokenizer: [MASK] stands where the files say, else behind the pieces", "[tokenizer]") {
    const std::string decoder = R"({"added_tokens_decoder": {"6010": {"content": "[MASK]", "special": true}}})";
    CHECK(Folder().open()->mask_id() == 6000);
    CHECK(Folder(decoder).open()->mask_id() == 6010);
    CHECK(Folder(decoder, R"({"[MASK]": 6011})").open()->mask_id() == 6011);
    const auto two = Folder({}, R"({"[MASK]": 6000, "[MASK]2": 6001, "<x>": 6002})").open();
    CHECK(two->encode("[MASK]2<x>[mask]").ids[1] == 6001);  // the longest of those that begin at one place
    CHECK(two->encode("[MASK]2<x>[mask]").ids[2] == 6002);
    CHECK(two->encode("[MASK]2<x>[mask]").ids[3] != 6000);  // case must match
    CHECK(two->piece(6002) == "<x>");
}

TEST_CASE("tokenizer: special ids and the frame of a text", "[tokenizer]") {
    const auto tokenizer = open_tokenizer(kSource / "assets/models/tiny-v3");
    CHECK(tokenizer->pad_id() == 0);
    CHECK(tokenizer->frame() == std::pair<std::size_t, std::size_t>{1, 1});
    const Tokens empty = tokenizer->encode("");
    CHECK(empty.ids == std::vector<std::int64_t>{1, 2});
    CHECK(empty.pieces == std::vector<std::string>{"[CLS]", "[SEP]"});
    CHECK(empty.special == std::vector<bool>{true, true});
    const Tokens named = tokenizer->encode("[UNK][PAD]");
    CHECK(named.ids == std::vector<std::int64_t>{1, 3, 0, 2});
}

TEST_CASE("tokenizer: lower case goes character by character, whatever the language", "[tokenizer]") {
    CHECK(lower_case_by_character("\u0130I\u03a3") == "i\u0307i\u03c3");  // no final sigma: it sees one character
    CHECK(lower_case_by_character("\U00010400\u1e9e") == "\U00010428\u00df");
    const Folder lower(R"({"do_lower_case": true})"), plain(R"({"do_lower_case": false})"), silent;
    CHECK(lower.open()->encode("STORE").ids == plain.open()->encode("store").ids);
    CHECK(plain.open()->encode("STORE").ids != plain.open()->encode("store").ids);
    CHECK(silent.open()->encode("STORE").ids == plain.open()->encode("STORE").ids);
}

TEST_CASE("tokenizer: damaged files are refused by name, and the library stays quiet", "[tokenizer]") {
    CHECK_THAT(Folder("{").refused(), Contains("tokenizer_config.json: not valid JSON"));
    CHECK_THAT(Folder(R"({"do_lower_case": "yes"})").refused(), Contains("do_lower_case is \"yes\""));
    CHECK_THAT(Folder(R"({"added_tokens_decoder": {"x": {"content": "[MASK]"}}})").refused(), Contains("\"x\""));
    CHECK_THAT(Folder(R"({"added_tokens_decoder": {"7": {}}})").refused(), Contains("\"7\""));
    CHECK_THAT(Folder({}, "[]").refused(), Contains("added_tokens.json: is not a JSON object"));
    CHECK_THAT(Folder({}, R"({"[MASK]": -1})").refused(), Contains("\"[MASK]\" is -1"));
    CHECK_THAT(Folder({}, R"({"[MASK]": 18446744073709551615})").refused(), Contains("expected an id"));
    CHECK_THAT(Folder({}, R"({"": 7})").refused(), Contains("expected an id"));

    const TemporaryFolder folder;
    const std::string model = read_bytes(kSource / "assets/models/tiny-v3/spm.model");
    const fs::path noise = folder / "noise";
    std::fflush(stderr);
    const int kept = ::dup(2);
    REQUIRE(std::freopen(noise.c_str(), "w", stderr));
    std::vector<std::string> sentences;
    for (const std::string& bytes : {std::string(), std::string("garbage"), model.substr(0, model.size() / 2),
                                     model.substr(0, model.size() - 1)}) {
        write_bytes(folder / "spm.model", bytes);
        sentences.push_back(refusal([&] { open_tokenizer(folder.path()); }));
    }
    // A model without the pieces that DeBERTa frames a text with would give [UNK] in their place.
    std::string other = model;
    other.replace(other.find("[CLS]"), 5, "[YYY]");
    write_bytes(folder / "spm.model", other);
    const std::string without = refusal([&] { open_tokenizer(folder.path()); });
    std::fflush(stderr);
    ::dup2(kept, 2);
    ::close(kept);
    for (const std::string& sentence : sentences)
        CHECK_THAT(sentence, Contains("spm.model: not a SentencePiece model"));
    CHECK_THAT(without, Contains("spm.model: has no piece [CLS]"));
    CHECK(read_bytes(noise).empty());
}

TEST_CASE("tokenizer: a folder that is not there is refused", "[tokenizer]") {
    CHECK_THAT(refusal([] { open_tokenizer("no/such/folder"); }), Contains("no such folder"));
    CHECK_THAT(refusal([] { open_tokenizer(std::string(5000, 'a')); }), Contains("no such folder"));
}

}  // namespace locus::test::test_tokenizer
