#include "core/io/checkpoint.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/file_presence.h"
#include "core/io/input_file.h"
#include "core/io/safetensors.h"
#include "core/io/torch_pickle.h"
#include "core/json_text.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

/// "module.deberta.embeddings.LayerNorm.gamma" -> "embeddings.LayerNorm.weight"
std::string plain_name(std::string name) {
    // What wraps a model: DistributedDataParallel, torch.compile, a class of the user's own.
    for (bool is_wrapped = true; is_wrapped;) {
        is_wrapped = false;
        for (const std::string wrapper : {"module.", "_orig_mod.", "model."})
            if (name.starts_with(wrapper)) {
                name.erase(0, wrapper.size());
                is_wrapped = true;
            }
    }
    for (const std::string prefix : {"deberta.", "roformer.", "transformer.", "bert."})
        if (name.starts_with(prefix)) {
            name.erase(0, prefix.size());
            break;
        }
    for (const auto& [old_end, new_end] :
         {std::pair<std::string, std::string>{".gamma", ".weight"}, {".beta", ".bias"}})
        if (name.ends_with(old_end)) name.replace(name.size() - old_end.size(), old_end.size(), new_end);
    return name;
}

/// Entries of one or several mapped files under their plain names.
class FileWeights : public WeightSource {
public:
    FileWeights(fs::path location, std::vector<TensorEntry> entries)
        : location_(std::move(location)), entries_(std::move(entries)) {
        for (const TensorEntry& entry : entries_)
            if (!by_name_.emplace(plain_name(entry.name), &entry).second)
                throw_unreadable(entry.file->path(),
                                 "holds two tensors named " + plain_name(entry.name) + " (prefixes apart)");
    }

    std::optional<Shape> shape(const std::string& name) const override {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? std::nullopt : std::optional(found->second->shape);
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> all;
        for (const TensorEntry& entry : entries_) all.push_back(plain_name(entry.name));
        return all;
    }
    std::string location() const override { return location_.string(); }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        return read_rows<float>(parameter(name), first, rows);
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return read_rows<double>(parameter(name), first, rows);
    }

private:
    /// Integers are what quantised weights are stored as: without their scales they are other numbers.
    const TensorEntry& parameter(const std::string& name) const {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) throw_unreadable(location_, "tensor " + name + " is missing");
        const TensorEntry& entry = *found->second;
        if (!is_float(entry.dtype))
            throw_unreadable(entry.file->path(),
                             "tensor " + entry.name + " has dtype " + to_string(entry.dtype) +
                                 ", expected F64, F32, F16 or BF16; quantised weights are not read",
                             Fault::unsupported);
        return entry;
    }

    fs::path location_;
    std::vector<TensorEntry> entries_;
    std::map<std::string, const TensorEntry*> by_name_;
};

/// All entries, and those that were left out because another one shares their numbers: a tied word table.
/// safetensors.torch.save_model writes "name left out": "name kept" into the metadata.
std::vector<TensorEntry> with_shared(TensorFile file) {
    std::map<std::string, std::size_t> places;
    for (std::size_t n = 0; n < file.entries.size(); ++n) places.emplace(plain_name(file.entries[n].name), n);
    for (const auto& [left_out, kept] : file.metadata) {
        const auto found = places.find(plain_name(kept));
        if (found == places.end() || places.contains(plain_name(left_out))) continue;
        TensorEntry entry = file.entries[found->second];
        entry.name = left_out;
        places.emplace(plain_name(left_out), file.entries.size());
        file.entries.push_back(std::move(entry));
    }
    return std::move(file.entries);
}

bool is_folder(const fs::path& folder) {
    std::error_code error;
    return fs::is_directory(folder, error);
}

/// What an index says: the shards, each once, and the tensors.
struct ShardIndex {
    std::set<std::string> shards, tensors;
};

ShardIndex read_index(const fs::path& index_file) {
    const auto json = read_json_file(index_file);
    if (!json.contains("weight_map") || !json["weight_map"].is_object() || json["weight_map"].empty())
        throw_unreadable(index_file, "has no weight_map, expected names of tensors and of their files");
    ShardIndex index;
    for (const auto& [tensor, file] : json["weight_map"].items()) {
        const std::string name = file.is_string() ? file.get<std::string>() : "";
        const bool is_name = !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
                             name.find_first_of(std::string_view("/\0", 2)) == name.npos;
        if (!is_name)
            throw_unreadable(index_file,
                             "tensor " + tensor + " lies in " + excerpt(file) + ", expected a file of the same folder");
        index.shards.insert(name);
        index.tensors.insert(tensor);
    }
    return index;
}

template <class Open>
TensorFile open_shards(const fs::path& folder, const fs::path& index_file, Open open) {
    TensorFile all;
    ShardIndex index = read_index(index_file);
    for (const std::string& name : index.shards) {
        TensorFile shard = open(folder / name);
        for (const TensorEntry& entry : shard.entries) index.tensors.erase(entry.name);
        std::move(shard.entries.begin(), shard.entries.end(), std::back_inserter(all.entries));
        std::move(shard.metadata.begin(), shard.metadata.end(), std::back_inserter(all.metadata));
    }
    if (!index.tensors.empty())
        throw_unreadable(index_file, "names the tensor " + *index.tensors.begin() + ", which none of its files holds");
    return all;
}

std::shared_ptr<const WeightSource> open_weights(const fs::path& folder) {
    const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json",
                   pickle = folder / "pytorch_model.bin", pickle_index = folder / "pytorch_model.bin.index.json";
    const auto read = [](const fs::path& location, TensorFile file) {
        return std::make_shared<FileWeights>(location, with_shared(std::move(file)));
    };
    if (is_present(single)) return read(single, open_safetensors(single));
    if (is_present(index)) return read(index, open_shards(folder, index, open_safetensors));
    if (is_present(pickle)) return read(pickle, open_torch_pickle(pickle));
    if (is_present(pickle_index)) return read(pickle_index, open_shards(folder, pickle_index, open_torch_pickle));
    throw_unreadable(folder,
                     "no weights, expected model.safetensors, model.safetensors.index.json, pytorch_model.bin or "
                     "pytorch_model.bin.index.json");
}

}  // namespace

Checkpoint open_config(const fs::path& folder) {
    if (!is_folder(folder))
        throw_unreadable(folder, is_present(folder)
                                     ? "is a file, expected the folder that holds config.json and weights"
                                     : "no such folder, expected one with config.json and weights");
    Checkpoint checkpoint;
    checkpoint.folder = folder;
    checkpoint.config_file = folder / "config.json";
    if (!is_present(checkpoint.config_file))
        throw_unreadable(folder, "no config.json, expected one beside the weights");
    checkpoint.config_json = read_json_text(checkpoint.config_file);
    parse_json_object(checkpoint.config_json, checkpoint.config_file.string());  // refused here if it is not one
    return checkpoint;
}

Checkpoint open_checkpoint(const fs::path& folder) {
    Checkpoint checkpoint = open_config(folder);
    checkpoint.weights = open_weights(folder);
    return checkpoint;
}

fs::path resolve_model(const std::string& name_or_path) {
    if (is_folder(name_or_path)) return name_or_path;
    const fs::path models = asset_path("models");
    const bool is_name = !name_or_path.empty() && name_or_path.find('/') == std::string::npos && name_or_path != "..";
    if (is_name && is_folder(models / name_or_path)) return models / name_or_path;
    std::string built_in;
    if (is_folder(models))
        for (const auto& entry : fs::directory_iterator(models))
            if (entry.is_directory()) built_in += (built_in.empty() ? "" : ", ") + entry.path().filename().string();
    throw_unreadable(name_or_path, std::string(is_present(name_or_path) ? "is a file" : "no such folder") +
                                       ", expected a model folder or a built-in model (" + built_in + ")");
}

std::vector<std::string> files_of_model(const fs::path& folder) {
    std::vector<std::string> files;
    for (const char* name :
         {"config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
          "pytorch_model.bin.index.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
          "added_tokens.json", "spm.model", "spiece.model", "vocab.txt", "vocab.json", "merges.txt"})
        files.push_back((folder / name).string());
    // Shards: "model-00001-of-00002.safetensors".
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("model-") || name.starts_with("pytorch_model-")) files.push_back(entry.path().string());
    }
    return files;
}

}  // namespace locus
