#include "core/text/tokenizer.h"

#include "core/check.h"
#include "core/text/sentencepiece_tokenizer.h"

namespace locus {

std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& folder) {
    std::error_code error;  // a name the system cannot look up is no folder either
    if (!std::filesystem::is_directory(folder, error))
        throw Error(Fault::unreadable, folder.string() + ": no such folder, expected one with a tokenizer");
    if (std::filesystem::exists(folder / "spm.model", error)) return open_sentencepiece(folder);
    throw Error(
        Fault::unsupported,
        folder.string() + ": no spm.model, the only tokenizer read so far; give token ids with --tokens instead");
}

std::string display_piece(const std::string& piece) {
    static const std::string kWordMark = "\u2581";
    return piece.size() > kWordMark.size() && piece.starts_with(kWordMark) ? piece.substr(kWordMark.size()) : piece;
}

}  // namespace locus
