#include "core/text/tokenizers/json_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/byte_pair_encoding.h"
#include "core/text/tokenizers/json_text.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/unigram_model.h"
#include "core/text/tokenizers/wordpiece.h"

namespace locus {

// --- model -----------------------------------------------------------------------------------------------------------

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
    json.throw_unknown_type("BPE, WordPiece, Unigram");
}

// --- post-processor --------------------------------------------------------------------------------------------------

namespace {

/// A larger number would be cut when it becomes an id.
bool is_token_id(const Json& json) {
    constexpr std::uint64_t kLargestTokenId = 999'999'999;
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= kLargestTokenId;
}

/// ["[CLS]", 1]
SpecialToken read_pair(const JsonFields& json, const std::string& name) {
    const nlohmann::json* pair = json.find(name);
    if (!pair || !pair->is_array() || pair->size() != 2 || !(*pair)[0].is_string() || !is_token_id((*pair)[1]))
        json.throw_unreadable(name, "a token and its id from 0 to 999999999");
    SpecialToken token;
    token.name = (*pair)[0];
    token.id = (*pair)[1];
    return token;
}

/// The ids of one special token of a template, with their names.
std::vector<SpecialToken> read_template_token(const JsonFields& table, const std::string& name) {
    const JsonFields entry = table.child(name);
    const nlohmann::json *ids = entry.find("ids"), *names = entry.find("tokens");
    if (!ids || !ids->is_array()) entry.throw_unreadable("ids", "a list of ids");
    if (!names || !names->is_array() || names->size() != ids->size())
        entry.throw_unreadable("tokens", "one name per id");
    std::vector<SpecialToken> tokens;
    for (std::size_t n = 0; n < ids->size(); ++n) {
        if (!is_token_id((*ids)[n]) || !(*names)[n].is_string())
            entry.throw_unreadable("ids", "ids from 0 to 999999999 and their names");
        SpecialToken token;
        token.name = (*names)[n];
        token.id = (*ids)[n];
        tokens.push_back(token);
    }
    return tokens;
}

/// Ids of token types are those of a small table; a larger number is no type.
std::int64_t read_type(const JsonFields& json) {
    if (!json.find("type_id")) return 0;
    const nlohmann::json& type = *json.find("type_id");
    if (!is_token_id(type)) json.throw_unreadable("type_id", "a whole number from 0 to 999999999");
    return type.get<std::int64_t>();
}

/// A special token of a template, which may stand for several, each with the type that is said for them.
void add_template_tokens(const JsonFields& json, const JsonFields& step, std::vector<FrameStep>& steps) {
    const JsonFields named = step.child("SpecialToken");
    for (const SpecialToken& token : read_template_token(json.child("special_tokens"), named.text("id")))
        steps.push_back({token, false, read_type(named)});
}

/// What a template makes of two texts, each of which stands in it once.
std::vector<FrameStep> read_pair_template(const JsonFields& json) {
    std::vector<FrameStep> steps;
    std::size_t firsts = 0, seconds = 0;
    if (!json.find("pair")) return steps;
    for (const JsonFields& step : json.list("pair")) {
        if (step.find("Sequence")) {
            const JsonFields text = step.child("Sequence");
            const bool second = text.text("id") == "B";
            if (!second && text.text("id") != "A") json.throw_unreadable("pair", "the texts A and B once");
            ++(second ? seconds : firsts);
            steps.push_back({std::nullopt, second, read_type(text)});
            continue;
        }
        add_template_tokens(json, step, steps);
    }
    if (firsts != 1 || seconds != 1) json.throw_unreadable("pair", "the texts A and B once");
    return steps;
}

JsonFrame read_template(const JsonFields& json) {
    JsonFrame frame;
    bool behind = false;
    for (const JsonFields& step : json.list("single")) {
        if (!step.find("Sequence")) {
            add_template_tokens(json, step, behind ? frame.behind : frame.front);
            continue;
        }
        if (behind || step.child("Sequence").text("id") != "A") json.throw_unreadable("single", "the text A once");
        behind = true;
        frame.type = read_type(step.child("Sequence"));
    }
    if (!behind) json.throw_unreadable("single", "the text A once");
    frame.pair = read_pair_template(json);
    return frame;
}

JsonFrame read_sequence(const JsonFields& json) {
    JsonFrame frame;
    std::size_t forms = 0;
    for (const JsonFields& one : json.list("processors")) {
        JsonFrame outer = read_processor(one);
        frame.front.insert(frame.front.begin(), outer.front.begin(), outer.front.end());
        frame.behind.insert(frame.behind.end(), outer.behind.begin(), outer.behind.end());
        frame.type = std::max(frame.type, outer.type);
        forms += !outer.pair.empty();
        if (!outer.pair.empty()) frame.pair = std::move(outer.pair);
    }
    if (forms > 1) frame.pair.clear();  // one around the other, which no tokenizer has been seen to do
    return frame;
}

/// [CLS] text [SEP]; of two texts BERT gives the second the type 1, RoBERTa two separators in front of it.
JsonFrame read_cls_and_sep(const JsonFields& json, bool roberta) {
    const SpecialToken cls = read_pair(json, "cls"), sep = read_pair(json, "sep");
    JsonFrame frame;
    frame.front = {{cls}};
    frame.behind = {{sep}};
    frame.pair = {{cls}, {}, {sep}};
    if (roberta) frame.pair.push_back({sep});
    const std::int64_t type = roberta ? 0 : 1;
    frame.pair.push_back({std::nullopt, true, type});
    frame.pair.push_back({sep, false, type});
    return frame;
}

}  // namespace

JsonFrame read_processor(const JsonFields& json) {
    const std::string type = json.type();
    if (type == "Sequence") return read_sequence(json);
    if (type == "TemplateProcessing") return read_template(json);
    if (type == "BertProcessing" || type == "RobertaProcessing")
        return read_cls_and_sep(json, type == "RobertaProcessing");
    if (type == "ByteLevel") return {};
    json.throw_unknown_type("Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel");
}

// --- the whole file --------------------------------------------------------------------------------------------------

namespace {

/// Normalizes, cuts out the added tokens that are looked for in normalized text, cuts the rest into words and those
/// into pieces.
class PipelineCutter : public TextCutter {
public:
    explicit PipelineCutter(const JsonFields& json) {
        if (json.find("normalizer")) normalizer_ = read_normalizer(json.child("normalizer"));
        if (json.find("pre_tokenizer")) pre_tokenizer_ = read_pre_tokenizer(json.child("pre_tokenizer"));
        model_ = read_piece_model(json.child("model"));
    }

    void cut(const std::string& text, bool at_start, std::vector<Piece>& pieces) const override {
        if (needs_jieba_) check_no_han(text);
        const std::string normal = normalized(text);
        const bool from_start = at_start && keeps_first_character(text);
        for (const SpecialTokens::Section& section : added_.cut(normal)) {
            if (section.token) {
                pieces.push_back({section.token->id, std::string(section.text), section.token->special});
                continue;
            }
            CutWords words = {{std::string(section.text)}, from_start && section.text.data() == normal.data()};
            if (pre_tokenizer_) words = pre_tokenizer_(words);
            for (const std::string& word : words.list) model_->cut(word, pieces);
        }
    }
    std::optional<std::string> piece(std::int64_t id) const override {
        if (const SpecialToken* token = names_.find(id)) return token->name;
        return model_->piece(id);
    }

    /// A token that is looked for in normalized text, under its own normalized name.
    void add(const SpecialToken& token) {
        names_.add(token);
        SpecialToken changed = token;
        changed.name = normalized(token.name);
        added_.add(changed);
    }
    std::optional<std::int64_t> find(const std::string& name) const { return model_->find(name); }

    /// The pre-tokenizer of RoFormer in place of the one that the file names: a file cannot hold jieba, and RoFormer's
    /// class puts it in.
    void cut_as_roformer(const JsonFields& model) {
        pre_tokenizer_ = [](const CutWords& words) {
            CutWords result;
            for (const std::string& text : words.list)
                for (std::string& word : jieba_words(text))
                    if (std::size_t end = 0; !is_python_space(next_character(word, end)))
                        result.list.push_back(std::move(word));
            return result;
        };
        const Json* vocabulary = model.find("vocab");
        needs_jieba_ = false;
        for (const auto& piece : vocabulary->items()) needs_jieba_ = needs_jieba_ || count_han(piece.key()) > 1;
    }

private:
    /// Rust counts from the original text: behind a first character that the normalizer leaves out, as Strip does with
    /// a blank, nothing is at the start.  A letter shows whether it is left out, for alone it might be at the end as
    /// well.
    bool keeps_first_character(const std::string& text) const {
        const std::string letter = "a";
        std::size_t end = 0;
        if (!text.empty()) next_character(text, end);
        return text.empty() || normalized(text.substr(0, end) + letter) != normalized(letter);
    }

    std::string normalized(const std::string& text) const { return normalizer_ ? normalizer_(text) : text; }

    Normalizer normalizer_;
    PreTokenizer pre_tokenizer_;
    std::unique_ptr<PieceModel> model_;
    SpecialTokens added_, names_;
    bool needs_jieba_ = false;  // its dictionary, for a text with Han characters
};

/// Puts every added token where it is looked for; all of them by name.
SpecialTokens read_added_tokens(const JsonFields& json, TokenFrame& frame, PipelineCutter& cutter) {
    SpecialTokens all;
    if (!json.find("added_tokens")) return all;
    for (const JsonFields& one : json.list("added_tokens")) {
        SpecialToken token = parse_special_token(one.json(), one.location());
        token.id = one.whole("id");
        const auto known = cutter.find(token.name);
        if (known && *known != token.id)
            one.throw_unreadable("id", std::to_string(*known) + " as the vocabulary has it for " + excerpt(token.name));
        all.add(token);
        if (one.flag("normalized", false))
            cutter.add(token);
        else
            frame.specials.add(token);
    }
    return all;
}

/// Id of a role's token: named by a file, or one of the usual names.
std::optional<std::int64_t> id_of_role(const TokenizerFiles& files, const std::string& role, const SpecialTokens& added,
                                       const PipelineCutter& cutter, const std::vector<std::string>& usual) {
    const auto id_of = [&](const std::string& name) {
        const SpecialToken* token = added.find(name);
        return token ? std::optional(token->id) : cutter.find(name);
    };
    if (const NamedToken* named = files.role(role)) {
        const auto id = id_of(named->token.name);
        if (!id)
            throw Error(Fault::unreadable, (files.folder() / "tokenizer.json").string() + ": has no token " +
                                               named->token.name + ", expected one for the " + role);
        return id;
    }
    for (const std::string& name : usual)
        if (const auto id = id_of(name)) return id;
    return std::nullopt;
}

/// padding: {"direction": "Left", "pad_id": 5, ...}; tokenizer_config.json has the last word on the side.
bool pads_left(const JsonFields& json, const TokenizerFiles& files) {
    const auto side = files.text("padding_side");
    if (side) return *side == "left";
    if (json.find("padding")) return json.child("padding").optional_text("direction").value_or("Right") == "Left";
    return files.tokenizer_class() == "XLNetTokenizer" || files.model_type() == "xlnet";
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer_json(const TokenizerFiles& files) {
    const std::string file = (files.folder() / "tokenizer.json").string();
    const nlohmann::json object = parse_json_object(read_model_file(file), file);
    const JsonFields json(object, file);
    auto cutter = std::make_unique<PipelineCutter>(json);
    if (files.is_kind("RoFormerTokenizer", "roformer")) cutter->cut_as_roformer(json.child("model"));
    TokenFrame frame;
    const SpecialTokens added = read_added_tokens(json, frame, *cutter);
    if (json.find("post_processor")) {
        const JsonFrame around = read_processor(json.child("post_processor"));
        frame.single = around.front;
        frame.single.push_back({std::nullopt, false, around.type});
        frame.single.insert(frame.single.end(), around.behind.begin(), around.behind.end());
        frame.pair = around.pair;
    }
    frame.mask = id_of_role(files, "mask_token", added, *cutter, {"[MASK]", "<mask>"});
    frame.pad = id_of_role(files, "pad_token", added, *cutter, {"[PAD]", "<pad>"});
    frame.pads_left = pads_left(json, files);
    return std::make_unique<FramedTokenizer>(std::move(frame), std::move(cutter));
}

}  // namespace locus
