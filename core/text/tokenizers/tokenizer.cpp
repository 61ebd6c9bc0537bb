#include "core/text/tokenizers/tokenizer.h"

#include <algorithm>

#include "core/check.h"
#include "core/file_presence.h"
#include "core/text/tokenizers/byte_pair_encoding.h"
#include "core/text/tokenizers/json_tokenizer.h"
#include "core/text/tokenizers/sentencepiece.h"
#include "core/text/tokenizers/tokenizer_files.h"
#include "core/text/tokenizers/wordpiece.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& folder, const char* name) { return is_present(folder / name); }

/// The same file means other ids to another class: what is not known to fit is refused.
void check_class(const TokenizerFiles& files, const std::vector<std::string>& known, const std::string& file) {
    const std::string& name = files.tokenizer_class();
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return;
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    throw Error(Fault::unsupported, (files.folder() / "tokenizer_config.json").string() + ": tokenizer_class is \"" +
                                        files.written_class() + "\", expected one of " + list + " beside " + file +
                                        "; locus trace and locus view take token ids instead: --tokens");
}

std::unique_ptr<Tokenizer> open_sentencepiece(const TokenizerFiles& files, const std::string& name) {
    check_class(files, {"DebertaV2Tokenizer", "XLNetTokenizer"}, name);
    const fs::path model = files.folder() / name;
    const bool deberta = files.is_kind("DebertaV2Tokenizer", "deberta-v2");
    const bool xlnet = files.is_kind("XLNetTokenizer", "xlnet");
    if (deberta || (name == "spm.model" && !xlnet)) return open_deberta_sentencepiece(model, files);
    return open_xlnet_sentencepiece(model, files);
}

std::unique_ptr<Tokenizer> open_vocab_txt(const TokenizerFiles& files) {
    check_class(files,
                {"BertTokenizer", "RoFormerTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
                 "TransfoXLTokenizer"},
                "vocab.txt");
    return files.is_kind("TransfoXLTokenizer", "transfo-xl") ? open_word_tokenizer(files) : open_wordpiece(files);
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& folder) {
    std::error_code error;  // a name the system cannot look up is no folder either
    if (!fs::is_directory(folder, error))
        throw Error(Fault::unreadable, folder.string() + ": no such folder, expected one with a tokenizer");
    for (const char* name : {"spm.model", "spiece.model"})
        if (holds(folder, name)) return open_sentencepiece(TokenizerFiles(folder), name);
    if (holds(folder, "vocab.json") && holds(folder, "merges.txt")) {
        const TokenizerFiles files(folder);
        check_class(files,
                    {"DebertaTokenizer", "RobertaTokenizer", "GPT2Tokenizer", "LongformerTokenizer", "BartTokenizer"},
                    "vocab.json");
        return open_byte_bpe(files);
    }
    if (holds(folder, "vocab.txt")) return open_vocab_txt(TokenizerFiles(folder));
    if (holds(folder, "vocab.json"))
        if (const TokenizerFiles files(folder); files.is_kind("TransfoXLTokenizer", "transfo-xl"))
            return open_word_tokenizer(files);
    if (holds(folder, "tokenizer.json")) return open_tokenizer_json(TokenizerFiles(folder));
    throw Error(
        Fault::unsupported,
        folder.string() +
            ": no tokenizer that Locus reads (spm.model, spiece.model, vocab.json with merges.txt, vocab.txt or "
            "tokenizer.json); locus trace and locus view take token ids instead: --tokens");
}

std::string display_piece(const std::string& piece) {
    for (const std::string mark : {"\u2581", "\u0120"})
        if (piece.size() > mark.size() && piece.starts_with(mark)) return piece.substr(mark.size());
    return piece;
}

}  // namespace locus
