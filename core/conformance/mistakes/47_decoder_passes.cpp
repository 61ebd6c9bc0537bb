#include "core/conformance/formulas/decoder_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Formula head_reads(std::function<Tensor<double>(const Replay&)> what) { return {"/head_input", {}, std::move(what)}; }

/// n passes that start from hs[-n], keys and values too; right for n = 2 alone.
std::vector<Formula> as_many_passes_as_layers_back(Index n) {
    std::vector<Formula> all = keys_and_values_from([n](const Replay& at) {
        decoder_pass(at);
        return hidden_state(at, n);
    });
    all.push_back({"/emd.query.0", {}, [n](const Replay& at) {
                       const Tensor<double>& h = hidden_state(at, n);
                       return sum_of(absolute_rows(at, h), h);
                   }});
    return decoder_of(std::move(all), n);
}

}  // namespace

Mistake mistake_47() {
    return {
        .number = 47,
        .name = "the mask decoder's passes follow each other in another way, or there are not two",
        .symptom = "logits are wrong although the encoder and the first pass are right",
        .betrays = "emd.1.q, emd.1.k and what the head reads tell which state went where",
        .evidence = "",
        .lesson = "13",
        .families = {Family::deberta},
        .stems = {"/emd.query.0", "q", "k", "v", "/mlm.transform"},
        .variants = {{"the second pass starts from I + h again", decoder_of({{"x_q",
                                                                              {"/emd.query.0"},
                                                                              [](const Replay& at) {
                                                                                  decoder_pass(at);
                                                                                  return at("/emd.query.0");
                                                                              }}})},
                     {"the second pass takes keys and values from the first one",
                      decoder_of(keys_and_values_from(
                          [](const Replay& at) { return decoder_pass(at) == 0 ? at("x") : at("x_q"); }))},
                     {"one pass", {head_reads([](const Replay& at) { return at("/emd.0.output"); })}},
                     {"three passes", {head_reads([](const Replay& at) { return at.elsewhere("emd.2.")("output"); })}},
                     {"no pass: the head reads the last layer",
                      {head_reads([](const Replay& at) { return hidden_state(at, 1); })}},
                     {"one pass that starts from the last layer", as_many_passes_as_layers_back(1)},
                     {"three passes that start from the layer before the last two", as_many_passes_as_layers_back(3)}}};
}

}  // namespace locus::conformance
