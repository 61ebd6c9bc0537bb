#pragma once
// The programs that write something, each with an output large enough to be interrupted.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/run_program.h"

namespace locus::test {

/// What a program writes, and the words that make it.
struct Writer {
    std::string name, program;
    std::function<std::vector<std::string>(const fs::path& out)> arguments;
    bool folder = false;  // not a file
    /// Puts something whole in its place that is to be replaced; for some there must be nothing.
    std::function<void(const fs::path& out)> prepare = [](const fs::path& out) { write_file(out, "old"); };
    bool resumes = false;  // nothing is written without what was prepared
};

inline std::string words(int count) {
    static const char* const kSome[] = {"the capital of france is paris.", "a new store opened",
                                        "tom gave lucy a book"};
    std::string text;
    for (int n = 0; n < count; ++n) text += std::string(kSome[n % 3]) + " ";
    return text;
}

/// Inputs of the writers: a trace, a kit, a dump for it, and a corpus to train on.
struct WriterInputs {
    TemporaryFolder folder;
    WriterInputs() {
        const auto make = [](const std::string& program, const std::vector<std::string>& arguments) {
            const Outcome made = run(program, arguments);
            INFO(made.err);
            REQUIRE(made.status == 0);
        };
        make("locus-trace", {"--model", "tiny-v3", "--text", words(6), "--out", (folder / "trace").string()});
        make("locus-kit", {"export", (folder / "kit").string()});
        make("locus-kit", {"rehearse", (folder / "kit").string(), (folder / "all").string(), "--mistake", "1"});
        fs::create_directories(folder / "dumps/L0");
        fs::rename(folder / "all/L0/relpos_7x7_k7.safetensors", folder / "dumps/L0/relpos_7x7_k7.safetensors");
        std::string corpus;
        for (int n = 0; n < 40; ++n) corpus += words(2) + std::string(1, static_cast<char>('a' + n % 26)) + "\n";
        write_file(folder / "corpus.txt", corpus);
        write_file(folder / "config.json", R"({"model_type": "deberta-v2", "hidden_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 2, "intermediate_size": 512, "max_position_embeddings": 64,
            "relative_attention": true, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": true,
            "pos_att_type": "p2c|c2p", "position_biased_input": false, "type_vocab_size": 0})");
        make("locus-train", training(folder / "trained", 1));
    }
    std::vector<std::string> training(const fs::path& out, int steps) const {
        return {"--corpus",  (folder / "corpus.txt").string(),
                "--config",  (folder / "config.json").string(),
                "--steps",   std::to_string(steps),
                "--threads", "1",
                "--out",     out.string()};
    }
    std::string operator/(const std::string& name) const { return (folder / name).string(); }
};

/// `in` is referred to.
inline std::vector<Writer> writers(const WriterInputs& in) {
    const auto nothing = [](const fs::path&) {};
    return {
        {"trace", "locus-trace",
         [](const fs::path& out) {
             return std::vector<std::string>{"--model", "tiny-v3", "--text", words(20), "--out", out.string()};
         }},
        {"check --html", "locus-check",
         [a = in / "trace"](const fs::path& out) {
             return std::vector<std::string>{a, a, "--html", out.string()};
         }},
        {"check --junit", "locus-check",
         [a = in / "trace"](const fs::path& out) {
             return std::vector<std::string>{a, a, "--junit", out.string()};
         }},
        {"kit check --html", "locus-kit",
         [kit = in / "kit", dumps = in / "dumps"](const fs::path& out) {
             return std::vector<std::string>{"check", kit, dumps, "--html", out.string()};
         }},
        {"kit check --junit", "locus-kit",
         [kit = in / "kit", dumps = in / "dumps"](const fs::path& out) {
             return std::vector<std::string>{"check", kit, dumps, "--junit", out.string()};
         }},
        {"text vectors", "locus-text",
         [](const fs::path& out) {
             return std::vector<std::string>{"vectors", "--text", words(30), "--epochs",  "1",
                                             "--width", "2000",   "--out",   out.string()};
         }},
        {"kit export", "locus-kit",
         [](const fs::path& out) {
             return std::vector<std::string>{"export", out.string()};
         },
         true, nothing},
        {"kit rehearse", "locus-kit",
         [kit = in / "kit"](const fs::path& out) {
             return std::vector<std::string>{"rehearse", kit, out.string(), "--mistake", "1"};
         },
         true, nothing},
        {"train", "locus-train", [&in](const fs::path& out) { return in.training(out, 1); }, true, nothing},
        {"train --resume", "locus-train",
         [&in](const fs::path& out) {
             std::vector<std::string> all = in.training(out, 2);
             all.emplace_back("--resume");
             return all;
         },
         true, [trained = in / "trained"](const fs::path& out) { fs::copy(trained, out, fs::copy_options::recursive); },
         true},
    };
}

}  // namespace locus::test
