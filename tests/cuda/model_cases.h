#pragma once
// The recorded models and inputs, found from wherever the test binary runs: whole models go through the GPU kernels
// here.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "core/models/model.h"
#include "tests/oracle_cases.h"

namespace locus::test {

/// The repository: the one that the working folder lies in, else the one that this was built from; empty if neither
/// is there (a binary carried to a bare machine).
inline fs::path repository() {
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        if (fs::exists(folder / "tests/oracle/README.md")) return folder;
        if (folder == folder.parent_path()) break;
    }
    const fs::path built_from = LOCUS_SOURCE_DIR;
    return fs::exists(built_from / "tests/oracle/README.md") ? built_from : fs::path();
}

struct ModelCase {
    std::string name;
    fs::path folder, model;
    std::vector<ModelInput> segments() const {
        return read_segments(folder / "inputs.safetensors", folder / "trace.safetensors");
    }
};

/// Every recorded case of a whole model, and the four trained ones of assets/.
inline std::vector<ModelCase> model_cases() {
    const fs::path root = repository();
    std::vector<ModelCase> cases;
    if (root.empty()) {
        std::cout << "skipped: no recorded models beside this program" << std::endl;
        return cases;
    }
    for (const auto& entry : fs::directory_iterator(root / "tests/oracle")) {
        const std::string name = entry.path().filename().string();
        for (const char* beginning : {"hf_", "ms_deberta_", "txl_"})
            if (name.starts_with(beginning)) cases.push_back({name, entry.path(), entry.path() / "model"});
    }
    for (const auto& [name, model] :
         std::vector<std::pair<std::string, std::string>>{{"tiny_v3_trained", "tiny-v3"},
                                                          {"tiny_roformer_trained", "tiny-roformer"},
                                                          {"tiny_txl_trained", "tiny-txl"},
                                                          {"tiny_xlnet_trained", "tiny-xlnet"}})
        cases.push_back({name, root / "tests/oracle" / name, root / "assets/models" / model});
    std::sort(cases.begin(), cases.end(), [](const ModelCase& a, const ModelCase& b) { return a.name < b.name; });
    REQUIRE(cases.size() == 47);
    return cases;
}

inline constexpr Dialect kDialects[] = {Dialect::reference, Dialect::official, Dialect::hf, Dialect::paper};

template <class Scalar>
std::unique_ptr<Model<Scalar>> open_model_on(const ModelCase& one, const Operations<Scalar>& compute) {
    const Checkpoint checkpoint = open_checkpoint(one.model);
    return open_model<Scalar>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights, compute);
}

}  // namespace locus::test
