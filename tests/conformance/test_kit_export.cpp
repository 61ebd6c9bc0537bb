// A kit holds what a port needs, all of it hashed, and appears as a whole or not at all.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "core/conformance/formulas/formulas.h"
#include "core/conformance/kit/cases.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/sha256.h"
#include "core/conformance/mistakes/catalogue.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/sanitizers.h"

namespace locus::test::test_kit_export {

namespace {

std::vector<std::int64_t> index_values(const std::string& id, const std::string& stage) {
    const Trace trace = reference_of(KitFixture::one(id));
    return trace.at(stage).as<std::int64_t>().values();
}

/// A mask that hides something and shows something.
bool has_both(const IndexTensor& mask) {
    const auto [least, most] = std::minmax_element(mask.values().begin(), mask.values().end());
    return *least == 0 && *most == 1;
}

}  // namespace

TEST_CASE("sha256: the examples of the standard", "[kit]") {
    CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    // One block with its length, two because of it, and a whole block, as sha256sum prints them.
    CHECK(sha256(std::string(55, 'a')) == "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    CHECK(sha256(std::string(56, 'a')) == "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    CHECK(sha256(std::string(64, 'a')) == "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    CHECK(sha256(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("kit export: every level and family, small and quick, every file hashed", "[kit]") {
    const TemporaryFolder folder;
    const auto started = std::chrono::steady_clock::now();
    const ExportSummary summary = export_kit(folder / "kit", LOCUS_SOURCE_DIR);
    CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(3 * kPatience));
    CHECK(summary.bytes <= 12 << 20);  // 12 MiB, so that it is fetched in a moment
    CHECK(folder.count() == 1);        // nothing half-written beside it
    const Kit kit = open_kit(folder / "kit");
    CHECK(kit.cases.size() == summary.cases);
    for (const char* level : {"L0", "L1", "L2", "L3"})
        for (const char* family : {"deberta", "roformer", "transfo-xl", "xlnet"}) {
            INFO(level << " " << family);
            const bool index_of_roformer = level == std::string("L0") && family == std::string("roformer");
            CHECK(std::any_of(kit.cases.begin(), kit.cases.end(), [&](const KitCase& one) {
                      return one.level == level && one.family == family;
                  }) != index_of_roformer);  // a rotation has no table of whole numbers
        }
    const auto json = nlohmann::json::parse(read_file(folder / "kit" / "kit.json"));
    std::size_t listed = json["files"].size() + 1;
    for (const auto& one : json["cases"]) listed += one["files"].size();
    CHECK(listed == summary.files);
    for (const char* file : {"README.md", "schema/kit.json", "schema/case.json", "schema/report.json"})
        CHECK(json["files"].contains(file));
    // Every number of the catalogue is one that the schema of reports allows, and no other.
    int last = 0;
    for (const Mistake& mistake : catalogue()) last = std::max(last, mistake.number);
    const auto schema = nlohmann::json::parse(read_file(folder / "kit" / "schema" / "report.json")).flatten();
    int said = 0;
    for (const auto& [path, value] : schema.items())
        if (path.ends_with("/mistake/maximum")) {
            CHECK(value == last);
            ++said;
        }
    CHECK(said == 3);
}

TEST_CASE("kit: every family has a padded batch, distances of 300, and fewer queries than keys", "[kit]") {
    for (const char* family : {"deberta", "roformer", "transfo-xl", "xlnet"}) {
        bool padded = false, is_long = false, fewer = false;
        for (const KitCase& one : KitFixture::kit().cases) {
            if (one.family != family) continue;
            const bool has_inputs = fs::exists(one.folder / "inputs.safetensors");  // L0 is given numbers alone
            const Trace inputs = has_inputs ? read_trace(one.folder / "inputs.safetensors") : Trace();
            const Trace reference = reference_of(one);
            for (const Stage& input : inputs.stages()) {
                if (input.name == "mask" || input.name == "input_mask")
                    padded |= input.shape().front() == 2 && has_both(input.as<std::int64_t>());
                // Transformer-XL knows no padding: two texts of one length.
                padded |= family == std::string("transfo-xl") && input.name == "tokens.0" && input.shape().front() == 2;
            }
            for (const Stage& stage : reference.stages()) {
                const bool of_pairs = stage.name.ends_with(".scores") || stage.name.ends_with(".bd");
                is_long |= of_pairs && stage.shape()[3] >= 300;
                is_long |= stage.name.ends_with(".q_rot") && stage.shape()[2] >= 300;
                fewer |= of_pairs && stage.shape()[2] < stage.shape()[3];
            }
        }
        INFO(family);
        CHECK(padded);
        CHECK(is_long);
        CHECK(fewer);
    }
}

TEST_CASE("kit export: a folder that holds something stays as it is", "[kit]") {
    const TemporaryFolder folder;
    write_file(folder / "mine", "precious");
    CHECK(refusal([&] { export_kit(folder.path(), LOCUS_SOURCE_DIR); }, Fault::usage)
              .find("expected a new or an empty folder") != std::string::npos);
    CHECK(read_file(folder / "mine") == "precious");
    CHECK(refusal([&] { export_kit(folder / "new", folder.path()); }).find("source tree") != std::string::npos);
    CHECK(listing(folder.path()) == std::vector<std::string>{"mine"});
}

TEST_CASE("kit: a stage follows from stages before it, and all but the first follow from some", "[kit]") {
    for (const KitCase& one : KitFixture::kit().cases) {
        INFO(one.id);
        std::vector<std::string> before;
        for (const std::string& stage : one.stages) {
            INFO(stage);
            for (const std::string& from : one.depends.at(stage))
                CHECK(std::find(before.begin(), before.end(), from) != before.end());
            before.push_back(stage);
        }
        // Whole models: what follows from nothing is a table or a table's row.
        if (one.level != "L3") continue;
        for (const std::string& stage : one.stages) {
            INFO(stage);
            const std::string stem = stage.starts_with("segment.") ? stage.substr(stage.find('.', 8) + 1) : stage;
            const bool root = stem == "embeddings.word" || stem.starts_with("relative.") ||
                              stem.starts_with("rotary.") || stem.starts_with("positions.") || stem == "layer.0.g.q" ||
                              stem == "mlm.positions" || stem == "rtd.labels" || stem == "sift.xhat" ||
                              stem == "sift.delta0";
            CHECK(one.depends.at(stage).empty() == root);
        }
    }
}

TEST_CASE("kit: a case says the formulas of its configuration, and what its inputs are", "[kit]") {
    const auto entry = [&](const std::string& id, const char* list, const std::string& name) {
        const auto json = nlohmann::json::parse(read_bytes(KitFixture::kit().folder / "cases" / id / "case.json"));
        for (const auto& one : json[list])
            if (one["name"] == name) return one;
        FAIL(id << " has no " << name);
        return nlohmann::json();
    };
    const auto formula = [&](const std::string& id, const std::string& stage) {
        return entry(id, "stages", stage)["formula"].get<std::string>();
    };
    CHECK(formula("L3/hf_deberta_v2_conv", "layer.0.output") == "mask * norm(output_before_conv + conv_act)");
    CHECK(formula("L3/hf_deberta_v2_conv", "layer.1.output") == "norm(ffn + attention)");
    CHECK(formula("L3/hf_deberta_v2_c2p_only", "layer.0.scores") == "(c2c + c2p) / sqrt(n d), n = 2");
    CHECK(formula("L3/hf_deberta_v2_p2c_only", "layer.0.scores") == "(c2c + p2c) / sqrt(n d), n = 2");
    CHECK(formula("L3/hf_deberta_v1", "layer.0.scores") == "(c2c + c2p + p2c) / sqrt(n d)");
    CHECK(formula("L3/hf_deberta_v1_talking_head", "layer.0.probs") == "softmax_j(scores_mixed)");
    CHECK(formula("L3/hf_deberta_v1_talking_head", "layer.0.context") == "probs_mixed v, heads joined");
    CHECK(formula("L3/txl_word_clusters", "segment.0.lm.logits") == "log p(cluster) + log p(word | cluster)");
    CHECK(formula("L3/txl_basic", "segment.0.lm.logits") == "x W^T + b");
    CHECK_THAT(formula("L3/txl_pre_lnorm", "segment.0.layer.0.attention"), Catch::Contains("with pre_lnorm dense"));
    CHECK(entry("L3/txl_basic", "inputs", "tokens.1")["axes"] == nlohmann::json({"B", "T"}));
    CHECK(entry("L3/hf_roformer_mask3d", "inputs", "mask")["axes"] == nlohmann::json({"B", "Tq", "Tk"}));
    CHECK(entry("L3/hf_deberta_v1", "inputs", "mask")["formula"] ==
          "1 = visible; every token is, in cases without one");
}

TEST_CASE("kit: what a stage follows from is named through stages that are not known", "[kit]") {
    const std::vector<std::string> known = {"embeddings.output", "relative.index", "relative.table", "layer.0.q",
                                            "layer.0.p2c",       "layer.0.probs",  "layer.0.output"};
    using Names = std::vector<std::string>;
    CHECK(depends_of("layer.0.p2c", known) == Names{"embeddings.output", "relative.table", "relative.index"});
    CHECK(depends_of("layer.0.probs", known) == Names{"layer.0.p2c"});
    CHECK(depends_of("layer.0.scores", {"layer.0.q", "layer.0.k_r", "layer.0.scores"}) ==
          Names{"layer.0.q", "layer.0.k_r"});  // no term of them is known
    CHECK(depends_of("emd.query.0", {"layer.0.output", "layer.1.output", "emd.query.0"}) == Names{"layer.0.output"});
    CHECK(depends_of("segment.1.layer.0.k", {"segment.0.memory.0", "segment.1.embeddings.output"}) ==
          Names{"segment.1.embeddings.output", "segment.0.memory.0"});
    CHECK(depends_of("layer.1.g.context", {"layer.1.v", "layer.1.g.probs"}) == Names{"layer.1.g.probs", "layer.1.v"});
    // However many layers lie between, and however many ways lead through each.
    CHECK(depends_of("layer.200.output", {"embeddings.output"}) == Names{"embeddings.output"});
    CHECK(depends_of("layer.2147483647.output", {"embeddings.output"}).empty());  // nobody has so many
}

TEST_CASE("kit: index tensors hold the numbers of the sources", "[kit]") {
    CHECK(index_values("L0/relpos_7x7_k7", "relative.index")[0] == 7);
    CHECK(index_values("L0/relpos_7x7_k7", "relative.index")[6] == 1);
    CHECK(index_values("L0/relpos_7x7_k7", "relative.index")[42] == 13);
    const std::vector<std::int64_t> clamped = index_values("L0/relpos_7x7_k3", "relative.index");
    CHECK(std::vector<std::int64_t>(clamped.begin(), clamped.begin() + 7) ==
          std::vector<std::int64_t>{3, 2, 1, 0, 0, 0, 0});
    CHECK(std::vector<std::int64_t>(clamped.end() - 7, clamped.end()) ==
          std::vector<std::int64_t>{5, 5, 5, 5, 5, 4, 3});
    // Column 0 of the past: offset i; row 0 of the future: offset -j.
    const auto past = index_values("L0/buckets_256_512_past", "relative.index");
    for (const auto& [offset, bucket] : std::vector<std::pair<std::size_t, int>>{
             {127, 127}, {128, 128}, {129, 129}, {135, 133}, {200, 169}, {511, 255}, {512, 255}})
        CHECK(past[2 * offset] == 256 + bucket);
    const auto official = index_values("L0/buckets_256_512_future", "relative.index");
    const auto hf = index_values("L0/buckets_256_512_future_hf", "relative.index");
    CHECK(official[511] == 1);
    CHECK(official[512] == 1);
    CHECK(official[513] == 1);
    CHECK(hf[511] == 1);
    CHECK(hf[512] == 0);
    CHECK(hf[1029] == 0);
    // The order 3,2,4,1: token 3 sees no other, token 1 all others.
    CHECK(index_values("L0/order_3241", "mask.query") ==
          std::vector<std::int64_t>{1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1});
    CHECK(index_values("L0/order_3241", "mask.content") ==
          std::vector<std::int64_t>{0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0});
    CHECK(index_values("L0/shift_txl_t3_m0", "shift.column") ==
          std::vector<std::int64_t>{2, -1, -1, 1, 2, -1, 0, 1, 2});
}

TEST_CASE("kit: recorded shifts read the columns that the index cases name", "[kit]") {
    for (const auto& [id, scope, memory, both] : {std::tuple{"L3/txl_basic", "segment.1.layer.0.", 5, false},
                                                  {"L3/hf_xlnet_mems", "segment.1.layer.0.", 4, true}}) {
        INFO(id);
        const Trace trace = reference_of(KitFixture::one(id));
        const auto& raw = trace.at(scope + std::string("bd_raw")).as<double>();
        const auto& shifted = trace.at(scope + std::string("bd")).as<double>();
        const Index queries = shifted.extent(2), keys = shifted.extent(3);
        const Trace index = index_reference(
            {{"kind", "shift"}, {"queries", queries}, {"memory", memory}, {"both_sides", both}}, Dialect::official);
        const IndexTensor& columns = index.at("shift.column").as<std::int64_t>();
        REQUIRE(columns.shape() == Shape{queries, keys});
        Index compared = 0;
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) {
                const double value = shifted.matrix()(i, j);
                if (value == 0) continue;  // hidden by the mask
                REQUIRE(columns[i * keys + j] >= 0);
                CHECK(value == Approx(raw.matrix()(i, columns[i * keys + j])));
                ++compared;
            }
        CHECK(compared > queries * 4);
    }
}

TEST_CASE("kit: references come from other people's code where there is one", "[kit]") {
    for (const KitCase& one : KitFixture::kit().cases) {
        const auto json = nlohmann::json::parse(read_file(one.folder / "case.json"));
        const bool own = json["source"]["library"] == "locus";
        INFO(one.id);
        static const std::set<std::string> made = {"L1/rope_half_split",        "L1/rope_cache",
                                                   "L1/linear_attention_small", "L1/softmax_huge_hidden",
                                                   "L1/tiles_t70_k37",          "L1/tiles_t70_b18"};
        CHECK(own == (one.level == "L0" || made.contains(one.id) || one.id.starts_with("L1/terms_h5")));
        CHECK(one.has_model() == (one.level == "L2" || one.level == "L3"));
        CHECK(json["stages"].size() == reference_of(one).stages().size());
        // Gradients and linear attention were recorded alone, not in a model.
        const bool alone = one.id.starts_with("L1/linear_attention") || one.id.starts_with("L1/grad_");
        if (one.level == "L1" && !own) CHECK(alone == (KitFixture::kit().find(one.cut_from) == nullptr));
    }
}

TEST_CASE("kit: linear attention is what torch computed, and cases without a model explain themselves", "[kit]") {
    for (const char* id : {"L1/linear_attention", "L1/linear_attention_causal", "L1/linear_attention_small",
                           "L1/rope_cache", "L1/softmax_huge_hidden", "L1/tiles_t70_k37", "L1/tiles_t70_b18"}) {
        const KitCase& one = KitFixture::one(id);
        const Trace reference = reference_of(one), nothing;
        Trace inputs = inputs_of(one);
        const Trace given = read_trace(one.folder / "inputs.safetensors");
        if (given.find("mask")) inputs.add(given.at("mask"));
        if (reference.find("relative.index")) inputs.add(reference.at("relative.index"));
        Evidence evidence{inputs, nothing, nullptr, {}};
        evidence.family = family_named(one.family);
        evidence.formulas = formulas_of_kind(one.config);
        const Replay replay(evidence, "layer.0.");
        for (const std::string& stage : one.stages) {
            INFO(id << " " << stage);
            const auto [scope, stem] = scope_and_stem(stage);
            const Tensor<double> expected = widened(reference.at(stage)), found = replay(stem);
            REQUIRE(found.shape() == expected.shape());
            double worst = 0;
            for (Index n = 0; n < found.size(); ++n) worst = std::max(worst, std::abs(found[n] - expected[n]));
            CHECK(worst <= 1e-12);
        }
    }
}

TEST_CASE("kit: weights of linear attention do not sum to 1, and padding and the future have none", "[kit]") {
    const Trace reference = reference_of(KitFixture::one("L1/linear_attention"));
    const auto& weights = reference.at("layer.0.weights").as<double>();
    double nearest_to_1 = 1;
    for (Index n = 0; n < weights.rows().rows(); ++n)
        nearest_to_1 = std::min(nearest_to_1, std::abs(weights.rows().row(n).sum() - 1));
    CHECK(nearest_to_1 > 1e-4);
    // The last two keys of the second sample are padding.
    CHECK(weights.matrix(weights.extent(1)).rightCols(2).isZero(0));
    const Trace future = reference_of(KitFixture::one("L1/linear_attention_causal"));
    const Matrix<double> causal = future.at("layer.0.weights").as<double>().matrix(0);
    CHECK(causal.triangularView<Eigen::StrictlyUpper>().toDenseMatrix().isZero(0));
}

TEST_CASE("kit: own terms follow from the right formulas of the diagnosis", "[kit]") {
    for (const char* id : {"L1/terms_h5_t7_k3", "L1/terms_h5_q3_k6"}) {
        const KitCase& one = KitFixture::one(id);
        const Trace reference = reference_of(one), inputs = inputs_of(one), nothing;
        const Evidence evidence{inputs, nothing, nullptr, {}};
        const Replay replay(evidence, "layer.0.");
        for (const char* stem : {"c2c", "c2p", "p2c", "scores"}) {
            INFO(id << " " << stem);
            const auto& expected = reference.at(std::string("layer.0.") + stem).as<double>();
            const Tensor<double>& found = replay(stem);
            REQUIRE(found.shape() == expected.shape());
            for (Index n = 0; n < found.size(); ++n) CHECK(found[n] == Approx(expected[n]).margin(1e-12));
        }
        const auto rows = reference.at("layer.0.probs").as<double>().rows();
        for (Index i = 0; i < rows.rows(); ++i) CHECK(rows.row(i).sum() == Approx(1));
    }
}

}  // namespace locus::test::test_kit_export
