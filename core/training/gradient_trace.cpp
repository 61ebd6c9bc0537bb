#include "core/training/gradient_trace.h"

#include <algorithm>

#include "core/training/deberta_parameters.h"
#include "core/training/masked_words.h"

namespace locus {

namespace {

/// The names of the head in microsoft/DeBERTa's files and in transformers'.
const std::pair<const char*, const char*> kHeadNames[] = {
    {"lm_predictions.lm_head.dense.", "cls.predictions.transform.dense."},
    {"lm_predictions.lm_head.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"lm_predictions.lm_head.bias", "cls.predictions.bias"},
};

/// The name in the checkpoint of a parameter of ours.
std::string stored_name(const std::string& name, const WeightSource& weights) {
    if (weights.shape(name)) return name;
    for (const auto& [ours, theirs] : kHeadNames)
        if (name.starts_with(ours)) return theirs + name.substr(std::string(ours).size());
    return name;
}

std::string gradient_name(const std::string& stored) {
    const bool head = stored.starts_with("lm_predictions.") || stored.starts_with("cls.");
    return "grad." + std::string(head ? "" : "deberta.") + stored;
}

}  // namespace

template <class Scalar>
Trace gradient_trace(const DebertaConfig& config, const std::shared_ptr<const WeightSource>& weights,
                     const ModelInput& input, bool decoder, const StageFilter& wanted) {
    const Deberta<Scalar> model(config, weights);  // refuses missing tensors by name
    if (!model.has_head())
        throw Error(Fault::unsupported, weights->location() +
                                            ": no masked-word head, and without one there is no "
                                            "loss to differentiate");
    check_input(input, config.vocab_size, config.type_vocab_size);
    LOCUS_CHECK(!input.labels.empty(), "labels are missing: gradients are those of the masked words' loss");
    if (input.mask.rank() == 3) throw Error(Fault::unsupported, "mask is [B, T, T], expected [B, T] for gradients");
    decoder = decoder && model.has_decoder();
    const TensorShapes tensors = masked_language_tensors(config, decoder);
    const auto values = read_parameters<Scalar>(tensors, *weights,
                                                [&](const std::string& name) { return stored_name(name, *weights); });
    ThreadPool pool(1);
    DebertaTraining<Scalar> training(config, {decoder, false}, pool);
    Parameters<Scalar> gradients = values.zeros();
    Trace unsorted;  // everything: which stages there are is known behind the pass alone
    masked_language_step<Scalar>(training, values, packed_batch(input), Dropout{}, gradients, &unsorted);
    for (const auto& one : gradients.entries()) {
        Tensor<Scalar> gradient(one.shape);
        std::copy_n(gradients.row(one.name).data(), one.size, gradient.data());
        unsorted.add(gradient_name(stored_name(one.name, *weights)), std::move(gradient));
    }
    std::vector<Stage> stages = unsorted.stages();
    std::stable_sort(stages.begin(), stages.end(),
                     [](const Stage& a, const Stage& b) { return stage_comes_before(a.name, b.name); });
    wanted.check_against(unsorted.names());
    Trace trace(wanted);
    for (Stage& stage : stages)
        if (wanted.keeps(stage.name)) trace.add(std::move(stage));
    return trace;
}

template Trace gradient_trace<float>(const DebertaConfig&, const std::shared_ptr<const WeightSource>&,
                                     const ModelInput&, bool, const StageFilter&);
template Trace gradient_trace<double>(const DebertaConfig&, const std::shared_ptr<const WeightSource>&,
                                      const ModelInput&, bool, const StageFilter&);

}  // namespace locus
