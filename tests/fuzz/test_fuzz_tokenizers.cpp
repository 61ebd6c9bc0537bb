// Damaged tokenizer files: they open and cut texts, or are refused with one sentence.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "core/text/tokenizers/charsmap.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/unicode.h"
#include "tests/damage.h"
#include "tests/files.h"

namespace locus::test::test_fuzz_tokenizers {

namespace {

const fs::path kTokenizers = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/tokenizers";

/// Cuts texts of all sorts; what comes out must be whole.
void cut_texts(const Tokenizer& tokenizer, std::mt19937& generator) {
    std::string noise;
    for (int n = 0; n < 60; ++n) noise += static_cast<char>(generator());
    for (const std::string& text : {std::string("A new [MASK] store, caf\u00e9 \u4e2d\u6587 <mask>!"), std::string(),
                                    repair_utf8(noise).text, std::string(300, 'a')}) {
        const Tokens tokens = tokenizer.encode(text);
        REQUIRE(tokens.pieces.size() == tokens.ids.size());
        REQUIRE(tokens.special.size() == tokens.ids.size());
        REQUIRE(tokens.ids.size() >= tokenizer.frame().first + tokenizer.frame().second);
        for (const std::int64_t id : tokens.ids) CHECK_FALSE(tokenizer.piece(id).empty());
    }
}

/// Opens `rounds` folders with one damaged file each; anything but success or an Error fails the test or ends it.
void survive(const std::vector<std::string>& files, const fs::path& source, unsigned seed, int rounds) {
    const TemporaryFolder folder;
    std::vector<std::string> sound;
    for (const std::string& name : files) {
        sound.push_back(read_bytes(source / name));
        write_bytes(folder / name, sound.back());
    }
    std::mt19937 generator(seed);
    cut_texts(*open_tokenizer(folder.path()), generator);
    int refused = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::size_t which = static_cast<std::size_t>(round) % files.size();
        INFO("seed " << seed << ", round " << round << ", " << files[which]);
        write_bytes(folder / files[which], damage(sound[which], generator));
        try {
            cut_texts(*open_tokenizer(folder.path()), generator);
        } catch (const Error& error) {
            ++refused;
            CHECK(std::string(error.what()).size() < 1000);
            CHECK(std::string(error.what()).find('\n') == std::string::npos);
        }
        write_bytes(folder / files[which], sound[which]);
    }
    CHECK(refused > rounds / 8);  // otherwise the damage does not reach what matters
}

}  // namespace

TEST_CASE("fuzz: damaged vocabularies and merges open or are refused", "[fuzz][tokenizer]") {
    survive({"vocab.json", "merges.txt", "tokenizer_config.json"}, kTokenizers / "bpe", 11, 1500);
    survive({"vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json"}, kTokenizers / "roberta",
            12, 1500);
    survive({"vocab.txt", "tokenizer_config.json"}, kTokenizers / "wordpiece", 13, 1500);
    survive({"vocab.txt", "config.json"}, kTokenizers / "txl", 14, 1500);
}

TEST_CASE("fuzz: damaged SentencePiece models open or are refused", "[fuzz][tokenizer]") {
    survive({"spm.model", "tokenizer_config.json", "added_tokens.json"}, kTokenizers / "spm", 71, 300);
    survive({"spiece.model", "tokenizer_config.json", "config.json"}, kTokenizers / "xlnet", 72, 300);
}

TEST_CASE("fuzz: damaged tokenizer.json opens or is refused", "[fuzz][tokenizer]") {
    survive({"tokenizer.json"}, kTokenizers / "bpe_fast", 15, 1500);
    survive({"tokenizer.json"}, kTokenizers / "wordpiece_fast", 16, 1500);
    const TemporaryFolder folder;
    unsigned seed = 17;
    for (const auto& part : nlohmann::json::parse(read_bytes(kTokenizers / "json_parts/parts.json"))) {
        // The small fields first, so that damage near the front meets them.
        nlohmann::ordered_json json = {{"normalizer", part["tokenizer"]["normalizer"]},
                                       {"pre_tokenizer", part["tokenizer"]["pre_tokenizer"]},
                                       {"post_processor", part["tokenizer"]["post_processor"]},
                                       {"added_tokens", part["tokenizer"]["added_tokens"]},
                                       {"model", part["tokenizer"]["model"]}};
        INFO(part["name"]);
        write_bytes(folder / "tokenizer.json", json.dump());
        survive({"tokenizer.json"}, folder.path(), seed++, 300);
    }
}

TEST_CASE("fuzz: a damaged table of replacements is refused or harmless", "[fuzz][tokenizer]") {
    const auto json = nlohmann::json::parse(read_bytes(kTokenizers / "spm_fast/tokenizer.json"));
    const std::string table =
        decode_base64(json["normalizer"]["normalizers"][2]["precompiled_charsmap"].get<std::string>(), "table");
    std::mt19937 generator(50);
    int refused = 0;
    for (int round = 0; round < 400; ++round) {
        INFO("round " << round);
        std::string noise;
        for (int n = 0; n < 400; ++n) noise += static_cast<char>(generator());
        std::string damaged = round % 4 ? table : damage(table, generator);
        for (int n = 0; n < 2000 && damaged.size() > 4; ++n)
            damaged[4 + generator() % (damaged.size() - 4)] = static_cast<char>(generator() % 128);
        try {
            const std::string changed = Charsmap(damaged, "table").apply(repair_utf8(noise).text);
            CHECK(repair_utf8(changed).replaced == 0);
        } catch (const Error& error) {
            ++refused;
            CHECK(error.fault() == Fault::unreadable);
        }
    }
    CHECK(refused > 10);
}

}  // namespace locus::test::test_fuzz_tokenizers
