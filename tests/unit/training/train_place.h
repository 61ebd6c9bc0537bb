#pragma once
// A folder with a small corpus and a tiny model's shape, where locus train runs.
#include <algorithm>
#include <string>
#include <vector>

#include "core/text/corpus/position_grammar.h"
#include "tests/run_program.h"

namespace locus::test {

inline constexpr const char* kTiny = R"({"model_type": "deberta-v2", "hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64, "relative_attention": true,
    "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p",
    "position_biased_input": false, "type_vocab_size": 0, "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1})";

struct Place {
    TemporaryFolder folder;
    fs::path corpus, config, out = folder / "model";
    Place() {
        std::string text;
        for (const std::string& sentence : position_sentences(21, 80)) text += sentence + "\n";
        corpus = write_bytes(folder / "corpus.txt", text);
        config = write_bytes(folder / "config.json", kTiny);
    }
    /// The tiny shape unless `more` says --config.
    std::vector<std::string> arguments(const std::vector<std::string>& more) const {
        std::vector<std::string> all = {"--corpus",       corpus.string(), "--out",     out.string(),
                                        "--batch-tokens", "128",           "--threads", "1"};
        if (std::find(more.begin(), more.end(), "--config") == more.end())
            all.insert(all.end(), {"--config", config.string()});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    Outcome train(const std::vector<std::string>& more, const std::string& before = "") const {
        return run("locus-train", arguments(more), before);
    }
    std::string weights() const { return read_bytes(out / "model.safetensors"); }
};

}  // namespace locus::test
