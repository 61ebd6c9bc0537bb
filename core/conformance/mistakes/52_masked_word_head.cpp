#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// mlm.transform with parts left out.
struct Steps {
    bool dense = true, activation = true, norm = true;
    double eps = -1;  // below 0: that of the configuration
};

Variant transform(std::string how, Steps steps) {
    return {std::move(how), {{"/mlm.transform", {"/head_input"}, [steps](const Replay& at) {
                                  const HeadParts head = head_parts(at);
                                  const Tensor<double>& x = head_input(at);
                                  Matrix<double> rows = x.rows();
                                  if (steps.dense) rows = dense<double>(rows, head.dense);
                                  if (steps.activation) rows = activate<double>(rows, head.activation);
                                  if (rows.cols() != head.norm.weight.size())
                                      throw NotEnough{"an embedding as wide as the model"};
                                  if (steps.norm)
                                      rows = layer_norm<double>(rows, head.norm, steps.eps < 0 ? head.eps : steps.eps);
                                  return shaped(x, rows);
                              }}}};
}

Formula without_bias(const char* stem, const char* from) {
    return {stem, {from}, [from](const Replay& at) { return word_scores(at, at(from), {}); }};
}

}  // namespace

// An output matrix of its own, untied, holds numbers that nobody else knows: no hypothesis can predict it.
Mistake mistake_52() {
    return {.number = 52,
            .name = "the masked-word head lacks a part, has another eps, or counts unlabelled tokens",
            .symptom = "logits and loss are wrong although what the head reads is right",
            .betrays = "mlm.logits - mlm.transform E_word^T == bias; as many losses as labels above 0",
            .evidence = "transformers #15216, #15673, #18659; microsoft/DeBERTa #99, #74",
            .lesson = "13",
            .families = {Family::deberta, Family::roformer},
            .stems = {"/mlm.transform", "/mlm.logits", "/mlm.loss"},
            .variants = {transform("without its dense layer", {.dense = false}),
                         transform("without its activation", {.activation = false}),
                         transform("without its norm", {.norm = false}),
                         transform("without all three", {.dense = false, .activation = false, .norm = false}),
                         transform("eps 1e-12", {.eps = 1e-12}),
                         transform("eps 1e-5", {.eps = 1e-5}),
                         {"without its bias",
                          {without_bias("/mlm.logits", "/mlm.transform"),
                           without_bias("/mlm.logits_at_positions", "/mlm.transform_at_positions")}},
                         {"a loss for tokens with label 0 too", {{"/mlm.loss", {"/mlm.logits"}, [](const Replay& at) {
                                                                      return losses(at, at("/mlm.logits"), true);
                                                                  }}}}}};
}

}  // namespace locus::conformance
