#include "core/text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/lower_case.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

/// An optional file: an empty object if it is not there.
nlohmann::json read_json(const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return nlohmann::json::object();
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_json_object(text, file.string());
}

class SentencePieceTokenizer : public Tokenizer {
public:
    explicit SentencePieceTokenizer(const fs::path& folder) {
        const fs::path model = folder / "spm.model";
        if (!processor_.Load(model.string()).ok())
            throw Error(Fault::unreadable, model.string() + ": not a SentencePiece model");
        for (const std::string name : {"[PAD]", "[CLS]", "[SEP]", "[UNK]"}) {
            if (!has_piece(name))
                throw Error(Fault::unreadable, model.string() + ": has no piece " + name + ", DeBERTa needs one");
            specials_[name] = processor_.PieceToId(name);
        }
        // The reference puts [MASK] behind the pieces of the model unless the model or a file says otherwise.
        specials_["[MASK]"] = has_piece("[MASK]") ? processor_.PieceToId("[MASK]") : processor_.GetPieceSize();
        read_config(folder / "tokenizer_config.json");
        read_added_tokens(folder / "added_tokens.json");
    }

    Tokens encode(const std::string& text) const override {
        check_utf8(text);
        Tokens tokens;
        add_special(tokens, "[CLS]");
        for (std::size_t from = 0; from < text.size();) {
            const auto [at, special] = next_special(text, from);
            add_text(tokens, text.substr(from, at - from));
            if (!special.empty()) add_special(tokens, special);
            from = at + special.size();
        }
        add_special(tokens, "[SEP]");
        return tokens;
    }

    std::string piece(std::int64_t id) const override {
        for (const auto& [name, special] : specials_)
            if (special == id) return name;
        if (id < 0 || id >= processor_.GetPieceSize()) return "<" + std::to_string(id) + ">";
        return processor_.IdToPiece(static_cast<int>(id));
    }
    std::optional<std::int64_t> mask_id() const override { return specials_.at("[MASK]"); }
    std::int64_t pad_id() const override { return specials_.at("[PAD]"); }
    std::pair<std::size_t, std::size_t> frame() const override { return {1, 1}; }

private:
    bool has_piece(const std::string& name) const { return processor_.IdToPiece(processor_.PieceToId(name)) == name; }

    void read_config(const fs::path& file) {
        const nlohmann::json config = read_json(file);
        const auto lower = config.find("do_lower_case");
        if (lower != config.end() && !lower->is_null() && !lower->is_boolean())
            throw Error(Fault::unreadable,
                        file.string() + ": do_lower_case is " + excerpt(*lower) + ", expected true or false");
        lower_case_ = lower != config.end() && lower->is_boolean() && lower->get<bool>();
        const auto added = config.find("added_tokens_decoder");  // {"6000": {"content": "[MASK]", ...}}
        if (added == config.end() || !added->is_object()) return;
        for (const auto& [id, token] : added->items()) {
            const bool is_id = !id.empty() && id.size() <= 9 && id.find_first_not_of("0123456789") == std::string::npos;
            if (!is_id || !token.is_object() || !token.contains("content") || !token["content"].is_string() ||
                token["content"].get<std::string>().empty())
                throw Error(Fault::unreadable, file.string() + ": added_tokens_decoder has " + excerpt(id) + ": " +
                                                   excerpt(token) + ", expected an id and its content");
            specials_[token["content"]] = std::stoll(id);
        }
    }

    void read_added_tokens(const fs::path& file) {
        const nlohmann::json added = read_json(file);
        for (const auto& [name, id] : added.items()) {
            if (name.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() > 999'999'999)
                throw Error(Fault::unreadable,
                            file.string() + ": " + excerpt(name) + " is " + excerpt(id) + ", expected an id");
            specials_[name] = id.get<std::int64_t>();
        }
    }

    /// Place and name of the first special token at or behind `from`; the end and "" if there is none.
    std::pair<std::size_t, std::string> next_special(const std::string& text, std::size_t from) const {
        std::pair<std::size_t, std::string> first{text.size(), ""};
        for (const auto& [name, id] : specials_) {
            const std::size_t at = text.find(name, from);
            if (at != std::string::npos &&
                (at < first.first || (at == first.first && name.size() > first.second.size())))
                first = {at, name};
        }
        return first;
    }

    void add_special(Tokens& tokens, const std::string& name) const {
        tokens.ids.push_back(specials_.at(name));
        tokens.pieces.push_back(name);
        tokens.special.push_back(true);
    }

    void add_text(Tokens& tokens, const std::string& text) const {
        std::vector<std::string> pieces;
        const auto status = processor_.Encode(lower_case_ ? lower_case_by_character(text) : text, &pieces);
        LOCUS_CHECK(status.ok(), "the text cannot be tokenized: " + status.ToString());
        for (const std::string& one : pieces) {
            tokens.ids.push_back(processor_.PieceToId(one));
            tokens.pieces.push_back(one);
            tokens.special.push_back(false);
        }
    }

    sentencepiece::SentencePieceProcessor processor_;
    bool lower_case_ = false;
    std::map<std::string, std::int64_t> specials_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_sentencepiece(const fs::path& folder) {
    return std::make_unique<SentencePieceTokenizer>(folder);
}

}  // namespace locus
