#include "core/text/tokenizers/byte_bpe_tokenizer.h"

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/bpe_model.h"
#include "core/text/tokenizers/byte_level.h"
#include "core/text/tokenizers/framed_tokenizer.h"

namespace locus {

namespace {

class ByteBpeCutter : public TextCutter {
public:
    explicit ByteBpeCutter(BpeModel model) : model_(std::move(model)) {}

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        for (const std::string& word : gpt2_words(text)) model_.cut(bytes_as_characters(word), pieces);
    }
    std::optional<std::string> piece(std::int64_t id) const override { return model_.piece(id); }

private:
    BpeModel model_;
};

/// Names and frame where no file gives them.
FrameDefaults frame_of(const Vocabulary& vocabulary, const TokenizerFiles& files, const std::string& file) {
    FrameDefaults defaults = bert_frame(file);
    if (files.tokenizer_class() == "GPT2Tokenizer") {
        const std::string end = "<|endoftext|>";
        defaults.roles = {{"unk_token", end}, {"bos_token", end}, {"eos_token", end}};
        defaults.front = defaults.behind = {};
        return defaults;
    }
    if (!vocabulary.find("[CLS]") && (vocabulary.find("<s>") || files.role("cls_token")))
        defaults.roles = {{"cls_token", "<s>"},
                          {"sep_token", "</s>"},
                          {"pad_token", "<pad>"},
                          {"unk_token", "<unk>"},
                          {"mask_token", "<mask>"}};
    defaults.roles.back().takes_left = true;
    return defaults;
}

}  // namespace

std::unique_ptr<Tokenizer> open_byte_bpe(const TokenizerFiles& files) {
    const std::string vocab_file = (files.folder() / "vocab.json").string();
    Vocabulary vocabulary = read_vocab_json(parse_json_object(read_text_file(vocab_file), vocab_file), vocab_file);
    PairMerges merges = read_merges_txt(files.folder() / "merges.txt", vocabulary);
    TokenFrame frame = make_frame(files, frame_of(vocabulary, files, vocab_file),
                                  [&](const std::string& name) { return vocabulary.find(name); });
    frame.blank_in_front = files.flag("add_prefix_space").value_or(false);
    BpeOptions options;
    if (frame.unknown) options.unknown = Piece{frame.unknown->id, frame.unknown->name};
    return std::make_unique<FramedTokenizer>(
        std::move(frame),
        std::make_unique<ByteBpeCutter>(BpeModel(std::move(vocabulary), std::move(merges), std::move(options))));
}

}  // namespace locus
