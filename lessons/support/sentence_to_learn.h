#pragma once
// A sentence with one target in the built-in checkpoint, ready to be learnt from.
#include <cmath>
#include <string>

#include "core/io/model_request.h"
#include "core/training/parameters.h"
#include "core/training/sift.h"

namespace locus::lesson {

/// tiny-v3 in double precision, without dropout.
struct SentenceToLearn {
    /// `text` holds one [MASK], which stands for `word`.
    SentenceToLearn(const std::string& text, const std::string& word)
        : config(parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string())) {
        const auto tokenizer = open_tokenizer(checkpoint.folder);
        ModelInput input = input_of_texts({text}, *tokenizer, Family::deberta);
        input.labels = IndexTensor({1, input.length()});
        input.labels[input.mask_positions[1]] = tokenizer->encode(word).ids[tokenizer->frame().first];
        batch = packed_batch(input);
    }
    /// The words' vectors under SiFT's norm [T,D].
    Matrix<double> xhat(const Parameters<double>& of) { return sift_normalise<double>(model.embedding_sum(of, batch)); }
    /// At [MASK], for what the model's own norm is given [T,D].
    MaskedWordsTape<double> answer(const Parameters<double>& of, const Matrix<double>& norm_input) {
        return masked_words_forward<double>(model, of, batch, *model.forward(of, batch, norm_input, Dropout()).output);
    }
    SiftTape<double> sift(const ConstView<double>& noise, Parameters<double>& gradients) {
        const Dropout none[3];
        return sift_step<double>(model, values, batch, none, SiftSettings(), noise, gradients);
    }

    Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
    DebertaConfig config;
    ThreadPool pool{1};
    DebertaTraining<double> model{config, {}, pool};
    Parameters<double> values = read_parameters<double>(masked_language_tensors(config, true), *checkpoint.weights);
    PackedBatch batch;
};

/// -sum softmax(p) log softmax(s) of two rows of logits.
inline double cross_entropy(const Matrix<double>& p, const Matrix<double>& s) {
    const auto log_softmax = [](const Matrix<double>& row) -> Matrix<double> {
        return row.array() - row.maxCoeff() - std::log((row.array() - row.maxCoeff()).exp().sum());
    };
    return -(log_softmax(p).array().exp() * log_softmax(s).array()).sum();
}

}  // namespace locus::lesson
