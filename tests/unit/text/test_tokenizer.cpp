#include <unistd.h>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/unicode.h"
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
struct TrainedFolder {
    TemporaryFolder folder;
    explicit TrainedFolder(const std::string& config = {}, const std::string& added = {}) {
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

TEST_CASE("tokenizer: [MASK] stands where the files say, else after the pieces", "[tokenizer]") {
    const std::string decoder = R"({"added_tokens_decoder": {"6010": {"content": "[MASK]", "special": true}}})";
    CHECK(TrainedFolder().open()->mask_id() == 6000);
    CHECK(TrainedFolder(decoder).open()->mask_id() == 6010);
    CHECK(TrainedFolder(decoder, R"({"[MASK]": 6011})").open()->mask_id() == 6011);
    const auto two = TrainedFolder({}, R"({"[MASK]": 6000, "[MASK]2": 6001, "<x>": 6002})").open();
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
    const TrainedFolder lower(R"({"do_lower_case": true})"), plain(R"({"do_lower_case": false})"), silent;
    CHECK(lower.open()->encode("STORE").ids == plain.open()->encode("store").ids);
    CHECK(plain.open()->encode("STORE").ids != plain.open()->encode("store").ids);
    CHECK(silent.open()->encode("STORE").ids == plain.open()->encode("STORE").ids);
}

TEST_CASE("tokenizer: damaged files are refused by name, and the library stays quiet", "[tokenizer]") {
    CHECK_THAT(TrainedFolder("{").refused(), Contains("tokenizer_config.json: not valid JSON"));
    CHECK_THAT(TrainedFolder(R"({"do_lower_case": "yes"})").refused(), Contains("do_lower_case is \"yes\""));
    CHECK_THAT(TrainedFolder(R"({"added_tokens_decoder": {"x": {"content": "[MASK]"}}})").refused(), Contains("\"x\""));
    CHECK_THAT(TrainedFolder(R"({"added_tokens_decoder": {"7": {}}})").refused(), Contains("\"7\""));
    CHECK_THAT(TrainedFolder({}, "[]").refused(), Contains("added_tokens.json: is not a JSON object"));
    CHECK_THAT(TrainedFolder({}, R"({"[MASK]": -1})").refused(), Contains("\"[MASK]\" is -1"));
    CHECK_THAT(TrainedFolder({}, R"({"[MASK]": 18446744073709551615})").refused(), Contains("expected an id"));
    CHECK_THAT(TrainedFolder({}, R"({"": 7})").refused(), Contains("expected an id"));

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

// Which tokenizer a folder gets, and what its small files may say.

using Ids = std::vector<std::int64_t>;
using Pieces = std::vector<std::string>;

namespace {

const fs::path kTokenizers = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/tokenizers";
const char* const kBertVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n.\n";

/// A folder out of files of one's own and files of the oracle.
struct Folder {
    TemporaryFolder folder;
    const Folder& with(const std::string& name, const std::string& bytes) const {
        write_bytes(folder / name, bytes);
        return *this;
    }
    const Folder& of(const std::string& source, const std::vector<std::string>& names) const {
        for (const std::string& name : names) with(name, read_bytes(kTokenizers / source / name));
        return *this;
    }
    std::unique_ptr<Tokenizer> open() const { return open_tokenizer(folder.path()); }
    std::string refused(Fault fault = Fault::unreadable) const {
        return refusal([&] { open(); }, fault);
    }
};

}  // namespace

TEST_CASE("tokenizer: the files a model was trained with come before a conversion", "[tokenizer]") {
    const Folder folder;
    folder.of("wordpiece_fast", {"tokenizer.json"});
    const Ids fast = folder.open()->encode("a \u0378").ids;
    folder.with("vocab.txt", kBertVocab);
    CHECK(folder.open()->encode("a").ids == Ids{2, 5, 3});
    CHECK(fast.size() == 4);  // Rust keeps an unassigned character, Python drops it
    folder.of("bpe", {"vocab.json"});
    CHECK(folder.open()->encode("a").ids == Ids{2, 5, 3});  // no merges.txt yet
    folder.of("bpe", {"merges.txt"});
    CHECK(folder.open()->encode("a").ids == Ids{1, 68, 2});
    folder.of("xlnet", {"spiece.model"});
    CHECK(folder.open()->pads_left());
    folder.of("spm", {"spm.model"});
    CHECK(folder.open()->encode("").pieces == Pieces{"[CLS]", "[SEP]"});
}

TEST_CASE("tokenizer: the class of the config decides, and a strange one is refused by name", "[tokenizer]") {
    const auto refused = [](const std::string& tokenizer_class, const std::string& source,
                            const std::vector<std::string>& names) {
        const Folder folder;
        folder.of(source, names).with("tokenizer_config.json", "{\"tokenizer_class\": \"" + tokenizer_class + "\"}");
        return folder.refused(Fault::unsupported);
    };
    CHECK_THAT(refused("AlbertTokenizer", "xlnet", {"spiece.model"}),
               Contains("\"AlbertTokenizer\"") && Contains("--tokens"));
    CHECK_THAT(refused("CLIPTokenizerFast", "bpe", {"vocab.json", "merges.txt"}), Contains("\"CLIPTokenizerFast\""));
    CHECK_THAT(refused("BertJapaneseTokenizer", "wordpiece", {"vocab.txt"}),
               Contains("BertTokenizer, RoFormerTokenizer"));
    const Folder words, pieces;
    words.with("vocab.txt", "<unk>\n<eos>\na\n").with("config.json", R"({"model_type": "transfo-xl"})");
    CHECK(words.open()->encode("a b").pieces == Pieces{"<eos>", "a", "<unk>"});
    CHECK(words.open()->encode("a b").behind == Pieces{"", "", "b"});
    CHECK(words.open()->encode("a b").text(2) == "b");
    pieces.with("vocab.txt", kBertVocab).with("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizerFast"})");
    CHECK(pieces.with("config.json", R"({"model_type": "transfo-xl"})").open()->encode("ab").ids == Ids{2, 5, 6, 3});
}

TEST_CASE("tokenizer: XLNet ends with <sep> <cls> and pads on the left", "[tokenizer]") {
    const auto tokenizer = open_tokenizer(kTokenizers / "xlnet");
    CHECK(tokenizer->encode("").pieces == Pieces{"<sep>", "<cls>"});
    CHECK(tokenizer->frame() == std::pair<std::size_t, std::size_t>{0, 2});
    CHECK(tokenizer->pads_left());
    CHECK(tokenizer->pad_id() == 5);
    CHECK(tokenizer->mask_id() == 6);
    const Folder right;
    right.of("xlnet", {"spiece.model"}).with("tokenizer_config.json", R"({"padding_side": "right"})");
    CHECK_FALSE(right.open()->pads_left());
}

TEST_CASE("tokenizer: RoBERTa's and BERT's frames, Transformer-XL without padding", "[tokenizer]") {
    const auto roberta = open_tokenizer(kTokenizers / "roberta"), bert = open_tokenizer(kTokenizers / "wordpiece");
    CHECK(roberta->encode("").pieces == Pieces{"<s>", "</s>"});
    CHECK(roberta->pad_id() == 0);
    CHECK(roberta->mask_id() == 599);
    CHECK(roberta->encode("a\x1f <mask>").ids == roberta->encode("a<mask>").ids);  // white space to Python
    CHECK(roberta->encode("\x1f").ids.size() == 3);                                // so no blank goes in front
    CHECK(bert->encode("").pieces == Pieces{"[CLS]", "[SEP]"});
    CHECK(bert->piece(4) == "[MASK]");
    CHECK_FALSE(bert->pads_left());
    const auto words = open_tokenizer(kTokenizers / "txl");
    CHECK_FALSE(words->pad_id());
    CHECK_FALSE(words->mask_id());
    CHECK(words->frame() == std::pair<std::size_t, std::size_t>{1, 0});
    CHECK(words->encode("\"tom, (susan)!").pieces ==
          Pieces{"<eos>", "<unk>", "tom", ",", "<unk>", "susan", "<unk>", "<unk>"});
    CHECK(words->encode("\"tom, (susan)!").behind == Pieces{"", "\"", "", "", "(", "", ")", "!"});
    CHECK(words->encode("...").pieces == Pieces{"<eos>", ".", ".", "."});
    CHECK(words->encode("TOM").ids == Ids{1, 0});
    const Folder lower;
    lower.of("txl", {"vocab.txt", "config.json"}).with("tokenizer_config.json", R"({"lower_case": true})");
    CHECK(lower.open()->encode("TOM").pieces == Pieces{"<eos>", "tom"});
}

TEST_CASE("tokenizer: words of WikiText-103 from vocab.json, cut as their corpus is", "[tokenizer]") {
    const Folder folder;
    folder
        .with("vocab.json", R"({"<eos>": 0, "<unk>": 1, "well": 2, "known": 3, "@-@": 4, "1": 5, "000": 6, "@,@": 7,
                                "don": 8, "'t": 9, ".": 10, "mother-in-law": 11, "caf\u00e9": 12, "5": 13,
                                "$": 14, "'": 15, "-": 16, "\"": 17, "\u201c": 18, ":": 19, "...": 20})")
        .with("config.json", R"({"model_type": "transfo-xl"})");
    const auto words = folder.open();
    CHECK(words->encode("well-known 1,000.").pieces == Pieces{"<eos>", "well", "@-@", "known", "1", "@,@", "000", "."});
    CHECK(words->encode("don't mother-in-law").pieces == Pieces{"<eos>", "don", "'t", "mother-in-law"});
    CHECK(words->encode("caf\u00e9-known").pieces == Pieces{"<eos>", "caf\u00e9", "@-@", "known"});
    // Only the mark that the vocabulary has, and only between numbers: no "@.@", no comma between words.
    CHECK(words->encode("1.5 well,known").pieces == Pieces{"<eos>", "<unk>", "<unk>"});
    CHECK(words->encode("well-1 can't").pieces == Pieces{"<eos>", "well", "@-@", "1", "<unk>", "'t"});
    CHECK(words->encode("$5 <well>").pieces == Pieces{"<eos>", "$", "5", "<unk>", "well", "<unk>"});
    CHECK(words->encode("$5 <well>").behind == Pieces{"", "", "", "<", "", ">"});
    // Typography as plain signs, where the vocabulary has these and not the sign itself.
    CHECK(words->encode("don\u2019t well\u2013known").pieces == Pieces{"<eos>", "don", "'t", "well", "@-@", "known"});
    CHECK(words->encode("\u2018well\u2019").pieces == Pieces{"<eos>", "'", "well", "'"});
    CHECK(words->encode("\u201cwell\u201d \u2026").pieces == Pieces{"<eos>", "\u201c", "well", "\"", "..."});
    CHECK(words->encode("5:1 well... well/known:").pieces ==
          Pieces{"<eos>", "5", ":", "1", "well", "...", "<unk>", ":"});
    CHECK(words->encode("x-y").behind == Pieces{"", "x", "", "y"});
    // Another family's vocab.json has merges beside it.
    const Folder lacks;
    lacks.with("vocab.json", R"({"<eos>": 0, "<unk>": 1})").with("config.json", R"({"model_type": "deberta"})");
    CHECK_THROWS_AS(lacks.open(), Error);
}

TEST_CASE("tokenizer: names, ids and flags of special tokens come from the files", "[tokenizer]") {
    const Folder folder;
    folder.with("vocab.txt", "<p>\n<u>\n<c>\n<s>\n<m>\na\n##b\n")
        .with("tokenizer_config.json", R"({"cls_token": "wrong", "sep_token": "<s>", "unk_token": "<u>"})")
        .with("special_tokens_map.json",
              R"({"cls_token": {"content": "<c>"}, "pad_token": "<p>", "mask_token": {"content": "<m>", "lstrip": true},
                  "additional_special_tokens": ["a"]})");
    const auto tokenizer = folder.open();
    CHECK(tokenizer->encode("ab <m> z").ids == Ids{2, 5, 1, 4, 1, 3});  // "a" is special now, and "b" unknown
    CHECK(tokenizer->pad_id() == 0);
    CHECK(tokenizer->mask_id() == 4);
    const Folder decoder;
    decoder.with("vocab.txt", kBertVocab)
        .with("special_tokens_map.json", R"({"cls_token": "not asked where there is a decoder"})")
        .with("tokenizer_config.json",
              R"({"added_tokens_decoder": {"9": {"content": "new", "single_word": true, "special": false}}})");
    CHECK(decoder.open()->encode("a new anew.").ids == Ids{2, 5, 9, 1, 7, 3});
    CHECK_FALSE(decoder.open()->encode("new").special[1]);
    CHECK(decoder.open()->encode("new\u200d").ids == Ids{2, 1, 3});  // a joiner is part of a word
    const Folder plain;
    plain.with("vocab.txt", kBertVocab).with("tokenizer_config.json", R"({"mask_token": "<m>"})");
    CHECK_THAT(plain.refused(), Contains("vocab.txt: has no piece <m>, expected one for the mask_token"));
    plain.with("added_tokens.json", R"({"<m>": 8})");
    CHECK(plain.open()->mask_id() == 8);
    plain.with("tokenizer_config.json", R"({"padding_side": "up"})");
    CHECK_THAT(plain.refused(), Contains("padding_side is \"up\""));
}

TEST_CASE("tokenizer: RoFormer's Chinese words need jieba, and Locus says so", "[tokenizer]") {
    const Folder folder;
    folder.with("vocab.txt", std::string(kBertVocab) + "\u4e2d\u6587\n\u4e2d\n")
        .with("tokenizer_config.json", R"({"tokenizer_class": "RoFormerTokenizer"})");
    CHECK(folder.open()->encode("ab.").ids == Ids{2, 5, 6, 7, 3});
    CHECK_THAT(refusal([&] { folder.open()->encode("a \u4e2d"); }, Fault::unsupported), Contains("jieba"));
    folder.with("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
    CHECK(folder.open()->encode("\u4e2d\u6587").ids == Ids{2, 9, 1, 3});
}

TEST_CASE("tokenizer: case and accents stay where the config says so", "[tokenizer]") {
    const Folder folder;
    folder.with("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nA\na\n\u00e9\ne\n");
    CHECK(folder.open()->encode("A \u00e9").ids == Ids{2, 5, 7, 3});
    folder.with("tokenizer_config.json", R"({"do_lower_case": false})");
    CHECK(folder.open()->encode("A e\u0301").ids == Ids{2, 4, 6, 3});
    folder.with("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": true})");
    CHECK(folder.open()->encode("A \u00e9").ids == Ids{2, 4, 7, 3});
    folder.with("tokenizer_config.json", R"({"do_basic_tokenize": false})");
    CHECK_THAT(folder.refused(Fault::unsupported), Contains("do_basic_tokenize"));
}

TEST_CASE("tokenizer: GPT-2 has nothing around its text", "[tokenizer]") {
    const Folder folder;
    folder.with("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 7})")
        .with("merges.txt", "#version: 0.2\na b\n");
    CHECK_THAT(folder.refused(), Contains("vocab.json: has no piece [CLS]"));
    folder.with("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
    CHECK(folder.open()->encode("abz<|endoftext|>").ids == Ids{2, 7, 7});
    CHECK(folder.open()->piece(5) == "<5>");  // ids may have holes
    CHECK(display_piece("\u0120store") == "store");
}

TEST_CASE("tokenizer: a megabyte takes seconds", "[tokenizer]") {
    std::string text;
    while (text.size() < 1'000'000) text += "A new store opened beside the [MASK] mall, don't you know?  ";
    for (const char* name : {"bpe", "bpe_fast", "wordpiece", "wordpiece_fast", "spm", "spm_fast", "xlnet", "txl"}) {
        INFO(name);
        const auto tokenizer = open_tokenizer(kTokenizers / name);
        const auto start = std::chrono::steady_clock::now();
        CHECK(tokenizer->encode(text).ids.size() > 150'000);
        CHECK(tokenizer->encode(std::string(1 << 20, 'a')).ids.size() > 1);
        CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 20);
    }
}

}  // namespace locus::test::test_tokenizer
