#pragma once
// From a model's folder and a text, or token ids, to the model and its input; and from logits back to words.
// The one place where this is done: for the programs, the viewer, the lessons and the kit.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/io/checkpoint.h"
#include "core/models/deberta.h"
#include "core/models/model.h"
#include "core/text/tokenizers/tokenizer.h"

namespace locus {

/// What the user asked for, as the options spell it.
struct ModelRequest {
    std::string model = "tiny-v3";
    std::vector<std::string> texts;
    std::string tokens, mask, labels;  // "1,2,3"
    std::string input_file;
    Index segment = 0;  // tokens per segment, memory handed on; 0: all in one
};

/// The input, and what is needed to talk about it.
struct PreparedInput {
    std::vector<ModelInput> segments;
    std::vector<std::string> ignored;  // names in the input file that this family does not use
};

/// The tokens of one text as the model reads them: "[MASK]" and "[SEP]" are how people write them, whatever the
/// tokenizer calls them, and for XLNet no lone mark of a word stands between a mask and what follows it without a
/// blank.  One [SEP] between words makes two texts of it, encoded as a pair with token types: "who opened it? [SEP] a
/// store opened". Throws Error(usage) for a text without a word.
Tokens encode_text(const std::string& text, const Tokenizer& tokenizer, Family family);

/// The text with the tokenizer's own names for "[MASK]" and "[SEP]".
std::string with_own_names(const std::string& text, const Tokenizer& tokenizer);

/// What the model in the tokenizer's folder reads of one text, or of two as one input: as encode_text(), but a text
/// without a word is the special tokens alone, and no model need lie beside the tokenizer.
Tokens tokens_read(const Tokenizer& tokenizer, const std::filesystem::path& folder, const std::string& text,
                   const std::optional<std::string>& second);

/// When texts come with token types.  For single texts it matters in XLNet alone: without types it has no segment term
/// (ef), with those of its tokenizer <cls> is of another segment than the text.
enum class TokenTypes {
    of_pairs,  // where a text is a pair
    always,
};

/// `always` for an XLNet that was fine-tuned for classes, as transformers does it with the types of its tokenizer.
TokenTypes token_types_for(const Checkpoint& checkpoint, Family family);

/// One or several texts, padded to the longest on the side the tokenizer says, with a mask where lengths differ and the
/// places of [MASK]; in XLNet these become targets of the query stream, hidden from everyone.
/// Throws Error(usage) for empty text, and for different lengths where there is no padding token.
ModelInput input_of_texts(const std::vector<std::string>& texts, const Tokenizer& tokenizer, Family family,
                          TokenTypes types = TokenTypes::of_pairs);

/// Input from exactly one of texts, tokens, input_file.  Throws Error(usage) if none or several are given, a list is
/// not one of whole numbers, the text is empty, or several segments are asked of a family without memory;
/// Error(unreadable) for a damaged input file; Error(unsupported) for a mask that the family does not use.
PreparedInput prepare_input(const ModelRequest& request, const std::filesystem::path& folder, Family family,
                            const std::vector<std::string>& input_names, TokenTypes types = TokenTypes::of_pairs);

/// "FILE: not used by this family: attention_mask; it reads tokens, mask, ..."; empty where everything is used.
std::string about_ignored(const PreparedInput& prepared, const std::string& file,
                          const std::vector<std::string>& input_names);

/// Cuts one sample, with its labels, token types and places of [MASK], into segments of `length` tokens; a memory goes
/// to the first.
/// Throws Error(usage) for a batch, or targets, or a mask, or labels that are not one per token.
std::vector<ModelInput> cut_segments(const ModelInput& input, Index length);

/// Every place of mask_positions becomes a target, hidden from all tokens: perm_mask [B,T,T], target_mapping [B,P,T].
void predict_masks(ModelInput& input);

/// The tokens of these words become targets in this order: each sees all other tokens and the targets before it; tokens
/// that are no targets see none.  One sample.
/// Throws Error(usage) for a word that the text does not hold, or that is named twice.
/// Returns the targets' positions.
std::vector<Index> predict_in_order(ModelInput& input, const std::vector<std::string>& words,
                                    const Tokenizer& tokenizer);

/// A token as a person reads it: "store" for "▁store", a lone mark as it is, the number where there is no tokenizer.
std::string readable_piece(const Tokenizer* tokenizer, std::int64_t id);

struct Guess {
    std::string piece;
    std::int64_t id = 0;
    double logit = 0, probability = 0;
};

/// The best `top` words of one row of logits [V]; probabilities are over the whole vocabulary.
std::vector<Guess> best_words(const Eigen::Ref<const RowVector<float>>& logits, const Tokenizer* tokenizer, Index top);

/// Opens the model of a folder, whichever family it is; `compute` and `path` as open_model takes them.
template <class Scalar>
std::unique_ptr<Model<Scalar>> open_model_of(const Checkpoint& checkpoint,
                                             const Operations<Scalar>& compute = cpu_operations<Scalar>(),
                                             ForwardPath path = ForwardPath::reference) {
    return open_model<Scalar>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights, compute,
                              path);
}

/// Opens a DeBERTa, for options that only it has.
template <class Scalar>
Deberta<Scalar> open_deberta(const Checkpoint& checkpoint, const Operations<Scalar>& compute = cpu_operations<Scalar>(),
                             ForwardPath path = ForwardPath::reference) {
    return Deberta<Scalar>(parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string()),
                           checkpoint.weights, compute, path);
}

}  // namespace locus
