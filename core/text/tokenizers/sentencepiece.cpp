#include "core/text/tokenizers/sentencepiece.h"

#include <unicode/uchar.h>

#include <memory>

#include "core/check.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/sentencepiece_encoder.h"
#include "core/text/tokenizers/sentencepiece_model.h"
#include "core/text/tokenizers/token_frame.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

// --- text of XLNet ---------------------------------------------------------------------------------------------------

namespace {

const std::string kWordMark = "\u2581";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

std::string one_blank_each(const std::string& text) {
    std::string joined;
    for_each_run(text, is_python_space, [&](std::size_t begin, std::size_t end) {
        joined += (joined.empty() ? "" : " ") + text.substr(begin, end - begin);
    });
    return joined;
}

/// str.isdigit of Python: decimal digits, superscripts and the like, by the property Numeric_Type.
bool is_python_digit(char32_t character) {
    const int type = u_getIntPropertyValue(static_cast<UChar32>(character), UCHAR_NUMERIC_TYPE);
    return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool ends_in_digit_comma(const std::string& piece) {
    return piece.size() > 1 && piece.back() == ',' && is_python_digit(previous_character(piece, piece.size() - 1));
}

}  // namespace

std::string prepare_xlnet_text(const std::string& text, const XlnetText& options) {
    std::string prepared = options.remove_space ? one_blank_each(text) : text;
    replace_all(prepared, "``", "\"");
    replace_all(prepared, "''", "\"");
    if (!options.keep_accents) prepared = without(normalize(prepared, NormalForm::nfkd), is_combining);
    if (options.lower_case) prepared = lower_case(prepared);
    return prepared;
}

std::vector<std::string> cut_digit_commas(const std::vector<std::string>& pieces,
                                          const std::function<std::vector<std::string>(const std::string&)>& encode) {
    std::vector<std::string> cut;
    for (const std::string& piece : pieces) {
        if (!ends_in_digit_comma(piece)) {
            cut.push_back(piece);
            continue;
        }
        std::string number = piece.substr(0, piece.size() - 1);
        replace_all(number, kWordMark, "");
        std::vector<std::string> parts = encode(number);
        if (!piece.starts_with(kWordMark) && !parts.empty() && parts.front().starts_with(kWordMark)) {
            parts.front().erase(0, kWordMark.size());
            if (parts.front().empty()) parts.erase(parts.begin());
        }
        cut.insert(cut.end(), parts.begin(), parts.end());
        cut.push_back(",");
    }
    return cut;
}

// --- the tokenizers --------------------------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

using Pieces = std::vector<std::string>;

class SentencePieceCutter : public TextCutter {
public:
    SentencePieceCutter(const fs::path& model, bool lower)
        : encoder_(read_sentencepiece_model(model), model.string()), lower_case_(lower) {}

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        // An id is that of the piece's text, as transformers takes it: unknown text may be the name of a special piece.
        for (std::string& one : pieces_of(lower_case_ ? lower_case_by_character(text) : text)) {
            const std::int64_t id = encoder_.id(one);
            pieces.push_back({id, std::move(one)});
        }
    }
    std::optional<std::string> piece(std::int64_t id) const override {
        if (id < 0 || id >= size()) return std::nullopt;
        return encoder_.piece(id);
    }
    std::optional<std::int64_t> find(const std::string& name) const {
        const std::int64_t id = encoder_.id(name);
        return encoder_.piece(id) == name ? std::optional(id) : std::nullopt;
    }
    std::int64_t size() const { return encoder_.size(); }

protected:
    virtual Pieces pieces_of(const std::string& text) const { return encode(text); }

    Pieces encode(const std::string& text) const {
        Pieces pieces;
        for (Piece& one : encoder_.encode(text)) pieces.push_back(std::move(one.text));
        return pieces;
    }

private:
    SentencePieceEncoder encoder_;
    bool lower_case_ = false;
};

/// With split_by_punct: every punctuation mark, and what stands between two, begins anew for the model.
class PunctuationCutter : public SentencePieceCutter {
public:
    using SentencePieceCutter::SentencePieceCutter;

private:
    Pieces pieces_of(const std::string& text) const override {
        static const Pattern kMarks = each_character(is_bert_punctuation);
        Pieces pieces;
        for (const std::string& part : split(text, kMarks, Behaviour::isolated))
            for (std::string& piece : encode(part)) pieces.push_back(std::move(piece));
        return pieces;
    }
};

class XlnetCutter : public SentencePieceCutter {
public:
    XlnetCutter(const fs::path& model, const XlnetText& options)
        : SentencePieceCutter(model, options.lower_case), options_(options) {}

private:
    Pieces pieces_of(const std::string& text) const override {
        return cut_digit_commas(encode(prepare_xlnet_text(text, options_)),
                                [this](const std::string& part) { return encode(part); });
    }

    XlnetText options_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_deberta_sentencepiece(const fs::path& model, const TokenizerFiles& files) {
    files.refuse_true_in_sp_model_kwargs();
    FrameDefaults defaults = bert_frame(model.string());
    defaults.lower_case = files.flag("do_lower_case").value_or(false);
    std::unique_ptr<SentencePieceCutter> cutter =
        files.flag("split_by_punct").value_or(false)
            ? std::make_unique<PunctuationCutter>(model, defaults.lower_case)
            : std::make_unique<SentencePieceCutter>(model, defaults.lower_case);
    const auto find = [&](const std::string& name) -> std::optional<std::int64_t> {
        const auto id = cutter->find(name);
        return id || name != "[MASK]" ? id : cutter->size();
    };
    TokenFrame frame = make_frame(files, defaults, find);
    if (!frame.pad) throw Error(Fault::unreadable, model.string() + ": has no piece [PAD], DeBERTa needs one");
    return std::make_unique<FramedTokenizer>(std::move(frame), std::move(cutter));
}

std::unique_ptr<Tokenizer> open_xlnet_sentencepiece(const fs::path& model, const TokenizerFiles& files) {
    XlnetText options;
    options.lower_case = files.flag("do_lower_case").value_or(false);
    options.keep_accents = files.flag("keep_accents").value_or(false);
    options.remove_space = files.flag("remove_space").value_or(true);
    files.refuse_true_in_sp_model_kwargs();
    auto cutter = std::make_unique<XlnetCutter>(model, options);
    FrameDefaults defaults;
    defaults.lower_case = options.lower_case;
    defaults.roles = {{"cls_token", "<cls>"},
                      {"sep_token", "<sep>"},
                      {"pad_token", "<pad>"},
                      {"unk_token", "<unk>"},
                      {"mask_token", "<mask>", /*takes_left=*/true},
                      {"bos_token", "<s>"},
                      {"eos_token", "</s>"}};
    defaults.single = {{kFirstText, 0}, {"sep_token", 0}, {"cls_token", 2}};
    defaults.pair = {{kFirstText, 0}, {"sep_token", 0}, {kSecondText, 1}, {"sep_token", 1}, {"cls_token", 2}};
    defaults.pads_left = true;
    defaults.vocabulary = model.string();
    const auto find = [&](const std::string& name) { return cutter->find(name); };
    TokenFrame frame = make_frame(files, defaults, find);
    if (files.more().empty())
        for (const char* name : {"<eop>", "<eod>"})
            if (const auto id = find(name); id && !frame.specials.find(name)) frame.specials.add({name, *id});
    return std::make_unique<FramedTokenizer>(std::move(frame), std::move(cutter));
}

}  // namespace locus
