// A kit for one checkpoint: its own sizes and weights, which stay where they are or lie in the kit.
#include <catch2/catch.hpp>

#include "core/conformance/kit/rehearse.h"
#include "core/io/model_request.h"
#include "tests/changed_model.h"
#include "tests/conformance/kit_fixture.h"

namespace locus::test::test_kit_for_model {

using Catch::Contains;

namespace {

/// A kit for one of the models that come along.
struct ModelKit {
    TemporaryFolder folder;
    ExportSummary summary;
    Kit kit;
    explicit ModelKit(const std::string& model, Dialect dialect = Dialect::hf)
        : summary(export_kit_for(folder / "kit", LOCUS_SOURCE_DIR, model, dialect)), kit(open_kit(folder / "kit")) {}

    Report judged(const fs::path& dumps, std::optional<Dialect> dialect = std::nullopt) const {
        CheckOptions options;
        options.dialect = dialect;
        return check_kit(
                   kit, [&](const KitCase& one) { return read_dump(dumps, one.id); }, options)
            .report;
    }
    std::vector<std::string> ids() const {
        std::vector<std::string> ids;
        for (const KitCase& one : kit.cases) ids.push_back(one.id);
        return ids;
    }
};

/// What a right port in float computes of every case.
void write_right_dumps(const ModelKit& model, const fs::path& dumps, Dialect dialect) {
    for (const KitCase& one : model.kit.cases) {
        const auto port = open_model_of<float>(open_checkpoint(one.model()));
        const auto segments = segments_in(one.folder / "inputs.safetensors");
        write_dump(dumps / (one.id + ".safetensors"), port->forward(segments, dialect, StageFilter::of(one.stages)),
                   "F32");
    }
}

}  // namespace

TEST_CASE("kit for a model: weights that hold NaN are refused by name, and no kit is written", "[kit][for][bad]") {
    const TemporaryFolder folder;
    copy_changed(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3", folder / "model", nlohmann::json::object(),
                 {{"somebody.elses", {1}}});
    const fs::path weights = folder / "model/model.safetensors";
    std::string bytes = read_bytes(weights);
    const TensorFile file = open_safetensors(weights);
    const TensorEntry* norm = file.find("deberta.embeddings.LayerNorm.weight");
    REQUIRE(norm != nullptr);
    const Tensor<float> values = read_tensor<float>(*norm);
    const std::size_t at = bytes.find(bytes_of(values[0]) + bytes_of(values[1]) + bytes_of(values[2]));
    REQUIRE(at != std::string::npos);
    bytes.replace(at, 4, bytes_of(std::nanf("")));
    write_bytes(weights, bytes);
    CHECK_THAT(
        refusal([&] { export_kit_for(folder / "kit", LOCUS_SOURCE_DIR, folder / "model", Dialect::hf); }),
        Contains("embeddings.LayerNorm.weight holds NaN or infinity") && Contains("no port could pass such a kit"));
    CHECK_FALSE(fs::exists(folder / "kit"));
}

TEST_CASE("kit for a model: short, long and padded texts of every family, and a right port passes", "[kit][for]") {
    using Ids = std::vector<std::string>;
    const std::vector<std::pair<std::string, Ids>> models = {
        {"tiny-v3", {"L3/t17", "L3/padded", "L3/t300", "L3/t600"}},
        {"tiny-roformer", {}},
        {"tiny-txl", {"L3/t17", "L3/memory", "L3/t300", "L3/t600"}},
        {"tiny-xlnet", {"L3/t17", "L3/padded", "L3/t300", "L3/t600"}}};
    for (const auto& [name, ids] : models) {
        INFO(name);
        const ModelKit model(name);
        CHECK(model.summary.bytes <= 20'000'000);
        if (!ids.empty()) CHECK(model.ids() == ids);
        REQUIRE(model.kit.cases.size() >= 3);
        for (const KitCase& one : model.kit.cases) {
            INFO(one.id);
            CHECK(one.has_model());
            CHECK_FALSE(fs::exists(one.folder / "model"));  // the weights stay where they are
            CHECK(std::find(one.stages.begin(), one.stages.end(),
                            one.id == "L3/memory" ? "segment.1.layer.0.output" : "layer.0.output") != one.stages.end());
            for (const std::string& stage : one.stages) CHECK(stage.find("layer.2.") == std::string::npos);
        }
        const TemporaryFolder dumps;
        write_right_dumps(model, dumps.path(), Dialect::hf);
        const Report report = model.judged(dumps.path());
        CHECK(report.pass());
        CHECK(report.cases.size() == model.kit.cases.size());
    }
}

TEST_CASE("kit for a model: a log bucket that is rounded down is seen in long texts alone, and named", "[kit][for]") {
    const ModelKit model("tiny-v3");
    const TemporaryFolder dumps;
    const Rehearsal done = rehearse(model.kit, MistakeChoice::parse("16"), dumps / "port");
    CHECK(std::find(done.wrong.begin(), done.wrong.end(), "L3/t300") != done.wrong.end());
    const Report report = model.judged(dumps / "port");
    CHECK_FALSE(report.pass());
    for (const CaseReport& one : report.cases) {
        INFO(one.id);
        if (one.verdict != Verdict::fail) continue;
        REQUIRE(one.diagnosis);
        REQUIRE(one.diagnosis->named);
        CHECK(one.diagnosis->named->mistake == 16);
    }
}

TEST_CASE("kit for a model: another dialect is computed from the checkpoint, the first layers of it", "[kit][for]") {
    const ModelKit model("tiny-v3");
    const TemporaryFolder dumps;
    write_right_dumps(model, dumps.path(), Dialect::official);
    CHECK(model.judged(dumps.path(), Dialect::official).pass());
    const Report hf = model.judged(dumps.path());
    CHECK_FALSE(hf.pass());                   // rows of hidden queries
    for (const CaseReport& one : hf.cases) {  // beyond M the index differs too
        if (one.id == "L3/t17") CHECK(one.verdict == Verdict::pass);
        if (one.id == "L3/padded") CHECK(one.verdict == Verdict::fail);
    }
}

TEST_CASE("kit for a model: one that holds its weights is judged where it was moved to", "[kit][for]") {
    const TemporaryFolder folder;
    fs::copy(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3", folder / "model");
    export_kit_for(folder / "kit", LOCUS_SOURCE_DIR, folder / "model", Dialect::hf, {}, ModelPlace::copied);
    fs::remove_all(folder / "model");
    fs::create_directory(folder / "elsewhere");
    fs::rename(folder / "kit", folder / "elsewhere/moved");
    const Kit kit = open_kit(folder / "elsewhere/moved");
    const auto json = nlohmann::json::parse(read_file(kit.cases.front().folder / "case.json"));
    CHECK(json["checkpoint"] == "../../../model");  // from the folder of case.json, not from that of the kit
    for (const KitCase& one : kit.cases) {
        INFO(one.id);
        CHECK(one.model() == folder / "elsewhere/moved/model");
        CHECK(one.has_model());
        CHECK_FALSE(fs::exists(one.folder / "model"));  // once for all cases
    }
    rehearse(kit, MistakeChoice::parse("16"), folder / "dumps");  // a port's mistake, computed from the weights
    const auto read = [&](const KitCase& one) { return read_dump(folder / "dumps", one.id); };
    for (const CaseReport& one : check_kit(kit, read, CheckOptions{}).report.cases) {
        INFO(one.id);
        CHECK(one.verdict == (one.id == "L3/t300" || one.id == "L3/t600" ? Verdict::fail : Verdict::pass));
        if (one.verdict == Verdict::fail) CHECK((one.diagnosis && one.diagnosis->named->mistake == 16));
    }
    write_bytes(folder / "elsewhere/moved/model/config.json", "{}");
    CHECK_THAT(refusal([&] { open_kit(folder / "elsewhere/moved"); }), Contains("was changed since the kit"));
}

TEST_CASE("kit for a model: weights in shards are not copied, and no kit is written", "[kit][for][bad]") {
    const TemporaryFolder folder;
    copy_changed(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3", folder / "model", nlohmann::json::object(),
                 {{"somebody.elses", {1}}});
    nlohmann::json index;
    for (const TensorEntry& entry : open_safetensors(folder / "model/model.safetensors").entries)
        index["weight_map"][entry.name] = "all.safetensors";
    fs::rename(folder / "model/model.safetensors", folder / "model/all.safetensors");
    write_bytes(folder / "model/model.safetensors.index.json", index.dump());
    fs::copy(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3/pytorch_model.bin", folder / "model");  // is not read
    const auto exported = [&](ModelPlace place) {
        export_kit_for(folder / "kit", LOCUS_SOURCE_DIR, folder / "model", Dialect::hf, {}, place);
    };
    CHECK_THAT(refusal([&] { exported(ModelPlace::copied); }),
               Contains("model: its weights lie in shards, expected one file, model.safetensors or pytorch_model.bin"));
    CHECK_FALSE(fs::exists(folder / "kit"));
    exported(ModelPlace::stays);
    CHECK(open_kit(folder / "kit").cases.front().model() == folder / "model");
}

TEST_CASE("kit for a model: the formula of p2c is the one of the dialect", "[kit][for]") {
    for (const auto& [dialect, row] : {std::pair{Dialect::paper, "delta(j,i)"}, {Dialect::official, "delta(i,j)"}}) {
        const ModelKit model("tiny-v3", dialect);
        const auto json = nlohmann::json::parse(read_file(model.kit.cases.front().folder / "case.json"));
        int terms = 0;
        for (const auto& stage : json["stages"])
            if (stage["name"].get<std::string>().ends_with(".p2c")) {
                CHECK_THAT(stage["formula"].get<std::string>(), Contains(row));
                ++terms;
            }
        CHECK(terms > 0);
    }
}

TEST_CASE("kit for a model: what cannot be is one sentence", "[kit][for][cli]") {
    const TemporaryFolder folder;
    const std::string out = (folder / "kit").string();
    const Outcome gone = run("locus-kit", {"export", out, "--for", (folder / "gone").string()});
    CHECK(gone.status == 3);
    CHECK(gone.sentences() == 1);
    const Outcome alone = run("locus-kit", {"export", out, "--dialect", "hf"});
    CHECK(alone.status == 2);
    CHECK_THAT(alone.err, Contains("--dialect goes with --for only"));
    const Outcome copy = run("locus-kit", {"export", out, "--copy-model"});
    CHECK(copy.status == 2);
    CHECK_THAT(copy.err, Contains("--copy-model goes with --for only"));
    CHECK(folder.count() == 0);
    const Outcome good = run("locus-kit", {"export", out, "--for", "tiny-roformer", "--dialect", "official"});
    CHECK(good.status == 0);
    CHECK_THAT(read_file(folder / "kit" / "README.md"), Contains("A conformance kit for one checkpoint"));
    CHECK_FALSE(fs::exists(folder / "kit" / "model"));
    const std::string whole = (folder / "whole").string();
    CHECK(run("locus-kit", {"export", whole, "--for", "tiny-roformer", "--copy-model"}).status == 0);
    CHECK(fs::exists(folder / "whole" / "model" / "model.safetensors"));
}

}  // namespace locus::test::test_kit_for_model
