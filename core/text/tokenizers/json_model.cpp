#include "core/text/tokenizers/json_model.h"

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/tokenizers/bpe_model.h"
#include "core/text/tokenizers/unigram_model.h"
#include "core/text/tokenizers/wordpiece_model.h"

namespace locus {

namespace {

using Json = nlohmann::json;

Vocabulary read_vocabulary(const JsonFields& json) {
    const Json* vocab = json.find("vocab");
    if (!vocab) json.throw_unreadable("vocab", "an object of pieces and ids");
    return read_vocab_json(*vocab, json.location() + ": vocab");
}

Piece unknown_piece(const JsonFields& json, const Vocabulary& vocabulary, const std::string& name) {
    const auto id = vocabulary.find(name);
    if (!id) json.throw_unreadable("unk_token", "a piece of the vocabulary");
    return {*id, name};
}

/// "a b" or ["a", "b"]
std::pair<std::string, std::string> parse_merge(const Json& merge, const std::string& location) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
        return {merge[0], merge[1]};
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const std::size_t blank = text.find(' ');
    if (blank == std::string::npos || text.find(' ', blank + 1) != std::string::npos)
        throw Error(Fault::unreadable, location + " is " + excerpt(merge) + ", expected two pieces");
    return {text.substr(0, blank), text.substr(blank + 1)};
}

/// Options that change the pieces in ways that Locus does not follow.
void check_plain(const JsonFields& json) {
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix", "dropout"}) {
        const Json* value = json.find(name);
        if (value && *value != Json("") && *value != Json(0))
            throw Error(Fault::unsupported,
                        json.location() + ": " + name + " is " + excerpt(*value) + ", expected none");
    }
}

std::unique_ptr<PieceModel> read_bpe(const JsonFields& json) {
    check_plain(json);
    Vocabulary vocabulary = read_vocabulary(json);
    const Json* list = json.find("merges");
    if (!list || !list->is_array()) json.throw_unreadable("merges", "a list");
    PairMerges merges;
    for (std::size_t n = 0; n < list->size(); ++n) {
        const std::string location = json.location() + ": merges[" + std::to_string(n) + "]";
        const auto [left, right] = parse_merge((*list)[n], location);
        add_merge(merges, vocabulary, left, right, location);
    }
    BpeOptions options;
    options.order = MergeOrder::one_by_one;
    if (const auto name = json.optional_text("unk_token")) options.unknown = unknown_piece(json, vocabulary, *name);
    options.fuse_unknown = json.flag("fuse_unk", false);
    options.byte_fallback = json.flag("byte_fallback", false);
    options.whole_words_first = json.flag("ignore_merges", false);
    return std::make_unique<BpeModel>(std::move(vocabulary), std::move(merges), std::move(options));
}

std::unique_ptr<PieceModel> read_wordpiece(const JsonFields& json) {
    Vocabulary vocabulary = read_vocabulary(json);
    const Piece unknown = unknown_piece(json, vocabulary, json.text("unk_token"));
    return std::make_unique<WordPieceModel>(std::move(vocabulary), unknown, json.text("continuing_subword_prefix"),
                                            static_cast<std::size_t>(json.whole("max_input_chars_per_word")));
}

std::unique_ptr<PieceModel> read_unigram(const JsonFields& json) {
    const Json* list = json.find("vocab");
    if (!list || !list->is_array()) json.throw_unreadable("vocab", "a list of pieces and scores");
    std::vector<std::pair<std::string, double>> pieces;
    for (const Json& one : *list) {
        if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_number())
            throw Error(Fault::unreadable, json.location() + ": vocab[" + std::to_string(pieces.size()) + "] is " +
                                               excerpt(one) + ", expected a piece and its score");
        pieces.emplace_back(one[0], one[1]);
    }
    std::optional<std::size_t> unknown;
    if (json.find("unk_id")) unknown = static_cast<std::size_t>(json.whole("unk_id"));
    return std::make_unique<UnigramModel>(pieces, unknown, json.flag("byte_fallback", false), json.location());
}

}  // namespace

std::unique_ptr<PieceModel> read_piece_model(const JsonFields& json) {
    const std::string type = json.type();
    if (type == "BPE") return read_bpe(json);
    if (type == "WordPiece") return read_wordpiece(json);
    if (type == "Unigram") return read_unigram(json);
    json.refuse_type("BPE, WordPiece, Unigram");
}

}  // namespace locus
