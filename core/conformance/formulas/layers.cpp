#include "core/conformance/formulas/layers.h"

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/roformer.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/products.h"

namespace locus::conformance {

namespace {

/// Where a family keeps the parts of a layer.
struct Names {
    std::string out, attention_norm, up, down, ffn_norm;
};

Names names_of(const Replay& at) {
    const std::string number = std::to_string(at.layer());
    switch (at.family()) {
        case Family::deberta:
        case Family::roformer: {
            const std::string layer = "encoder.layer." + number + ".";
            return {layer + "attention.output.dense", layer + "attention.output.LayerNorm",
                    layer + "intermediate.dense", layer + "output.dense", layer + "output.LayerNorm"};
        }
        case Family::transformer_xl: {
            const std::string layer = "layers." + number + ".";
            return {layer + "dec_attn.o_net", layer + "dec_attn.layer_norm", layer + "pos_ff.CoreNet.0",
                    layer + "pos_ff.CoreNet.3", layer + "pos_ff.layer_norm"};
        }
        case Family::xlnet:
            break;
    }
    const std::string layer = "layer." + number + ".";
    return {layer + "rel_attn.o", layer + "rel_attn.layer_norm", layer + "ff.layer_1", layer + "ff.layer_2",
            layer + "ff.layer_norm"};
}

Shape shape_of(const Replay& at, const std::string& name) {
    const auto shape = at.model().source->shape(name);
    if (!shape) throw NotEnough{"the weight " + name};
    return *shape;
}

Matrix<double> matrix_of(const Replay& at, const std::string& name) {
    return at.model().weights.matrix(name, shape_of(at, name));
}

Dense<double> dense_of(const Replay& at, const std::string& name) {
    const Shape shape = shape_of(at, name + ".weight");
    return at.model().weights.dense(name, shape.at(0), shape.at(1));
}

Norm<double> norm_of(const Replay& at, const std::string& name) {
    return at.model().weights.norm(name, shape_of(at, name + ".weight").at(0));
}

}  // namespace

Dense<double> projection_of(const Replay& at, int part) {
    const std::string number = std::to_string(at.layer());
    switch (at.family()) {
        case Family::deberta:
            return at.deberta().projection(at.layer(), part);
        case Family::roformer: {
            static constexpr const char* kNames[] = {"query", "key", "value"};
            return dense_of(at, "encoder.layer." + number + ".attention.self." + kNames[part]);
        }
        case Family::transformer_xl: {  // one matrix [3*H*d,D]
            const Matrix<double> all = matrix_of(at, "layers." + number + ".dec_attn.qkv_net.weight");
            return {all.middleRows(part * (all.rows() / 3), all.rows() / 3), {}};
        }
        case Family::xlnet:
            break;
    }
    static constexpr const char* kNames[] = {"q", "k", "v"};
    return {matrix_of(at, "layer." + number + ".rel_attn." + kNames[part]).transpose(), {}};  // stored [D,H,d]
}

Matrix<double> position_projection_of(const Replay& at) {
    const std::string number = std::to_string(at.layer());
    if (at.family() == Family::transformer_xl) return matrix_of(at, "layers." + number + ".dec_attn.r_net.weight");
    if (at.family() == Family::xlnet) return matrix_of(at, "layer." + number + ".rel_attn.r").transpose();  // [D,H,d]
    throw NotEnough{"a projection of relative sinusoids"};
}

Index heads_of(const Replay& at) {
    switch (at.family()) {
        case Family::deberta:
            return at.deberta().config().num_attention_heads;
        case Family::roformer:
            return at.roformer().num_attention_heads;
        case Family::transformer_xl:
            return at.transformer_xl().n_head;
        case Family::xlnet:
            break;
    }
    return at.xlnet().n_head;
}

Dense<double> attention_dense_of(const Replay& at) {
    const std::string name = names_of(at).out;
    // XLNet stores the bare matrix [D,H,d].
    return at.family() == Family::xlnet ? Dense<double>{matrix_of(at, name), {}} : dense_of(at, name);
}

Norm<double> attention_norm_of(const Replay& at) { return norm_of(at, names_of(at).attention_norm); }
Norm<double> ffn_norm_of(const Replay& at) { return norm_of(at, names_of(at).ffn_norm); }
Dense<double> ffn_dense_of(const Replay& at) { return dense_of(at, names_of(at).up); }
Dense<double> ffn_down_of(const Replay& at) { return dense_of(at, names_of(at).down); }

Activation activation_of(const Replay& at) {
    switch (at.family()) {
        case Family::deberta:
            return at.deberta().config().hidden_act;
        case Family::roformer:
            return at.roformer().hidden_act;
        case Family::transformer_xl:
            return Activation::relu;
        case Family::xlnet:
            break;
    }
    return at.xlnet().ff_activation;
}

double norm_eps_of(const Replay& at) {
    switch (at.family()) {
        case Family::deberta:
            return at.deberta().config().layer_norm_eps;
        case Family::roformer:
            return at.roformer().layer_norm_eps;
        case Family::transformer_xl:
            return at.transformer_xl().layer_norm_eps;
        case Family::xlnet:
            break;
    }
    return at.xlnet().layer_norm_eps;
}

bool norm_first(const Replay& at) { return at.family() == Family::transformer_xl && at.transformer_xl().pre_lnorm; }

Tensor<double> embeddings_with(const Replay& at, Matrix<double> change) {
    if (at.family() == Family::roformer) return roformer_embeddings(at, roformer_embedding_sum(at) + change);
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    if (config.embedding_size != config.hidden_size)
        change = times_transposed<double>(change, weights.dense("embeddings.embed_proj").weight);
    return normed_embeddings(at, embedding_sum(at, config.position_biased_input) + change);
}

bool has_memory(const Replay& at) { return at.family() == Family::transformer_xl || at.family() == Family::xlnet; }

Tensor<double> attention_input(const Replay& at, int part) {
    if (part == 0) return at("x_q");
    return has_memory(at) ? memory_and_segment_of(at) : at("x");
}

Tensor<double> projection_input(const Replay& at, int part) {
    Tensor<double> x = attention_input(at, part);
    if (norm_first(at)) x.rows() = layer_norm<double>(x.rows(), attention_norm_of(at), norm_eps_of(at));
    return x;
}

Tensor<double> attention_sum(const Replay& at, const Tensor<double>& residual) {
    return sum_of(shaped(residual, dense<double>(at("context").rows(), attention_dense_of(at))), residual);
}

Tensor<double> output_sum(const Replay& at) { return sum_of(at("ffn"), at("attention")); }

Matrix<double> ffn_input(const Replay& at) {
    const Matrix<double> rows = at("attention").rows();
    return norm_first(at) ? layer_norm<double>(rows, ffn_norm_of(at), norm_eps_of(at)) : rows;
}

Tensor<double> after_sum(const Replay& at, const Tensor<double>& sum, const Norm<double>& norm) {
    return norm_first(at) ? sum : shaped(sum, layer_norm<double>(sum.rows(), norm, norm_eps_of(at)));
}

std::vector<Formula> output_by(std::function<Tensor<double>(const Replay&)> compute) {
    return {{"output_before_conv", {"ffn", "attention"}, compute},
            {"output", {"output_before_conv", "conv_act"}, [compute](const Replay& at) {
                 return at.family() == Family::deberta ? at.right("output") : compute(at);
             }}};
}

Matrix<double> normed_by(const Matrix<double>& x, const Norm<double>& norm,
                         const std::function<double(double)>& divisor) {
    if (norm.weight.size() > 0 && norm.weight.size() != x.cols()) throw NotEnough{"a norm of this width"};
    Matrix<double> y(x.rows(), x.cols());
    for (Index n = 0; n < x.rows(); ++n) {
        const RowVector<double> centred = x.row(n).array() - x.row(n).mean();
        y.row(n) = centred / divisor(centred.squaredNorm() / static_cast<double>(x.cols()));
        if (norm.weight.size() > 0) y.row(n) = y.row(n).cwiseProduct(norm.weight) + norm.bias;
    }
    return y;
}

// What stands after attention in RoFormer, Transformer-XL and XLNet: dense, residual, norm, feed-forward.

namespace {

Matrix<double> plus(const Matrix<double>& rows, const Tensor<double>& residual) {
    if (rows.rows() != residual.rows().rows() || rows.cols() != residual.rows().cols())
        throw NotEnough{"a residual of " + to_string(residual.shape())};
    return rows + Matrix<double>(residual.rows());
}

Tensor<double> attention_of(const Replay& at, const BlockWeights& weights) {
    const Matrix<double> sum = plus(dense<double>(at("context").rows(), weights.out(at)), at("x_q"));
    return shaped(at("x_q"),
                  weights.norm_first(at) ? sum : layer_norm<double>(sum, weights.attention_norm(at), weights.eps(at)));
}

Tensor<double> ffn_act_of(const Replay& at, const BlockWeights& weights) {
    Matrix<double> x = at("attention").rows();
    if (weights.norm_first(at)) x = layer_norm<double>(x, weights.ffn_norm(at), weights.eps(at));
    return shaped(at("attention"), activate<double>(dense<double>(x, weights.up(at)), weights.activation(at)));
}

Tensor<double> output_of(const Replay& at, const BlockWeights& weights) {
    const Matrix<double> sum = plus(at("ffn").rows(), at("attention"));
    return shaped(at("attention"),
                  weights.norm_first(at) ? sum : layer_norm<double>(sum, weights.ffn_norm(at), weights.eps(at)));
}

}  // namespace

std::vector<Formula> block_formulas(const BlockWeights& weights) {
    return {
        {"attention", {"context", "x_q"}, [=](const Replay& at) { return attention_of(at, weights); }},
        {"ffn_act", {"attention"}, [=](const Replay& at) { return ffn_act_of(at, weights); }},
        {"ffn",
         {"ffn_act"},
         [=](const Replay& at) {
             return shaped(at("ffn_act"), dense<double>(at("ffn_act").rows(), weights.down(at)));
         }},
        {"output", {"ffn", "attention"}, [=](const Replay& at) { return output_of(at, weights); }},
    };
}

}  // namespace locus::conformance
