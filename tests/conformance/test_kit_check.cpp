// What is right passes in every dtype and under its dialect; what is wrong is named where it begins.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>

#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/kit/case.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/io/checkpoint.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/sanitizers.h"

namespace locus::test::test_kit_check {

namespace {

CheckResult check_folder(const fs::path& dumps, CheckOptions options = {}) {
    options.candidate = dumps.string();
    if (options.today.empty()) options.today = "2026-11-21";
    return check_kit(
        KitFixture::kit(), [&](const KitCase& one) { return read_dump(dumps, one.id); }, options);
}

Tensor<double> nudged(Tensor<double> values) {
    values[values.size() / 2] += 0.01;
    return values;
}

}  // namespace

TEST_CASE("kit check: the reference itself passes in f64, f32, f16 and bf16", "[kit]") {
    for (const char* dtype : {"F64", "F32", "F16", "BF16"}) {
        const TemporaryFolder dumps;
        for (const KitCase& one : KitFixture::kit().cases)
            write_dump(dumps / (one.id + ".safetensors"), reference_of(one), dtype);
        const auto started = std::chrono::steady_clock::now();
        const CheckResult result = check_folder(dumps.path());
        CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(2 * kPatience));
        INFO(dtype);
        CHECK(result.report.pass());
        CHECK(result.report.dtype == dtype);
        CHECK_FALSE(result.refusal);
        CHECK(result.report.cases.size() == KitFixture::kit().cases.size());
        for (const CaseReport& one : result.report.cases) {
            INFO(one.id);
            CHECK(one.verdict == Verdict::pass);
            CHECK(one.comparison.missing.empty());
        }
    }
}

TEST_CASE("kit check: halves that were stored as F32 are judged as halves, and that is said", "[kit]") {
    const KitCase& one = KitFixture::one("L3/ms_deberta_v3_emd");
    Trace halves;
    const Trace reference = reference_of(one);
    for (const Stage& stage : reference.stages()) {
        Stage rounded = stage;
        if (auto* values = std::get_if<Tensor<double>>(&rounded.values))
            for (Index n = 0; n < values->size(); ++n)
                (*values)[n] = static_cast<double>(Eigen::half(static_cast<float>((*values)[n])));
        halves.add(rounded);
    }
    const TemporaryFolder dumps;
    const fs::path file = dumps / (one.id + ".safetensors");
    write_dump(file, halves, "F32");
    const CheckResult result = check_folder(dumps.path());
    CHECK(result.report.pass());
    CHECK(result.report.dtype == "F16 in F32");
    CHECK_THAT(report_json(result.report), Catch::Contains("\"rounded_to\": \"F16\""));
    CHECK_THAT(report_text(result.report, false), Catch::Contains("in half precision some mistakes are smaller"));
    Report whole = result.report;
    whole.dtype = "F32";
    CHECK_THAT(report_text(whole, false), !Catch::Contains("half precision"));
    const Outcome pair = run("locus-check", {(one.folder / "reference.safetensors").string(), file.string()});
    CHECK(pair.status == 0);
    CHECK_THAT(pair.out, Catch::Contains("every number of the candidate is exact in F16, whatever it is stored in"));

    const CaseReport wrong = check_one(one.id, spoiled(halves, "layer.0.q", nudged));
    CHECK(wrong.rounded_to.empty());  // the value that was changed is no half
    CHECK(wrong.verdict == Verdict::fail);
}

TEST_CASE("check: a reference of the kit is as exact as its case.json says", "[kit]") {
    const KitCase& one = KitFixture::one("L3/hf_roformer");
    REQUIRE(one.accuracy > 1e-7);
    const TemporaryFolder folder;
    const fs::path reference = folder / "reference.safetensors", candidate = folder / "candidate.safetensors";
    fs::copy_file(one.folder / "reference.safetensors", reference);
    write_dump(candidate, spoiled(reference_of(one), "layer.0.q", [&](Tensor<double> values) {
                   values[3] += one.accuracy / 2;
                   return values;
               }));
    const auto checked = [&](const std::string& accuracy) {
        if (!accuracy.empty()) write_file(folder / "case.json", "{\"accuracy\": " + accuracy + "}");
        return run("locus-check", {reference.string(), candidate.string()});
    };
    CHECK(checked("").status == 1);
    const Outcome stated = checked("1e-6");
    CHECK(stated.status == 0);
    CHECK_THAT(stated.out, Catch::Contains("the reference is exact to 1e-06, says its case.json"));
    CHECK(checked("1e-12").status == 1);
    for (const char* wrong : {"-1", "1e300", "\"much\"", "null", "0.02"}) {
        INFO(wrong);
        const Outcome refused = checked(wrong);
        CHECK(refused.status == 3);
        CHECK(refused.sentences() == 1);
        CHECK_THAT(refused.err, Catch::Contains("case.json") && Catch::Contains("accuracy"));
    }
}

TEST_CASE("kit check: exact numbers pass although the recorded code rounds to float32 in places", "[kit]") {
    for (const KitCase& one : KitFixture::kit().cases) {
        if (one.level != "L3" || one.id == "L3/ms_sift") continue;  // a pass has no stage of SiFT
        INFO(one.id);
        const Checkpoint checkpoint = open_checkpoint(one.folder / "model");
        const auto model = open_model<double>(checkpoint.config_json, one.id, checkpoint.weights);
        const Trace trace = model->forward(segments_in(one.folder / "inputs.safetensors"), one.dialect);
        CHECK(check_one(one.id, trace).verdict == Verdict::pass);
    }
}

TEST_CASE("kit check: one wrong value is named, whichever stage it stands in", "[kit]") {
    for (const KitCase& one : KitFixture::kit().cases) {
        if (one.level == "L3" && one.id != "L3/ms_deberta_v3_emd" && one.id != "L3/txl_basic") continue;
        const Trace reference = reference_of(one);
        for (const std::string& name : one.stages) {
            if (one.level == "L3" && !name.ends_with(".p2c") && !name.ends_with(".bd") && !name.ends_with(".logits"))
                continue;
            INFO(one.id << " " << name);
            Trace wrong = spoiled(reference, name, nudged);
            if (reference.at(name).dtype() == std::string("I64")) {
                IndexTensor values = reference.at(name).as<std::int64_t>();
                values[values.size() / 2] += 1;
                wrong = Trace();
                for (const Stage& stage : reference.stages())
                    wrong.add(stage.name == name ? named(name, values) : stage);
            }
            const CaseReport report = check_one(one.id, wrong);
            CHECK(report.verdict == Verdict::fail);
            REQUIRE(report.first);
            CHECK(report.first->name == name);
            CHECK(report.first->expected.shape() == report.first->found.shape());
            REQUIRE(report.diagnosis);
            CHECK(report.would_narrow.empty());  // everything was reported
        }
    }
}

TEST_CASE("kit check: a term of the paper is mistake 1 in terms, layers and models", "[kit]") {
    for (const char* id :
         {"L1/p2c_t9_k3", "L1/p2c_t5_k9", "L1/p2c_t21_b8", "L2/deberta_clamp", "L3/ms_deberta_v3_emd"}) {
        INFO(id);
        const Trace paper = reference_under(KitFixture::kit(), KitFixture::one(id), Dialect::paper);
        const CaseReport report = check_one(id, paper);
        CHECK(report.verdict == Verdict::fail);
        REQUIRE(report.first);
        CHECK(report.first->name == "layer.0.p2c");
        REQUIRE(report.diagnosis);
        REQUIRE(report.diagnosis->named);
        CHECK(report.diagnosis->named->mistake == 1);
        CHECK(report.first->axes == std::vector<std::string>{"B", "H", "Tq", "Tk"});
        CHECK(report.first->tokens.size() == static_cast<std::size_t>(report.first->expected.extent(2)));
        CheckOptions options;
        options.dialect = Dialect::paper;
        CHECK(check_one(id, paper, options).verdict == Verdict::pass);
    }
}

TEST_CASE("kit check: a port that follows a dialect throughout passes under it and only there", "[kit]") {
    for (const Dialect dialect : {Dialect::hf, Dialect::official, Dialect::paper, Dialect::reference}) {
        CheckOptions options;
        options.dialect = dialect;
        Index differ = 0;
        for (const KitCase& one : KitFixture::kit().cases) {
            INFO(one.id << " " << to_string(dialect));
            const Trace trace = reference_under(KitFixture::kit(), one, dialect);
            CHECK(check_one(one.id, trace, options).verdict == Verdict::pass);
            differ += check_one(one.id, trace).verdict == Verdict::fail;
        }
        CHECK(differ >= 10);
    }
    // Masked rows: zeros in official code, uniform in Hugging Face's.
    const KitCase& masked = KitFixture::one("L1/softmax_masked");
    const auto last_row = [](const Trace& trace) {
        const auto& probs = trace.at("layer.0.probs").as<double>();
        return probs.matrix(probs.extent(0) * probs.extent(1) - 1).row(probs.extent(2) - 1).eval();
    };
    CHECK(last_row(reference_of(masked)).sum() == 0);
    CHECK(last_row(reference_under(KitFixture::kit(), masked, Dialect::hf)).sum() == Approx(1));
}

TEST_CASE("kit check: a port that follows another dialect is told which one", "[kit]") {
    const KitCase& one = KitFixture::one("L3/ms_deberta_v3_long");
    const auto judged = [&](const Trace& trace) {
        CheckOptions options;
        options.family = "deberta";
        const auto of_case = [&](const KitCase& each) {
            return each.id == one.id ? std::optional(dump_of(trace)) : std::nullopt;
        };
        const CheckResult result = check_kit(KitFixture::kit(), of_case, options);
        const auto found = std::find_if(result.report.cases.begin(), result.report.cases.end(),
                                        [&](const CaseReport& each) { return each.id == one.id; });
        REQUIRE(found != result.report.cases.end());
        return *found;
    };
    const Trace hf = reference_under(KitFixture::kit(), one, Dialect::hf);
    const CaseReport report = judged(hf);
    CHECK(report.verdict == Verdict::fail);
    CHECK(report.passes_as == "hf");
    CHECK_THAT(divergence_text(report), Catch::Contains("  with --dialect hf this case passes: "));
    CHECK(judged(reference_of(one)).passes_as.empty());
    const CaseReport wrong = judged(spoiled(hf, "layer.0.v", [](Tensor<double> values) {
        values[0] += 1;
        return values;
    }));
    CHECK(wrong.verdict == Verdict::fail);
    CHECK(wrong.passes_as.empty());
}

TEST_CASE("kit check: what follows from given stages is the same in every dialect", "[kit]") {
    // Their inputs are recorded with one dialect's masked rows, or one dialect's p2c; the step itself has no dialect.
    for (const char* id :
         {"L1/context_joined", "L1/gelu_erf", "L1/norm_post", "L1/scores_three_terms", "L1/c2p_t21_b8"})
        for (const Dialect dialect : {Dialect::hf, Dialect::official, Dialect::paper, Dialect::reference}) {
            INFO(id << " " << to_string(dialect));
            CheckOptions options;
            options.dialect = dialect;
            CHECK(check_one(id, reference_of(KitFixture::one(id)), options).verdict == Verdict::pass);
        }
    CheckOptions options;
    options.dialect = Dialect::hf;
    const Trace hf = reference_of(KitFixture::one("L0/buckets_256_512_future_hf"));
    CHECK(check_one("L0/buckets_256_512_future", hf, options).verdict == Verdict::pass);
    CHECK(check_one("L0/buckets_256_512_future", hf).verdict == Verdict::fail);
    // The paper says nothing of uniform rows.
    const KitCase& masked = KitFixture::one("L1/softmax_masked_hf");
    const Trace paper = reference_under(KitFixture::kit(), masked, Dialect::paper);
    CHECK((paper.at("layer.0.probs").as<double>().rows().rowwise().sum().array() == 0).any());
}

TEST_CASE("kit check: first wrong are the stages before which nothing is wrong", "[kit]") {
    const KitCase& one = KitFixture::one("L2/deberta_clamp");
    const auto first = [&](const std::vector<std::string>& wrong) {
        Comparison comparison;
        for (const std::string& stage : one.stages) {
            comparison.stages.emplace_back();
            comparison.stages.back().name = stage;
            comparison.stages.back().pass = std::find(wrong.begin(), wrong.end(), stage) == wrong.end();
        }
        return first_wrong(one, comparison);
    };
    using Names = std::vector<std::string>;
    CHECK(first({"layer.0.p2c", "layer.0.scores", "layer.0.output"}) == Names{"layer.0.p2c"});
    CHECK(first({"layer.0.c2c", "layer.0.p2c", "layer.0.probs"}) == Names{"layer.0.c2c", "layer.0.p2c"});
    CHECK(first({"layer.0.q_r", "layer.0.p2c", "layer.0.v"}) == Names{"layer.0.v", "layer.0.q_r"});
    CHECK(first({}).empty());
}

TEST_CASE("kit check: what is not supplied is not reported, and what would narrow it down is said", "[kit]") {
    const std::string id = "L3/ms_deberta_v3_emd";
    const Trace reference = reference_of(KitFixture::one(id));
    const CaseReport right = check_one(id, only(reference, {"layer.1.output", "mlm.logits"}));
    CHECK(right.verdict == Verdict::pass);
    CHECK(right.comparison.missing.size() == reference.stages().size() - 2);

    // Everything up to layer 0 is right, layer 1 is wrong, nothing between: a stage in the middle would help most.
    Trace wrong = only(reference, {"layer.0.output", "relative.index", "relative.table"});
    wrong.add(named("layer.1.output", nudged(reference.at("layer.1.output").as<double>())));
    wrong.add(named("mlm.logits", nudged(reference.at("mlm.logits").as<double>())));
    const CaseReport report = check_one(id, wrong);
    CHECK(report.verdict == Verdict::fail);
    REQUIRE(report.first);
    CHECK(report.first->name == "layer.1.output");
    CHECK(report.would_narrow == std::vector<std::string>{"layer.1.scores", "layer.1.c2c"});

    // Reported, they leave fewer places.
    wrong.add(reference.at("layer.1.scores"));
    wrong.add(reference.at("layer.1.attention"));
    const CaseReport closer = check_one(id, wrong);
    CHECK(closer.would_narrow == std::vector<std::string>{"layer.1.ffn_act", "layer.1.ffn"});
}

TEST_CASE("kit check: a case about which nothing is said is not reported", "[kit]") {
    const TemporaryFolder dumps;
    const KitCase& one = KitFixture::one("L1/c2c_t9");
    write_dump(dumps / (one.id + ".safetensors"), reference_of(one), "F32");
    const CheckResult result = check_folder(dumps.path());
    CHECK(result.report.pass());
    for (const CaseReport& report : result.report.cases)
        CHECK(report.verdict == (report.id == one.id ? Verdict::pass : Verdict::not_reported));
    CheckOptions options;
    options.family = "roformer";
    CHECK(refusal([&] { check_folder(dumps.path(), options); }).find("no dump of any case of roformer") !=
          std::string::npos);
    options.family = "bert";
    CHECK(refusal([&] { check_folder(dumps.path(), options); }, Fault::usage).find("\"bert\"") != std::string::npos);
    options.family = "deberta";
    for (const CaseReport& report : check_folder(dumps.path(), options).report.cases) CHECK(report.family == "deberta");
}

TEST_CASE("kit check: a NaN fails, and nothing crashes", "[kit]") {
    const std::string id = "L3/ms_deberta_v3_emd";
    const Trace wrong = spoiled(reference_of(KitFixture::one(id)), "layer.0.probs", [](Tensor<double> values) {
        for (Index n = 0; n < values.size(); ++n) values[n] = std::nan("");
        return values;
    });
    const CaseReport report = check_one(id, wrong);
    CHECK(report.verdict == Verdict::fail);
    REQUIRE(report.first);
    CHECK(report.first->name == "layer.0.probs");
    REQUIRE(report.diagnosis);
    CHECK_FALSE(report.diagnosis->named);
}

TEST_CASE("kit check: arrays, one file or a folder hold the same dump", "[kit]") {
    const TemporaryFolder dumps;
    const KitCase& one = KitFixture::one("L1/txl_bd");
    const Trace reference = reference_of(one);
    for (const Stage& stage : reference.stages()) {
        std::string sizes;
        for (const Index extent : stage.shape()) sizes += std::to_string(extent) + ", ";
        write_npy(dumps / one.id / (stage.name + ".npy"),
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (" + sizes + "), }\n", value_bytes(stage, "F32"));
    }
    CHECK(check_folder(dumps.path()).report.dtype == "F32");
    CHECK(check_folder(dumps.path()).report.pass());
    write_dump(dumps / one.id / "dump.safetensors", reference);
    const CheckResult twice = check_folder(dumps.path());
    REQUIRE(twice.refusal);
    CHECK(std::string(twice.refusal->what()).find("both dumps of L1/txl_bd") != std::string::npos);
    fs::remove(dumps / one.id / "dump.safetensors");
    for (const Stage& stage : reference.stages()) fs::remove(dumps / one.id / (stage.name + ".npy"));
    write_dump(dumps / one.id / "dump.safetensors", reference);
    CHECK(check_folder(dumps.path()).report.pass());
}

TEST_CASE("kit check: frames of a program are a dump", "[kit]") {
    const KitCase& one = KitFixture::one("L1/rope_half_split");
    const Trace reference = reference_of(one);
    std::string bytes;
    for (const Stage& stage : reference.stages()) {
        std::string sizes;
        for (const Index extent : stage.shape()) sizes += (sizes.empty() ? "" : ",") + std::to_string(extent);
        bytes += stage.name + '\0' + "BF16" + '\0' + sizes + '\0' + value_bytes(stage, "BF16");
    }
    const Dump dump = parse_frames(bytes, "port");
    CHECK(dump.trace.names() == reference.names());
    CHECK(check_case(KitFixture::kit(), one, dump, {}).verdict == Verdict::pass);
    CHECK(parse_frames("", "port").trace.stages().empty());

    const TemporaryFolder folder;
    write_bytes(folder / "frames", bytes);
    // The command is one of the shell; the case's folder comes after it.
    const Dump ran = run_port("cat '" + (folder / "frames").string() + "' && test -f", one.folder / "case.json");
    CHECK(ran.trace.names() == reference.names());
    CHECK(refusal([&] { run_port("exit 7; :", one.folder); }).find("ended with status 7") != std::string::npos);
    const auto refused = [&](const std::string& cut) { return refusal([&] { parse_frames(cut, "port"); }); };
    CHECK(refused(bytes.substr(0, bytes.size() - 1)).find("bytes of values, expected") != std::string::npos);
    CHECK(refused(bytes.substr(0, 5)).find("cut short in its name") != std::string::npos);
    CHECK_THAT(refused("loading model...\n"),
               Catch::Contains("it begins \"loading model...") && Catch::Contains("nothing but frames"));
    CHECK(refused(bytes + bytes).find("comes twice") != std::string::npos);
    CHECK(refused(std::string("layer.0.q\0F8\0001\0a", 16)).find("dtype \"F8\"") != std::string::npos);
    CHECK(refused(std::string("layer.0.q\0F32\0002x2\0", 18)).find("expected sizes like") != std::string::npos);
}

TEST_CASE("kit check: of an index alone nothing is said about c2p or p2c", "[kit]") {
    const KitCase& one = KitFixture::one("L0/relpos_7x7_k3");
    const Stage right = read_trace(one.folder / "reference.safetensors").at("relative.index");
    const auto& index = std::get<IndexTensor>(right.values);
    IndexTensor turned(index.shape());
    for (Index i = 0; i < index.extent(0); ++i)
        for (Index j = 0; j < index.extent(1); ++j) turned[i * index.extent(1) + j] = index[j * index.extent(0) + i];
    Trace dump;
    dump.add(named("relative.index", turned));
    const CaseReport report = check_one(one.id, dump);
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->mistake == 5);
    CHECK(report.diagnosis->equivalent.empty());
}

TEST_CASE("kit check: a mistake is found in a stage that the case does not hold", "[kit]") {
    const KitCase& one = KitFixture::one("L3/hf_txl_word_clusters");
    const RightPass right = RightPass::of(ModelFolder::open(one.model().string()),
                                          segments_in(one.folder / "inputs.safetensors"), Dialect::hf);
    const std::string ac = "segment.0.layer.0.ac", output = "segment.0.layer.0.output";
    REQUIRE(std::find(one.stages.begin(), one.stages.end(), ac) == one.stages.end());
    const Trace wrong = mistaken_pass(right, mistake_of(68).variants.front()).trace;
    const CaseReport report = check_one(one.id, wrong);
    INFO(divergence_text(report));
    CHECK(report.verdict == Verdict::fail);
    CHECK(report.filled > 0);
    REQUIRE(report.first);
    CHECK(report.first->name == ac);
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->mistake == 68);
    CHECK(check_one(one.id, right.trace).verdict == Verdict::pass);
    // What is waived stays waived, although a stage before it shows now.
    CheckOptions options;
    options.today = "2026-11-21";
    for (const std::string& stage : one.stages) options.waivers.push_back({one.id, stage, "reason", "2027-01-31"});
    CHECK(check_one(one.id, wrong, options).verdict == Verdict::waived);
}

TEST_CASE("kit check: what a case does not ask for is judged where its model computes it, and else said", "[kit]") {
    const KitCase& one = KitFixture::one("L3/hf_txl_word_clusters");
    const RightPass right = RightPass::of(ModelFolder::open(one.model().string()),
                                          segments_in(one.folder / "inputs.safetensors"), Dialect::hf);
    const std::string v = "segment.1.layer.1.v";
    REQUIRE(std::find(one.stages.begin(), one.stages.end(), v) == one.stages.end());
    const Trace wrong = spoiled(right.trace, v, [](Tensor<double> values) {
        values[0] += 1;
        return values;
    });
    const CaseReport report = check_one(one.id, wrong);
    CHECK(report.verdict == Verdict::fail);
    REQUIRE(report.first);
    CHECK(report.first->name == v);
    CHECK(report.comparison.unexpected.empty());
    // A layer that the model has not.
    Trace more = right.trace;
    more.add(named("segment.1.layer.9.v", right.trace.at(v).values));
    Report all;
    all.kit = "1.0";
    all.kit_hash = "12345678";
    all.cases = {check_one(one.id, more)};
    CHECK(all.cases.front().verdict == Verdict::pass);
    CHECK(case_json(all.cases.front())["unexpected"] == nlohmann::ordered_json{"segment.1.layer.9.v"});
    CHECK_THAT(report_text(all, false), Catch::Contains(one.id + ": 1 stage that the case does not have is not "
                                                                 "compared: segment.1.layer.9.v\n"));
    // The inputs of a case are no stages.
    const KitCase& given = KitFixture::one("L1/p2c_t9_k3");
    Trace inputs = read_trace(given.folder / "inputs.safetensors");
    const Trace reference = read_trace(given.folder / "reference.safetensors");
    for (const Stage& stage : reference.stages())
        if (!inputs.find(stage.name)) inputs.add(stage);
    CHECK(check_one(given.id, inputs).comparison.unexpected.empty());
}

// A waiver covers what it names, as long as it says, and no longer than it is needed.

namespace {

const std::string kId = "L1/p2c_t9_k3", kStage = "layer.0.p2c";

/// The report of a dump of one case, whose one stage is right or wrong.
Report report_with(std::vector<Waiver> waivers, bool wrong = true) {
    const Trace reference = reference_of(KitFixture::one(kId));
    Dump dump;
    dump.trace = wrong ? spoiled(reference, kStage,
                                 [](Tensor<double> values) {
                                     values[3] += 1;
                                     return values;
                                 })
                       : reference;
    dump.stored[kStage] = "F64";
    CheckOptions options;
    options.today = "2026-11-21";
    options.waivers = std::move(waivers);
    return check_kit(
               KitFixture::kit(),
               [&](const KitCase& one) { return one.id == kId ? std::optional(dump) : std::nullopt; }, options)
        .report;
}

Verdict verdict(const Report& report) {
    for (const CaseReport& one : report.cases)
        if (one.id == kId) return one.verdict;
    return Verdict::not_reported;
}

}  // namespace

TEST_CASE("waiver: what it names does not fail, and says why", "[kit]") {
    const Report report = report_with({{kId, kStage, "the chip cannot", "2026-11-21"}});
    CHECK(report.pass());
    CHECK(verdict(report) == Verdict::waived);
    for (const CaseReport& one : report.cases) CHECK((one.waiver == "the chip cannot") == (one.id == kId));
    CHECK_FALSE(report_with({}).pass());
}

TEST_CASE("waiver: expired, no longer needed or of nothing, it is an error", "[kit]") {
    const Report expired = report_with({{kId, kStage, "reason", "2026-11-20"}});
    CHECK(verdict(expired) == Verdict::fail);
    REQUIRE(expired.errors.size() == 1);
    CHECK(expired.errors[0].find("expired on 2026-11-20") != std::string::npos);

    const Report needless = report_with({{kId, kStage, "reason", "2027-01-31"}}, false);
    CHECK(verdict(needless) == Verdict::pass);
    CHECK_FALSE(needless.pass());
    REQUIRE(needless.errors.size() == 1);
    CHECK(needless.errors[0].find("no longer needed") != std::string::npos);

    for (const auto& [id, stage] : {std::pair<std::string, std::string>{"L1/p3c", kStage}, {kId, "layer.0.c2p"}}) {
        const Report strange = report_with({{id, stage, "reason", "2027-01-31"}});
        CHECK(verdict(strange) == Verdict::fail);
        REQUIRE(strange.errors.size() == 1);
        CHECK(strange.errors[0].find("the kit has no such") != std::string::npos);
    }
}

TEST_CASE("waiver: what follows from a waived stage is waived, what stands beside it is not", "[kit]") {
    const std::string id = "L2/deberta_clamp";
    const Trace reference = reference_of(KitFixture::one(id));
    const auto check = [&](const std::vector<std::string>& wrong) {
        Dump dump;
        for (const Stage& stage : reference.stages()) {
            Tensor<double> values = widened(stage);
            if (std::find(wrong.begin(), wrong.end(), stage.name) != wrong.end()) values[0] += 1;
            dump.trace.add(named(stage.name, values));
        }
        CheckOptions options;
        options.today = "2026-11-21";
        options.waivers = {{id, kStage, "reason", "2027-01-31"}};
        return check_case(KitFixture::kit(), KitFixture::one(id), dump, options);
    };
    CHECK(check({kStage, "layer.0.scores", "layer.0.output"}).verdict == Verdict::waived);
    const CaseReport beside = check({kStage, "layer.0.c2c", "layer.0.scores"});
    CHECK(beside.verdict == Verdict::fail);
    REQUIRE(beside.first);
    CHECK(beside.first->name == "layer.0.c2c");
}

TEST_CASE("waiver: a file that is no list of waivers is one sentence", "[kit]") {
    const TemporaryFolder folder;
    const auto sentence = [&](const std::string& text) {
        return refusal([&] { read_waivers(write_bytes(folder / "w.json", text)); });
    };
    const std::string good = R"([{"id":"a","stage":"b","reason":"c","expires":"2027-01-31"}])";
    CHECK(read_waivers(write_bytes(folder / "w.json", good)).front().expires == "2027-01-31");
    CHECK(read_waivers(write_bytes(folder / "w.json", "[]")).empty());
    CHECK(sentence("{}").find("no list of waivers") != std::string::npos);
    CHECK(sentence("[1").find("w.json") != std::string::npos);
    CHECK(sentence("[],\"x\":[]").find("no list of waivers") != std::string::npos);
    CHECK(sentence(R"([{"id":"a","stage":"b","expires":"2027-01-31"}])").find("waiver 1 has no \"reason\"") !=
          std::string::npos);
    CHECK(sentence(R"([{"id":"a","stage":"b","reason":"c","expires":"soon"}])").find("\"soon\"") != std::string::npos);
    CHECK(sentence(R"([{"id":"a","stage":"b","reason":"c","expires":"2027-02-30"}])").find("2027-02-30") !=
          std::string::npos);
    CHECK(today().size() == 10);
    CHECK(today() > "2026-01-01");
}

TEST_CASE("kit: of a short index the case says which M it is of", "[kit]") {
    // 30 tokens do not reach M - 1 = 31, so that several M make these rows.
    const std::string id = "L0/buckets_8_32";
    Trace port;
    Stage stage = reference_of(KitFixture::one(id)).at("relative.index");
    IndexTensor& index = std::get<IndexTensor>(stage.values);
    for (Index n = 0; n < index.size(); ++n) {
        const Index offset = n / 30 - n % 30, distance = std::abs(offset);
        if (distance <= 4) continue;
        const double steps = std::log(static_cast<double>(distance) / 4) / std::log(31.0 / 4);
        const Index down = 4 + static_cast<Index>(std::floor(3 * steps));
        index[n] = std::clamp<Index>((offset > 0 ? down : -down) + 8, 0, 15);
    }
    port.add(stage);
    const CaseReport report = check_one(id, port);
    REQUIRE(report.verdict == Verdict::fail);
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->mistake == 16);
}

}  // namespace locus::test::test_kit_check
