#include "core/io/model_request.h"
#include "tests/bench/bench.h"

namespace locus::bench::forward {

void measure(Measures& measures) {
    const Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
    const Deberta<float> model = open_deberta<float>(checkpoint);
    const ModelInput input = input_of_texts({"a new [MASK] opened beside the new [MASK]."},
                                            *open_tokenizer(checkpoint.folder), Family::deberta);
    const Deberta<float> fast = open_deberta<float>(checkpoint, cpu_operations<float>(), ForwardPath::fast);
    const DebertaOptions options = DebertaOptions::of(Dialect::official);
    const StageFilter words("mlm.logits_at_positions");
    std::vector<double> all, one, readable, quick;
    for (int round = 0; round < 30; ++round) {
        double start = now();
        const std::size_t stages = model.forward(input, options).stages().size();
        if (round > 0) all.push_back((now() - start) * 1e3);  // the first round reads the weights
        start = now();
        const std::size_t kept = model.forward(input, options, StageFilter("layer.0.c2p")).stages().size();
        if (round > 0) one.push_back((now() - start) * 1e3);
        start = now();
        model.forward(input, options, words);
        if (round > 0) readable.push_back((now() - start) * 1e3);
        start = now();
        fast.forward(input, options, words);
        if (round > 0) quick.push_back((now() - start) * 1e3);
        if (stages < 100 || kept != 1) throw Error(Fault::usage, "bench forward: stages are missing");
    }
    measures.add({{"all stages", median(all), "ms", 0, true},
                  {"layer.0.c2p alone", median(one), "ms", 0, true},
                  {"words alone, by the reference", median(readable), "ms", 0, true},
                  {"words alone, by the fast path", median(quick), "ms", 0, true}});
}

}  // namespace locus::bench::forward
