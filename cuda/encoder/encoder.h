#pragma once
// A DeBERTa encoder that stays on the device: the twin of core/models/fast_encoder.h.  Weights are uploaded once,
// with the position keys and queries of every layer; a call brings token ids there and the last rows back, and between
// them runs kernels alone: fused attention, products (cuda/reference/products.h), sums and norms in one
// (cuda/fused/norm_rows.h).
#include <memory>
#include <string>

#include "core/weights.h"
#include "cuda/encoder/encoder_batch.h"
#include "cuda/fused/half_types.h"
#include "cuda/reference/products.h"

namespace locus::cuda {

/// Keeps weights and room for the longest call so far; one call at a time.  Scalar: float, Half or Bfloat16, of
/// matrices and of what lies between the kernels; sums, biases and norms are float32.
template <class Scalar>
class FastEncoder {
public:
    /// Reads and uploads every weight of the encoder.  Throws Error(unreadable) like core's, Error(unsupported) in one
    /// sentence for a model with talking heads or without c2p and p2c, heads wider than 256 or rows longer than 2048,
    /// without a device, with too little memory there, or if cuBLAS is asked for and not found.
    FastEncoder(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights, ProductsBy by);
    ~FastEncoder();

    /// The output of the last encoder layer [B,T,D].  Padded: what core's last_output gives.  Packed: the same rows for
    /// visible tokens, zeros for the others.  Throws Error(usage) for bad input like core's, Error(unsupported) for a
    /// mask of pairs, the paper's p2c index, and Hugging Face's masked rows among padded ones.
    Tensor<float> last_output(const ModelInput& input, const DebertaOptions& options,
                              SampleRows rows = SampleRows::padded);
    /// The same in steps, for whoever takes the time: `prepare` brings the tokens to the device and throws what
    /// last_output throws; `run` and `replay` compute and leave the rows there, kernel by kernel or all by one call
    /// that the first replay records, and give the milliseconds between two events; `output` brings the rows of the
    /// last pass.
    void prepare(const ModelInput& input, const DebertaOptions& options, SampleRows rows = SampleRows::padded);
    double run();
    double replay();
    Tensor<float> output() const;
    /// Who multiplies: "own kernels", "cuBLAS 13.0.2".
    std::string products() const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace locus::cuda
