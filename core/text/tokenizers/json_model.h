#pragma once
// The model of tokenizer.json: how a word is cut into pieces.
// Source: huggingface/tokenizers src/models.
#include <memory>

#include "core/text/tokenizers/json_fields.h"
#include "core/text/tokenizers/piece_model.h"

namespace locus {

/// Reads BPE, WordPiece and Unigram.  Throws Error(unsupported) that names any other type or an option that Locus does
/// not know (dropout, a prefix or suffix of BPE), Error(unreadable) for damaged fields.
std::unique_ptr<PieceModel> read_piece_model(const JsonFields& json);

}  // namespace locus
