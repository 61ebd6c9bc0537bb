#include "core/text/tokenizers/token_frame.h"

#include <algorithm>

#include "core/check.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

const NamedToken* added_token(const TokenizerFiles& files, const std::string& name) {
    const NamedToken* found = nullptr;
    for (const NamedToken& one : files.added())
        if (one.token.name == name) found = &one;  // the last one wins
    return found;
}

bool contains(const std::vector<FrameDefaults::Part>& parts, const std::string& role) {
    return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.role == role; });
}

/// Names of the roles, as the files give them or else the defaults, of further special tokens and of added words whose
/// names were lowered when they were added, unless an old file has them otherwise.
SpecialTokens kept_names(const TokenizerFiles& files, const FrameDefaults& defaults) {
    SpecialTokens names;
    for (const FrameDefaults::Role& one : defaults.roles) {
        const NamedToken* said = files.role(one.role);
        names.add({said ? said->token.name : one.name});
    }
    for (const NamedToken& one : files.more()) names.add({one.token.name});
    for (const NamedToken& one : files.added())
        if (!one.flagged || (one.token.normalized && !one.token.special)) names.add({one.token.name});
    return names;
}

/// The text in lower case but for these names.  Source: transformers 4.57.6 tokenization_utils.py, tokenize.
std::string lowered_between(const std::string& text, const SpecialTokens& names) {
    std::string lowered;
    for (const SpecialTokens::Section& section : names.cut(text)) {
        const std::string part(section.text);
        lowered += section.token ? part : lower_case_by_character(part);
    }
    return lowered;
}

[[noreturn]] void throw_unreadable(const FrameDefaults& defaults, const std::string& name, const std::string& role) {
    throw Error(Fault::unreadable, defaults.vocabulary + ": has no piece " + name + ", expected one for the " + role);
}

}  // namespace

TokenFrame make_frame(const TokenizerFiles& files, const FrameDefaults& defaults,
                      const std::function<std::optional<std::int64_t>(const std::string&)>& find) {
    TokenFrame frame;
    frame.specials = SpecialTokens(SpecialTokens::Edition::python);
    frame.lower_case = defaults.lower_case;
    frame.kept_names = kept_names(files, defaults);
    // Flags and id of a token, if it has an id.
    const auto complete = [&](const NamedToken& named) -> std::optional<SpecialToken> {
        const NamedToken* added = added_token(files, named.token.name);
        SpecialToken token = added && added->flagged ? added->token : named.token;
        const auto id = added ? std::optional(added->token.id) : find(token.name);
        if (!id) return std::nullopt;
        token.id = *id;
        return token;
    };
    const auto place = [&](const std::string& role, const SpecialToken& token) {
        frame.specials.add(token);
        if (role == "mask_token") frame.mask = token.id;
        if (role == "pad_token") frame.pad = token.id;
        if (role == "unk_token") frame.unknown = token;
    };
    for (const NamedToken& one : files.added()) frame.specials.add(one.token);
    std::vector<std::pair<std::string, SpecialToken>> placed;
    for (const FrameDefaults::Role& one : defaults.roles) {
        const NamedToken* said = files.role(one.role);
        NamedToken named = said ? *said : NamedToken{};
        if (!said) named.token.name = one.name;
        if (!named.flagged) named.token.takes_left = one.takes_left;
        const auto token = complete(named);
        const bool needed = contains(defaults.single, one.role);
        if (!token && (said || needed || one.role == "unk_token"))
            throw_unreadable(defaults, named.token.name, one.role);
        if (!token) continue;
        place(one.role, *token);
        placed.emplace_back(one.role, *token);
    }
    for (const NamedToken& one : files.more())
        if (const auto token = complete(one))
            frame.specials.add(*token);
        else
            throw_unreadable(defaults, one.token.name, "additional_special_tokens");
    const auto steps_of = [&](const std::vector<FrameDefaults::Part>& parts) {
        std::vector<FrameStep> steps;
        for (const FrameDefaults::Part& part : parts) {
            FrameStep step{std::nullopt, part.role == kSecondText, part.type};
            for (const auto& [name, token] : placed)
                if (name == part.role) step.token = token;
            steps.push_back(std::move(step));
        }
        return steps;
    };
    frame.single = steps_of(defaults.single);
    frame.pair = steps_of(defaults.pair);
    const std::string side = files.text("padding_side").value_or(defaults.pads_left ? "left" : "right");
    if (side != "left" && side != "right")
        throw Error(Fault::unreadable, (files.folder() / "tokenizer_config.json").string() + ": padding_side is \"" +
                                           side + "\", expected left or right");
    frame.pads_left = side == "left";
    return frame;
}

FrameDefaults bert_frame(const std::string& vocabulary) {
    FrameDefaults defaults;
    defaults.roles = {{"cls_token", "[CLS]"},
                      {"sep_token", "[SEP]"},
                      {"pad_token", "[PAD]"},
                      {"unk_token", "[UNK]"},
                      {"mask_token", "[MASK]"}};
    defaults.single = {{"cls_token"}, {kFirstText}, {"sep_token"}};
    defaults.pair = {{"cls_token", 0}, {kFirstText, 0}, {"sep_token", 0}, {kSecondText, 1}, {"sep_token", 1}};
    defaults.vocabulary = vocabulary;
    return defaults;
}

// --- the tokenizer ---------------------------------------------------------------------------------------------------

namespace {

void add(Tokens& tokens, const Piece& piece) {
    tokens.ids.push_back(piece.id);
    tokens.pieces.push_back(piece.text);
    tokens.special.push_back(piece.special);
    tokens.behind.push_back(piece.behind);
}

void add(Tokens& tokens, const SpecialToken& token) { add(tokens, Piece{token.id, token.name, token.special}); }

}  // namespace

FramedTokenizer::FramedTokenizer(TokenFrame frame, std::unique_ptr<TextCutter> cutter)
    : frame_(std::move(frame)), cutter_(std::move(cutter)) {}

void FramedTokenizer::add_text(const std::string& text, Tokens& tokens) const {
    check_utf8(text);
    std::size_t first = 0;
    const bool missing = !text.empty() && !is_python_space(next_character(text, first));
    const bool blank = frame_.blank == BlankInFront::always || (frame_.blank == BlankInFront::where_missing && missing);
    const std::string cased = blank ? " " + text : text;
    const std::string whole = frame_.lower_case ? lowered_between(cased, frame_.kept_names) : cased;
    for (const SpecialTokens::Section& section : frame_.specials.cut(whole)) {
        if (section.token) {
            add(tokens, *section.token);
            continue;
        }
        std::vector<Piece> pieces;
        cutter_->cut(std::string(section.text), section.text.data() == whole.data(), pieces);
        for (const Piece& one : pieces) add(tokens, one);
    }
}

Tokens FramedTokenizer::framed(const std::vector<FrameStep>& steps, const std::string& first,
                               const std::string& second) const {
    Tokens tokens;
    for (const FrameStep& step : steps) {
        if (step.token)
            add(tokens, *step.token);
        else
            add_text(step.second ? second : first, tokens);
        tokens.types.resize(tokens.ids.size(), step.type);
    }
    return tokens;
}

Tokens FramedTokenizer::encode(const std::string& text) const { return framed(frame_.single, text, ""); }

Tokens FramedTokenizer::encode_pair(const std::string& first, const std::string& second) const {
    if (frame_.pair.empty())
        throw Error(
            Fault::unsupported,
            "this tokenizer has no form for two texts; locus trace takes token ids instead: --tokens or --input");
    Tokens tokens = framed(frame_.pair, first, second);
    tokens.pair = true;
    return tokens;
}

std::pair<std::size_t, std::size_t> FramedTokenizer::frame() const {
    const auto is_text = [](const FrameStep& step) { return !step.token; };
    const auto text = std::find_if(frame_.single.begin(), frame_.single.end(), is_text);
    return {static_cast<std::size_t>(text - frame_.single.begin()),
            static_cast<std::size_t>(frame_.single.end() - text) - 1};
}

std::optional<std::int64_t> FramedTokenizer::separator_id() const {
    bool behind_text = false;
    for (const FrameStep& step : frame_.pair) {
        if (step.token && behind_text) return step.token->id;
        behind_text = behind_text || !step.token;
    }
    return std::nullopt;
}

std::string FramedTokenizer::piece(std::int64_t id) const {
    if (const SpecialToken* token = frame_.specials.find(id)) return token->name;
    return cutter_->piece(id).value_or("<" + std::to_string(id) + ">");
}

}  // namespace locus
