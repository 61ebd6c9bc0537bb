// Vocabularies learnt from a text.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/text/corpus/corpus_text.h"
#include "core/text/corpus/vocabulary_training.h"
#include "core/text/tokenizers/tokenizer.h"
#include "tests/run_program.h"

namespace locus::test::test_vocabulary_training {

namespace {

const fs::path kCorpus = fs::path(LOCUS_SOURCE_DIR) / "assets/corpus/positions.txt";

std::unique_ptr<Tokenizer> opened(const TrainedVocabulary& vocabulary, const fs::path& folder) {
    for (const auto& [name, bytes] : vocabulary.files) write_bytes(folder / name, bytes);
    return open_tokenizer(folder);
}

const TrainedVocabulary& of_corpus() {
    static const TrainedVocabulary vocabulary = train_vocabulary(kCorpus);
    return vocabulary;
}

/// What a call writes to standard error.
template <class Call>
std::string noise_of(const fs::path& file, Call call) {
    const int kept = ::dup(2), other = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(other, 2);
    call();
    ::dup2(kept, 2);
    ::close(kept);
    ::close(other);
    return read_bytes(file);
}

}  // namespace

TEST_CASE("vocabulary: a browser, which learns none, has the one of the corpus that comes along", "[vocabulary]") {
    const fs::path folder = fs::path(LOCUS_SOURCE_DIR) / "assets/corpus/positions";
    for (const auto& [name, bytes] : of_corpus().files) {
        INFO(name);
        CHECK(read_bytes(folder / name) == bytes);
    }
}

TEST_CASE("vocabulary: our tokenizer opens what was learnt, with DeBERTa's special pieces", "[vocabulary]") {
    const TemporaryFolder folder;
    const TrainedVocabulary& vocabulary = of_corpus();
    const auto tokenizer = opened(vocabulary, folder.path());
    const std::vector<std::string> specials = {"[PAD]", "[CLS]", "[SEP]", "[UNK]"};
    for (std::int64_t id = 0; id < 4; ++id) CHECK(tokenizer->piece(id) == specials[static_cast<std::size_t>(id)]);
    CHECK(tokenizer->pad_id() == 0);
    CHECK(tokenizer->mask_id() == vocabulary.pieces - 1);
    CHECK(tokenizer->piece(vocabulary.pieces - 1) == "[MASK]");
    CHECK(tokenizer->piece(vocabulary.pieces) == "<" + std::to_string(vocabulary.pieces) + ">");
    const Tokens tokens = tokenizer->encode("A new [MASK] opened beside the old mall.");
    CHECK(tokens.pieces == std::vector<std::string>{"[CLS]", "\u2581a", "\u2581new", "[MASK]", "\u2581opened",
                                                    "\u2581beside", "\u2581the", "\u2581old", "\u2581mall", ".",
                                                    "[SEP]"});
    CHECK(tokens.ids.front() == 1);
    CHECK(tokens.ids.back() == 2);
    CHECK(tokens.ids[3] == vocabulary.pieces - 1);
}

TEST_CASE("vocabulary: transformers finds the special pieces in a text as our tokenizer does", "[vocabulary][python]") {
    const fs::path env = "/usr/bin/env";
    if (run_file(env, {"python3", "-c", "import transformers, sentencepiece"}).status != 0) {
        WARN("skipped: python3 here has no transformers and sentencepiece");
        return;
    }
    const TemporaryFolder folder;
    opened(of_corpus(), folder.path());
    for (const fs::path& place : {folder.path(), fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3"}) {
        const auto tokenizer = open_tokenizer(place);
        for (const char* text : {"the [MASK] came.", "[MASK]", "a [mask] b", "x [MASK] [MASK], y", "tom[MASK]lucy",
                                 "[CLS] the [SEP] old [PAD] mall [UNK]"}) {
            const Outcome outcome =
                run_file(env, {"python3", "-c",
                               "import sys\nfrom transformers import DebertaV2Tokenizer\n"
                               "print(DebertaV2Tokenizer.from_pretrained(sys.argv[1])(sys.argv[2])['input_ids'])",
                               place.string(), text});
            INFO(place << " " << text << outcome.err);
            REQUIRE(outcome.status == 0);
            const auto theirs = nlohmann::json::parse(outcome.out).get<std::vector<std::int64_t>>();
            CHECK(theirs == tokenizer->encode(text).ids);
        }
    }
}

TEST_CASE("vocabulary: the files name every special piece, for readers that take it for a word otherwise",
          "[vocabulary]") {
    for (const std::string& text :
         {of_corpus().files.at("tokenizer_config.json"),
          read_bytes(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3/tokenizer_config.json")}) {
        const auto config = nlohmann::json::parse(text);
        for (const auto& [role, piece] : std::map<std::string, std::string>{{"bos_token", "[CLS]"},
                                                                            {"cls_token", "[CLS]"},
                                                                            {"eos_token", "[SEP]"},
                                                                            {"sep_token", "[SEP]"},
                                                                            {"unk_token", "[UNK]"},
                                                                            {"pad_token", "[PAD]"},
                                                                            {"mask_token", "[MASK]"}})
            CHECK(config.at(role) == piece);
    }
}

TEST_CASE("vocabulary: every word of our corpus is one piece, and nothing is unknown", "[vocabulary]") {
    const TemporaryFolder folder;
    const auto tokenizer = opened(of_corpus(), folder.path());
    const std::string text = read_bytes(kCorpus);
    for (const std::string_view line : short_lines(text, 4000)) {
        const Tokens tokens = tokenizer->encode(std::string(line));
        std::size_t words = 2;
        for (std::size_t at = 0; at < line.size(); ++at)
            words += (at == 0 || line[at - 1] == ' ') + (line[at] == ',' || line[at] == '.' || line[at] == ':');
        if (tokens.ids.size() != words || std::count(tokens.ids.begin(), tokens.ids.end(), 3) > 0)
            FAIL(line << " has " << tokens.ids.size() << " pieces, expected " << words);
    }
}

TEST_CASE("vocabulary: so many pieces as asked for, and the same bytes every time, in silence", "[vocabulary]") {
    const TemporaryFolder folder;
    TrainedVocabulary first;
    CHECK(noise_of(folder / "stderr", [&] { first = train_vocabulary(kCorpus, {200, true}); }).empty());
    CHECK(first.pieces == 200);
    CHECK((first.files == train_vocabulary(kCorpus, {200, true}).files));
    CHECK((first.files != of_corpus().files));
    CHECK(opened(first, folder.path())->mask_id() == 199);
}

TEST_CASE("vocabulary: case is kept where it is asked for", "[vocabulary]") {
    const TemporaryFolder folder;
    const fs::path corpus = write_bytes(folder / "corpus.txt", "Tom met Tom and tom\nlucy met Tom\n");
    CHECK(opened(train_vocabulary(corpus, {0, false}), folder.path())->encode("Tom").pieces[1] == "\u2581Tom");
    CHECK(opened(train_vocabulary(corpus, {0, true}), folder.path())->encode("Tom").pieces[1] == "\u2581tom");
}

TEST_CASE("vocabulary: a line of 10 MB gives the words of its text", "[vocabulary][bad]") {
    const TemporaryFolder folder;
    std::string line;
    while (line.size() < 10'000'000) line += "tom gave the letter to lucy and lucy gave the ring to tom ";
    const auto tokenizer = opened(train_vocabulary(write_bytes(folder / "corpus.txt", line)), folder.path());
    CHECK(tokenizer->encode("lucy gave tom the letter").ids.size() == 7);
}

TEST_CASE("vocabulary: more or fewer pieces than the corpus can give", "[vocabulary][bad]") {
    const TemporaryFolder folder;
    const fs::path corpus = write_bytes(folder / "corpus.txt", "tom met lucy\nlucy met ben\n");
    const std::int64_t most = train_vocabulary(corpus).pieces;
    CHECK(refusal(
              [&] {
                  train_vocabulary(corpus, {5000, true});
              },
              Fault::usage) ==
          "a vocabulary of 5000 pieces was asked for, " + corpus.string() + " gives at most " + std::to_string(most));
    CHECK(train_vocabulary(corpus, {most, true}).pieces == most);
    // Four special pieces, [MASK], the mark of a word, and the letters b c e l m n o t u y.
    CHECK(refusal(
              [&] {
                  train_vocabulary(corpus, {15, true});
              },
              Fault::usage) ==
          "a vocabulary of 15 pieces was asked for, " + corpus.string() + " needs at least 16 for its characters");
    CHECK(refusal(
              [&] {
                  train_vocabulary(corpus, {5, true});
              },
              Fault::usage) == "a vocabulary of 5 pieces was asked for, expected 6 to 1000000");
    CHECK_THROWS_AS(train_vocabulary(corpus, {-1, true}), Error);
}

TEST_CASE("vocabulary: a corpus that is none is named in one sentence", "[vocabulary][bad]") {
    const TemporaryFolder folder;
    const fs::path corpus = folder / "corpus.txt";
    const auto sentence = [&](const std::string& bytes) {
        write_bytes(corpus, bytes);
        return refusal([&] { train_vocabulary(corpus); });
    };
    const std::string name = corpus.string() + ": ";
    CHECK(sentence("") == name + "holds no word, expected sentences to learn from");
    CHECK(sentence(" \n\t\r\n") == name + "holds no word, expected sentences to learn from");
    CHECK(sentence("hello") == name + "holds one word only, \"hello\", expected sentences of different words");
    CHECK(sentence("hello hello\n hello\n") ==
          name + "holds one word only, \"hello\", expected sentences of different words");
    CHECK(sentence("a b \xff c") == name + "is not UTF-8 at byte 4");
    CHECK(sentence(std::string("a b\0c", 5)) == name + "holds a NUL byte at byte 3, expected text in UTF-8");
    fs::remove(corpus);
    CHECK(refusal([&] { train_vocabulary(corpus); }) == name + "cannot be opened: No such file or directory");
    CHECK(refusal([&] { train_vocabulary(folder.path()); }) ==
          folder.path().string() + ": is a folder, expected a file");
}

TEST_CASE("corpus text: a long line is cut after a blank, or else in front of a character", "[vocabulary]") {
    using Lines = std::vector<std::string_view>;
    CHECK(short_lines("one\n\n  two \r\nthree", 100) == Lines{"one", "two", "three"});
    CHECK(short_lines("one two three", 7) == Lines{"one two", "three"});
    CHECK(short_lines("one two three", 6) == Lines{"one", "two", "three"});
    CHECK(short_lines("abcdefgh", 5) == Lines{"abcde", "fgh"});
    CHECK(short_lines("\u00e4\u00e4\u00e4", 5) == Lines{"\u00e4\u00e4", "\u00e4"});
    CHECK(short_lines("\U0001f600\U0001f600", 4) == Lines{"\U0001f600", "\U0001f600"});
    CHECK(short_lines(" \n", 4).empty());
}

}  // namespace locus::test::test_vocabulary_training
