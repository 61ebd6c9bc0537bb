#include "core/training/deberta_parameters.h"

#include <algorithm>

#include "core/models/deberta_weights.h"

namespace locus {

TensorShapes masked_language_tensors(const DebertaConfig& config, bool decoder) {
    if (config.version == 1)
        throw Error(Fault::unsupported,
                    "version 1 of DeBERTa can be run but not trained here, expected model_type "
                    "deberta-v2");
    TensorShapes tensors = expected_deberta_tensors(config);
    if (decoder && !config.position_biased_input)
        tensors.push_back({kAbsoluteTable, {config.max_position_embeddings, config.embedding_size}});
    const std::string head = kMaskedWordHead;
    tensors.push_back({head + "dense.weight", {config.embedding_size, config.hidden_size}});
    tensors.push_back({head + "dense.bias", {config.embedding_size}});
    tensors.push_back({head + "LayerNorm.weight", {config.embedding_size}});
    tensors.push_back({head + "LayerNorm.bias", {config.embedding_size}});
    tensors.push_back({head + "bias", {config.vocab_size}});
    return tensors;
}

template <class Scalar>
void initialise(Parameters<Scalar>& parameters, RandomStream& random, double deviation) {
    for (const auto& one : parameters.entries()) {
        auto values = parameters.row(one.name);
        if (one.name.ends_with("LayerNorm.weight"))
            values.setOnes();
        else if (one.name.ends_with("bias"))
            values.setZero();
        else
            for (Index n = 0; n < values.size(); ++n) values[n] = Scalar(deviation * random.gaussian());
    }
    if (parameters.has(kWordTable)) parameters.matrix(kWordTable).row(0).setZero();
}

template void initialise<float>(Parameters<float>&, RandomStream&, double);
template void initialise<double>(Parameters<double>&, RandomStream&, double);

}  // namespace locus
