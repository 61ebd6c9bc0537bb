// What must hold of RoFormer, Transformer-XL and XLNet whatever their weights are.
#include "core/models/roformer.h"
#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"
#include "core/positions/factorisation_order.h"
#include "core/products.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/oracle_cases.h"
#include "tests/random_model.h"

namespace locus::test::test_family_laws {

using nlohmann::json;

namespace {

constexpr Dialect kOurs = Dialect::reference;

std::unique_ptr<Model<double>> open_oracle(const char* name) {
    return open_case_model<double>(kOracle / name / "model");
}

ModelInput tokens_of(std::vector<std::int64_t> tokens) {
    ModelInput input;
    const Shape shape = {1, std::ssize(tokens)};
    input.tokens = IndexTensor(shape, std::move(tokens));
    return input;
}

Matrix<double> stage(const Model<double>& model, const std::vector<ModelInput>& segments, const std::string& name,
                     Dialect dialect = kOurs) {
    return model.forward(segments, dialect, StageFilter(name)).at(name).as<double>().matrix();
}

/// Every token a target, in this order: the seed's full permutation.
ModelInput in_order(std::vector<std::int64_t> tokens, const std::vector<Index>& order) {
    ModelInput input = tokens_of(std::move(tokens));
    const Index length = input.length();
    input.perm_mask = IndexTensor({1, length, length});
    input.perm_mask.matrix() = (1 - query_visibility(order).array()).cast<std::int64_t>();
    input.target_mapping = IndexTensor({1, length, length});
    for (Index t = 0; t < length; ++t) input.target_mapping.matrix()(t, t) = 1;
    return input;
}

}  // namespace

TEST_CASE("xlnet: g of a token depends on exactly the tokens before it in the order, h also on itself",
          "[xlnet][law]") {
    const auto model = open_oracle("hf_xlnet_order_3241");
    const std::vector<Index> order = {2, 1, 3, 0};
    const Visibility query = query_visibility(order), content = content_visibility(order);
    const std::vector<std::int64_t> tokens = {4, 9, 17, 22};
    const Matrix<double> g = stage(*model, {in_order(tokens, order)}, "layer.1.g.output");
    const Matrix<double> h = stage(*model, {in_order(tokens, order)}, "layer.1.output");
    for (Index changed = 0; changed < 4; ++changed) {
        std::vector<std::int64_t> other = tokens;
        other[static_cast<std::size_t>(changed)] = 3;
        const Matrix<double> g_other = stage(*model, {in_order(other, order)}, "layer.1.g.output");
        const Matrix<double> h_other = stage(*model, {in_order(other, order)}, "layer.1.output");
        for (Index t = 0; t < 4; ++t) {
            INFO("token " << changed << " changed, row " << t);
            CHECK((g.row(t) == g_other.row(t)) == (query(t, changed) == 0));
            CHECK((h.row(t) == h_other.row(t)) == (content(t, changed) == 0));
        }
    }
}

TEST_CASE("xlnet: the uniform row of the original code lets the first of the order see its own token",
          "[xlnet][dialect]") {
    const auto model = open_oracle("hf_xlnet_order_3241");
    const std::vector<Index> order = {2, 1, 3, 0};
    const auto g_of = [&](std::int64_t token, Dialect dialect) -> RowVector<double> {
        return stage(*model, {in_order({4, 9, token, 22}, order)}, "layer.1.g.output", dialect).row(2);
    };
    CHECK(g_of(17, Dialect::reference) == g_of(3, Dialect::reference));
    CHECK(max_abs(g_of(17, Dialect::hf) - g_of(3, Dialect::hf)) > 1e-3);
}

TEST_CASE("xlnet: looking one way without perm_mask, g sees its own token", "[xlnet][dialect]") {
    const auto model = open_oracle("hf_xlnet_uni");
    const auto g_of = [&](std::int64_t token) {
        ModelInput input = tokens_of({4, 9, token, 22});
        input.target_mapping = IndexTensor({1, 1, 4}, {0, 0, 1, 0});
        return stage(*model, {input}, "lm.logits");
    };
    CHECK(max_abs(g_of(17) - g_of(3)) > 1e-3);
}

TEST_CASE("xlnet: reuse_len hands on the first rows of a segment only", "[xlnet][law]") {
    Checkpoint checkpoint = open_checkpoint(kOracle / "hf_xlnet_mems" / "model");
    XlnetConfig config = parse_xlnet_config(checkpoint.config_json, "config.json");
    config.reuse_len = 3;
    const Xlnet<double> model(config, checkpoint.weights);
    const Trace trace = model.forward({tokens_of({4, 9, 17, 22}), tokens_of({5, 6, 7, 8})}, kOurs);
    const auto &first = trace.at("segment.0.memory.0").as<double>(),
               &second = trace.at("segment.1.memory.0").as<double>();
    REQUIRE(first.shape() == Shape{1, 3, 12});
    REQUIRE(second.shape() == Shape{1, 6, 12});
    const auto embedded = trace.at("segment.1.embeddings.output").as<double>().matrix();
    CHECK(first.matrix() == trace.at("segment.0.embeddings.output").as<double>().matrix().topRows(3));
    CHECK(second.matrix().topRows(3) == first.matrix());
    CHECK(second.matrix().bottomRows(3) == embedded.topRows(3));
}

TEST_CASE("xlnet: the dialects' activation, and their memory without mem_len", "[xlnet][dialect]") {
    CHECK(XlnetOptions::of(Dialect::official).tanh_gelu);
    const auto model = open_oracle("hf_xlnet_order_3241");
    const std::vector<ModelInput> one = {tokens_of({4, 9, 17, 22})}, two = {one[0], tokens_of({1, 2, 3})};
    const double gelus = max_abs(stage(*model, one, "layer.0.ffn_act", Dialect::hf) -
                                 stage(*model, one, "layer.0.ffn_act", Dialect::official));
    CHECK(gelus > 1e-7);
    CHECK(gelus <= 4.7324e-4 * 1.001);  // the largest difference of the two forms
    CHECK(model->forward(two, Dialect::hf).at("segment.1.layer.0.k").shape()[2] == 7);
    CHECK(model->forward(two, Dialect::reference).at("segment.1.layer.0.k").shape()[2] == 3);
    // Who asks for memory is told where there is none.
    CHECK(refusal([&] { check_memory(*model, two, Dialect::reference); }, Fault::usage) ==
          "2 segments, expected one: mem_len of this model is 0 or null, and in the dialect reference it hands on no "
          "memory");
    CHECK_NOTHROW(check_memory(*model, two, Dialect::hf));
    CHECK_NOTHROW(check_memory(*model, one, Dialect::reference));
    CHECK_NOTHROW(check_memory(*open_oracle("hf_xlnet_mems"), two, Dialect::reference));
    CHECK_NOTHROW(check_memory(*open_oracle("txl_basic"), two, Dialect::reference));
}

TEST_CASE("transformer_xl: segments with memory give what one long segment gives", "[transformer_xl][law]") {
    for (const char* name : {"txl_basic", "txl_pre_lnorm"}) {
        Checkpoint checkpoint = open_checkpoint(kOracle / name / "model");
        TransformerXlConfig config = parse_transformer_xl_config(checkpoint.config_json, "config.json");
        config.mem_len = 20;
        const TransformerXl<double> model(config, checkpoint.weights);
        const Matrix<double> whole = stage(model, {tokens_of({1, 2, 3, 4, 5, 6, 7, 8, 9})}, "lm.logits");
        const std::vector<ModelInput> cut = {tokens_of({1, 2, 3, 4}), tokens_of({5, 6, 7}), tokens_of({8, 9})};
        CHECK(max_abs(stage(model, cut, "segment.0.lm.logits") - whole.topRows(4)) <= 1e-12);
        CHECK(max_abs(stage(model, cut, "segment.1.lm.logits") - whole.middleRows(4, 3)) <= 1e-12);
        CHECK(max_abs(stage(model, cut, "segment.2.lm.logits") - whole.bottomRows(2)) <= 1e-12);
        // Without memory the second segment does not know the first.
        config.mem_len = 0;
        const TransformerXl<double> forgetful(config, checkpoint.weights);
        CHECK(max_abs(stage(forgetful, cut, "segment.1.lm.logits") - whole.middleRows(4, 3)) > 1e-3);
        CHECK_THROWS_AS(check_memory<double>(forgetful, cut, Dialect::reference), Error);
    }
}

TEST_CASE("transformer_xl: a later token never changes an earlier row", "[transformer_xl][law]") {
    const auto model = open_oracle("txl_basic");
    const Matrix<double> a = stage(*model, {tokens_of({1, 2, 3, 4, 5})}, "lm.logits"),
                         b = stage(*model, {tokens_of({1, 2, 3, 9, 5})}, "lm.logits");
    CHECK(a.topRows(3) == b.topRows(3));
    CHECK(max_abs(a.bottomRows(2) - b.bottomRows(2)) > 1e-3);
}

TEST_CASE("transformer_xl: memory given from outside is memory handed on", "[transformer_xl][law]") {
    const auto model = open_oracle("txl_basic");
    const std::vector<ModelInput> both = {tokens_of({1, 2, 3, 4}), tokens_of({5, 6, 7})};
    const Trace trace = model->forward(both, kOurs);
    ModelInput second = both[1];
    for (int l = 0; l < 3; ++l)
        second.memories.push_back(trace.at("segment.0.memory." + std::to_string(l)).as<double>());
    CHECK(stage(*model, {second}, "lm.logits") == trace.at("segment.1.lm.logits").as<double>().matrix());
}

TEST_CASE("transformer_xl: the swapped arguments of the official memory update show only with ext_len",
          "[transformer_xl][dialect]") {
    TransformerXlConfig config;
    config.mem_len = 7;
    const auto rows = [&](Index memory, Index queries, Dialect dialect) {
        const MemoryRows kept = rows_to_keep(config, memory, queries, dialect);
        return std::pair<Index, Index>{kept.begin, kept.end};
    };
    for (const auto& [memory, queries] : {std::pair<Index, Index>{0, 4}, {5, 5}, {7, 3}})
        CHECK(rows(memory, queries, Dialect::official) == rows(memory, queries, Dialect::reference));
    config.ext_len = 2;
    CHECK(rows(0, 4, Dialect::official) == std::pair<Index, Index>{0, 4});
    CHECK(rows(0, 4, Dialect::reference) == std::pair<Index, Index>{0, 2});
}

TEST_CASE("transformer_xl: a factorised table with its projection is one wide table", "[transformer_xl][law]") {
    const Checkpoint checkpoint = open_checkpoint(kOracle / "txl_basic" / "model");
    TransformerXlConfig wide = parse_transformer_xl_config(checkpoint.config_json, "config.json"), narrow = wide;
    narrow.d_embed = 4;
    auto factorised = std::make_shared<MemoryWeights>();
    for (const std::string& name : checkpoint.weights->names()) {
        const Shape shape = *checkpoint.weights->shape(name);
        factorised->tensors[name] = {shape, checkpoint.weights->rows_f64(name, 0, shape.empty() ? 1 : shape[0])};
    }
    auto joined = std::make_shared<MemoryWeights>(*factorised);
    std::mt19937 generator(7);
    factorised->randomise("word_emb.emb_layers.0.weight", {wide.vocab_size, 4}, generator);
    factorised->randomise("word_emb.emb_projs.0", {wide.d_model, 4}, generator);
    joined->tensors["word_emb.emb_layers.0.weight"].second = times_transposed<double>(
        factorised->tensors["word_emb.emb_layers.0.weight"].second, factorised->tensors["word_emb.emb_projs.0"].second);
    const TransformerXl<double> two(narrow, factorised), one(wide, joined);
    const std::vector<ModelInput> text = {tokens_of({1, 2, 3, 4})};
    for (const char* name : {"embeddings.output", "lm.logits"})
        CHECK(max_abs(stage(two, text, name) - stage(one, text, name)) <= 1e-12);
    CHECK(stage(two, text, "embeddings.word").cols() == 4);
}

TEST_CASE("transformer_xl: an adaptive softmax gives a cluster what its words have together", "[transformer_xl][law]") {
    for (const auto& [name, ends] : {std::pair<const char*, std::vector<Index>>{"hf_txl_word_clusters", {7, 13, 23}},
                                     {"hf_txl_word_clusters_one_table", {5, 11, 17, 23}}}) {
        INFO(name);
        const auto model = open_oracle(name);
        const std::vector<ModelInput> text = {tokens_of({1, 8, 22, 14})};
        for (const Dialect dialect : {Dialect::reference, Dialect::official}) {
            const Trace trace = model->forward(text, dialect, StageFilter("lm.*"));
            const Matrix<double> words = trace.at("lm.logits").as<double>().rows().array().exp();
            const Matrix<double> clusters = trace.at("lm.clusters").as<double>().rows().array().exp();
            REQUIRE(clusters.cols() + 1 == std::ssize(ends));
            CHECK((words.rowwise().sum().array() - 1).abs().maxCoeff() <= 1e-12);
            for (std::size_t n = 1; n < ends.size(); ++n)
                CHECK((words.middleCols(ends[n - 1], ends[n] - ends[n - 1]).rowwise().sum() -
                       clusters.col(static_cast<Index>(n - 1)))
                          .cwiseAbs()
                          .maxCoeff() <= 1e-12);
        }
    }
}

TEST_CASE("transformer_xl: the official order of clusters is the other one with their weights turned round",
          "[transformer_xl][dialect]") {
    const fs::path folder = kOracle / "hf_txl_word_clusters_one_table" / "model";
    const Checkpoint checkpoint = open_checkpoint(folder);
    auto turned = std::make_shared<MemoryWeights>();
    for (const std::string& name : checkpoint.weights->names()) {
        const Shape shape = *checkpoint.weights->shape(name);
        Matrix<double> rows = checkpoint.weights->rows_f64(name, 0, shape[0]);
        if (name == "crit.cluster_weight") rows = rows.colwise().reverse().eval();
        if (name == "crit.cluster_bias") rows = rows.reverse().eval();
        turned->tensors[name] = {shape, rows};
    }
    const auto here = open_oracle("hf_txl_word_clusters_one_table");
    const auto there = open_model<double>(checkpoint.config_json, "config.json", turned);
    const std::vector<ModelInput> text = {tokens_of({1, 8, 22})};
    const auto logits = [&](const Model<double>& model, Dialect dialect) {
        return model.forward(text, dialect, StageFilter("lm.logits")).at("lm.logits").template as<double>().values();
    };
    CHECK(logits(*here, Dialect::reference) == logits(*there, Dialect::official));
    CHECK(logits(*here, Dialect::reference) != logits(*here, Dialect::official));
}

TEST_CASE("transformer_xl: in the dialect hf a text begins with a memory of zeros", "[transformer_xl][dialect]") {
    const auto model = open_oracle("txl_basic");
    const std::vector<ModelInput> text = {tokens_of({1, 2, 3}), tokens_of({4, 5, 6})};
    std::vector<ModelInput> remembering = text;
    remembering.front().memories.assign(3, Tensor<double>({1, 7, 10}));
    const Trace hf = model->forward(text, Dialect::hf), zeros = model->forward(remembering, Dialect::reference);
    REQUIRE(hf.names() == zeros.names());
    for (const std::string& name : hf.names())
        CHECK(hf.at(name).as<double>().values() == zeros.at(name).as<double>().values());
    CHECK(hf.at("segment.0.layer.0.probs").shape() == Shape{1, 3, 3, 10});
    // What is given counts, and a model without a memory has none.
    CHECK(model->forward(remembering, Dialect::hf).at("segment.1.lm.logits").as<double>().values() ==
          zeros.at("segment.1.lm.logits").as<double>().values());
    json config = json::parse(open_checkpoint(kOracle / "txl_basic" / "model").config_json);
    config["mem_len"] = 0;
    const auto none =
        open_model<double>(config.dump(), "config.json", open_checkpoint(kOracle / "txl_basic" / "model").weights);
    CHECK(none->forward({text.front()}, Dialect::hf).at("layer.0.probs").shape() == Shape{1, 3, 3, 3});
    config["mem_len"] = 100'001;  // a file does not take memory as it likes
    const auto endless =
        open_model<double>(config.dump(), "config.json", open_checkpoint(kOracle / "txl_basic" / "model").weights);
    CHECK(endless->forward({text.front()}, kOurs).at("layer.0.probs").shape() == Shape{1, 3, 3, 3});
    CHECK_THROWS_AS(endless->forward({text.front()}, Dialect::hf), Error);
}

TEST_CASE("transformer_xl: with same_length and no memory no query sees a key", "[transformer_xl][dialect]") {
    const Checkpoint checkpoint = open_checkpoint(kOracle / "txl_same_length" / "model");
    json config = json::parse(checkpoint.config_json);
    config["mem_len"] = 0;
    const auto model = open_model<double>(config.dump(), "config.json", checkpoint.weights);
    const auto probs = [&](Dialect dialect) {
        return model->forward({tokens_of({1, 2, 3})}, dialect, StageFilter("layer.0.probs"))
            .at("layer.0.probs")
            .as<double>();
    };
    CHECK(probs(Dialect::reference).rows().isZero(0));
    CHECK((probs(Dialect::hf).rows().array() == 1.0 / 3).all());
}

TEST_CASE("transformer_xl: without an output layer there are no words", "[transformer_xl][law]") {
    const Checkpoint checkpoint = open_checkpoint(kOracle / "txl_basic" / "model");
    auto body = std::make_shared<MemoryWeights>();
    for (const std::string& name : checkpoint.weights->names())
        if (!name.starts_with("crit.")) {
            const Shape shape = *checkpoint.weights->shape(name);
            body->tensors[name] = {shape, checkpoint.weights->rows_f64(name, 0, shape[0])};
        }
    const auto plain = open_oracle("txl_basic");
    const auto alone = open_model<double>(checkpoint.config_json, "config.json", body);
    const std::vector<ModelInput> text = {tokens_of({1, 2, 3})};
    CHECK(stage(*alone, text, "layer.1.output") == stage(*plain, text, "layer.1.output"));
    CHECK(alone->stage_names(text, kOurs).back() == "memory.2");
}

TEST_CASE("roformer: hidden tokens in front move a text, and nothing changes", "[roformer][law]") {
    const auto model = open_oracle("hf_roformer");
    const Matrix<double> here = stage(*model, {tokens_of({4, 9, 17, 22})}, "mlm.logits");
    ModelInput moved = tokens_of({0, 0, 0, 4, 9, 17, 22});
    moved.mask = IndexTensor({1, 7}, {0, 0, 0, 1, 1, 1, 1});
    // The checkpoint's angles are float32, so a shift is exact only to their rounding.
    CHECK(max_abs(stage(*model, {moved}, "mlm.logits").bottomRows(4) - here) <= 1e-6);
    const Matrix<double> reordered = stage(*model, {tokens_of({9, 4, 17, 22})}, "mlm.logits");
    CHECK(max_abs(reordered.row(3) - here.row(3)) > 1e-4);  // order matters
}

TEST_CASE("families: a pass runs as far as the wanted stages need, and keeps no other", "[families][law]") {
    for (const auto& [name, wanted] : {std::pair<const char*, const char*>{"hf_roformer", "layer.0.probs"},
                                       {"txl_basic", "layer.0.ac"},
                                       {"hf_xlnet_uni", "layer.0.bd"}}) {
        const auto model = open_oracle(name);
        const Trace all = model->forward({tokens_of({1, 2, 3})}, kOurs);
        const Trace one = model->forward({tokens_of({1, 2, 3})}, kOurs, StageFilter(wanted));
        REQUIRE(one.stages().size() == 1);
        CHECK(one.at(wanted).as<double>().values() == all.at(wanted).as<double>().values());
        CHECK(all.names().size() == model->stage_names({tokens_of({1, 2, 3})}, kOurs).size());
    }
}

TEST_CASE("families: a pass ends in the segment of the last wanted stage, but all segments are checked",
          "[families][law]") {
    for (const char* name : {"txl_basic", "hf_xlnet_mems"}) {
        const auto model = open_oracle(name);
        const std::vector<ModelInput> segments = {tokens_of({1, 2, 3}), tokens_of({4, 5, 6}), tokens_of({7, 8, 9})};
        const Trace all = model->forward(segments, kOurs);
        for (const char* wanted : {"segment.0.layer.0.scores", "segment.1.layer.1.ffn", "segment.1.memory.0"}) {
            const Trace one = model->forward(segments, kOurs, StageFilter(wanted));
            REQUIRE(one.names() == std::vector<std::string>{wanted});
            CHECK(one.at(wanted).as<double>().values() == all.at(wanted).as<double>().values());
        }
        const std::vector<ModelInput> bad = {tokens_of({1, 2, 3}), tokens_of({4, 999, 6})};
        CHECK_THROWS_WITH(model->forward(bad, kOurs, StageFilter("segment.0.layer.0.scores")),
                          Catch::Contains("tokens holds 999"));
    }
}

}  // namespace locus::test::test_family_laws
