#include "core/text/tokenizers/wordpiece.h"

#include <algorithm>

#include "core/check.h"
#include "core/file_presence.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/token_frame.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

void WordPieceModel::cut(const std::string& word, std::vector<Piece>& pieces) const {
    std::vector<std::size_t> ends;  // of its characters
    for (std::size_t at = 0; at < word.size() && ends.size() <= longest_; ends.push_back(at)) next_character(word, at);
    if (ends.size() > longest_) {
        pieces.push_back({unknown_.id, unknown_.text, unknown_.special, word});
        return;
    }
    std::vector<Piece> found;
    std::size_t begin = 0;
    for (std::size_t first = 0; first < ends.size();) {
        const auto beyond = std::upper_bound(ends.begin(), ends.end(), begin + vocabulary_.longest());
        auto last = static_cast<std::size_t>(beyond - ends.begin());  // one past the last character of the piece
        for (; last > first; --last) {
            const std::string piece = (begin > 0 ? prefix_ : "") + word.substr(begin, ends[last - 1] - begin);
            if (const auto id = vocabulary_.find(piece)) {
                found.push_back({*id, piece});
                break;
            }
        }
        if (last <= first) {
            pieces.push_back({unknown_.id, unknown_.text, unknown_.special, word});
            return;
        }
        begin = ends[last - 1];
        first = last;
    }
    pieces.insert(pieces.end(), found.begin(), found.end());
}

// --- WordPiece tokenizer ---------------------------------------------------------------------------------------------

namespace {

struct Options {
    bool lower_case = true, strip_accents = true, space_han = true;
    bool jieba = false;        // words are cut by it, as RoFormer does it
    bool needs_jieba = false;  // its dictionary, for a text with Han characters
};

class WordPieceCutter : public TextCutter {
public:
    WordPieceCutter(WordPieceModel model, const Options& options) : model_(std::move(model)), options_(options) {}

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        if (options_.needs_jieba) check_no_han(text);
        const std::string lowered = options_.lower_case ? lower_case_by_character(text) : text;
        if (!options_.jieba) return cut_words(lowered, pieces);
        for (const std::string& word : jieba_words(lowered))
            if (const auto id = model_.find(word))
                pieces.push_back({*id, word});  // as it stands, of any length
            else
                cut_words(word, pieces);
    }
    std::optional<std::string> piece(std::int64_t id) const override { return model_.piece(id); }

private:
    void cut_words(const std::string& text, std::vector<Piece>& pieces) const {
        constexpr BertEdition kEdition = BertEdition::python;
        std::string words = bert_clean(text, kEdition);
        if (options_.space_han) words = bert_space_han(words, kEdition);
        words = normalize(words, NormalForm::nfc);
        if (options_.strip_accents) words = bert_strip_accents(words);
        for (const std::string& word : bert_words(words)) model_.cut(word, pieces);
    }

    WordPieceModel model_;
    Options options_;
};

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
    if (!files.flag("do_basic_tokenize").value_or(true) || files.has_list("never_split"))
        throw Error(Fault::unsupported,
                    (files.folder() / "tokenizer_config.json").string() +
                        ": do_basic_tokenize is false or never_split holds words, expected neither");
    Options options;
    options.lower_case = files.flag("do_lower_case").value_or(true);
    options.strip_accents = files.flag("strip_accents").value_or(options.lower_case);
    options.space_han = files.flag("tokenize_chinese_chars").value_or(true);
    FrameDefaults defaults = bert_frame(file.string());
    defaults.lower_case = options.lower_case;
    TokenFrame frame = make_frame(files, defaults, [&](const std::string& name) { return vocabulary.find(name); });
    options.jieba = files.is_kind("RoFormerTokenizer", "roformer");
    options.needs_jieba = options.jieba && (has_chinese_words(vocabulary) || !options.space_han);
    const Piece unknown = {frame.unknown->id, frame.unknown->name};
    return std::make_unique<FramedTokenizer>(
        std::move(frame), std::make_unique<WordPieceCutter>(WordPieceModel(std::move(vocabulary), unknown), options));
}

// --- word tokenizer --------------------------------------------------------------------------------------------------

namespace {

class WordCutter : public TextCutter {
public:
    WordCutter(Vocabulary vocabulary, Piece unknown, bool lower)
        : vocabulary_(std::move(vocabulary)), unknown_(std::move(unknown)), lower_case_(lower) {
        for (const auto& [sign, plain, known] : kTypography)
            if (!vocabulary_.find(sign) && vocabulary_.find(known)) plain_.emplace_back(sign, plain);
    }

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        const std::string words = with_plain_signs(lower_case_ ? lower_case_by_character(text) : text);
        for_each_run(words, is_white_space, [&](std::size_t begin, std::size_t end) {
            add_word(std::string_view(words).substr(begin, end - begin), pieces);
        });
    }
    std::optional<std::string> piece(std::int64_t id) const override { return vocabulary_.piece(id); }

private:
    /// A sign of typography, what a corpus of plain text has in its place, and the word that shows that it has it.
    struct PlainSign {
        const char *sign, *plain, *known;
    };
    static constexpr PlainSign kTypography[] = {{"\u2018", "'", "'"},   {"\u2019", "'", "'"},    {"\u201C", "\"", "\""},
                                                {"\u201D", "\"", "\""}, {"\u201E", "\"", "\""},  {"\u2013", "-", "-"},
                                                {"\u2014", " - ", "-"}, {"\u2026", "...", "..."}};

    std::string with_plain_signs(std::string text) const {
        for (const auto& [sign, plain] : plain_)
            for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + plain.size()))
                text.replace(at, sign.size(), plain);
        return text;
    }

    void add_known(std::string_view word, std::vector<Piece>& pieces) const {
        const auto id = vocabulary_.find(word);
        pieces.push_back(id ? Piece{*id, std::string(word)}
                            : Piece{unknown_.id, unknown_.text, unknown_.special, std::string(word)});
    }

    /// An ASCII sign that is neither a letter nor a digit.
    static bool is_mark(char sign) {
        return static_cast<unsigned char>(sign) < 0x80 && is_bert_punctuation(static_cast<char32_t>(sign));
    }

    void add_word(std::string_view word, std::vector<Piece>& pieces) const {
        std::vector<std::string_view> behind;  // marks at the end, the last one first
        while (!word.empty() && !vocabulary_.find(word)) {
            std::size_t first = 0;
            if (is_bert_punctuation(next_character(word, first)) && first < word.size()) {
                add_known(word.substr(0, first), pieces);
                word.remove_prefix(first);
                continue;
            }
            std::size_t last = last_character(word);
            if (word.size() > 3 && word.ends_with("...") && vocabulary_.find("...")) last = word.size() - 3;
            if (last == 0 || !is_bert_punctuation(previous_character(word, word.size()))) break;
            behind.push_back(word.substr(last));
            word.remove_suffix(word.size() - last);
        }
        if (!word.empty()) add_joined(word, pieces);
        for (auto mark = behind.rbegin(); mark != behind.rend(); ++mark) add_known(*mark, pieces);
    }

    /// A word without marks at its ends, cut where the vocabulary lacks it but has the mark or the ending.
    void add_joined(std::string_view word, std::vector<Piece>& pieces) const {
        const auto is_digit = [&](std::size_t at) { return word[at] >= '0' && word[at] <= '9'; };
        const auto is_letter = [&](std::size_t at) {  // all of a character that is not ASCII
            return (word[at] | 0x20) >= 'a' ? (word[at] | 0x20) <= 'z' : (static_cast<unsigned char>(word[at]) >= 0x80);
        };
        std::size_t begin = 0;
        const bool known = vocabulary_.find(word).has_value();
        for (std::size_t at = 1; !known && at + 1 < word.size(); ++at) {
            const std::string_view mark = word.substr(at, 1);
            const bool numbers = is_digit(at - 1) && is_digit(at + 1), letters = is_letter(at - 1) && is_letter(at + 1);
            const bool words = (is_digit(at - 1) || is_letter(at - 1)) && (is_digit(at + 1) || is_letter(at + 1));
            // "don't": the ending is a word with its apostrophe.
            if (mark == "'" && letters && vocabulary_.find(word.substr(at))) {
                add_known(word.substr(begin, at - begin), pieces);
                begin = at;
                break;
            }
            // "well-known" and "1,000" are joined by a mark between signs, "5:30" and "and/or" by the mark itself.
            const bool joined = mark == "-" ? words : (mark == "," || mark == ".") && numbers;
            const bool apart = std::string_view(",.'`-").find(mark) == std::string_view::npos && is_mark(word[at]);
            const std::string between = joined ? "@" + std::string(mark) + "@" : std::string(mark);
            if (!(joined || apart) || !vocabulary_.find(between)) continue;
            if (at > begin) add_known(word.substr(begin, at - begin), pieces);
            add_known(between, pieces);
            begin = at + 1;
        }
        add_known(word.substr(begin), pieces);
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
    std::vector<std::pair<std::string, std::string>> plain_;  // the signs that this vocabulary lacks
};

}  // namespace

std::unique_ptr<Tokenizer> open_word_tokenizer(const TokenizerFiles& files) {
    std::filesystem::path file = files.folder() / "vocab.txt";
    const bool as_json = !is_present(file);
    if (as_json) file = files.folder() / "vocab.json";
    Vocabulary vocabulary =
        as_json ? read_vocab_json(parse_json_object(read_model_file(file.string()), file.string()), file.string())
                : read_vocab_txt(file);
    FrameDefaults defaults;
    defaults.roles = {{"unk_token", "<unk>"}, {"eos_token", "<eos>"}};
    for (const char* role : {"pad_token", "mask_token"})
        if (const NamedToken* named = files.role(role)) defaults.roles.push_back({role, named->token.name});
    defaults.single = {{"eos_token"}, {kFirstText}};
    defaults.vocabulary = file.string();
    TokenFrame frame = make_frame(files, defaults, [&](const std::string& name) { return vocabulary.find(name); });
    const bool lower = files.flag("lower_case").value_or(files.flag("do_lower_case").value_or(false));
    const Piece unknown = {frame.unknown->id, frame.unknown->name};
    return std::make_unique<FramedTokenizer>(std::move(frame),
                                             std::make_unique<WordCutter>(std::move(vocabulary), unknown, lower));
}

}  // namespace locus
