// Which tokenizer a folder gets, and what its small files may say.
#include <catch2/catch.hpp>
#include <chrono>

#include "core/text/tokenizers/tokenizer.h"
#include "tests/files.h"

namespace locus::test::test_tokenizer_kinds {

using Catch::Contains;
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
    CHECK_THAT(refused("CLIPTokenizerFast", "bpe", {"vocab.json", "merges.txt"}), Contains("\"CLIPTokenizer\""));
    CHECK_THAT(refused("BertJapaneseTokenizer", "wordpiece", {"vocab.txt"}),
               Contains("BertTokenizer, RoFormerTokenizer"));
    const Folder words, pieces;
    words.with("vocab.txt", "<unk>\n<eos>\na\n").with("config.json", R"({"model_type": "transfo-xl"})");
    CHECK(words.open()->encode("a b").pieces == Pieces{"<eos>", "a", "<unk>"});
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
    CHECK(words->encode("...").pieces == Pieces{"<eos>", ".", ".", "."});
    CHECK(words->encode("TOM").ids == Ids{1, 0});
    const Folder lower;
    lower.of("txl", {"vocab.txt", "config.json"}).with("tokenizer_config.json", R"({"lower_case": true})");
    CHECK(lower.open()->encode("TOM").pieces == Pieces{"<eos>", "tom"});
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

}  // namespace locus::test::test_tokenizer_kinds
