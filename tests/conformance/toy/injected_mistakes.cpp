#include "tests/conformance/toy/injected_mistakes.h"

namespace locus::conformance::toy {

namespace {

const Family kD = Family::deberta, kR = Family::roformer, kT = Family::transformer_xl, kX = Family::xlnet;

// The first stages after a norm.
const std::vector<std::string> kNormed = {"embeddings.output", "relative.table", "attention", "q", "k"};

// clang-format off
std::vector<InjectedMistake> position_mistakes() {
    return {
        {{1, 0}, {kD}, "p2c reads delta(j,i)", {"p2c"}, ""},
        {{2, 0}, {kD}, "p2c is k_i . q_r[delta(i,j)]: gathered, not transposed", {"p2c"}, ""},
        {{3, 0}, {kD}, "p2c is k_i . q_r[delta(j,i)]: the last transpose dropped", {"p2c"}, ""},
        {{4, 0}, {kD}, "c2p reads delta(j,i)", {"c2p"}, ""},
        {{4, 1}, {kD}, "c2p reads delta(j,i), and the dump holds that index", {"relative.index"}, ""},
        {{5, 0}, {kD}, "the index is delta(j,i) for both terms", {"relative.index"}, ""},
        {{6, 0}, {kD}, "position keys and position queries exchanged", {"q_r", "k_r"}, ""},
        {{7, 0}, {kD}, "the table's centre is k - 1", {"relative.index"}, ""},
        {{7, 1}, {kD}, "the table's centre is k + 1", {"relative.index"}, ""},
        {{8, 0}, {kD}, "clamped to [0, 2k]", {"relative.index"}, ""},
        {{9, 0}, {kD}, "clamped from 1 on", {"relative.index"}, ""},
        {{9, 1}, {kD}, "wrapped around instead of clamped", {"relative.index"}, ""},
        {{10, 0}, {kD}, "row 0 for every i - j <= k", {"relative.index"}, ""},
        {{11, 0}, {kD}, "first 2 span rows, index relative to the span", {"relative.index"}, ""},
        {{11, 1}, {kD}, "slice around the middle, index relative to k", {"relative.index"}, ""},
        {{12, 0}, {kD}, "distance i - j without its sign", {"relative.index"}, ""},
        {{13, 0}, {kD}, "span T/2 and the first T rows", {"relative.index"}, ""},
        {{14, 0}, {kD}, "table reshaped (-1, T, H, d): its pieces become samples", {"c2p"}, ""},
        {{14, 1}, {kD}, "the same, its pieces dumped as they are", {"q_r", "k_r"}, ""},
        {{16, 0}, {kD}, "floor in the log bucket", {"relative.index"}, ""},
        {{16, 1}, {kD}, "ceil of the signed log", {"relative.index"}, ""},
        {{17, 0}, {kD}, "M instead of M - 1 in the log bucket", {"relative.index"}, ""},
        {{18, 0}, {kD}, "buckets around M instead of b", {"relative.index"}, ""},
        {{19, 0}, {kD}, "log of a negative offset", {"relative.index"}, ""},
        {{19, 1}, {kD}, "sign of far offsets lost", {"relative.index"}, ""},
        {{20, 0}, {kD}, "integer division |x| / mid", {"relative.index"}, ""},
        {{21, 0}, {kD}, "ceil one too high at M - 1, no clamp", {"relative.index"}, ""},
        {{22, 0}, {kD}, "in_proj read as blocks q, k, v", {"q"}, ""},
        {{22, 1}, {kD}, "in_proj read head by head as k, q, v", {"q"}, ""},
        {{22, 2}, {kD}, "in_proj read head by head as v, q, k", {"q"}, ""},
        {{23, 0}, {kD}, "q_bias added to the keys too", {"k"}, ""},
        {{23, 1}, {kD}, "q_bias added after the scale", {"q"}, ""},
        {{23, 2}, {kD}, "keys with a bias nobody trained", {"k"}, ""},
        {{24, 0}, {kD}, "position projections never loaded", {"q_r", "k_r"}, ""},
        {{24, 1}, {kD}, "position projections without their biases", {"q_r", "k_r"}, ""},
        {{25, 0}, {kD, kR, kT, kX}, "heads joined as [d,H]", {"context"}, ""},
    };
}

std::vector<InjectedMistake> score_mistakes() {
    return {
        {{26, 0}, {kD}, "divided by sqrt(d)", {"scores"}, ""},
        {{26, 1}, {kD, kR, kT, kX}, "no scale", {"scores"}, ""},
        {{27, 0}, {kD, kR, kT, kX}, "divided by sqrt(D)", {"scores"}, ""},
        {{27, 1}, {kD}, "divided by sqrt(n D)", {"scores"}, ""},
        {{28, 0}, {kD}, "only c2c scaled", {"scores"}, ""},
        {{28, 1}, {kD}, "p2c not scaled", {"scores"}, ""},
        {{28, 3}, {kT, kX}, "bd not scaled", {"scores"}, ""},
        {{28, 4}, {kD}, "c2c not scaled", {"scores"}, ""},
        {{29, 0}, {kD}, "c2p scaled twice", {"scores"}, ""},
        {{30, 0}, {kD}, "one term too many counted", {"scores"}, ""},
        {{30, 1}, {kD}, "one term too few counted", {"scores"}, ""},
        {{31, 0}, {kD, kR, kT, kX}, "the mask's 0 and 1 added to the scores", {"probs"}, ""},
        {{31, 1}, {kD, kR, kT, kX}, "visible and hidden exchanged", {"probs"}, ""},
        {{31, 2}, {kD, kR}, "hidden pairs set to 0 after the softmax", {"probs"}, ""},
        {{32, 0}, {kD}, "keys masked, queries not", {"probs"}, ""},
        {{33, 0}, {kD}, "a row that sees nothing is NaN", {"probs"}, ""},
        {{33, 1}, {kD}, "a row that sees nothing is uniform", {"probs"}, ""},
        {{35, 0}, {kD}, "hidden scores lose only 1e4", {"probs"}, ""},
        {{36, 0}, {kD, kR, kT, kX}, "softmax over queries", {"probs"}, ""},
        {{37, 0}, {kD}, "probs times 1 - p while judging", {"probs"}, ""},
        {{37, 1}, {kD}, "the attention's dense output times 1 - p while judging", {"attention"}, ""},
        {{39, 0}, {kD, kR, kX}, "tanh gelu", {"ffn_act", "conv_act"}, ""},
        {{40, 0}, {kD, kR, kT, kX}, "eps 1e-12 (1e-7 where 1e-12 is right)", kNormed, "", true},
        {{40, 1}, {kD, kR, kT, kX}, "eps 1e-5 (1e-7 where 1e-5 is right)", kNormed, "", true},
        {{40, 2}, {kD, kR, kT, kX}, "eps 0.02", kNormed, ""},
        {{40, 3}, {kD, kR, kT, kX}, "eps outside the root", kNormed, "", true},
        {{40, 4}, {kD, kR, kT, kX}, "variance over D - 1", kNormed, ""},
        {{40, 5}, {kD, kR, kT, kX}, "eps 1e-3", kNormed, ""},
        {{40, 6}, {kD, kR, kT, kX}, "eps 1e-6", kNormed, "", true},
        {{40, 7}, {kD, kR, kT, kX}, "eps 2.5e-4, a number of its own", kNormed, ""},
        {{41, 0}, {kD}, "the table's norm missing", {"relative.table"}, ""},
        {{41, 1}, {kD}, "a norm on a table that has none", {"relative.table"}, ""},
        {{41, 2}, {kD}, "the table normed once more in every layer", {"q_r", "k_r"}, ""},
        {{42, 0}, {kD}, "padding not cleared after the embeddings' norm", {"embeddings.output"}, ""},
        {{43, 0}, {kD, kR, kT}, "norm before instead of after (or the reverse)", {"q", "k", "v", "attention"}, ""},
    };
}

std::vector<InjectedMistake> decoder_mistakes() {
    return {
        {{44, 0}, {kD}, "convolution of layer 0's output", {"conv"}, ""},
        {{44, 1}, {kD}, "convolution added to the embeddings", {"output"}, ""},
        {{44, 2}, {kD}, "tanh for gelu after the convolution", {"conv_act"}, ""},
        {{44, 3}, {kD}, "taps of the convolution in the other order", {"conv"}, ""},
        {{44, 4}, {kD}, "a causal convolution", {"conv"}, ""},
        {{44, 5}, {kD}, "no norm after the convolution", {"output"}, ""},
        {{44, 6}, {kD}, "no residual beside the convolution", {"output"}, ""},
        {{45, 0}, {kD}, "absolute positions where there are none, and the reverse", {"embeddings.output"}, ""},
        {{46, 0}, {kD}, "decoder: keys and values from the query", {"emd.0.k"}, ""},
        {{46, 1}, {kD}, "decoder: keys and values from the last layer's output", {"emd.0.k"}, ""},
        {{47, 0}, {kD}, "decoder: the second pass starts over", {"emd.1.q"}, ""},
        {{47, 1}, {kD}, "decoder: keys and values follow the query", {"emd.1.k"}, ""},
        {{47, 2}, {kD}, "decoder: one pass", {"mlm.transform"}, ""},
        {{48, 0}, {kD}, "decoder: residual h instead of the query", {"emd.0.attention"}, ""},
        {{49, 0}, {kD}, "decoder: the layer is asked with h", {"emd.0.q"}, ""},
        {{49, 1}, {kD}, "decoder: absolute positions never added", {"emd.query.0"}, ""},
        {{50, 0}, {kD}, "decoder: absolute positions normed", {"emd.query.0"}, ""},
        {{50, 1}, {kD}, "decoder: absolute positions masked", {"emd.query.0"}, ""},
        {{50, 2}, {kD}, "decoder: absolute positions keep h from the call before", {"emd.query.0"}, ""},
        {{51, 0}, {kD, kR, kT}, "hidden states counted from the embeddings", {"output"}, ""},
        {{51, 1}, {kD}, "decoder: the last layer's output for its input", {"emd.query.0"}, ""},
        {{51, 2}, {kD}, "decoder: the input of the layer before the last", {"emd.query.0"}, ""},
        {{52, 0}, {kD, kR}, "head without dense, activation and norm", {"mlm.transform"}, ""},
        {{52, 1}, {kD, kR}, "head without activation", {"mlm.transform"}, ""},
        {{52, 2}, {kD, kR}, "head without norm", {"mlm.transform"}, ""},
        {{52, 3}, {kD, kR, kT, kX}, "head without bias", {"logits", "lm.clusters"}, ""},
        {{52, 4}, {kD}, "label 0 counts as a target", {"mlm.loss"}, ""},
        {{52, 5}, {kD, kR}, "eps 1e-3 in the head alone", {"mlm.transform"}, ""},
        {{52, 6}, {kD, kR}, "eps 1e-6 in the head alone", {"mlm.transform"}, "", true},
    };
}

std::vector<InjectedMistake> other_family_mistakes() {
    return {
        {{56, 0}, {kR}, "halves rotated instead of neighbours", {"q_rot"}, ""},
        {{57, 0}, {kR}, "only queries rotated", {"k_rot"}, ""},
        {{57, 1}, {kR}, "only keys rotated", {"q_rot"}, ""},
        {{57, 2}, {kR}, "keys rotated by halves, queries by neighbours", {"k_rot"}, ""},
        {{57, 3}, {kR}, "nothing rotated", {"q_rot"}, ""},
        {{57, 4}, {kR}, "nothing rotated, values neither", {"q_rot"}, ""},
        {{58, 0}, {kR}, "rotated the other way", {"q_rot"}, ""},
        {{58, 1}, {kR}, "rotated the other way, sines negated", {"rotary.sin"}, ""},
        {{59, 0}, {kR}, "last pair -x_{d-1}, x_d", {"q_rot"}, ""},
        {{60, 0}, {kR}, "sine and cosine exchanged", {"rotary.sin"}, ""},
        {{60, 1}, {kT, kX}, "cosines before sines", {"positions.r"}, ""},
        {{61, 0}, {kR}, "angles from D", {"rotary.sin"}, ""},
        {{61, 1}, {kR}, "angles with 4t over d", {"rotary.sin"}, ""},
        {{61, 2}, {kT, kX}, "sinusoids with 2t over D / 2", {"positions.r"}, ""},
        {{61, 3}, {kT, kX}, "sinusoids with t over D / 2 - 1", {"positions.r"}, ""},
        {{61, 4}, {kR}, "angles without the 2 of 2t over d", {"rotary.sin"}, ""},
        {{61, 6}, {kR}, "angles with t counted from 1", {"rotary.sin"}, ""},
        {{61, 7}, {kR}, "angles with t over d / 2 - 1", {"rotary.sin"}, ""},
        {{61, 8}, {kR}, "angles from the slowest pair to the fastest", {"rotary.sin"}, ""},
        {{61, 5}, {kT, kX}, "sinusoids without the 2 of 2t over D", {"positions.r"}, ""},
        {{62, 0}, {kR}, "values rotated too (or not, where they should be)", {"v_rot", "context"}, ""},
        {{62, 1}, {kR}, "rotated before the heads are split", {"q_rot"}, ""},
        {{62, 2}, {kR}, "rotated before the projection", {"q_rot"}, ""},
        {{65, 0}, {kT, kX}, "positions ascending", {"positions.r"}, ""},
        {{65, 1}, {kT, kX}, "clamp_len ignored", {"positions.r"}, ""},
        {{65, 2}, {kT, kX}, "clamp_len one too far", {"positions.r"}, ""},
        {{65, 3}, {kT, kX}, "distances with the other sign", {"positions.r"}, ""},
        {{66, 0}, {kT}, "shift without mask", {"bd"}, ""},
        {{67, 0}, {kT, kX}, "the other family's shift", {"bd"}, ""},
        {{67, 1}, {kX}, "rows of the shift sliced before the second view", {"bd"}, ""},
        {{67, 2}, {kT}, "no shift", {"bd"}, ""},
        {{67, 3}, {kT, kX}, "the shift one off the other way", {"bd"}, ""},
        {{67, 4}, {kT}, "the shift without its column of zeros", {"bd"}, ""},
        {{68, 0}, {kT, kX}, "u and v exchanged", {"ac"}, ""},
        {{68, 1}, {kT, kX}, "u and v times sqrt(d)", {"ac"}, ""},
        {{68, 2}, {kT, kX}, "u and v omitted", {"ac"}, ""},
        {{68, 3}, {kT, kX}, "u and v over sqrt(d)", {"ac"}, ""},
        {{69, 0}, {kT, kX}, "sinusoids interleaved", {"positions.r"}, ""},
        {{70, 0}, {kT, kX}, "memory stored after the layer", {"memory.0"}, ""},
        {{70, 1}, {kT, kX}, "oldest rows kept", {"memory.0"}, ""},
        {{70, 2}, {kT}, "memory of the next layer read", {"layer.0.k"}, ""},
        {{71, 0}, {kT, kX}, "same_length off by one", {"probs", "bd"}, ""},
        {{71, 1}, {kT}, "causal mask that forgets the memory", {"probs", "bd"}, ""},
        {{71, 2}, {kT}, "causal mask that shows the next token", {"probs", "bd"}, ""},
        {{71, 3}, {kT}, "causal mask that hides the token itself", {"probs", "bd"}, ""},
        {{71, 4}, {kT}, "causal mask that shows the next token, at distance 0", {"probs", "bd"}, ""},
        {{72, 0}, {kX}, "order taken for ranks", {"bd"}, ""},
        {{72, 1}, {kX}, "order taken for ranks among the targets", {"bd"}, ""},
        {{72, 2}, {kX}, "perm_mask transposed", {"bd"}, ""},
        {{72, 3}, {kX}, "perm_mask not applied", {"bd"}, ""},
        {{72, 4}, {kX}, "input_mask not applied", {"bd"}, ""},
        {{72, 5}, {kX}, "perm_mask inverted", {"bd"}, ""},
        {{72, 6}, {kX}, "input_mask inverted", {"bd"}, ""},
        {{73, 0}, {kX}, "content stream with the query stream's mask", {"layer.0.bd"}, ""},
        {{73, 1}, {kX}, "query stream with the content stream's mask", {"layer.0.g.bd"}, ""},
        {{74, 0}, {kX}, "query stream starts from the word", {"layer.0.g.q"}, ""},
        {{74, 1}, {kX}, "position vector added to the query stream's start", {"layer.0.g.q"}, ""},
        {{75, 0}, {kX}, "target_mapping read as [T,P]", {"g.q", "g.ac", "g.bd_raw"}, ""},
        {{75, 1}, {kX}, "residual of the query stream from h", {"g.attention"}, ""},
        {{76, 0}, {kX}, "same and different segment exchanged", {"ef"}, ""},
        {{76, 1}, {kX}, "memory has segment 1", {"ef"}, ""},
        {{76, 2}, {kX}, "segment bias not added to q", {"ef"}, ""},
        {{76, 3}, {kX}, "no segment term", {"ef"}, ""},
        {{76, 4}, {kX}, "every token of one segment", {"ef"}, ""},
        {{77, 0}, {kX}, "reversed half of the batch with forward positions", {"positions.r_backward"}, ""},
        {{82, 0}, {kD}, "W_q read by columns", {"q"}, ""},
        {{82, 1}, {kD, kR}, "scores transposed", {"scores"}, ""},
        {{82, 2}, {kD}, "c2c transposed", {"c2c"}, ""},
        {{82, 3}, {kD, kR}, "the dense layer after attention read by columns", {"attention"}, ""},
        {{82, 4}, {kD, kR}, "the first feed-forward weight read by columns", {"ffn_act"}, ""},
        {{82, 5}, {kD, kR}, "the second feed-forward weight read by columns", {"ffn"}, ""},
        {{82, 6}, {kD}, "the weight of position queries read by columns", {"q_r"}, ""},
        {{82, 7}, {kD}, "the weight of position keys read by columns", {"k_r"}, ""},
        {{82, 8}, {kD, kR}, "the head's dense layer read by columns", {"mlm.transform"}, ""},
        {{83, 0}, {kD, kR, kT, kX}, "probs v added up in float32", {"context"}, "", true},
    };
}

std::vector<InjectedMistake> later_mistakes() {
    return {
        {{37, 2}, {kD, kR}, "a random mask on probs while judging", {"probs"}, ""},
        {{37, 3}, {kD}, "a random mask on the embeddings while judging", {"embeddings.output"}, ""},
        {{37, 4}, {kD}, "a random mask after the feed-forward part while judging", {"ffn"}, ""},
        {{62, 4}, {kR}, "rotated before the projection, head by head", {"q_rot"}, ""},
        {{84, 0}, {kD}, "log buckets missing", {"relative.index"}, ""},
        {{85, 0}, {kD}, "heads of the table repeated, not tiled", {"c2p", "p2c"}, ""},
        {{86, 0}, {kD}, "p2c not added", {"scores"}, ""},
        {{86, 1}, {kD}, "c2p not added", {"scores"}, ""},
        {{86, 2}, {kD}, "neither position term added", {"scores"}, ""},
        {{86, 3}, {kT, kX}, "bd not added", {"scores"}, ""},
        {{87, 0}, {kD}, "every pair has the row of offset 0", {"relative.index"}, ""},
        {{88, 0}, {kR}, "only the first sample rotated", {"q_rot"}, ""},
        {{89, 0}, {kR}, "base 500000", {"rotary.sin"}, ""},
        {{89, 1}, {kR}, "base 1000", {"rotary.sin"}, ""},
        {{89, 2}, {kR}, "base 42000", {"rotary.sin"}, ""},
        {{89, 3}, {kR}, "base 160000 in every second layer", {"q_rot"}, ""},
        {{89, 4}, {kT, kX}, "sinusoids of base 1000", {"positions.r"}, ""},
        {{90, 0}, {kR}, "positions divided by 4", {"rotary.sin"}, ""},
        {{90, 1}, {kR}, "positions times 2", {"rotary.sin"}, ""},
        {{90, 2}, {kR}, "positions divided by 3", {"rotary.sin"}, ""},
        {{90, 3}, {kT, kX}, "distances divided by 2", {"positions.r"}, ""},
        {{91, 0}, {kR}, "angles of the first half reused", {"rotary.sin"}, ""},
        {{92, 0}, {kR}, "neighbours' angles with halves' partners", {"q_rot"}, ""},
        {{92, 1}, {kR}, "halves' angles with neighbours' partners", {"q_rot"}, ""},
        {{93, 0}, {kR}, "half of a head rotated", {"q_rot"}, ""},
        {{93, 1}, {kR}, "half of a head rotated, by angles of its own", {"q_rot"}, ""},
        {{94, 0}, {kR}, "positions from 1", {"rotary.sin"}, ""},
        {{94, 1}, {kT, kX}, "every distance one too large", {"positions.r"}, ""},
        {{94, 2}, {kT, kX}, "every distance one too small", {"positions.r"}, ""},
        {{95, 0}, {kD, kR}, "causal mask in an encoder", {"probs"}, ""},
        {{96, 0}, {kD, kR, kT, kX}, "context read by columns", {"context"}, ""},
        {{96, 1}, {kD, kR, kT, kX}, "context written by columns", {"context"}, ""},
        {{97, 0}, {kD}, "the encoder closed by the table's norm", {"output"}, ""},
        {{98, 0}, {kD, kR, kT, kX}, "norms without the mean", kNormed, ""},
        {{99, 0}, {kD, kR, kX}, "relu for gelu", {"ffn_act", "conv_act"}, ""},
        {{99, 1}, {kD, kR, kX}, "x sigmoid(1.702 x) for gelu", {"ffn_act", "conv_act"}, ""},
        {{99, 2}, {kD, kR, kX}, "x sigmoid(x) for gelu", {"ffn_act", "conv_act"}, ""},
        {{99, 3}, {kD, kR, kX}, "no gelu", {"ffn_act", "conv_act"}, ""},
        {{99, 4}, {kT}, "gelu for relu", {"ffn_act"}, ""},
        {{99, 5}, {kT}, "gelu by its tanh form for relu", {"ffn_act"}, ""},
        {{99, 6}, {kD, kR, kX}, "relu, squared, for gelu", {"ffn_act", "conv_act"}, ""},
        {{99, 7}, {kD, kR, kX}, "elu for gelu", {"ffn_act", "conv_act"}, ""},
        {{99, 8}, {kD, kR, kX}, "tanh for gelu", {"ffn_act", "conv_act"}, ""},
        {{100, 0}, {kD, kR}, "token types left out", {"embeddings.output"}, ""},
        {{101, 0}, {kD, kR, kT, kX}, "no residual around attention", {"attention"}, ""},
        {{101, 1}, {kD, kR, kT, kX}, "no residual around the feed-forward part", {"output", "output_before_conv"}, ""},
        {{101, 2}, {kD, kR, kT, kX}, "no norms in the layers", {"attention"}, ""},
        {{101, 3}, {kD, kR, kT, kX}, "no norm after attention", {"attention"}, ""},
        {{101, 4}, {kD, kR, kT, kX}, "no norm after the feed-forward part", {"output", "output_before_conv"}, ""},
        {{101, 5}, {kD, kR}, "no norm after the embeddings", {"embeddings.output"}, ""},
        {{102, 0}, {kD, kR}, "q, k and v without their biases", {"q"}, ""},
        {{102, 1}, {kD, kR}, "q without its bias", {"q"}, ""},
        {{102, 2}, {kD, kR}, "k without its bias", {"k"}, ""},
        {{102, 3}, {kD, kR}, "v without its bias", {"v"}, ""},
        {{102, 4}, {kD}, "q without its bias, positions too", {"q"}, ""},
        {{102, 5}, {kD}, "k without its bias, positions too", {"k"}, ""},
        {{103, 0}, {kD, kR, kT, kX}, "key and value projections exchanged", {"k"}, ""},
        {{103, 1}, {kD, kR}, "query and key projections exchanged", {"q"}, ""},
        {{103, 2}, {kD}, "query and key projections exchanged, positions too", {"q"}, ""},
        {{104, 0}, {kD, kR}, "no bias after attention", {"attention"}, ""},
        {{104, 1}, {kD, kR}, "no bias into the feed-forward part", {"ffn_act"}, ""},
        {{104, 2}, {kD, kR}, "no bias out of the feed-forward part", {"ffn"}, ""},
        {{105, 0}, {kT, kX}, "the shift counts from the wrong side", {"bd"}, ""},
        {{106, 0}, {kX}, "u and v of layer 0 in every layer", {"ac"}, ""},
        {{107, 0}, {kT}, "embeddings not times sqrt(D)", {"embeddings.output"}, ""},
        {{108, 0}, {kR}, "every pair slower by a factor of its own", {"rotary.sin"}, ""},
        {{108, 1}, {kR}, "the same from the middle of the text on", {"rotary.sin"}, ""},
        {{108, 2}, {kR}, "the same, and sines and cosines times 1.14", {"rotary.sin"}, ""},
        {{109, 0}, {kR}, "sines and cosines times 1.14", {"rotary.sin"}, ""},
        {{110, 0}, {kD}, "T5's buckets for both sides", {"relative.index"}, ""},
        {{110, 1}, {kD}, "T5's buckets for one side", {"relative.index"}, ""},
        {{111, 0}, {kD, kR}, "keys: the next tile begins eight numbers further on", {"c2c", "scores"}, ""},
        {{111, 1}, {kD, kR}, "values: the next tile begins eight numbers further on", {"context"}, ""},
        {{112, 0}, {kD, kR}, "an output matrix that is not the word table", {"mlm.logits"}, ""},
        {{113, 0}, {kT}, "clusters of an adaptive softmax from the other end", {"lm.clusters"}, ""},
        {{113, 1}, {kT}, "words of a cluster without log p(cluster)", {"lm.logits"}, ""},
        {{113, 2}, {kT}, "every output projection tied to the input's", {"lm.clusters"}, ""},
        {{113, 3}, {kT}, "losses cluster by cluster, targets token by token", {"lm.loss"}, ""},
        {{114, 0}, {kD, kR, kX}, "tanh after the pooler, in XLNet gelu", {"classifier.pooled"}, ""},
        {{114, 1}, {kD, kR, kX}, "no activation after the pooler", {"classifier.pooled"}, ""},
        {{114, 2}, {kD, kR, kX}, "no pooler", {"classifier.pooled"}, ""},
        {{114, 3}, {kD, kR, kX}, "the last token pooled, in XLNet the first", {"classifier.pooled"}, ""},
        {{114, 4}, {kD, kR, kX}, "the mean of all tokens pooled", {"classifier.pooled"}, ""},
        {{114, 5}, {kD, kR, kX}, "the mean of the visible tokens pooled", {"classifier.pooled"}, ""},
        {{114, 6}, {kD, kR, kX}, "a classifier without its bias", {"classifier.logits", "classifier.token_logits"}, ""},
        {{114, 7}, {kD, kR, kX}, "probabilities instead of logits", {"classifier.logits", "classifier.token_logits"}, ""},
        {{115, 0}, {kD, kR}, "every token of type 0", {"embeddings.output"}, ""},
        {{115, 1}, {kD, kR}, "token types 0 and 1 exchanged", {"embeddings.output"}, ""},
        {{115, 2}, {kD, kR}, "token types change one token too early", {"embeddings.output"}, ""},
        {{115, 3}, {kD, kR}, "token types change one token too late", {"embeddings.output"}, ""},
    };
}
// clang-format on

}  // namespace

const std::vector<InjectedMistake>& injected_mistakes() {
    static const std::vector<InjectedMistake> all = [] {
        std::vector<InjectedMistake> made;
        for (const auto& part :
             {position_mistakes(), score_mistakes(), decoder_mistakes(), other_family_mistakes(), later_mistakes()})
            made.insert(made.end(), part.begin(), part.end());
        return made;
    }();
    return all;
}

const std::vector<Equivalent>& equivalents() {
    static const std::vector<Equivalent> all = {
        {27, 30, "D = H d: with H = n + 1 the wrong root is that of one term more"},
        {30, 27, "D = H d: with H = n + 1 the wrong root is that of one term more"},
        {40, 52, "the norm of the head with another eps is a way to make 52"},
        {26, 30, "with two terms, one term fewer leaves sqrt(d)"},
    };
    return all;
}

const std::vector<InjectedMistake>& injected_gradient_mistakes() {
    const Family kD = Family::deberta, kR = Family::roformer, kT = Family::transformer_xl;
    const std::vector<std::string> tables = {"k_r", "q_r", "r_k", "bias.u", "bias.v"};
    // clang-format off
    static const std::vector<InjectedMistake> all = {
        {{38, 0}, {kD, kR, kT}, "softmax backward without the sum over the row", {"scores"}, ""},
        {{38, 1}, {kD}, "softmax backward with the dropped-out probs", {"scores"}, ""},
        {{38, 2}, {kD}, "the same, and with their gradient", {"scores"}, ""},
        {{38, 3}, {kD}, "the gradient of the dropped-out probs for that of probs", {"probs"}, ""},
        {{53, 0}, {kD}, "word table: only what its lookups add", {"word_embeddings.weight"}, ""},
        {{53, 1}, {kD}, "word table: only what the output adds", {"word_embeddings.weight"}, ""},
        {{78, 0}, {kD}, "for every query and key the last pair of a row stays", {"k_r", "q_r"}, ""},
        {{78, 1}, {kD}, "for every query and key the first pair of a row stays", {"k_r", "q_r"}, ""},
        {{78, 2}, {kD}, "the table keeps the last pair of a sample", {"k_r"}, ""},
        {{78, 3}, {kD}, "the table keeps the first pair of a sample", {"k_r"}, ""},
        {{78, 4}, {kD}, "the table keeps the last pair of the batch", {"k_r"}, ""},
        {{78, 5}, {kD}, "the table keeps the first pair of the batch", {"k_r"}, ""},
        {{79, 0}, {kD}, "dq_r from delta(j,i)", {"q_r"}, ""},
        {{79, 1}, {kD}, "dq_r and dk from delta(j,i)", {"q_r"}, ""},
        {{79, 2}, {kD, kT}, "what samples share collects from the first alone", tables, ""},
        {{79, 3}, {kD, kT}, "what samples share collects from the last alone", tables, ""},
        {{79, 4}, {kD, kT}, "the mean over samples instead of their sum", tables, ""},
        {{79, 5}, {kD}, "dk_r from delta(j,i)", {"k_r"}, ""},
        {{79, 6}, {kD}, "dk_r and dq from delta(j,i)", {"k_r"}, ""},
    };
    // clang-format on
    return all;
}

// Mistakes that ports of replaced-token detection and of SiFT can make.

const std::vector<InjectedMistake>& injected_training_mistakes() {
    const Family kD = Family::deberta;
    // clang-format off
    static const std::vector<InjectedMistake> all = {
        {{54, 0}, {kD}, "correct guesses labelled replaced", {"rtd.labels"}, ""},
        {{54, 1}, {kD}, "unsampled tokens labelled replaced too", {"rtd.labels"}, ""},
        {{54, 2}, {kD}, "1 for original", {"rtd.labels"}, ""},
        {{54, 3}, {kD}, "padding counts", {"rtd.labels"}, ""},
        {{54, 4}, {kD}, "sampled tokens alone count", {"rtd.labels"}, ""},
        {{54, 5}, {kD}, "one mean loss, padding in it", {"rtd.loss"}, ""},
        {{55, 0}, {kD}, "noise on the raw embedding", {"sift.xhat"}, ""},
        {{55, 1}, {kD}, "noise after the embeddings' norm", {"sift.xhat"}, ""},
        {{55, 2}, {kD}, "noise after the embeddings' norm and mask", {"sift.xhat"}, ""},
        {{55, 3}, {kD}, "step over the largest entry of the batch", {"sift.delta"}, ""},
        {{55, 4}, {kD}, "step over the largest entry of the sample", {"sift.delta"}, ""},
        {{55, 5}, {kD}, "step over the length of each token's gradient", {"sift.delta"}, ""},
        {{55, 6}, {kD}, "step over the length of each sample's gradient, no eps", {"sift.delta"}, ""},
        {{55, 7}, {kD}, "step by signs", {"sift.delta"}, ""},
        {{55, 8}, {kD}, "loss without the entropies", {"sift.loss0"}, ""},
    };
    // clang-format on
    return all;
}

}  // namespace locus::conformance::toy
