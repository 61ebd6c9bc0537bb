#include "core/io/checkpoint.h"

#include <cmath>
#include <cstring>

#include "core/models/deberta_config.h"
#include "tests/torch_bytes.h"

namespace locus::test::test_checkpoint {

using Catch::Contains;

namespace {

const fs::path kFormats = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats";
const fs::path kTiny = fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3";

Matrix<double> whole(const WeightSource& weights, const std::string& name) {
    const auto shape = weights.shape(name);
    REQUIRE(shape);
    return read_matrix<double>(weights, name, *shape);
}

std::string one_tensor(const std::string& name) {
    const std::string header = "{\"" + name + R"(":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
    return bytes_of<std::uint64_t>(header.size()) + header + counting_floats(4);
}

/// A folder with config.json and one tensor, and the refusal of opening it.
struct Model {
    TemporaryFolder folder;
    Model() {
        write_bytes(folder / "config.json", "{}");
        write_bytes(folder / "model.safetensors", one_tensor("x"));
    }
    std::string refused() const {
        return refusal([&] { open_checkpoint(folder.path()); });
    }
};

}  // namespace

TEST_CASE("checkpoint: one model in every container holds the same values", "[checkpoint][formats]") {
    const Checkpoint reference = open_checkpoint(kFormats / "safetensors");
    REQUIRE(reference.weights->names().size() > 20);
    for (const char* variant : {"safetensors_sharded", "microsoft_config", "gamma_beta", "bin_zip", "bin_legacy",
                                "no_prefix", "bin_fp16", "safetensors_bf16"}) {
        INFO(variant);
        const Checkpoint other = open_checkpoint(kFormats / variant);
        const double bits = variant == std::string("bin_fp16")           ? 11
                            : variant == std::string("safetensors_bf16") ? 8
                                                                         : 0;
        std::size_t compared = 0;
        for (const std::string& name : reference.weights->names()) {
            INFO(name);
            if (variant == std::string("no_prefix") && name.starts_with("cls.")) continue;
            const Matrix<double> expected = whole(*reference.weights, name), found = whole(*other.weights, name);
            REQUIRE((found.rows() == expected.rows() && found.cols() == expected.cols()));
            for (Index n = 0; n < expected.size(); ++n) {
                const double value = expected.data()[n];
                const double allowed =
                    bits == 0 ? 0 : std::max(std::abs(value) * std::ldexp(1, -bits), std::ldexp(1, -25));
                CHECK(std::abs(found.data()[n] - value) <= allowed);
            }
            ++compared;
        }
        CHECK(compared > 15);
    }
}

TEST_CASE("checkpoint: the trained model opens by its name", "[checkpoint]") {
    CHECK(fs::equivalent(resolve_model("tiny-v3"), kTiny));
    CHECK(resolve_model(kTiny.string()) == kTiny);
    const Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
    CHECK(checkpoint.config_file.filename() == "config.json");
    CHECK(checkpoint.weights->shape("embeddings.word_embeddings.weight") == Shape{6016, 192});
    CHECK(checkpoint.weights->shape("lm_predictions.lm_head.bias"));
    CHECK_FALSE(checkpoint.weights->shape("deberta.embeddings.word_embeddings.weight"));
    const Matrix<float> rows = read_rows<float>(*checkpoint.weights, "embeddings.word_embeddings.weight", 115, 2);
    CHECK(rows ==
          read_matrix<float>(*checkpoint.weights, "embeddings.word_embeddings.weight", {6016, 192}).middleRows(115, 2));
}

TEST_CASE("checkpoint: a model that is nowhere is refused with the built-in names", "[checkpoint]") {
    CHECK_THAT(refusal([] { resolve_model("no-such-model"); }), Contains("no-such-model") && Contains("tiny-v3"));
    for (const std::string& name : {std::string(), std::string("../models/tiny-v3x"), std::string(5000, 'a')})
        CHECK_THAT(refusal([&] { resolve_model(name); }), Contains("no such folder"));
    CHECK_THAT(refusal([] { open_checkpoint(std::string(5000, 'a')); }), Contains("no such folder"));
}

TEST_CASE("checkpoint: a folder of that name wins over a built-in model", "[checkpoint]") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "tiny-v3");
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    const fs::path found = resolve_model("tiny-v3");
    CHECK(fs::equivalent(found, folder / "tiny-v3"));
    fs::current_path(before);
}

TEST_CASE("checkpoint: what is missing is named", "[checkpoint]") {
    const Model model;
    SECTION("the folder") {
        CHECK_THAT(refusal([&] { open_checkpoint(model.folder / "absent"); }), Contains("absent: no such folder"));
        const std::string file = (model.folder / "config.json").string();
        CHECK_THAT(refusal([&] { open_checkpoint(file); }), Contains("is a file, expected the folder"));
        CHECK_THAT(refusal([&] { resolve_model(file); }), Contains("is a file, expected a model folder"));
    }
    SECTION("config.json") {
        fs::remove(model.folder / "config.json");
        CHECK_THAT(model.refused(), Contains("no config.json"));
    }
    SECTION("the weights") {
        fs::remove(model.folder / "model.safetensors");
        CHECK_THAT(model.refused(), Contains("model.safetensors") && Contains("pytorch_model.bin"));
    }
}

TEST_CASE("checkpoint: a config.json that is not JSON is refused", "[checkpoint]") {
    const Model model;
    for (const std::string& text : {std::string(), std::string("{\"model_type\": "), std::string("[1, 2]"),
                                    std::string("{\"a\": 1, \"a\": 2}"), "{\"a\": " + std::string(100000, '[')}) {
        INFO(text.substr(0, 40));
        write_bytes(model.folder / "config.json", text);
        CHECK_THAT(model.refused(), Contains("config.json: ") && Contains("JSON"));
    }
}

TEST_CASE("checkpoint: a missing tensor or a wrong shape is named with what was expected", "[checkpoint]") {
    const Model model;
    const auto weights = open_checkpoint(model.folder.path()).weights;
    CHECK(read_matrix<double>(*weights, "x", {2, 2})(1, 0) == 2);
    CHECK_THAT(refusal([&] { read_matrix<float>(*weights, "x", {4}); }),
               Contains("model.safetensors") && Contains("tensor x has shape [2, 2], expected [4]"));
    CHECK_THAT(refusal([&] { read_matrix<float>(*weights, "y", {4}); }), Contains("tensor y is missing"));
    CHECK_THAT(refusal([&] { read_rows<float>(*weights, "y", 0, 1); }), Contains("tensor y is missing"));
    CHECK_THAT(refusal([&] { read_rows<float>(*weights, "x", 1, 2); }), Contains("tensor x"));
}

TEST_CASE("checkpoint: integers are no parameters, and only what is read is asked", "[checkpoint]") {
    const Model model;
    const std::string header = R"({"deberta.ids":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
                               R"("deberta.x":{"dtype":"F32","shape":[2,2],"data_offsets":[16,32]},)"
                               R"("deberta.y":{"dtype":"I8","shape":[2,2],"data_offsets":[32,36]}})";
    write_bytes(model.folder / "model.safetensors",
                bytes_of<std::uint64_t>(header.size()) + header + counting_floats(9));
    const auto weights = open_checkpoint(model.folder.path()).weights;
    CHECK(read_matrix<double>(*weights, "x", {2, 2})(0, 0) == 4);
    const auto refused = [&](auto read) { return refusal(read, Fault::unsupported); };
    const auto sentence = Contains("model.safetensors: tensor deberta.y has dtype I8, expected F64, F32, F16 or BF16");
    CHECK_THAT(refused([&] { read_matrix<double>(*weights, "y", {2, 2}); }), sentence);
    CHECK_THAT(refused([&] { read_rows<float>(*weights, "y", 0, 1); }), sentence);
    CHECK_THAT(refused([&] { read_matrix<float>(*weights, "ids", {2}); }), Contains("dtype I64"));
}

TEST_CASE("checkpoint: prefixes and old norm names", "[checkpoint]") {
    const Model model;
    for (const auto& [stored, plain] :
         {std::pair<std::string, std::string>{"deberta.a.LayerNorm.gamma", "a.LayerNorm.weight"},
          {"bert.a.LayerNorm.beta", "a.LayerNorm.bias"},
          {"model.embeddings.weight", "embeddings.weight"},
          {"module.deberta.embeddings.weight", "embeddings.weight"},
          {"_orig_mod.module.model.roformer.embeddings.weight", "embeddings.weight"},
          {"deberta.bert.weight", "bert.weight"},
          {"cls.predictions.bias", "cls.predictions.bias"},
          {"lm_predictions.gammas", "lm_predictions.gammas"}}) {
        write_bytes(model.folder / "model.safetensors", one_tensor(stored));
        CHECK(open_checkpoint(model.folder.path()).weights->names() == std::vector<std::string>{plain});
    }
}

TEST_CASE("checkpoint: a tied tensor that was left out of the file is the one that it shares", "[checkpoint]") {
    const Model model;
    const std::string header =
        R"({"__metadata__":{"format":"pt","deberta.words.weight":"cls.decoder.weight","lost":"nothing",)"
        R"("other.cls.decoder.weight":"cls.decoder.weight"},)"
        R"("cls.decoder.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
    write_bytes(model.folder / "model.safetensors",
                bytes_of<std::uint64_t>(header.size()) + header + counting_floats(4));
    const auto weights = open_checkpoint(model.folder.path()).weights;
    CHECK(weights->names() ==
          std::vector<std::string>{"cls.decoder.weight", "words.weight", "other.cls.decoder.weight"});
    CHECK(whole(*weights, "words.weight") == whole(*weights, "cls.decoder.weight"));
    CHECK_FALSE(weights->shape("lost"));
}

TEST_CASE("checkpoint: two tensors of one plain name are refused", "[checkpoint]") {
    const Model model;
    fs::remove(model.folder / "model.safetensors");
    TorchTensor a, b;
    a.name = "deberta.n.gamma", b.name = "n.weight";
    write_bytes(model.folder / "pytorch_model.bin", torch_zip(pickled_dict({a, b}), kFourFloats).bytes());
    CHECK_THAT(model.refused(), Contains("two tensors named n.weight"));
}

TEST_CASE("checkpoint: shards of both kinds, none outside the folder", "[checkpoint]") {
    const Model model;
    fs::remove(model.folder / "model.safetensors");
    const fs::path index = model.folder / "model.safetensors.index.json";
    SECTION("safetensors") {
        write_bytes(model.folder / "a.safetensors", one_tensor("a"));
        write_bytes(model.folder / "b.safetensors", one_tensor("b"));
        write_bytes(index, R"({"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}})");
        CHECK(open_checkpoint(model.folder.path()).weights->names().size() == 2);
        fs::remove(model.folder / "b.safetensors");
        CHECK_THAT(model.refused(), Contains("b.safetensors"));
        write_bytes(model.folder / "b.safetensors", one_tensor("c"));
        CHECK_THAT(model.refused(), Contains("names the tensor b, which none of its files holds"));
        write_bytes(index, R"({"weight_map": {"a": "a.safetensors", "deberta.a": "b.safetensors"}})");
        write_bytes(model.folder / "b.safetensors", one_tensor("deberta.a"));
        CHECK_THAT(model.refused(), Contains("two tensors named a"));
        write_bytes(index, R"({"weight_map": {"a": ")" + std::string(5000, 'n') + R"("}})");
        CHECK(model.refused().size() < 400);
        write_bytes(index, std::string("{\"weight_map\": {\"a\": \"a.safetensors\\u0000\"}}"));
        CHECK_THAT(model.refused(), Contains("expected a file of the same folder"));
    }
    SECTION("pickles") {
        write_bytes(model.folder / "a.bin", torch_zip(pickled_dict({TorchTensor()}), kFourFloats).bytes());
        write_bytes(model.folder / "pytorch_model.bin.index.json", R"({"weight_map": {"x": "a.bin"}})");
        CHECK(read_matrix<float>(*open_checkpoint(model.folder.path()).weights, "x", {2, 2})(1, 1) == 3);
    }
    SECTION("outside") {
        for (const char* name : {"\"../model.safetensors\"", "\"/etc/passwd\"", "\"..\"", "\".\"", "\"\"", "3"}) {
            write_bytes(index, R"({"weight_map": {"x": )" + std::string(name) + "}}");
            CHECK_THAT(model.refused(), Contains("tensor x lies in ") && Contains("of the same folder"));
        }
    }
    SECTION("no map") {
        for (const char* text : {"{}", "{\"weight_map\": []}", "{\"weight_map\": {}}"}) {
            write_bytes(index, text);
            CHECK_THAT(model.refused(), Contains("index.json has no weight_map") || Contains("has no weight_map"));
        }
        write_bytes(index, "{");
        CHECK_THAT(model.refused(), Contains("not valid JSON"));
    }
}

TEST_CASE("checkpoint: a cache whose files are links to blobs opens", "[checkpoint]") {
    const Model model;
    const TemporaryFolder snapshot;
    for (const char* name : {"config.json", "model.safetensors"})
        fs::create_symlink(model.folder / name, snapshot / name);
    CHECK(open_checkpoint(snapshot.path()).weights->names() == std::vector<std::string>{"x"});
    fs::remove(model.folder / "model.safetensors");
    // It is not taken for a file that is absent: another one would be read in its place.
    write_bytes(snapshot / "pytorch_model.bin", "damaged");
    CHECK_THAT(refusal([&] { open_checkpoint(snapshot.path()); }), Contains("model.safetensors: is a link that leads"));
}

TEST_CASE("checkpoint: a config.json that nobody wrote is refused by its size, before it is read", "[checkpoint]") {
    const Model model;
    fs::resize_file(model.folder / "config.json", (64 << 20) + 1);  // zeros that take no room on the disk
    CHECK_THAT(model.refused(), Contains("config.json: has 67108865 bytes, expected at most 64 MiB of JSON"));
    fs::resize_file(model.folder / "config.json", 64 << 20);
    CHECK_THAT(model.refused(), Contains("not valid JSON"));
}

TEST_CASE("checkpoint: containers are tried in the order of the documentation", "[checkpoint]") {
    const Model model;
    write_bytes(model.folder / "pytorch_model.bin", "damaged");
    CHECK(open_checkpoint(model.folder.path()).weights->names() == std::vector<std::string>{"x"});
    fs::remove(model.folder / "model.safetensors");
    CHECK_THAT(model.refused(), Contains("pytorch_model.bin"));
}

}  // namespace locus::test::test_checkpoint
