#pragma once
// A model of the oracle with further tensors in its file, as checkpoints have them whose head is not tied to the words.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/files.h"
#include "tests/oracle_cases.h"

namespace locus::test {

/// A copy of the folder of a model with these tensors besides, filled with a sine of its own each (the first with the
/// one that toy ports with mistake 112 multiply by); tied: what
/// config.json says in tie_word_embeddings.
inline void add_tensors(const fs::path& from, const fs::path& to,
                        const std::vector<std::pair<std::string, Shape>>& more, bool tied) {
    fs::copy(from, to);
    nlohmann::json config = read_json(from / "config.json");
    config["tie_word_embeddings"] = tied;
    write_bytes(to / "config.json", config.dump());
    const TensorFile file = open_safetensors(from / "model.safetensors");
    std::vector<std::pair<std::string, Tensor<float>>> all;
    for (const TensorEntry& entry : file.entries) all.emplace_back(entry.name, read_tensor<float>(entry));
    for (const auto& [name, shape] : more) {
        Tensor<float>& values = all.emplace_back(name, Tensor<float>(shape)).second;
        const double step = 1.2 + 0.1 * static_cast<double>(all.size() - file.entries.size());
        for (Index n = 0; n < values.size(); ++n)
            values[n] = static_cast<float>(std::sin(step * static_cast<double>(n + 1)) / 3);
    }
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, values] : all) tensors.push_back({name, values.shape(), values.values().data()});
    write_safetensors(to / "model.safetensors", tensors);
}

}  // namespace locus::test
