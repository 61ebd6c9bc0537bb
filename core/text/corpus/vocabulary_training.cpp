#include "core/text/corpus/vocabulary_training.h"

#include <sentencepiece_trainer.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/check.h"
#include "core/text/corpus/corpus_text.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/sentencepiece_model.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

constexpr std::int64_t kMostByItself = 8000;  // pieces, where nobody says how many
constexpr std::int64_t kFewest = 6, kMost = 1'000'000;
constexpr std::size_t kLongestLine = 4000;  // bytes; the library passes over lines of more than 4192

class Lines : public sentencepiece::SentenceIterator {
public:
    explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
    bool done() const override { return at_ >= lines_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return lines_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

private:
    const std::vector<std::string>& lines_;
    std::size_t at_ = 0;
};

/// What the library says it can do: the most pieces, or the least.
struct Limit {
    std::optional<std::int64_t> most, least;
};

Limit limit_in(const std::string& message) {
    std::smatch match;
    if (std::regex_search(message, match, std::regex("value <= ([0-9]+)"))) return {std::stoll(match[1]), {}};
    if (std::regex_search(message, match, std::regex("required_chars. [0-9]+ vs ([0-9]+)")))
        return {{}, std::stoll(match[1])};
    return {};
}

std::size_t count_characters(const std::vector<std::string>& lines) {
    std::set<char32_t> characters;
    for (const std::string& line : lines)
        for (std::size_t at = 0; at < line.size();) characters.insert(next_character(line, at));
    return characters.size();
}

/// The library ends the program where it gets no memory for its suffix array, so as much is asked for beforehand:
/// tables of all characters there are, and some numbers for each byte.
void require_memory(const std::vector<std::string>& lines) {
    constexpr std::size_t kTables = std::size_t{32} << 20, kForEachByte = 64;
    std::size_t bytes = kTables;
    for (const std::string& line : lines) bytes += kForEachByte * (line.size() + 1);
    ::operator delete(::operator new(bytes));
}

/// The bytes of a model of so many pieces, or of at most so many, or what stands in the way.
sentencepiece::util::Status train(const std::vector<std::string>& lines, std::int64_t pieces, bool exactly,
                                  std::string& model) {
    // Every character gets a piece where there is room for them; else the rarest 0.05 % become [UNK], as usual.
    const bool room = static_cast<std::int64_t>(count_characters(lines)) * 2 <= pieces;
    const std::unordered_map<std::string, std::string> options = {
        {"model_type", "unigram"},
        {"vocab_size", std::to_string(pieces)},
        {"character_coverage", room ? "1" : "0.9995"},
        {"pad_id", "0"},
        {"pad_piece", "[PAD]"},
        {"bos_id", "1"},
        {"bos_piece", "[CLS]"},
        {"eos_id", "2"},
        {"eos_piece", "[SEP]"},
        {"unk_id", "3"},
        {"unk_piece", "[UNK]"},
        {"hard_vocab_limit", exactly ? "true" : "false"},
        {"num_threads", "1"},
        {"minloglevel", "3"},
    };
    Lines iterator(lines);
    model.clear();
    require_memory(lines);
    return sentencepiece::SentencePieceTrainer::Train(options, &iterator, &model);
}

/// Every different word once more as a line of its own, without punctuation at its ends.  The library takes a stretch
/// of text for a candidate only where what follows it differs; "is" is followed by blanks alone, and would be cut up.
void add_words(std::vector<std::string>& lines) {
    std::set<std::string> words;
    const auto is_mark = [](char32_t character) {
        return is_python_space(character) || is_bert_punctuation(character);
    };
    for (const std::string& line : lines)
        for_each_run(line, is_mark,
                     [&](std::size_t begin, std::size_t end) { words.insert(line.substr(begin, end - begin)); });
    lines.insert(lines.end(), words.begin(), words.end());
}

TokenizerBytes tokenizer_bytes(std::string model, std::int64_t mask, bool lower_case) {
    using OrderedJson = nlohmann::ordered_json;
    // Named here too: transformers takes [MASK] of added_tokens.json alone for an ordinary word, which it lowers.
    const OrderedJson config = {
        {"do_lower_case", lower_case}, {"vocab_type", "spm"},  {"tokenizer_class", "DebertaV2Tokenizer"},
        {"bos_token", "[CLS]"},        {"eos_token", "[SEP]"}, {"unk_token", "[UNK]"},
        {"sep_token", "[SEP]"},        {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"},
        {"mask_token", "[MASK]"}};
    const OrderedJson added = {{"[MASK]", mask}};
    return {{"spm.model", std::move(model)},
            {"tokenizer_config.json", config.dump(2) + "\n"},
            {"added_tokens.json", added.dump(2) + "\n"}};
}

}  // namespace

TrainedVocabulary train_vocabulary(const std::filesystem::path& corpus, const VocabularyRequest& request) {
    const std::int64_t wanted = request.pieces == 0 ? kMostByItself : request.pieces;
    LOCUS_CHECK(wanted >= kFewest && wanted <= kMost, "a vocabulary of " + std::to_string(wanted) +
                                                          " pieces was asked for, expected " + std::to_string(kFewest) +
                                                          " to " + std::to_string(kMost));
    const std::string text = read_corpus_text(corpus);
    std::vector<std::string> lines;
    for (const std::string_view line : short_lines(text, kLongestLine))
        lines.push_back(request.lower_case ? lower_case_by_character(std::string(line)) : std::string(line));
    add_words(lines);

    std::string model;
    const auto status = train(lines, wanted - 1, request.pieces > 0, model);
    const Limit limit = limit_in(status.ToString());
    const std::string asked = "a vocabulary of " + std::to_string(wanted) + " pieces was asked for, ";
    LOCUS_CHECK(!limit.most, asked + corpus.string() + " gives at most " + std::to_string(*limit.most + 1));
    LOCUS_CHECK(!limit.least, asked + corpus.string() + " needs at least " + std::to_string(*limit.least + 1) +
                                  " for its characters");
    LOCUS_CHECK(status.ok() && !model.empty(),
                corpus.string() + ": no vocabulary can be learnt from it: " + status.ToString());
    // [MASK] stands outside the pieces of the model.
    const auto mask = static_cast<std::int64_t>(
        parse_sentencepiece_model(model, corpus.string() + ": the vocabulary learnt from it").pieces.size());
    return {mask + 1, tokenizer_bytes(std::move(model), mask, request.lower_case)};
}

}  // namespace locus
