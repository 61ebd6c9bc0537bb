#pragma once
// tokenizer.json of the library tokenizers: added tokens, normalizer, pre-tokenizer, model and frame in one file.
// Source: huggingface/tokenizers src/tokenizer/mod.rs, added_vocabulary.rs, src/models, src/processors.
#include <memory>
#include <string>
#include <vector>

#include "core/json_text.h"
#include "core/text/tokenizers/special_tokens.h"
#include "core/text/tokenizers/token_frame.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

/// The model: how a word is cut into pieces.  Reads BPE, WordPiece and Unigram.  Throws Error(unsupported) that names
/// any other type or an option that Locus does not know (dropout, a prefix or suffix of BPE), Error(unreadable) for
/// damaged fields.
std::unique_ptr<PieceModel> read_piece_model(const JsonFields& json);

/// What the post-processor puts around a single text, and makes of two.
struct JsonFrame {
    std::vector<FrameStep> front, behind;
    std::int64_t type = 0;        // of the single text's tokens
    std::vector<FrameStep> pair;  // empty where it says nothing of two texts
};

/// Reads Sequence, TemplateProcessing, BertProcessing, RobertaProcessing and ByteLevel (which adds nothing).
/// Throws Error(unsupported) that names any other type, Error(unreadable) for damaged fields.
JsonFrame read_processor(const JsonFields& json);

/// Reads tokenizer.json.  The mask and padding tokens are those that tokenizer_config.json or special_tokens_map.json
/// name, or else the added ones called [MASK] or <mask>, [PAD] or <pad>.  A RoFormer cuts words with jieba, whatever
/// the file says, and refuses Chinese as open_wordpiece does. Throws Error(unsupported) that names the first component
/// of a type that Locus does not know, Error(unreadable) that names the damaged field.
std::unique_ptr<Tokenizer> open_tokenizer_json(const TokenizerFiles& files);

}  // namespace locus
