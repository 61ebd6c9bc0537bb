#include "core/text/tokenizers/word_tokenizer.h"

#include "core/text/tokenizers/framed_tokenizer.h"
#include "core/text/tokenizers/lower_case.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

namespace {

class WordCutter : public TextCutter {
public:
    WordCutter(Vocabulary vocabulary, Piece unknown, bool lower)
        : vocabulary_(std::move(vocabulary)), unknown_(std::move(unknown)), lower_case_(lower) {}

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        const std::string words = lower_case_ ? lower_case_by_character(text) : text;
        for_each_run(words, is_white_space, [&](std::size_t begin, std::size_t end) {
            add_word(std::string_view(words).substr(begin, end - begin), pieces);
        });
    }
    std::optional<std::string> piece(std::int64_t id) const override { return vocabulary_.piece(id); }

private:
    void add_known(std::string_view word, std::vector<Piece>& pieces) const {
        const auto id = vocabulary_.find(word);
        pieces.push_back(id ? Piece{*id, std::string(word)} : unknown_);
    }

    void add_word(std::string_view word, std::vector<Piece>& pieces) const {
        std::vector<std::string_view> behind;  // marks at the end, the last one first
        while (!word.empty() && !vocabulary_.find(word)) {
            std::size_t first = 0;
            if (is_unicode_punctuation(next_character(word, first)) && first < word.size()) {
                add_known(word.substr(0, first), pieces);
                word.remove_prefix(first);
                continue;
            }
            const std::size_t last = last_character(word);
            if (last == 0 || !is_unicode_punctuation(previous_character(word, word.size()))) break;
            behind.push_back(word.substr(last));
            word.remove_suffix(word.size() - last);
        }
        if (!word.empty()) add_known(word, pieces);
        for (auto mark = behind.rbegin(); mark != behind.rend(); ++mark) add_known(*mark, pieces);
    }

    /// Where the last character begins.
    static std::size_t last_character(std::string_view word) {
        std::size_t at = word.size() - 1;
        while (at > 0 && (static_cast<unsigned char>(word[at]) & 0xC0) == 0x80) --at;
        return at;
    }

    Vocabulary vocabulary_;
    Piece unknown_;
    bool lower_case_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_word_tokenizer(const TokenizerFiles& files) {
    const std::filesystem::path file = files.folder() / "vocab.txt";
    Vocabulary vocabulary = read_vocab_txt(file);
    FrameDefaults defaults;
    defaults.roles = {{"unk_token", "<unk>"}, {"eos_token", "<eos>"}};
    for (const char* role : {"pad_token", "mask_token"})
        if (const NamedToken* named = files.role(role)) defaults.roles.push_back({role, named->token.name});
    defaults.front = {"eos_token"};
    defaults.vocabulary = file.string();
    TokenFrame frame = make_frame(files, defaults, [&](const std::string& name) { return vocabulary.find(name); });
    const bool lower = files.flag("lower_case").value_or(files.flag("do_lower_case").value_or(false));
    const Piece unknown = {frame.unknown->id, frame.unknown->name};
    return std::make_unique<FramedTokenizer>(std::move(frame),
                                             std::make_unique<WordCutter>(std::move(vocabulary), unknown, lower));
}

}  // namespace locus
