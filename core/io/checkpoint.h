#pragma once
// A Hugging Face folder: config.json, and weights in whichever container they came.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/weights.h"

namespace locus {

/// What lies in a model folder.  Opening reads headers only.
struct Checkpoint {
    std::filesystem::path folder;
    std::filesystem::path config_file;  // folder / config.json
    std::string config_json;            // its text
    std::shared_ptr<const WeightSource>
        weights;  // names without prefix (deberta., roformer., transformer., ...), gamma/beta as weight/bias
};

/// Everything of a model folder but its weights, which are nullptr: for who asks what model it is.  Throws as
/// open_checkpoint.
Checkpoint open_config(const std::filesystem::path& folder);

/// Opens model.safetensors, model.safetensors.index.json with its shards, or pytorch_model.bin (zip or legacy), in this
/// order.  Throws Error(unreadable) if the folder, config.json or every weight file is missing or damaged; the sentence
/// names what was looked for.
Checkpoint open_checkpoint(const std::filesystem::path& folder);

/// A folder as the user wrote it: a path, or the name of a model under assets/models of this source tree or of the
/// installed program ("tiny-v3").  Throws Error(unreadable) naming the path and the built-in names.
std::filesystem::path resolve_model(const std::string& name_or_path);

/// The files that may be read from a model's folder, by their names, whether they are there or not: configuration,
/// weights in each container with their shards, tokenizer.  Nothing may be written over one of them.
std::vector<std::string> files_of_model(const std::filesystem::path& folder);

}  // namespace locus
