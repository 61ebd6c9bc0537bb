#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"
#include "core/io/torch_pickle.h"
#include "tests/conformance/run_program.h"

using namespace locus;
using namespace locus::test;

TEST_CASE("safetensors: a trace comes back bit for bit, in order, with its descriptions", "[safetensors]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "trace.safetensors";
    Trace trace;
    trace.add("layer.1.q", Tensor<float>({1, 1, 1, 3}, {1.5F, -0.0F, std::numeric_limits<float>::quiet_NaN()}));
    trace.add("relative.index", IndexTensor({1, 2}, {-7, std::int64_t{1} << 60}));
    trace.add("layer.0.c2p", Tensor<double>({1, 1, 1, 1}, {1.0 / 3}));
    trace.add("mlm.loss", Tensor<double>(Shape{0}));
    write_trace(file, trace, {{"model", "none"}});
    const Trace back = read_trace(file);
    CHECK(back.names() == trace.names());
    CHECK(back.at("layer.0.c2p").as<double>()[0] == 1.0 / 3);
    CHECK(back.at("layer.0.c2p").formula == "q_i . k_r[delta(i,j)]");
    CHECK(back.at("relative.index").as<std::int64_t>()[1] == std::int64_t{1} << 60);
    CHECK(std::signbit(back.at("layer.1.q").as<float>()[1]));
    CHECK(std::isnan(back.at("layer.1.q").as<float>()[2]));
    CHECK(back.at("mlm.loss").shape() == Shape{0});
    bool model = false;
    for (const auto& [key, value] : open_safetensors(file).metadata)
        model = model || (key == "model" && value == "none");
    CHECK(model);
}

TEST_CASE("safetensors: foreign traces come in model order", "[safetensors]") {
    const Trace trace = read_trace(fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/ms_deberta_v3_emd/trace.safetensors");
    CHECK(trace.names().front() == "embeddings.word");
    CHECK(trace.names().back() == "mlm.loss");
}

TEST_CASE("checkpoint: half precision is widened exactly", "[checkpoint]") {
    const fs::path formats = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats";
    for (const char* variant : {"bin_fp16", "safetensors_bf16"}) {
        const Checkpoint checkpoint = open_checkpoint(formats / variant);
        const Checkpoint full = open_checkpoint(formats / "safetensors");
        const std::string name = "embeddings.word_embeddings.weight";
        const Matrix<double> half = read_matrix<double>(*checkpoint.weights, name, {29, 12});
        const Matrix<float> half_f32 = read_matrix<float>(*checkpoint.weights, name, {29, 12});
        CHECK(half_f32.cast<double>() == half);
        const Matrix<double> original = read_matrix<double>(*full.weights, name, {29, 12});
        const double relative = std::string(variant) == "bin_fp16" ? 1.0 / 2048 : 1.0 / 256;
        CHECK((half - original).cwiseAbs().maxCoeff() <= original.cwiseAbs().maxCoeff() * relative);
        CHECK(half != original);
        CHECK(read_rows<double>(*checkpoint.weights, name, 7, 2) == half.middleRows(7, 2));
        CHECK_THROWS_AS(read_rows<double>(*checkpoint.weights, name, 28, 2), Error);
    }
}

TEST_CASE("checkpoint: prefixes and old norm names disappear", "[checkpoint]") {
    const fs::path formats = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats";
    for (const char* variant :
         {"safetensors", "no_prefix", "gamma_beta", "bin_zip", "bin_legacy", "safetensors_sharded"})
        CHECK(open_checkpoint(formats / variant).weights->shape("encoder.layer.1.output.LayerNorm.weight") ==
              Shape{12});
}

TEST_CASE("checkpoint: built-in models are found by name", "[checkpoint]") {
    CHECK(fs::exists(resolve_model("tiny-v3") / "config.json"));
    CHECK_THROWS_WITH(resolve_model("tiny-v9"), Catch::Contains("tiny-v9") && Catch::Contains("tiny-v3"));
    CHECK_THROWS_AS(resolve_model(""), Error);
}

TEST_CASE("torch_pickle: tied tensors share their bytes", "[torch_pickle]") {
    const TensorFile file =
        open_torch_pickle(fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats/bin_zip/pytorch_model.bin");
    const TensorEntry* table = file.find("deberta.embeddings.word_embeddings.weight");
    const TensorEntry* decoder = file.find("cls.predictions.decoder.weight");
    REQUIRE(table);
    REQUIRE(decoder);
    CHECK(table->offset == decoder->offset);
}
