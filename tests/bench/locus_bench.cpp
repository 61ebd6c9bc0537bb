// locus bench: numbers with their targets, each measured in one run.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/text/text_table.h"
#include "tests/bench/bench.h"

namespace {

using namespace locus;
using namespace locus::bench;

std::function<void(const Options&, Measures&)> plain(void (*run)(Measures&)) {
    return [run](const Options&, Measures& measures) { run(measures); };
}

const std::vector<Benchmark>& benchmarks() {
    static const std::vector<Benchmark> all = {
        {"attention",
         "the core of disentangled attention by blocks, then layers of deberta-v3-base; H 12, d 64, float32",
         "2 minutes, 25 against torch", attention::measure},
        {"encoder",
         "the whole encoder of deberta-v3-base's shape, T 128 to 2048, and 64 sentences of unequal lengths; float32",
         "3 minutes, 20 against two peers", encoder::measure},
        {"train", "one step of masked language modelling; tiny-v3's shape, 32 sentences of 64 tokens, float32",
         "1 minute", train::measure},
        {"gather", "c2p and p2c by slices against an index gather; T 512, H 12, d 64, k 256, float32", "10 s",
         plain(gather::measure)},
        {"open", "a deberta-v3-base-shaped fp16 pytorch_model.bin of 371 MB: layer 0's terms for 32 tokens", "5 s",
         plain(programs::measure_open)},
        {"rope", "one rotation as matrix, elementwise and complex; T 512, d 64, H 12, float32", "2 s",
         plain(rope::measure)},
        {"linear", "linear attention with rotary positions beside its quadratic form; d 64, float32", "5 s",
         plain(linear::measure)},
        {"segments", "peak memory of tiny-txl and tiny-xlnet (memory 48) over 4 and 64 segments of 48 tokens", "5 s",
         plain(segments::measure)},
        {"forward", "all stages of tiny-v3 for a sentence of 12 tokens, float32", "2 s", plain(forward::measure)},
        {"kit", "the conformance kit, and the diagnosis of one wrong stage; T 512, H 12, d 64, k 256, float32", "20 s",
         plain(kit::measure)},
        {"tokens", "SentencePiece models on the corpus of 0.9 MB, line by line, beside libsentencepiece; one thread",
         "20 s", plain(tokens::measure)},
        {"view", "the viewer at 1280 x 800, drawn by the processor; tiny-v3, and deberta-v3-base's shape at 32 tokens",
         "40 s", plain(programs::measure_view)},
        {"wmd", "word mover's distance of two documents of 60 distinct words, vectors of 300 numbers", "2 s",
         plain(wmd::measure)},
    };
    return all;
}

nlohmann::ordered_json as_json(const Measure& measure) {
    nlohmann::ordered_json json = {{"name", measure.name}, {"value", measure.value}, {"unit", measure.unit}};
    if (measure.target != 0) {
        json["target"] = measure.target;
        json["bound"] = measure.at_least ? "at least" : "at most";
        json["met"] = measure.met();
    }
    if (measure.processor >= 0) json["in_processor_time"] = measure.processor;
    if (measure.error >= 0) json["error_against_float64"] = measure.error;
    return json;
}

/// One row as soon as it is known, so its columns cannot follow those that come later.
void print(const Measure& measure) {
    const std::string value = format_number(measure.value);
    std::cout << "  " << std::left << std::setw(64) << measure.name << ' ' << std::right << std::setw(9) << value << ' '
              << std::left << std::setw(8) << measure.unit << std::right;
    if (measure.target != 0)
        std::cout << (measure.at_least ? "  target at least " : "  target at most ") << format_number(measure.target)
                  << (measure.met() ? "  met" : "  MISSED");
    if (measure.processor >= 0) std::cout << "  processor time " << format_number(measure.processor);
    if (measure.error >= 0) std::cout << "  error " << format_number(measure.error);
    std::cout << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    std::string help =
        "Measures speed and memory; each ratio comes from one run.\n  locus bench gather\n  locus bench --json\n"
        "  locus bench attention --against torch\n";
    for (const Benchmark& benchmark : benchmarks())
        help += std::string("\n  ") + benchmark.name + ": " + benchmark.what;
    cli::Command program(help, "locus bench");
    std::string name;
    bool json = false;
    program.option("name", name, "one benchmark; all if absent");
    program.flag("--json", json, "print JSON");
    Options options;
    program
        .option("--against", options.against,
                "time these in the same run: torch (attention, encoder, train), onnxruntime, openvino (encoder)")
        .separated_by(',')
        .one_of({"torch", "onnxruntime", "openvino"});
    program.option("--python", options.python, "a Python with these packages (tests/bench/peers.py makes one)")
        .not_empty();
    program.option("--tokens", options.tokens, "attention, encoder: one length alone").within(1, 8192);
    program.flag("--sentences", options.sentences, "encoder: the 64 sentences of unequal lengths alone");
    program.option("--threads", options.threads, "encoder: one number of threads alone").within(1, 1024);
    return cli::run_program(program, argc, argv, [&] {
        const bool encoder = name == "encoder", peers = name == "attention" || encoder || name == "train";
        LOCUS_CHECK(
            options.against.empty() || peers,
            "--against belongs to three benchmarks: locus bench attention, locus bench encoder, locus bench train");
        for (const std::string& one : options.against)
            LOCUS_CHECK(one == "torch" || encoder, "--against " + one + " belongs to one benchmark: encoder");
        LOCUS_CHECK(options.tokens == 0 || name == "attention" || encoder,
                    "--tokens belongs to two benchmarks: attention and encoder");
        LOCUS_CHECK(!options.sentences || (encoder && options.tokens == 0),
                    "--sentences belongs to one benchmark, encoder, and stands there without --tokens");
        LOCUS_CHECK(options.threads == 0 || encoder, "--threads belongs to one benchmark: encoder");
        nlohmann::ordered_json all = nlohmann::ordered_json::object();
        bool known = name.empty();
        for (const Benchmark& benchmark : benchmarks()) {
            if (!name.empty() && name != benchmark.name) continue;
            known = true;
            if (!json)
                std::cout << benchmark.name << ": " << benchmark.what << " (about " << benchmark.takes << ")"
                          << std::endl;
            Measures measures([&](const Measure& measure) {
                all[benchmark.name].push_back(as_json(measure));
                if (!json) print(measure);
            });
            benchmark.run(options, measures);
        }
        LOCUS_CHECK(known, "there is no benchmark \"" + name + "\"; locus bench --help lists them");
        if (json) std::cout << all.dump(2) << '\n';
        return 0;
    });
}
