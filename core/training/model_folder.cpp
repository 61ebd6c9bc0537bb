#include "core/training/model_folder.h"

#include <nlohmann/json.hpp>

#include "core/file_presence.h"
#include "core/text/corpus/text_file.h"

namespace locus {

namespace {

using Json = nlohmann::ordered_json;

std::string terms_of(const DebertaConfig& config) {
    std::string names;
    if (config.terms.p2c) names = "p2c";
    if (config.terms.c2p) names += names.empty() ? "c2p" : "|c2p";
    return names;
}

bool belongs_to_head(const std::string& name) {
    for (const char* head : {"lm_predictions.", "mask_predictions.", "cls.", "classifier.", "pooler."})
        if (name.starts_with(head)) return true;
    return false;
}

}  // namespace

std::string deberta_config_json(const DebertaConfig& config, const TrainingFields& fields) {
    if (config.version != 2)
        throw Error(Fault::unsupported, "config.json: version 1 of DeBERTa is not written, expected deberta-v2");
    Json json = {
        {"architectures", Json::array({fields.architecture})},
        {"model_type", "deberta-v2"},
        {"attention_head_size", config.attention_head_size},
        {"attention_probs_dropout_prob", fields.attention_dropout},
        {"embedding_size", config.embedding_size},
        {"hidden_act", to_string(config.hidden_act)},
        {"hidden_dropout_prob", fields.hidden_dropout},
        {"hidden_size", config.hidden_size},
        {"initializer_range", fields.initializer_range},
        {"intermediate_size", config.intermediate_size},
        {"layer_norm_eps", config.layer_norm_eps},
        {"legacy", false},  // transformers: the head is called lm_predictions, as by microsoft
        {"max_position_embeddings", config.max_position_embeddings},
        {"max_relative_positions",
         config.max_relative_positions == config.max_position_embeddings ? -1 : config.max_relative_positions},
        // Without relative positions there is no table to norm, and no weights of such a norm are written.
        {"norm_rel_ebd", config.norm_rel_ebd && config.relative_attention ? "layer_norm" : "none"},
        {"num_attention_heads", config.num_attention_heads},
        {"num_hidden_layers", config.num_hidden_layers},
        {"pad_token_id", config.pad_token_id ? Json(*config.pad_token_id) : Json(nullptr)},
        {"pooler_dropout", 0},
        {"pooler_hidden_act", config.pooler_hidden_act},
        {"pooler_hidden_size", config.hidden_size},
        {"pos_att_type", terms_of(config)},
        {"position_biased_input", config.position_biased_input},
        {"position_buckets", config.position_buckets > 0 ? config.position_buckets : -1},
        {"relative_attention", config.relative_attention},
        {"share_att_key", config.share_att_key},
        // The head is given the word table at run time.  What transformers 4.57 ties to it otherwise is the head's
        // dense.
        {"tie_word_embeddings", false},
        {"torch_dtype", "float32"},
        {"type_vocab_size", config.type_vocab_size},
        {"vocab_size", config.vocab_size},
    };
    if (config.conv_kernel_size > 0) {
        json["conv_kernel_size"] = config.conv_kernel_size;
        json["conv_groups"] = config.conv_groups;
        json["conv_act"] = to_string(config.conv_act);
    }
    return json.dump(2) + "\n";
}

std::vector<TensorToWrite> hugging_face_tensors(const Parameters<float>& values, Dtype dtype) {
    std::vector<TensorToWrite> tensors;
    for (const auto& entry : values.entries())
        tensors.push_back({belongs_to_head(entry.name) ? entry.name : "deberta." + entry.name, entry.shape,
                           values.numbers().data() + entry.first, dtype});
    return tensors;
}

std::string masked_word_class(const DebertaConfig& config) {
    // Source: transformers modeling_deberta_v2.py DebertaV2LMPredictionHead, which is hidden_size wide throughout.
    return config.embedding_size == config.hidden_size ? "DebertaV2ForMaskedLM" : "DebertaV2Model";
}

std::vector<FolderFile> model_files(const ModelFolder& model, const Parameters<float>& values, Dtype dtype) {
    std::vector<FolderFile> files = {folder_file("config.json", deberta_config_json(model.config, model.fields))};
    for (const auto& [name, bytes] : model.tokenizer) files.push_back(folder_file(name, bytes));
    if (!model.readme.empty()) files.push_back(folder_file("README.md", model.readme));
    files.push_back({"model.safetensors", [&values, dtype](const ByteSink& sink) {
                         write_safetensors(sink, hugging_face_tensors(values, dtype), {{"format", "pt"}});
                     }});
    files.insert(files.end(), model.more.begin(), model.more.end());
    return files;
}

void write_model_folder(const std::filesystem::path& folder, const ModelFolder& model, const Parameters<float>& values,
                        Dtype dtype) {
    write_atomic_folder(folder, model_files(model, values, dtype));
}

TokenizerBytes read_tokenizer_bytes(const std::filesystem::path& folder) {
    TokenizerBytes files = {{"spm.model", read_model_file(folder / "spm.model")}};
    for (const char* name : {"tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"})
        if (is_present(folder / name)) files[name] = read_model_file(folder / name);
    return files;
}

}  // namespace locus
