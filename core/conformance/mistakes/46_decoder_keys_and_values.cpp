#include "core/conformance/formulas/decoder_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

std::vector<Formula> from_the_query() {
    std::vector<Formula> all = keys_and_values_from([](const Replay& at) {
        decoder_pass(at);
        return at("x_q");
    });
    // Tells it from 47, which has the first pass right.
    for (const char* stem : {"k", "v"})
        all.push_back({std::string("/emd.0.") + stem, {"/emd.query.0"}, [stem](const Replay& at) {
                           return at.elsewhere("emd.0.")(stem);
                       }});
    return decoder_of(std::move(all));
}

}  // namespace

Mistake mistake_46() {
    return {.number = 46,
            .name = "the mask decoder makes keys and values of something else than the last layer's input",
            .symptom = "logits are wrong although the encoder is right",
            .betrays = "emd.t.k is the key projection of the query states, or of the last layer's output",
            .evidence = "candle debertav2.rs: key_proj and value_proj read query_states",
            .lesson = "13",
            .families = {Family::deberta},
            .stems = {"k", "v", "/emd.0.k", "/emd.0.v"},
            .variants = {{"of the query states", from_the_query()},
                         {"of the last layer's output", decoder_of(keys_and_values_from([](const Replay& at) {
                              decoder_pass(at);
                              return hidden_state(at, 1);
                          }))}}};
}

}  // namespace locus::conformance
