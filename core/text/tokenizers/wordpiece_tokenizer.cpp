#include "core/text/tokenizers/wordpiece_tokenizer.h"

#include <algorithm>

#include "core/check.h"
#include "core/text/tokenizers/bert_words.h"
#include "core/text/tokenizers/framed_tokenizer.h"
#include "core/text/tokenizers/lower_case.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/wordpiece_model.h"

namespace locus {

namespace {

struct Options {
    bool lower_case = true, strip_accents = true, space_han = true;
    bool needs_jieba = false;  // for a text with Han characters
};

std::size_t count_han(const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size();) count += is_han(next_character(text, at));
    return count;
}

class WordPieceCutter : public TextCutter {
public:
    WordPieceCutter(WordPieceModel model, const Options& options) : model_(std::move(model)), options_(options) {}

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        if (options_.needs_jieba && count_han(text) > 0)
            throw Error(Fault::unsupported,
                        "the text has Han characters, which RoFormer cuts into words with jieba; give token ids with "
                        "--tokens instead");
        constexpr BertEdition kEdition = BertEdition::python;
        std::string words = bert_clean(options_.lower_case ? lower_case_by_character(text) : text, kEdition);
        if (options_.space_han) words = bert_space_han(words, kEdition);
        words = normalize(words, NormalForm::nfc);
        if (options_.strip_accents) words = bert_strip_accents(words);
        for (const std::string& word : bert_words(words)) model_.cut(word, pieces);
    }
    std::optional<std::string> piece(std::int64_t id) const override { return model_.piece(id); }

private:
    WordPieceModel model_;
    Options options_;
};

bool is_roformer(const TokenizerFiles& files) {
    return files.tokenizer_class() == "RoFormerTokenizer" || files.model_type() == "roformer";
}

bool has_chinese_words(const Vocabulary& vocabulary) {
    bool found = false;
    for (std::int64_t id = 0; id < static_cast<std::int64_t>(vocabulary.size()) && !found; ++id)
        found = count_han(vocabulary.piece(id).value_or("")) > 1;
    return found;
}

}  // namespace

std::unique_ptr<Tokenizer> open_wordpiece(const TokenizerFiles& files) {
    const std::filesystem::path file = files.folder() / "vocab.txt";
    Vocabulary vocabulary = read_vocab_txt(file);
    TokenFrame frame =
        make_frame(files, bert_frame(file.string()), [&](const std::string& name) { return vocabulary.find(name); });
    if (!files.flag("do_basic_tokenize").value_or(true) || files.has_list("never_split"))
        throw Error(Fault::unsupported,
                    (files.folder() / "tokenizer_config.json").string() +
                        ": do_basic_tokenize is false or never_split holds words, expected neither");
    Options options;
    options.lower_case = files.flag("do_lower_case").value_or(true);
    options.strip_accents = files.flag("strip_accents").value_or(options.lower_case);
    options.space_han = files.flag("tokenize_chinese_chars").value_or(true);
    options.needs_jieba = is_roformer(files) && has_chinese_words(vocabulary);
    const Piece unknown = {frame.unknown->id, frame.unknown->name};
    return std::make_unique<FramedTokenizer>(
        std::move(frame), std::make_unique<WordPieceCutter>(WordPieceModel(std::move(vocabulary), unknown), options));
}

}  // namespace locus
