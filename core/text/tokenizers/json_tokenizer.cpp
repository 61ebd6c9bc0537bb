#include "core/text/tokenizers/json_tokenizer.h"

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/framed_tokenizer.h"
#include "core/text/tokenizers/json_model.h"
#include "core/text/tokenizers/json_normalizer.h"
#include "core/text/tokenizers/json_pre_tokenizer.h"
#include "core/text/tokenizers/json_processor.h"

namespace locus {

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
        const std::string normal = normalized(text);
        for (const SpecialTokens::Section& section : added_.cut(normal)) {
            if (section.token) {
                pieces.push_back({section.token->id, std::string(section.text), section.token->special});
                continue;
            }
            std::vector<std::string> words = {std::string(section.text)};
            if (pre_tokenizer_) words = pre_tokenizer_(words, at_start && section.text.data() == normal.data());
            for (const std::string& word : words) model_->cut(word, pieces);
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

private:
    std::string normalized(const std::string& text) const { return normalizer_ ? normalizer_(text) : text; }

    Normalizer normalizer_;
    PreTokenizer pre_tokenizer_;
    std::unique_ptr<PieceModel> model_;
    SpecialTokens added_, names_;
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
    const nlohmann::json object = parse_json_object(read_text_file(file), file);
    const JsonFields json(object, file);
    auto cutter = std::make_unique<PipelineCutter>(json);
    TokenFrame frame;
    const SpecialTokens added = read_added_tokens(json, frame, *cutter);
    if (json.find("post_processor")) {
        const JsonFrame around = read_processor(json.child("post_processor"));
        frame.front = around.front;
        frame.behind = around.behind;
    }
    frame.mask = id_of_role(files, "mask_token", added, *cutter, {"[MASK]", "<mask>"});
    frame.pad = id_of_role(files, "pad_token", added, *cutter, {"[PAD]", "<pad>"});
    frame.pads_left = pads_left(json, files);
    return std::make_unique<FramedTokenizer>(std::move(frame), std::move(cutter));
}

}  // namespace locus
