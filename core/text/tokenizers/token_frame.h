#pragma once
// The special tokens of a model: what stands around a text, what hides a word, what fills a row.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/text/tokenizers/special_tokens.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

struct TokenFrame {
    SpecialTokens specials;
    std::vector<SpecialToken> front, behind;  // around every text
    std::optional<std::int64_t> mask, pad;
    std::optional<SpecialToken> unknown;
    bool pads_left = false;
    bool blank_in_front = false;  // of a text that does not begin with white space
};

/// What a kind of tokenizer does where the files are silent.
struct FrameDefaults {
    struct Role {
        std::string role, name;   // "mask_token", "[MASK]"
        bool takes_left = false;  // with the white space before it, unless a file says otherwise
    };
    std::vector<Role> roles;
    std::vector<std::string> front, behind;  // roles around every text: {"cls_token"}, {"sep_token"}
    bool pads_left = false;
    std::string vocabulary;  // the file to name when a token has no id
};

/// The special tokens that the files name, or else those of the defaults, with ids from added tokens or `find`.
/// Throws Error(unreadable) if a token of the frame, the unknown one, or one that a file names has no id.
TokenFrame make_frame(const TokenizerFiles& files, const FrameDefaults& defaults,
                      const std::function<std::optional<std::int64_t>(const std::string&)>& find);

/// BERT's names: [CLS] text [SEP], [PAD], [UNK], [MASK].
FrameDefaults bert_frame(const std::string& vocabulary);

}  // namespace locus
