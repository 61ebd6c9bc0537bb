#include "core/conformance/formulas/rtd_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Formula labels_by(const TokenRule& counts, const TokenRule& replaced) {
    return {"/rtd.labels", {}, [=](const Replay& at) { return replaced_labels(at, counts, replaced); }};
}

/// Tokens that should count, labelled by another rule.
Variant labelled(std::string how, const TokenRule& replaced) {
    return {std::move(how), {labels_by(is_visible, replaced)}};
}

/// The right labels of other tokens.
Variant counted(std::string how, const TokenRule& counts) {
    return {std::move(how),
            {labels_by(counts, is_replaced), {"/rtd.loss", {"/rtd.logits", "/rtd.labels"}, [=](const Replay& at) {
                                                  return replaced_losses(at, counts);
                                              }}}};
}

bool every_token(const DetectedToken&) { return true; }

/// One number, although padding holds no token: labels are right, what is averaged is not.
Tensor<double> mean_with_padding(const Replay& at) {
    const Replay everywhere = at.with({labels_by(every_token, is_replaced)});
    const Tensor<double> losses = replaced_losses(everywhere, every_token);
    double sum = 0;
    for (const double loss : losses.values()) sum += loss;
    return {{1}, {sum / static_cast<double>(losses.size())}};
}

}  // namespace

// The stop-gradient that gradient-disentangled embedding sharing needs leaves every stage of a forward pass as it is,
// and no recorded gradient has both a generator and a discriminator: no hypothesis stands for it here.
Mistake mistake_54() {
    return {
        .number = 54,
        .name = "replaced-token detection labels correct guesses as replaced, or counts other tokens",
        .symptom =
            "the discriminator's loss stays at chance; without the stop-gradient of GDES, which no stage "
            "shows, the generator's embedding is pulled by the discriminator",
        .betrays = "the sum of rtd.labels; as many losses as visible tokens; d rtd loss / d E_G must be 0",
        .evidence = "google-research/electra #49; lucidrains/electra-pytorch #12; microsoft/DeBERTa #111 (GDES)",
        .lesson = "13",
        .families = {Family::deberta},
        .stems = {"/rtd.labels", "/rtd.loss"},
        .variants = {
            labelled("every sampled token, correct guesses too",
                     [](const DetectedToken& token) { return token.original > 0; }),
            labelled("every token that is not its label, unsampled ones (label 0) too",
                     [](const DetectedToken& token) { return token.original != token.token; }),
            labelled("1 for original, 0 for replaced", [](const DetectedToken& token) { return !is_replaced(token); }),
            counted("padding counts", every_token),
            counted("sampled tokens alone count", [](const DetectedToken& token) { return token.original > 0; }),
            {"one mean over all tokens, padding too",
             {{"/rtd.loss", {"/rtd.logits", "/rtd.labels"}, mean_with_padding}}}}};
}

}  // namespace locus::conformance
