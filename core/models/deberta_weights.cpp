#include "core/models/deberta_weights.h"

namespace locus {

// --- which tensors a checkpoint must hold, and in which shapes ---

namespace {

void add_attention(ExpectedTensors& expected, const DebertaConfig& config, const std::string& self) {
    const Index width = config.hidden_size, heads = config.num_attention_heads;
    if (config.version == 1) {
        expected.add(self + "in_proj.weight", {3 * width, width});
        expected.add(self + "q_bias", {width});
        expected.add(self + "v_bias", {width});
        if (config.terms.c2p) expected.add(self + "pos_proj.weight", {width, width});
        if (config.terms.p2c) expected.add_dense(self + "pos_q_proj", width, width);
        if (config.talking_head) {
            expected.add(self + "head_logits_proj.weight", {heads, heads});
            expected.add(self + "head_weights_proj.weight", {heads, heads});
        }
        return;
    }
    for (const char* part : {"query_proj", "key_proj", "value_proj"}) expected.add_dense(self + part, width, width);
    if (config.share_att_key) return;
    if (config.terms.c2p) expected.add_dense(self + "pos_key_proj", width, width);
    if (config.terms.p2c) expected.add_dense(self + "pos_query_proj", width, width);
}

}  // namespace

std::string layer_prefix(Index layer) { return "encoder.layer." + std::to_string(layer) + "."; }

std::vector<std::pair<std::string, Shape>> expected_deberta_tensors(const DebertaConfig& config) {
    const Index width = config.hidden_size;
    ExpectedTensors expected;
    expected.add("embeddings.word_embeddings.weight", {config.vocab_size, config.embedding_size});
    if (config.type_vocab_size > 0)
        expected.add("embeddings.token_type_embeddings.weight", {config.type_vocab_size, config.embedding_size});
    if (config.position_biased_input)
        expected.add("embeddings.position_embeddings.weight", {config.max_position_embeddings, config.embedding_size});
    if (config.embedding_size != width) expected.add("embeddings.embed_proj.weight", {width, config.embedding_size});
    expected.add_norm("embeddings.LayerNorm", width);
    if (config.relative_attention) {
        expected.add("encoder.rel_embeddings.weight", {2 * config.span(), width});
        if (config.norm_rel_ebd) expected.add_norm("encoder.LayerNorm", width);
    }
    if (config.conv_kernel_size > 0) {
        expected.add("encoder.conv.conv.weight", {width, width / config.conv_groups, config.conv_kernel_size});
        expected.add("encoder.conv.conv.bias", {width});
        expected.add_norm("encoder.conv.LayerNorm", width);
    }
    for (Index layer = 0; layer < config.num_hidden_layers; ++layer) {
        const std::string prefix = layer_prefix(layer);
        add_attention(expected, config, prefix + "attention.self.");
        expected.add_dense(prefix + "attention.output.dense", width, width);
        expected.add_norm(prefix + "attention.output.LayerNorm", width);
        expected.add_dense(prefix + "intermediate.dense", config.intermediate_size, width);
        expected.add_dense(prefix + "output.dense", width, config.intermediate_size);
        expected.add_norm(prefix + "output.LayerNorm", width);
    }
    return expected.all();
}

// --- reading them ---

namespace {

constexpr const char* kWordTable = "embeddings.word_embeddings.weight";
constexpr const char* kAbsoluteTable = "embeddings.position_embeddings.weight";

/// dense, norm and bias of the masked-word head under each of its two names.
struct HeadNames {
    const char *dense, *norm, *bias;
};
constexpr HeadNames kHeads[] = {
    {"lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm", "lm_predictions.lm_head.bias"},
    {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"},
};

const HeadNames* find_head(const WeightSource& source) {
    for (const HeadNames& head : kHeads)
        if (source.shape(std::string(head.dense) + ".weight")) return &head;
    return nullptr;
}

/// A head that is named lm_predictions has no output matrix of its own, whatever config.json says.
bool ties_output(const DebertaConfig& config, const HeadNames& head) {
    return config.tied_output || !std::string_view(head.dense).starts_with("cls.");
}

}  // namespace

template <class Scalar>
DebertaWeights<Scalar>::DebertaWeights(const DebertaConfig& config, std::shared_ptr<const WeightSource> source,
                                       const Operations<Scalar>& compute)
    : config_(config), source_(std::move(source)), reader_(source_), compute_(compute) {
    for (const auto& [name, shape] : expected_deberta_tensors(config_)) reader_.require(name, shape);
    if (has_absolute_table())
        reader_.require(kAbsoluteTable, {config_.max_position_embeddings, config_.embedding_size});
    if (const HeadNames* head = find_head(*source_)) {
        const std::string dense = head->dense, norm = head->norm;
        reader_.require(dense + ".weight", {config_.embedding_size, config_.hidden_size});
        reader_.require(dense + ".bias", {config_.embedding_size});
        reader_.require(norm + ".weight", {config_.embedding_size});
        reader_.require(norm + ".bias", {config_.embedding_size});
        reader_.require(head->bias, {config_.vocab_size});
        const OutputLayer output = head_output();
        reader_.require(output.table, {config_.vocab_size, config_.embedding_size});
        reader_.require(output.bias, {config_.vocab_size});
    }
    note_what_is_not_read();
}

template <class Scalar>
void DebertaWeights<Scalar>::note_what_is_not_read() const {
    for (const HeadNames& head : kHeads)
        if (!find_head(*source_) && (reader_.has(head.bias) || reader_.has(std::string(head.norm) + ".weight")))
            reader_.note(std::string("holds a part of the head that predicts words, but no ") + head.dense +
                         ".weight: no word is predicted");
    reader_.note_more_layers("encoder.layer.", config_.num_hidden_layers);
    reader_.note_unread_in_layers("encoder.layer.", expected_deberta_tensors(config_));
    if (!config_.relative_attention && reader_.has("encoder.rel_embeddings.weight"))
        reader_.note("holds encoder.rel_embeddings.weight, but relative_attention is not true: there is no c2p or p2c");
    if (config_.type_vocab_size == 0 && reader_.has("embeddings.token_type_embeddings.weight"))
        reader_.note("holds embeddings.token_type_embeddings.weight, but type_vocab_size is 0: it is not added");
}

template <class Scalar>
Matrix<Scalar> DebertaWeights<Scalar>::read(const std::string& name, const Shape& expected) const {
    return reader_.matrix(name, expected);
}

template <class Scalar>
template <class Value, class Make>
const Value& DebertaWeights<Scalar>::once(std::map<std::string, std::unique_ptr<Value>>& kept, const std::string& name,
                                          Make make) const {
    const std::lock_guard lock(guard_);
    std::unique_ptr<Value>& value = kept[name];
    if (!value) value = std::make_unique<Value>(make());
    return *value;
}

template <class Scalar>
Matrix<Scalar> DebertaWeights<Scalar>::word_rows(const std::vector<std::int64_t>& tokens) const {
    return reader_.rows(kWordTable, tokens);
}

template <class Scalar>
Matrix<Scalar> DebertaWeights<Scalar>::word_block(Index first, Index count) const {
    return reader_.block(kWordTable, first, count);
}

template <class Scalar>
bool DebertaWeights<Scalar>::has_absolute_table() const {
    return source_->shape(kAbsoluteTable).has_value();
}

template <class Scalar>
void DebertaWeights<Scalar>::check_absolute_rows(Index length, const std::string& who) const {
    if (length > config_.max_position_embeddings)
        throw Error(Fault::unsupported, "the text has " + std::to_string(length) + " tokens but " + kAbsoluteTable +
                                            " has " + std::to_string(config_.max_position_embeddings) + " rows; " +
                                            who + " one for each token");
}

template <class Scalar>
Matrix<Scalar> DebertaWeights<Scalar>::absolute_rows(Index length) const {
    check_absolute_rows(length, "each position needs");
    return reader_.block(kAbsoluteTable, 0, length);
}

template <class Scalar>
const Norm<Scalar>& DebertaWeights<Scalar>::norm(const std::string& name) const {
    return once(norms_, name, [&] {
        const Shape shape = source_->shape(name + ".weight").value_or(Shape{config_.hidden_size});
        return Norm<Scalar>{read(name + ".weight", shape), read(name + ".bias", shape)};
    });
}

template <class Scalar>
Dense<Scalar> DebertaWeights<Scalar>::read_dense(const std::string& name) const {
    const Shape shape = source_->shape(name + ".weight").value_or(Shape{0, 0});
    Dense<Scalar> layer{read(name + ".weight", shape), {}};
    if (source_->shape(name + ".bias")) layer.bias = read(name + ".bias", {shape.at(0)});
    return layer;
}

template <class Scalar>
const Dense<Scalar>& DebertaWeights<Scalar>::dense(const std::string& name) const {
    return once(dense_, name, [&] { return read_dense(name); });
}

template <class Scalar>
const Matrix<Scalar>& DebertaWeights<Scalar>::matrix(const std::string& name, const Shape& expected) const {
    return once(matrices_, name, [&] { return read(name, expected); });
}

template <class Scalar>
Dense<Scalar> DebertaWeights<Scalar>::cut_in_proj(Index layer, int part) const {
    const std::string self = layer_prefix(layer) + "attention.self.";
    const Index width = config_.hidden_size, head_width = config_.attention_head_size;
    const Matrix<Scalar> packed = read(self + "in_proj.weight", {3 * width, width});
    Dense<Scalar> layer_dense{Matrix<Scalar>(width, width), {}};
    // Rows are grouped by head: d of q, d of k, d of v, then the next head (modeling_deberta.py in_proj); keys have no
    // bias.
    for (Index h = 0; h < config_.num_attention_heads; ++h)
        layer_dense.weight.middleRows(h * head_width, head_width) =
            packed.middleRows((3 * h + part) * head_width, head_width);
    if (part != 1) layer_dense.bias = read(self + (part == 0 ? "q_bias" : "v_bias"), {width});
    return layer_dense;
}

template <class Scalar>
const Dense<Scalar>& DebertaWeights<Scalar>::projection(Index layer, int part) const {
    static constexpr const char* kParts[] = {"query_proj", "key_proj", "value_proj"};
    const std::string name = layer_prefix(layer) + "attention.self." + kParts[part];
    return once(dense_, name, [&] { return config_.version == 1 ? cut_in_proj(layer, part) : read_dense(name); });
}

template <class Scalar>
const Dense<Scalar>& DebertaWeights<Scalar>::position_key(Index layer) const {
    if (config_.share_att_key) return projection(layer, 1);
    return dense(layer_prefix(layer) + "attention.self." + (config_.version == 1 ? "pos_proj" : "pos_key_proj"));
}

template <class Scalar>
const Dense<Scalar>& DebertaWeights<Scalar>::position_query(Index layer) const {
    if (config_.share_att_key) return projection(layer, 0);
    return dense(layer_prefix(layer) + "attention.self." + (config_.version == 1 ? "pos_q_proj" : "pos_query_proj"));
}

template <class Scalar>
const Convolution<Scalar>& DebertaWeights<Scalar>::convolution() const {
    const std::lock_guard lock(guard_);
    if (!convolution_) {
        const Index width = config_.hidden_size;
        convolution_ = std::make_unique<Convolution<Scalar>>(Convolution<Scalar>{
            read("encoder.conv.conv.weight", {width, width / config_.conv_groups, config_.conv_kernel_size}),
            read("encoder.conv.conv.bias", {width}), config_.conv_kernel_size, config_.conv_groups});
    }
    return *convolution_;
}

template <class Scalar>
const Matrix<Scalar>& DebertaWeights<Scalar>::relative_table() const {
    return once(matrices_, "relative.table", [&] {
        const Matrix<Scalar> raw = read("encoder.rel_embeddings.weight", {2 * config_.span(), config_.hidden_size});
        return config_.norm_rel_ebd ? compute_.layer_norm(raw, norm("encoder.LayerNorm"), config_.layer_norm_eps) : raw;
    });
}

template <class Scalar>
Tensor<Scalar> DebertaWeights<Scalar>::project_table(const Dense<Scalar>& projection) const {
    Tensor<Scalar> projected({1, 2 * config_.span(), config_.hidden_size});
    projected.matrix() = compute_.dense(relative_table(), projection);
    const Tensor<Scalar> split = split_heads(projected, config_.num_attention_heads);
    return {{split.extent(1), split.extent(2), split.extent(3)}, split.values()};
}

template <class Scalar>
const Tensor<Scalar>& DebertaWeights<Scalar>::k_r(Index layer) const {
    return once(tensors_, layer_prefix(layer) + "k_r", [&] { return project_table(position_key(layer)); });
}

template <class Scalar>
const Tensor<Scalar>& DebertaWeights<Scalar>::q_r(Index layer) const {
    return once(tensors_, layer_prefix(layer) + "q_r", [&] { return project_table(position_query(layer)); });
}

template <class Scalar>
std::string DebertaWeights<Scalar>::head_dense() const {
    const HeadNames* head = find_head(*source_);
    return head ? head->dense : "";
}

template <class Scalar>
std::string DebertaWeights<Scalar>::head_norm() const {
    const HeadNames* head = find_head(*source_);
    return head ? head->norm : "";
}

template <class Scalar>
OutputLayer DebertaWeights<Scalar>::head_output() const {
    const HeadNames* head = find_head(*source_);
    LOCUS_CHECK(head, source_->location() + ": there is no masked-word head");
    return output_layer(reader_, ties_output(config_, *head), head->bias);
}

template <class Scalar>
const RowVector<Scalar>& DebertaWeights<Scalar>::head_bias() const {
    const std::string name = head_output().bias;
    return once(vectors_, name, [&] { return RowVector<Scalar>(read(name, {config_.vocab_size})); });
}

template <class Scalar>
Matrix<Scalar> DebertaWeights<Scalar>::output_block(Index first, Index count) const {
    if (const HeadNames* head = find_head(*source_)) note_other_output(reader_, ties_output(config_, *head));
    return reader_.block(head_output().table, first, count);
}

template <class Scalar>
std::vector<std::string> DebertaWeights<Scalar>::warnings() const {
    return reader_.warnings();
}

template class DebertaWeights<float>;
template class DebertaWeights<double>;

}  // namespace locus
