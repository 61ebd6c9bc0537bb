#include "core/text/tokenizers/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include "core/check.h"
#include "core/text/tokenizers/framed_tokenizer.h"
#include "core/text/tokenizers/lower_case.h"
#include "core/text/tokenizers/xlnet_text.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

using Pieces = std::vector<std::string>;

class SentencePieceCutter : public TextCutter {
public:
    SentencePieceCutter(const fs::path& model, bool lower) : lower_case_(lower) {
        if (!processor_.Load(model.string()).ok())
            throw Error(Fault::unreadable, model.string() + ": not a SentencePiece model");
    }

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        for (const std::string& one : pieces_of(lower_case_ ? lower_case_by_character(text) : text))
            pieces.push_back({processor_.PieceToId(one), one});
    }
    std::optional<std::string> piece(std::int64_t id) const override {
        if (id < 0 || id >= size()) return std::nullopt;
        return processor_.IdToPiece(static_cast<int>(id));
    }
    std::optional<std::int64_t> find(const std::string& name) const {
        const int id = processor_.PieceToId(name);
        return processor_.IdToPiece(id) == name ? std::optional<std::int64_t>(id) : std::nullopt;
    }
    std::int64_t size() const { return processor_.GetPieceSize(); }

protected:
    virtual Pieces pieces_of(const std::string& text) const { return encode(text); }

    Pieces encode(const std::string& text) const {
        Pieces pieces;
        const auto status = processor_.Encode(text, &pieces);
        LOCUS_CHECK(status.ok(), "the text cannot be tokenized: " + status.ToString());
        return pieces;
    }

private:
    sentencepiece::SentencePieceProcessor processor_;
    bool lower_case_ = false;
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
    auto cutter = std::make_unique<SentencePieceCutter>(model, files.flag("do_lower_case").value_or(false));
    const auto find = [&](const std::string& name) -> std::optional<std::int64_t> {
        const auto id = cutter->find(name);
        return id || name != "[MASK]" ? id : cutter->size();
    };
    TokenFrame frame = make_frame(files, bert_frame(model.string()), find);
    if (!frame.pad) throw Error(Fault::unreadable, model.string() + ": has no piece [PAD], DeBERTa needs one");
    return std::make_unique<FramedTokenizer>(std::move(frame), std::move(cutter));
}

std::unique_ptr<Tokenizer> open_xlnet_sentencepiece(const fs::path& model, const TokenizerFiles& files) {
    XlnetText options;
    options.lower_case = files.flag("do_lower_case").value_or(false);
    options.keep_accents = files.flag("keep_accents").value_or(false);
    options.remove_space = files.flag("remove_space").value_or(true);
    auto cutter = std::make_unique<XlnetCutter>(model, options);
    FrameDefaults defaults;
    defaults.roles = {{"cls_token", "<cls>"},
                      {"sep_token", "<sep>"},
                      {"pad_token", "<pad>"},
                      {"unk_token", "<unk>"},
                      {"mask_token", "<mask>", /*takes_left=*/true},
                      {"bos_token", "<s>"},
                      {"eos_token", "</s>"}};
    defaults.behind = {"sep_token", "cls_token"};
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
