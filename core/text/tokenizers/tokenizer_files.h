#pragma once
// What the small files beside a vocabulary say: tokenizer_config.json, special_tokens_map.json, added_tokens.json.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/text/tokenizers/special_tokens.h"

namespace locus {

/// A special token as a file names it.
struct NamedToken {
    SpecialToken token;
    bool flagged = false;  // the file also says what it does with the white space beside it
};

class TokenizerFiles {
public:
    /// Reads the three files and the model_type of config.json; any of them may be absent.
    /// Throws Error(unreadable) that names the file and the field that is damaged, Error(unsupported) for
    /// split_special_tokens: true.
    explicit TokenizerFiles(const std::filesystem::path& folder);

    const std::filesystem::path& folder() const { return folder_; }
    /// "BertTokenizer", without a "Fast" at its end; "" if no file says it.
    const std::string& tokenizer_class() const { return tokenizer_class_; }
    /// The class as the file writes it, for messages.
    std::string written_class() const { return text("tokenizer_class").value_or(""); }
    /// model_type of config.json, e.g. "xlnet"; "" if it does not say.
    const std::string& model_type() const { return model_type_; }

    /// Is the folder of this kind, by its tokenizer's class or, where no file says that, by its model?
    bool is_kind(const std::string& tokenizer_class, const std::string& model_type) const;

    /// An option of tokenizer_config.json; nothing if it is absent or null.
    std::optional<bool> flag(const std::string& name) const;
    std::optional<std::string> text(const std::string& name) const;
    /// Is the option a list, or whatever else, that holds something?
    bool has_list(const std::string& name) const;
    /// Throws Error(unsupported) that names the option if it is true, for one that changes the ids in a way that Locus
    /// does not follow.
    void refuse_true(const std::string& name) const;
    /// The same for the options inside sp_model_kwargs.
    void refuse_true_in_sp_model_kwargs() const;

    /// The token of a role such as "mask_token".  special_tokens_map.json has the last word unless
    /// tokenizer_config.json has an added_tokens_decoder (transformers tokenization_utils_base.py).
    const NamedToken* role(const std::string& name) const;
    /// additional_special_tokens; their ids are not known yet.
    const std::vector<NamedToken>& more() const { return more_; }
    /// Tokens with ids: of added_tokens_decoder, then of added_tokens.json, which wins.
    const std::vector<NamedToken>& added() const { return added_; }

private:
    void read_roles(const nlohmann::json& json, const std::string& file);
    void read_decoder(const nlohmann::json& decoder, const std::string& file);
    void read_added(const nlohmann::json& json, const std::string& file);
    const nlohmann::json* option(const std::string& name) const;

    std::filesystem::path folder_;
    nlohmann::json config_;
    std::string tokenizer_class_, model_type_;
    std::map<std::string, NamedToken> roles_;
    std::vector<NamedToken> more_, added_;
};

/// A token as {"content": ..., "lstrip": ..., "rstrip": ..., "single_word": ..., "special": ...}, without its id.
/// Throws Error(unreadable) that begins with `location`.
SpecialToken parse_special_token(const nlohmann::json& json, const std::string& location);

}  // namespace locus
