#pragma once
// The special tokens of a model (what stands around a text, what hides a word, what fills a row), and the tokenizer
// made of such a frame and of something that cuts the text between the special tokens.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/tokenizers/special_tokens.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

/// One step of what a model reads of one or two texts: a special token, or a text where there is none.
struct FrameStep {
    std::optional<SpecialToken> token;
    bool second = false;    // which text
    std::int64_t type = 0;  // token type of the token, or of the text's tokens
};

/// The blank that a tokenizer puts in front of a text: none, one where the text does not begin with white space, or one
/// in any case, also in front of no text.
enum class BlankInFront { none, where_missing, always };

struct TokenFrame {
    SpecialTokens specials;
    std::vector<FrameStep> single = {FrameStep()};  // the text, and what stands around it
    std::vector<FrameStep> pair;                    // empty where the tokenizer has no form for two texts
    std::optional<std::int64_t> mask, pad;
    std::optional<SpecialToken> unknown;
    bool pads_left = false;
    BlankInFront blank = BlankInFront::none;
    // Everything but these names is lowered before the special tokens are looked for.
    bool lower_case = false;
    SpecialTokens kept_names;
};

/// What a kind of tokenizer does where the files are silent.
struct FrameDefaults {
    struct Role {
        std::string role, name;   // "mask_token", "[MASK]"
        bool takes_left = false;  // with the white space before it, unless a file says otherwise
    };
    std::vector<Role> roles;
    struct Part {
        std::string role;  // or kFirstText, kSecondText
        std::int64_t type = 0;
    };
    std::vector<Part> single, pair;  // what a text and two texts become; no pair where a kind has no form for two
    bool pads_left = false;
    bool lower_case = false;  // do_lower_case, of a tokenizer that lowers a text before it looks for added words
    std::string vocabulary;   // the file to name when a token has no id
};

/// The special tokens that the files name, or else those of the defaults, with ids from added tokens or `find`.
/// Throws Error(unreadable) if a token of the frame, the unknown one, or one that a file names has no id.
TokenFrame make_frame(const TokenizerFiles& files, const FrameDefaults& defaults,
                      const std::function<std::optional<std::int64_t>(const std::string&)>& find);

inline constexpr const char *kFirstText = "first text", *kSecondText = "second text";

/// BERT's names: [CLS] text [SEP], [PAD], [UNK], [MASK]; [CLS] first [SEP] of type 0, then second [SEP] of type 1.
FrameDefaults bert_frame(const std::string& vocabulary);

/// Cuts the text between two special tokens into pieces.
class TextCutter {
public:
    virtual ~TextCutter() = default;
    /// `at_start` says that nothing stands before this text.
    virtual void cut(const std::string& text, bool at_start, std::vector<Piece>& pieces) const = 0;
    /// Piece of an id; nothing if none has it.
    virtual std::optional<std::string> piece(std::int64_t id) const = 0;
};

class FramedTokenizer : public Tokenizer {
public:
    FramedTokenizer(TokenFrame frame, std::unique_ptr<TextCutter> cutter);

    Tokens encode(const std::string& text) const override;
    Tokens encode_pair(const std::string& first, const std::string& second) const override;
    std::string piece(std::int64_t id) const override;
    std::optional<std::int64_t> mask_id() const override { return frame_.mask; }
    std::optional<std::int64_t> pad_id() const override { return frame_.pad; }
    std::optional<std::int64_t> separator_id() const override;
    bool pads_left() const override { return frame_.pads_left; }
    std::pair<std::size_t, std::size_t> frame() const override;

private:
    Tokens framed(const std::vector<FrameStep>& steps, const std::string& first, const std::string& second) const;
    /// Adds the tokens of a text, without those around it.
    void add_text(const std::string& text, Tokens& tokens) const;

    TokenFrame frame_;
    std::unique_ptr<TextCutter> cutter_;
};

}  // namespace locus
