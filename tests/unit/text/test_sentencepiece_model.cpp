// SentencePiece models: what damaged ones are refused with, and ids equal to those of libsentencepiece.
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <unordered_map>

#include "core/text/corpus/vocabulary_training.h"
#include "core/text/tokenizers/piece_trie.h"
#include "core/text/tokenizers/sentencepiece_encoder.h"
#include "core/text/tokenizers/sentencepiece_model.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/unicode.h"
#include "tests/files.h"

namespace locus::test::test_sentencepiece_model {

using Catch::Contains;
using Model = SentencePieceModel;
using Type = SentencePieceModel::Type;

namespace {

const fs::path kRoot = LOCUS_SOURCE_DIR;

// --- a writer of the format ------------------------------------------------------------------------------------------

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
}

std::string number_field(std::uint32_t number, std::uint64_t value) { return varint(number << 3) + varint(value); }
std::string float_field(std::uint32_t number, float value) { return varint(number << 3 | 5) + bytes_of(value); }
std::string bytes_field(std::uint32_t number, const std::string& bytes) {
    return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}

std::string piece_field(const Model::Entry& piece) {
    return bytes_field(1, bytes_field(1, piece.text) + float_field(2, piece.score) +
                              number_field(3, static_cast<std::uint64_t>(piece.type)));
}

std::string file_of(const Model& model) {
    std::string bytes;
    for (const Model::Entry& piece : model.pieces) bytes += piece_field(piece);
    bytes += bytes_field(2, number_field(3, static_cast<std::uint64_t>(model.kind)) +
                                number_field(24, model.whitespace_as_suffix) + number_field(35, model.byte_fallback));
    const Model::Normalizer& normalizer = model.normalizer;
    const std::string table = normalizer.charsmap.empty() ? "" : bytes_field(2, normalizer.charsmap);
    return bytes + bytes_field(3, table + number_field(3, normalizer.add_dummy_prefix) +
                                      number_field(4, normalizer.remove_extra_whitespaces) +
                                      number_field(5, normalizer.escape_whitespaces));
}

Model small_model() {
    Model model;
    model.pieces = {{"<unk>", 0, Type::unknown},
                    {"[CLS]", 0, Type::control},
                    {"[SEP]", 0, Type::control},
                    {"[PAD]", 0, Type::control},
                    {"\u2581a", -1},
                    {"b", -2},
                    {"ab", -2.5}};
    return model;
}

std::string refused_bytes(const std::string& bytes, Fault fault = Fault::unreadable) {
    const std::string sentence =
        refusal([&] { SentencePieceEncoder(parse_sentencepiece_model(bytes, "x.model"), "x.model"); }, fault);
    CHECK_THAT(sentence, Catch::StartsWith("x.model: "));
    return sentence;
}

/// A sound model with one more piece.
std::string refused_piece(const Model::Entry& piece, bool byte_fallback = false) {
    Model model = small_model();
    model.pieces.push_back(piece);
    model.byte_fallback = byte_fallback;
    return refused_bytes(file_of(model));
}

std::string table_of(const std::vector<std::uint32_t>& trie, const std::string& replacements) {
    std::string bytes = bytes_of(static_cast<std::uint32_t>(4 * trie.size()));
    for (const std::uint32_t unit : trie) bytes += bytes_of(unit);
    return bytes + replacements;
}

std::string refused_table(const std::string& table) {
    Model model = small_model();
    model.normalizer.charsmap = table;
    return refused_bytes(file_of(model));
}

// --- the library -----------------------------------------------------------------------------------------------------

class CorpusLines : public sentencepiece::SentenceIterator {
public:
    CorpusLines() {
        std::istringstream text(read_bytes(kRoot / "assets/corpus/heldout.txt"));
        for (std::string line; std::getline(text, line);) lines_.push_back(line);
    }
    bool done() const override { return at_ >= lines_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return lines_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

private:
    std::vector<std::string> lines_;
    std::size_t at_ = 0;
};

std::string learnt(const std::string& kind, const std::string& rule,
                   std::unordered_map<std::string, std::string> options = {}) {
    options.insert({{"model_type", kind},
                    {"normalization_rule_name", rule},
                    {"vocab_size", "700"},
                    {"hard_vocab_limit", "false"},
                    {"num_threads", "1"},
                    {"minloglevel", "3"}});
    CorpusLines lines;
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &model);
    INFO(status.ToString());
    REQUIRE(status.ok());
    return model;
}

/// The same model with every seventh piece out of use.
std::string with_unused(const std::string& bytes) {
    Model model = parse_sentencepiece_model(bytes, "learnt");
    for (std::size_t id = 0; id < model.pieces.size(); ++id)
        if (model.pieces[id].type == Type::normal && id % 7 == 0) model.pieces[id].type = Type::unused;
    return file_of(model);
}

/// Bytes of models of every kind, by name.
std::vector<std::pair<std::string, std::string>> vocabularies() {
    std::vector<std::pair<std::string, std::string>> models;
    for (const char* file : {"tests/oracle/tokenizers/spm/spm.model", "tests/oracle/tokenizers/xlnet/spiece.model",
                             "assets/models/tiny-v3/spm.model", "assets/models/tiny-xlnet/spiece.model"})
        models.emplace_back(file, read_bytes(kRoot / file));
    models.emplace_back("train_vocabulary",
                        train_vocabulary(kRoot / "assets/corpus/heldout.txt", {0, true}).files.at("spm.model"));
    for (const char* rule : {"nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf", "identity"}) {
        models.emplace_back(std::string("unigram ") + rule, learnt("unigram", rule));
        models.emplace_back(std::string("BPE ") + rule, learnt("bpe", rule));
    }
    const std::string symbols = "the,e@,is,ab,\u2581in,\uac00,a\u0301";
    models.emplace_back("unigram, bytes and symbols",
                        learnt("unigram", "nfkc", {{"byte_fallback", "true"}, {"user_defined_symbols", symbols}}));
    models.emplace_back("BPE, bytes and symbols",
                        learnt("bpe", "nmt_nfkc_cf", {{"byte_fallback", "true"}, {"user_defined_symbols", symbols}}));
    models.emplace_back(
        "unigram, suffix",
        learnt("unigram", "nmt_nfkc", {{"treat_whitespace_as_suffix", "true"}, {"remove_extra_whitespaces", "false"}}));
    models.emplace_back(
        "BPE, no prefix, blanks kept",
        learnt("bpe", "identity", {{"add_dummy_prefix", "false"}, {"remove_extra_whitespaces", "false"}}));
    models.emplace_back("unigram, unused pieces", with_unused(learnt("unigram", "nmt_nfkc")));
    models.emplace_back("BPE, unused pieces",
                        with_unused(learnt("bpe", "nmt_nfkc", {{"user_defined_symbols", symbols}})));
    models.emplace_back("characters", learnt("char", "nfkc", {{"user_defined_symbols", symbols}}));
    models.emplace_back("words", learnt("word", "nfkc_cf"));
    return models;
}

// --- random texts ----------------------------------------------------------------------------------------------------

std::uint32_t below(std::mt19937& generator, std::uint32_t limit) {
    return static_cast<std::uint32_t>(generator()) % limit;
}

/// Latin words, Hangul, Han, combining marks, emoji, controls, bytes that are no UTF-8, blanks, wide forms, U+2581.
void add_random(std::string& text, std::uint32_t what, std::mt19937& generator) {
    const auto between = [&](std::uint32_t first, std::uint32_t count) {
        append_character(text, static_cast<char32_t>(first + below(generator, count)));
    };
    static const std::vector<std::string> words = {"the", " is ", "e@", "ab", " in", "ing", "<unk>", "<0x41>", "[CLS]"};
    if (what == 0)
        for (std::uint32_t n = below(generator, 9); n > 0; --n) between('a', 26);
    else if (what == 1)
        between(below(generator, 2) ? 0xAC00 : 0x1100, 256);
    else if (what == 2)
        between(below(generator, 2) ? 0x4E00 : 0xF900, 400);
    else if (what == 3)
        between('A', 58), between(0x300, 0x70);
    else if (what == 4)
        between(0x1F300, 0x300);
    else if (what == 5)
        between(0, 0x21);
    else if (what == 6)
        for (std::uint32_t n = below(generator, 4); n > 0; --n)
            text += static_cast<char>(0x80 + below(generator, 0x80));
    else if (what == 7)
        text += std::string(1 + below(generator, 3), ' ');
    else if (what == 8)
        between(0xA0, 0x300);
    else if (what == 9)
        between(below(generator, 2) ? 0xFF00 : 0x2000, 0xF0);
    else if (what == 10)
        text += below(generator, 3) ? "\u3000" : "\u2581";
    else
        text += words[below(generator, static_cast<std::uint32_t>(words.size()))];
}

std::string random_text(std::mt19937& generator) {
    std::string text;
    const bool latin = below(generator, 4) == 0;
    for (std::uint32_t n = below(generator, 30); n > 0; --n)
        add_random(text, latin ? 7 * below(generator, 2) : below(generator, 12), generator);
    return text;
}

/// 64 KiB without a blank.
std::string long_text(std::mt19937& generator) {
    std::string text;
    while (text.size() < 65536)
        for (const char letter : random_text(generator))
            if (letter != ' ') text += letter;
    return text;
}

/// Every vocabulary against the library on `count` random texts; every thousandth has 64 KiB.
void compare_with_library(int count) {
    unsigned seed = 1;
    for (const auto& [name, bytes] : vocabularies()) {
        sentencepiece::SentencePieceProcessor library;
        REQUIRE(library.LoadFromSerializedProto(bytes).ok());
        const SentencePieceEncoder encoder(parse_sentencepiece_model(bytes, name), name);
        REQUIRE(encoder.size() == library.GetPieceSize());
        std::mt19937 generator(seed++);
        int compared = 0, different = 0;
        for (int n = 0; n < count; ++n, ++compared) {
            const std::string text = n % 1000 == 999 ? long_text(generator) : random_text(generator);
            std::vector<int> ids;
            std::vector<std::string> texts;
            REQUIRE(library.Encode(text, &ids).ok());
            if (n % 4 == 0) REQUIRE(library.Encode(text, &texts).ok());
            const std::vector<Piece> pieces = encoder.encode(text);
            bool same = pieces.size() == ids.size();
            for (std::size_t at = 0; same && at < ids.size(); ++at)
                same = pieces[at].id == ids[at] &&
                       (n % 4 != 0 ||
                        (pieces[at].text == texts[at] && encoder.id(texts[at]) == library.PieceToId(texts[at])));
            if (same || different++ > 0) continue;
            INFO("text " << n << ": " << text.substr(0, 300));
            CHECK(pieces.size() == ids.size());
        }
        INFO(name << ": " << different << " of " << compared << " texts differ");
        CHECK(different == 0);
    }
}

}  // namespace

// --- refusals --------------------------------------------------------------------------------------------------------

TEST_CASE("spm.model: bytes that are no protobuf message are refused by their place", "[tokenizer][sentencepiece]") {
    CHECK_THAT(refused_bytes(""), Contains("has no unknown piece among its 0"));
    CHECK_THAT(refused_bytes("\x0a"), Contains("not a SentencePiece model: at byte 1 a number is cut off"));
    CHECK_THAT(refused_bytes(std::string(11, '\xff')), Contains("at byte 0 a number has more than 10 bytes"));
    CHECK_THAT(refused_bytes(std::string("\0\0", 2)), Contains("at byte 0 the number of a field is 0"));
    CHECK_THAT(refused_bytes(varint(std::uint64_t{1} << 35) + "a"), Contains("the number of a field is 4294967296"));
    for (const char* group : {"\x0b", "\x0c", "\x0e", "\x0f"})
        CHECK_THAT(refused_bytes(group), Contains("wire type") && Contains("expected 0, 1, 2 or 5"));
    const std::string sound = file_of(small_model());
    CHECK_THAT(refused_bytes(sound + "\x0a\x05\x61"), Contains("says that it has 5 bytes, expected at most the 1"));
    CHECK_THAT(refused_bytes(sound + "\x0a" + varint(std::numeric_limits<std::uint64_t>::max())),
               Contains("says that it has 18446744073709551615 bytes, expected at most the 0"));
    CHECK_THAT(refused_bytes(sound + bytes_field(1, "\x0a\x7f")), Contains("says that it has 127 bytes"));
    CHECK_THAT(refused_bytes(sound + "\x15\x01"), Contains("says that it has 4 bytes, expected at most the 1"));
    CHECK_THAT(refused_bytes(sound + number_field(1, 3)), Contains("a piece has the wire type 0, expected 2"));
    CHECK_THAT(refused_bytes(sound + float_field(3, 1)), Contains("normalizer_spec has the wire type 5, expected 2"));
    CHECK_THAT(refused_bytes(sound + bytes_field(2, bytes_field(35, ""))),
               Contains("byte_fallback has the wire type 2"));
    CHECK_THAT(refused_bytes(sound + bytes_field(2, number_field(3, 9)), Fault::unsupported),
               Contains("model_type is 9, expected 1 (unigram)"));
}

TEST_CASE("spm.model: a piece that cannot be one is refused by its id", "[tokenizer][sentencepiece]") {
    // A piece that is one zero byte ended the library with an exception of its own.
    for (const std::string& text : {std::string(), std::string(1, '\0'), std::string("a\0b", 3), std::string("a\xff")})
        CHECK_THAT(refused_piece({text, 0}), Contains("piece 7 is ") && Contains("expected UTF-8 text without a zero"));
    CHECK_THAT(refused_piece({"b", 0}), Contains("piece 7 is \"b\", and piece 5 is too, expected each once"));
    CHECK_THAT(refused_piece({"[CLS]", 0, Type::control}), Contains("piece 1 is too"));
    CHECK_THAT(refused_piece({"c", std::numeric_limits<float>::quiet_NaN()}), Contains("score nan, expected a finite"));
    CHECK_THAT(refused_piece({"c", std::numeric_limits<float>::infinity()}), Contains("score inf, expected a finite"));
    CHECK_THAT(refused_piece({"c", 0, Type::unknown}), Contains("a second unknown piece after piece 0"));
    CHECK_THAT(refused_piece({"c", 0, static_cast<Type>(7)}),
               Contains("the type of a piece is 7, expected one from 1"));
    CHECK_THAT(refused_piece({"<0x41>", 0, Type::byte}), Contains("expected none without byte_fallback"));
    CHECK_THAT(refused_piece({"<0x41>", 0, Type::byte}, true), Contains("1 pieces are bytes, expected 256"));
    CHECK_THAT(refused_piece({"<0x4a>", 0, Type::byte}, true), Contains("of the type byte, expected <0x00> to <0xFF>"));
    Model model = small_model();
    model.pieces.erase(model.pieces.begin());
    CHECK_THAT(refused_bytes(file_of(model)), Contains("has no unknown piece among its 6, expected one"));
    model = small_model();
    model.pieces.resize(4);
    CHECK_THAT(refused_bytes(file_of(model)), Contains("has no piece but special ones"));
}

TEST_CASE("spm.model: a table of replacements that leads astray is refused", "[tokenizer][sentencepiece]") {
    // These two roots let the library read outside its table.
    std::vector<std::uint32_t> trie(256);
    trie[0] = 0x1FFFFFu << 10;
    CHECK_THAT(refused_table(table_of(trie, "a")),
               Contains("precompiled_charsmap: the root of the trie leads to unit "));
    trie[0] = 0x7FFFFC00u | 0x80000000u;
    CHECK_THAT(refused_table(table_of(trie, "a")), Contains("the root of the trie leads to unit 4194303, expected"));
    trie[0] = 1 << 10;
    trie[0x40] = 'A' | 1 << 8 | 1 << 10;  // its value is unit 0x41
    trie[0x41] = 0x80000000;
    Model model = small_model();
    model.normalizer.charsmap = table_of(trie, std::string("b\0", 2));
    const SentencePieceEncoder encoder(parse_sentencepiece_model(file_of(model), "x"), "x");
    CHECK(encoder.normalize("A  A") == "\u2581b\u2581b");
    trie[0x41] = 0x80000001;
    CHECK_THAT(refused_table(table_of(trie, "bc")), Contains("ends at unit 64 of the trie leads to no replacement"));
    trie[0x40] = 'A' | 1 << 8 | 0x1FFFFFu << 10;
    CHECK_THAT(refused_table(table_of(trie, "bc")), Contains("ends at unit 64 of the trie leads to no replacement"));
    CHECK_THAT(refused_table("abc"), Contains("the table has 3 bytes, expected 4"));
    CHECK_THAT(refused_table(table_of({0}, "\xff")), Contains("a replacement is not UTF-8"));
    CHECK_THAT(refused_table(table_of({0}, std::string(257, 'a'))),
               Contains("a replacement of 257 bytes, expected at most 256"));
}

TEST_CASE("spm.model: a folder with a damaged one is refused by the file's name", "[tokenizer][sentencepiece]") {
    const TemporaryFolder folder;
    const auto refused = [&] { return refusal([&] { open_tokenizer(folder.path()); }); };
    write_bytes(folder / "spm.model", "text");
    CHECK_THAT(refused(), Contains("spm.model: not a SentencePiece model: at byte 0"));
    fs::resize_file(folder / "spm.model", (std::uintmax_t{1} << 28) + 1);
    CHECK_THAT(refused(), Contains("spm.model: has 268435457 bytes, expected a SentencePiece model of at most"));
    fs::remove(folder / "spm.model");
    fs::create_directory(folder / "spm.model");
    CHECK_THAT(refused(), Contains("spm.model: cannot be read, expected a file"));
}

// --- what works ------------------------------------------------------------------------------------------------------

TEST_CASE("spm.model: a piece may be long, and fields that Locus does not know are passed over",
          "[tokenizer][sentencepiece]") {
    Model model = small_model();
    const std::string piece = "\u2581" + std::string(400'000, 'x');  // the library's recursion ended the program
    model.pieces.push_back({piece, -3});
    const std::string bytes = number_field(99, 5) + file_of(model) + varint(98 << 3 | 1) + std::string(8, 'y') +
                              bytes_field(2, bytes_field(45, "<unk>")) + bytes_field(4, "self test");
    const SentencePieceEncoder encoder(parse_sentencepiece_model(bytes, "x"), "x");
    const std::vector<Piece> pieces = encoder.encode(std::string(400'000, 'x') + " ab");
    REQUIRE(pieces.size() == 3);
    CHECK(pieces[0].id == 7);
    CHECK(pieces[1].text == "\u2581a");
    CHECK(pieces[2].id == 5);
}

TEST_CASE("spm.model: the name of a control piece cannot be cut by characters", "[tokenizer][sentencepiece]") {
    Model model = small_model();
    model.kind = Model::Kind::character;
    model.pieces.push_back({"c", 0, Type::control});
    const SentencePieceEncoder encoder(parse_sentencepiece_model(file_of(model), "x"), "x");
    CHECK(encoder.encode("b").back().id == 5);
    CHECK_THAT(refusal([&] { encoder.encode("abc"); }, Fault::usage),
               Contains("holds \"c\", the name of a control piece"));
}

TEST_CASE("trie of pieces: finds what a search through all pieces finds", "[tokenizer][sentencepiece]") {
    std::mt19937 generator(3);
    for (const std::uint32_t letters : {2u, 5u, 256u}) {
        const auto word = [&] {
            std::string text;
            for (std::uint32_t n = 1 + below(generator, 6); n > 0; --n)
                text += static_cast<char>(below(generator, letters));
            return text;
        };
        std::map<std::string, std::uint32_t> all;
        for (std::uint32_t n = 0; n < 3000; ++n) all.emplace(word(), n);
        std::vector<PieceTrie::Entry> entries(all.begin(), all.end());
        const PieceTrie trie(entries, "x");
        for (int n = 0; n < 3000; ++n) {
            const std::string text = word() + word();
            std::size_t longest = 0;
            for (std::size_t size = 1; size <= text.size(); ++size) {
                const auto there = all.find(text.substr(0, size));
                const auto found = trie.find(text.substr(0, size));
                REQUIRE(found == (there == all.end() ? std::nullopt : std::optional(there->second)));
                if (found) longest = size;
            }
            REQUIRE(trie.longest_prefix(text) == longest);
        }
    }
    CHECK_THAT(refusal([] { PieceTrie({{"a", 8'388'606}}, "x"); }), Contains("x: a piece has the id 8388606"));
    CHECK_FALSE(PieceTrie().find("a"));
}

TEST_CASE("SentencePiece: ids of 2,000 random texts are the library's, for every kind of vocabulary",
          "[tokenizer][sentencepiece]") {
    compare_with_library(2000);
}

TEST_CASE("SentencePiece: ids of 100,000 random texts are the library's, for every kind of vocabulary",
          "[.][long][sentencepiece]") {
    compare_with_library(100'000);
}

}  // namespace locus::test::test_sentencepiece_model
