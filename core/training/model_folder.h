#pragma once
// A trained model as a Hugging Face folder: what the viewer, the other verbs, transformers and microsoft/DeBERTa open.
#include <filesystem>
#include <string>
#include <vector>

#include "core/io/atomic_folder.h"
#include "core/io/safetensors.h"
#include "core/models/deberta_config.h"
#include "core/text/corpus/vocabulary_training.h"
#include "core/training/parameters.h"

namespace locus {

/// What a config.json says beyond the shape of the model.
struct TrainingFields {
    double hidden_dropout = 0.1, attention_dropout = 0.1;
    double initializer_range = 0.02;
    std::string architecture = "DebertaV2ForMaskedLM";  // the class of transformers that reads all of it
};

/// The config.json of a model of versions 2 and 3, for transformers and for parse_deberta_config(), which gives the
/// same configuration back.  Throws Error(unsupported) for version 1.
std::string deberta_config_json(const DebertaConfig& config, const TrainingFields& fields = {});

/// Parameters under the names of Hugging Face files: "deberta." in front of the encoder's, and the head's as they are
/// (lm_predictions.lm_head, mask_predictions); the output words are the word table.  They refer to `values`.
std::vector<TensorToWrite> hugging_face_tensors(const Parameters<float>& values, Dtype dtype = Dtype::f32);

/// The class of transformers that opens the model of this configuration with its masked-word head:
/// DebertaV2ForMaskedLM, or DebertaV2Model, which leaves the head out, where the head has another width than
/// transformers gives it.
std::string masked_word_class(const DebertaConfig& config);

struct ModelFolder {
    DebertaConfig config;
    TrainingFields fields;
    TokenizerBytes tokenizer;
    std::string readme;            // "" : no README.md
    std::vector<FolderFile> more;  // whatever else belongs to the same moment
};

/// The files of such a folder: config.json, model.safetensors, the tokenizer's, README.md and the others.  They refer
/// to `model` and `values`.
std::vector<FolderFile> model_files(const ModelFolder& model, const Parameters<float>& values,
                                    Dtype dtype = Dtype::f32);

/// Writes config.json, model.safetensors, the tokenizer's files and README.md as one: write_atomic_folder() says what
/// happens to what was there, and what is thrown.  A cut or older folder never mixes with the new one.
void write_model_folder(const std::filesystem::path& folder, const ModelFolder& model, const Parameters<float>& values,
                        Dtype dtype = Dtype::f32);

/// The tokenizer's files of a folder, so that a training that goes on writes the same ones: spm.model and the small
/// ones beside it.  Throws Error(unreadable) if there is no spm.model.
TokenizerBytes read_tokenizer_bytes(const std::filesystem::path& folder);

}  // namespace locus
