#include "core/text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/text/lower_case.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

nlohmann::json read_json(const fs::path& file) {
    if (!fs::exists(file)) return nlohmann::json::object();
    std::ifstream stream(file);
    nlohmann::json json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) throw Error(Fault::unreadable, file.string() + ": not valid JSON, expected one object");
    return json;
}

class SentencePieceTokenizer : public Tokenizer {
public:
    explicit SentencePieceTokenizer(const fs::path& folder) {
        const fs::path model = folder / "spm.model";
        if (!processor_.Load(model.string()).ok())
            throw Error(Fault::unreadable, model.string() + ": not a SentencePiece model");
        const nlohmann::json config = read_json(folder / "tokenizer_config.json");
        lower_case_ =
            config.contains("do_lower_case") && config["do_lower_case"].is_boolean() && config["do_lower_case"];
        for (const char* name : {"[PAD]", "[CLS]", "[SEP]", "[UNK]"}) specials_[name] = processor_.PieceToId(name);
        // The reference puts [MASK] behind the pieces of the model unless a file says otherwise.
        specials_["[MASK]"] = processor_.GetPieceSize();
        const fs::path added_file = folder / "added_tokens.json";
        const nlohmann::json added = read_json(added_file);
        for (const auto& [name, id] : added.items()) {
            if (!id.is_number_unsigned() || name.empty())
                throw Error(Fault::unreadable,
                            added_file.string() + ": " + name + " is " + id.dump() + ", expected an id");
            specials_[name] = id.get<std::int64_t>();
        }
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
