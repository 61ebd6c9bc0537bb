#include "core/text/tokenizers/tokenizer_files.h"

#include <array>
#include <map>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"

namespace locus {

namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 7> kRoles = {"cls_token",  "sep_token", "pad_token", "unk_token",
                                               "mask_token", "bos_token", "eos_token"};
constexpr std::uint64_t kLargestId = 999'999'999;

/// "[MASK]" or {"content": "[MASK]", ...}
NamedToken parse_named(const Json& json, const std::string& location) {
    if (json.is_object()) return {parse_special_token(json, location), true};
    if (!json.is_string() || json.get<std::string>().empty())
        throw Error(Fault::unreadable, location + " is " + excerpt(json) + ", expected a token");
    NamedToken named;
    named.token.name = json;
    return named;
}

[[noreturn]] void throw_true(const std::string& option) {
    throw Error(Fault::unsupported,
                option + " is true, expected false; locus trace and locus view take token ids instead: --tokens");
}

}  // namespace

SpecialToken parse_special_token(const Json& json, const std::string& location) {
    SpecialToken token;
    const auto content = json.find("content");
    if (content == json.end() || !content->is_string() || content->get<std::string>().empty())
        throw Error(Fault::unreadable, location + " is " + excerpt(json) + ", expected a token with its content");
    token.name = *content;
    const auto read = [&](const char* name, bool& value) {
        const auto found = json.find(name);
        if (found == json.end() || found->is_null()) return;
        if (!found->is_boolean())
            throw Error(Fault::unreadable,
                        location + ": " + name + " is " + excerpt(*found) + ", expected true or false");
        value = *found;
    };
    read("lstrip", token.takes_left);
    read("rstrip", token.takes_right);
    read("single_word", token.single_word);
    read("special", token.special);
    token.normalized = !token.special;
    read("normalized", token.normalized);
    return token;
}

TokenizerFiles::TokenizerFiles(const std::filesystem::path& folder) : folder_(folder) {
    const auto name = [&](const char* file) { return (folder / file).string(); };
    config_ = read_optional_json(name("tokenizer_config.json"));
    read_roles(config_, name("tokenizer_config.json"));
    const Json* decoder = option("added_tokens_decoder");
    if (decoder)
        read_decoder(*decoder, name("tokenizer_config.json"));
    else
        read_roles(read_optional_json(name("special_tokens_map.json")), name("special_tokens_map.json"));
    read_added(read_optional_json(name("added_tokens.json")), name("added_tokens.json"));
    tokenizer_class_ = text("tokenizer_class").value_or("");
    if (tokenizer_class_.ends_with("Fast")) tokenizer_class_.resize(tokenizer_class_.size() - 4);
    refuse_true("split_special_tokens");
    const Json model = read_optional_json(name("config.json"));
    if (const auto type = model.find("model_type"); type != model.end() && type->is_string()) model_type_ = *type;
}

void TokenizerFiles::read_roles(const Json& json, const std::string& file) {
    for (const char* role : kRoles)
        if (const auto found = json.find(role); found != json.end() && !found->is_null())
            roles_[role] = parse_named(*found, file + ": " + role);
    const auto more = json.find("additional_special_tokens");
    if (more == json.end() || more->is_null()) return;
    if (!more->is_array())
        throw Error(Fault::unreadable,
                    file + ": additional_special_tokens is " + excerpt(*more) + ", expected a list of tokens");
    more_.clear();
    for (const Json& one : *more) more_.push_back(parse_named(one, file + ": additional_special_tokens"));
}

void TokenizerFiles::read_decoder(const Json& decoder, const std::string& file) {
    if (!decoder.is_object())
        throw Error(Fault::unreadable, file + ": added_tokens_decoder is " + excerpt(decoder) + ", expected an object");
    for (const auto& [id, token] : decoder.items()) {  // {"6000": {"content": "[MASK]", ...}}
        const bool is_id = !id.empty() && id.size() <= 9 && id.find_first_not_of("0123456789") == std::string::npos;
        const std::string location = file + ": added_tokens_decoder has " + excerpt(id);
        if (!is_id || !token.is_object())
            throw Error(Fault::unreadable, location + ": " + excerpt(token) + ", expected an id and its content");
        NamedToken named{parse_special_token(token, location), true};
        named.token.id = std::stoll(id);
        added_.push_back(std::move(named));
    }
}

void TokenizerFiles::read_added(const Json& json, const std::string& file) {
    std::map<std::string, std::size_t> known;  // the last token of a name
    for (std::size_t n = 0; n < added_.size(); ++n) known[added_[n].token.name] = n;
    for (const auto& [name, id] : json.items()) {  // {"[MASK]": 6000}
        if (name.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() > kLargestId)
            throw Error(Fault::unreadable, file + ": " + excerpt(name) + " is " + excerpt(id) + ", expected an id");
        NamedToken named;
        if (const auto found = known.find(name); found != known.end()) named = added_[found->second];
        named.token.name = name;
        named.token.id = id.get<std::int64_t>();
        added_.push_back(std::move(named));
    }
}

const Json* TokenizerFiles::option(const std::string& name) const {
    const auto found = config_.find(name);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> TokenizerFiles::flag(const std::string& name) const {
    const Json* value = option(name);
    if (!value) return std::nullopt;
    if (!value->is_boolean())
        throw Error(Fault::unreadable, (folder_ / "tokenizer_config.json").string() + ": " + name + " is " +
                                           excerpt(*value) + ", expected true or false");
    return value->get<bool>();
}

std::optional<std::string> TokenizerFiles::text(const std::string& name) const {
    const Json* value = option(name);
    if (!value) return std::nullopt;
    if (!value->is_string())
        throw Error(Fault::unreadable, (folder_ / "tokenizer_config.json").string() + ": " + name + " is " +
                                           excerpt(*value) + ", expected text");
    return value->get<std::string>();
}

bool TokenizerFiles::has_list(const std::string& name) const {
    const Json* value = option(name);
    return value && !value->empty();
}

bool TokenizerFiles::is_kind(const std::string& tokenizer_class, const std::string& model_type) const {
    return tokenizer_class_ == tokenizer_class || (tokenizer_class_.empty() && model_type_ == model_type);
}

void TokenizerFiles::refuse_true(const std::string& name) const {
    if (flag(name).value_or(false)) throw_true((folder_ / "tokenizer_config.json").string() + ": " + name);
}

void TokenizerFiles::refuse_true_in_sp_model_kwargs() const {
    const Json* options = option("sp_model_kwargs");
    if (!options || !options->is_object()) return;
    for (const char* name : {"add_bos", "add_eos", "reverse", "emit_unk_piece", "enable_sampling"})
        if (const auto found = options->find(name); found != options->end() && *found == Json(true))
            throw_true((folder_ / "tokenizer_config.json").string() + ": sp_model_kwargs: " + name);
}

const NamedToken* TokenizerFiles::role(const std::string& name) const {
    const auto found = roles_.find(name);
    return found == roles_.end() ? nullptr : &found->second;
}

}  // namespace locus
