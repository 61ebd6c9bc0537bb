#pragma once
// A model of the oracle with other switches in config.json, and with further tensors in its file.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/io/torch_pickle.h"
#include "tests/files.h"
#include "tests/oracle_cases.h"

namespace locus::test {

/// A copy of the folder of a model.  config: fields of config.json to set; more: tensors besides those of the file,
/// filled with a sine of its own each (the first with the one that toy ports with mistake 112 multiply by).
inline void copy_changed(const fs::path& from, const fs::path& to, const nlohmann::json& config,
                         const std::vector<std::pair<std::string, Shape>>& more = {}) {
    fs::copy(from, to);
    nlohmann::json all_fields = read_json(from / "config.json");
    all_fields.update(config);
    write_bytes(to / "config.json", all_fields.dump());
    if (more.empty()) return;
    const bool pickled = fs::remove(to / "pytorch_model.bin");
    const TensorFile file =
        pickled ? open_torch_pickle(from / "pytorch_model.bin") : open_safetensors(from / "model.safetensors");
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
