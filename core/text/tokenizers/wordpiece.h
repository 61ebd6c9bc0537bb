#pragma once
// The two tokenizers that read vocab.txt: WordPiece (BERT, RoFormer), which takes the longest piece of the vocabulary
// from the left, and whole words (Transformer-XL).
// Source: Wu et al. 2016; google-research/bert tokenization.py, WordpieceTokenizer.
#include <memory>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

class WordPieceModel : public PieceModel {
public:
    /// `prefix` ("##") marks a piece that does not begin a word; a word of more than `longest` characters is unknown.
    WordPieceModel(Vocabulary vocabulary, Piece unknown, std::string prefix = "##", std::size_t longest = 100)
        : vocabulary_(std::move(vocabulary)),
          unknown_(std::move(unknown)),
          prefix_(std::move(prefix)),
          longest_(longest) {}

    /// A word that the vocabulary cannot cover to its end is the unknown piece as a whole.
    void cut(const std::string& word, std::vector<Piece>& pieces) const override;
    std::optional<std::int64_t> find(const std::string& piece) const override { return vocabulary_.find(piece); }
    std::optional<std::string> piece(std::int64_t id) const override { return vocabulary_.piece(id); }

private:
    Vocabulary vocabulary_;
    Piece unknown_;
    std::string prefix_;
    std::size_t longest_;
};

// --- WordPiece tokenizer ---------------------------------------------------------------------------------------------
// WordPiece as BERT and RoFormer use it: vocab.txt.
// Source: transformers 4.57.6 tokenization_bert.py, tokenization_roformer.py.

/// [CLS] text [SEP], or the names that the files give; lower case unless a file says do_lower_case: false.
/// RoFormer cuts a text into words with jieba first, and takes a word that the vocabulary has as it stands.  Chinese
/// takes jieba's dictionary: where the vocabulary has words of it, or Han characters are not to be cut apart, a text
/// with Han characters is refused by encode() with Error(unsupported). Throws Error(unreadable) that names the file and
/// the line, Error(unsupported) for do_basic_tokenize: false and for never_split.
std::unique_ptr<Tokenizer> open_wordpiece(const TokenizerFiles& files);

// --- word tokenizer --------------------------------------------------------------------------------------------------
// Whole words, as Transformer-XL reads them: vocab.txt, one word per line, or vocab.json, as transfo-xl-wt103 has it.
// Source: kimiyoung/transformer-xl pytorch/utils/vocabulary.py.

/// <eos> text: the official code ends every line with <eos>, so a text begins after one.  Words are what stands
/// between white space.  A word that the vocabulary lacks loses the marks at its ends, every mark a word of its own
/// ("letter." is "letter" and "."), is cut as WikiText-103 cuts words where the vocabulary has the parts ("well-known"
/// is well @-@ known, "1,000" is 1 @,@ 000, "don't" is don 't), and is <unk> if that does not help.  Curly quotes, long
/// dashes and the ellipsis that the vocabulary lacks are read as their plain signs.  lower_case or do_lower_case of
/// tokenizer_config.json lowers the text.  There is neither a mask nor a padding token unless a file names one.
/// Throws Error(unreadable) that names the file and the line or the missing token.
std::unique_ptr<Tokenizer> open_word_tokenizer(const TokenizerFiles& files);

}  // namespace locus
