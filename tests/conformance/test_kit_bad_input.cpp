// Whatever a port hands over, it gets one sentence that says what is wrong, and status 2, 3 or 4.
#include <catch2/catch.hpp>

#include "core/conformance/kit/check.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/sha256.h"
#include "core/io/npy.h"
#include "tests/conformance/kit_fixture.h"

namespace locus::test::test_kit_bad_input {

namespace {

const std::string kId = "L1/p2c_t9_k3", kStage = "layer.0.p2c";

Outcome check(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"check", KitFixture::kit().folder.string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run("locus-kit", all);
}

/// One sentence on stderr that holds all of these, and this status.
void check_refusal(const Outcome& outcome, int status, const std::vector<std::string>& parts) {
    INFO(outcome.err);
    CHECK(outcome.status == status);
    CHECK(outcome.sentences() == 1);
    for (const std::string& part : parts) CHECK(outcome.err.find(part) != std::string::npos);
}

/// What becomes of a dump of the case that holds just this.
void check_dump(const Trace& trace, int status, const std::vector<std::string>& parts) {
    const TemporaryFolder dumps;
    write_dump(dumps / (kId + ".safetensors"), trace);
    check_refusal(check({dumps.path().string()}), status, parts);
}

Trace single(const std::string& name, StageValues values) {
    Trace trace;
    trace.add(named(name, std::move(values)));
    return trace;
}

/// A tensor [B,H,Tq,Tk] with its axes in this order.
Tensor<double> permuted(const Tensor<double>& values, const std::vector<std::size_t>& order) {
    Shape shape;
    for (const std::size_t axis : order) shape.push_back(values.shape()[axis]);
    Tensor<double> permuted(shape);
    std::vector<Index> place(4, 0), to(4, 0);
    for (Index n = 0; n < values.size(); ++n) {
        Index rest = n, flat = 0;
        for (std::size_t axis = 4; axis-- > 0; rest /= values.shape()[axis]) place[axis] = rest % values.shape()[axis];
        for (std::size_t axis = 0; axis < 4; ++axis) flat = flat * shape[axis] + place[order[axis]];
        permuted[flat] = values[n];
    }
    return permuted;
}

std::string npy_header(const std::string& descr, const std::string& fortran, const std::string& sizes) {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (" + sizes + "), }\n";
}

}  // namespace

TEST_CASE("kit bad input: a name that nobody knows, with the nearest that is known", "[kit]") {
    const Trace reference = reference_of(KitFixture::one(kId));
    check_dump(single("layer.0.p2q", reference.at(kStage).values), 4, {kId, "\"layer.0.p2q\"", "nearest", kStage});
    check_dump(single("c2p", reference.at(kStage).values), 4, {"\"c2p\""});
    check_dump(single("layer.-1.q", reference.at(kStage).values), 4, {"\"layer.-1.q\""});
    check_dump(single(std::string(5000, 'q'), reference.at(kStage).values), 4, {"\"" + std::string(80, 'q') + "...\""});
    // A stage of another case or another layer is no mistake, but nothing else is no answer.
    check_dump(single("layer.7.q", Tensor<double>({1})), 3, {"no stage of their cases", "relative.index of L0/"});
    Trace more = reference;
    more.add(named("layer.7.q", Tensor<double>({1})));
    const TemporaryFolder dumps;
    write_dump(dumps / (kId + ".safetensors"), more);
    CHECK(check({dumps.path().string()}).status == 0);
}

TEST_CASE("kit bad input: axes in another order are recognised and said", "[kit]") {
    const Tensor<double> values = reference_of(KitFixture::one(kId)).at(kStage).as<double>();
    const Tensor<double> batch_last = permuted(values, {2, 3, 0, 1});
    check_dump(single(kStage, batch_last), 4, {kStage, "[9, 9, 2, 3]", "order Tq Tk B H, expected B H Tq Tk"});
    check_dump(single(kStage, permuted(values, {3, 2, 0, 1})), 4, {"order Tk Tq B H"});
    check_dump(single(kStage, permuted(values, {1, 0, 2, 3})), 4, {"order H B Tq Tk"});
    // ggml: the same bytes, sizes written fastest axis first.
    const Shape reversed(values.shape().rbegin(), values.shape().rend());
    check_dump(single(kStage, Tensor<double>(reversed, values.values())), 4, {"[9, 9, 3, 2]", "ggml"});
    // Reversed in memory too is not ggml's way but another order.
    check_dump(single(kStage, permuted(values, {3, 2, 1, 0})), 4, {"order Tk Tq H B"});
    // Another shape altogether is wrong, not unreadable.
    const TemporaryFolder dumps;
    write_dump(dumps / (kId + ".safetensors"), single(kStage, Tensor<double>({2, 3, 9, 8})));
    const Outcome outcome = check({dumps.path().string()});
    CHECK(outcome.status == 1);
    CHECK(outcome.err.empty());
}

TEST_CASE("kit bad input: big-endian, Fortran order, cut short and strange arrays", "[kit]") {
    const Stage stage = reference_of(KitFixture::one(kId)).at(kStage);
    const std::string values = value_bytes(stage, "F32"), sizes = "2, 3, 9, 9";
    const auto refused = [&](const std::string& header, const std::string& data, int status, const std::string& part) {
        const TemporaryFolder dumps;
        write_npy(dumps / kId / (kStage + ".npy"), header, data);
        check_refusal(check({dumps.path().string()}), status, {kStage + ".npy", part});
    };
    refused(npy_header(">f4", "False", sizes), values, 4, "big-endian");
    refused(npy_header("<f4", "True", sizes), values, 4, "Fortran order");
    refused(npy_header("<c8", "False", sizes), values, 4, "<c8");
    refused(npy_header("<f4", "False", sizes), values.substr(1), 3, "bytes of values, expected");
    refused(npy_header("<f4", "False", "9223372036854775807, 8"), values, 3, "larger than any file");
    refused("{'fortran_order': False, 'shape': (1,), }", values, 3, "without descr");

    const TemporaryFolder dumps;
    fs::create_directories(dumps / kId);
    write_bytes(dumps / kId / (kStage + ".npy"), "hello");
    check_refusal(check({dumps.path().string()}), 3, {"is no NumPy array"});
    const std::string whole = read_bytes(write_npy(dumps / "x.npy", npy_header("<f4", "False", sizes), values));
    std::string stored;
    for (const std::size_t size : {0, 6, 9, 11, 40, 90})
        CHECK_FALSE(refusal([&] { read_npy(write_bytes(dumps / "x.npy", whole.substr(0, size)), stored); }).empty());
    // A vector has one order only.
    write_npy(dumps / "x.npy", npy_header("<f8", "True", "2,"), bytes_of(1.5) + bytes_of(2.5));
    CHECK(read_npy(dumps / "x.npy", stored).as<double>().values() == std::vector<double>{1.5, 2.5});
}

TEST_CASE("kit bad input: a dump that is cut short is refused, the others are judged", "[kit]") {
    const TemporaryFolder dumps;
    const std::string file = (dumps / (kId + ".safetensors")).string();
    const std::string whole = read_bytes(write_dump(file, reference_of(KitFixture::one(kId)), "F32"));
    write_dump(dumps / "L1/c2c_t9.safetensors", reference_of(KitFixture::one("L1/c2c_t9")), "F32");
    for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{20}, whole.size() - 1}) {
        write_bytes(file, whole.substr(0, size));
        const Outcome outcome = check({dumps.path().string(), "--json"});
        check_refusal(outcome, 3, {file});
        const auto json = nlohmann::json::parse(outcome.out);
        for (const auto& one : json["cases"]) {
            if (one["id"] == "L1/c2c_t9") CHECK(one["verdict"] == "pass");
            if (one["id"] == kId) CHECK(one["refusal"].get<std::string>().find(file) != std::string::npos);
        }
    }
    write_bytes(file, whole);
    CHECK(check({dumps.path().string()}).status == 0);
}

TEST_CASE("kit bad input: a link that leads nowhere, or in a circle, is a dump that cannot be read", "[kit]") {
    for (const std::string& to : {kId.substr(kId.rfind('/') + 1) + ".safetensors", std::string("nobody")}) {
        const TemporaryFolder dumps;
        const fs::path link = dumps / (kId + ".safetensors");
        fs::create_directories(link.parent_path());
        fs::create_symlink(to, link);
        check_refusal(check({dumps.path().string()}), 3,
                      {link.string(), to == "nobody" ? "is a link that leads nowhere" : "cannot be opened"});
    }
}

TEST_CASE("kit bad input: NaN is wrong, not unreadable", "[kit]") {
    const TemporaryFolder dumps;
    Tensor<double> values = reference_of(KitFixture::one(kId)).at(kStage).as<double>();
    values[7] = std::nan("");
    write_dump(dumps / (kId + ".safetensors"), single(kStage, values), "F32");
    const Outcome outcome = check({dumps.path().string(), "--json"});
    CHECK(outcome.status == 1);
    CHECK(outcome.err.empty());
    CHECK_FALSE(nlohmann::json::parse(outcome.out)["pass"].get<bool>());
    // Nothing but NaN is what any mistake with a NaN would give: none is named.
    const std::string whole = "L3/hf_deberta_v2_short";
    Trace nothing;
    const Trace right = reference_of(KitFixture::one(whole));
    for (const Stage& stage : right.stages()) {
        Stage lost = stage;
        if (auto* numbers = std::get_if<Tensor<double>>(&lost.values))
            for (Index n = 0; n < numbers->size(); ++n) (*numbers)[n] = std::nan("");
        nothing.add(std::move(lost));
    }
    const TemporaryFolder others;
    write_dump(others / (whole + ".safetensors"), nothing, "F32");
    const std::string said = check({others.path().string()}).out;
    INFO(said);
    CHECK(said.find("NaN at 168 of 168 values") != std::string::npos);
    CHECK(said.find("this is mistake") == std::string::npos);
    CHECK(said.find(": mistake ") == std::string::npos);
}

TEST_CASE("kit bad input: folders without dumps, and dumps of no case", "[kit]") {
    const TemporaryFolder dumps;
    check_refusal(check({dumps.path().string()}), 3, {"holds no dump of any case", "L0/"});
    check_refusal(check({(dumps / "nowhere").string()}), 3, {"no such folder"});
    write_dump(dumps / (kId + ".safetensors"), reference_of(KitFixture::one(kId)));
    write_dump(dumps / "L1/p2c_t9_k4.safetensors", reference_of(KitFixture::one(kId)));
    const Outcome outcome = check({dumps.path().string()});
    CHECK(outcome.status == 1);
    CHECK(outcome.out.find("belongs to no case of the kit; the nearest is L1/p2c_t9_k3") != std::string::npos);
}

TEST_CASE("kit bad input: a kit that is none, of another version, or changed", "[kit]") {
    const TemporaryFolder folder;
    const fs::path kit = folder / "kit", dumps = folder / "dumps";
    write_dump(dumps / (kId + ".safetensors"), reference_of(KitFixture::one(kId)));
    const auto refused = [&](int status, const std::vector<std::string>& parts) {
        check_refusal(run("locus-kit", {"check", kit.string(), dumps.string()}), status, parts);
    };
    refused(3, {"is no kit", "kit.json"});
    fs::copy(KitFixture::kit().folder, kit, fs::copy_options::recursive);
    CHECK(run("locus-kit", {"check", kit.string(), dumps.string()}).status == 0);
    const std::string index = read_file(kit / "kit.json");

    const fs::path reference = kit / "cases" / kId / "reference.safetensors";
    const std::string values = read_file(reference);
    std::string changed = values;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    write_bytes(reference, changed);
    refused(3, {"reference.safetensors", "was changed", sha256(values).substr(0, 12)});
    fs::remove(reference);
    refused(3, {"reference.safetensors", "is missing"});
    write_bytes(reference, values);

    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = index;
        REQUIRE(text.find(from) != std::string::npos);
        text.replace(text.find(from), from.size(), to);
        write_bytes(kit / "kit.json", text);
    };
    with("\"version\": \"1.0\"", "\"version\": \"2.0\"");
    refused(4, {"version 2.0", "1.0"});
    with("\"version\": \"1.0\"", "\"version\": 1");
    refused(3, {"kit.json", "\"version\""});
    with("\"format\": \"locus-kit\"", "\"format\": \"other\"");
    refused(3, {"is no kit"});
    with("\"README.md\"", "\"../README.md\"");
    refused(3, {"../README.md"});
    with("\"model/config.json\"", "\"../../../../x\"");
    write_bytes(folder / "x", "outside");
    refused(3, {"kit.json", "names the file"});
    with("\"id\": \"L0/relpos_7x7_k7\"", "\"id\": 7");
    refused(3, {"kit.json", "\"id\""});
    write_bytes(kit / "kit.json", index.substr(0, 100));
    refused(3, {"kit.json"});
}

namespace {

Trace right_index() { return single("relative.index", IndexTensor({2, 3}, {7, 6, 5, 8, 7, 6})); }

/// A kit of one case of two queries and three keys whose hashes are right, with these fields of case.json.
struct OneCase {
    TemporaryFolder folder;
    fs::path kit = folder / "kit", dumps = folder / "dumps";

    explicit OneCase(const nlohmann::json& changed = nlohmann::json::object(), const std::string& id = "L0/one",
                     bool is_listed = true, const Trace& reference = {}) {
        nlohmann::json one = {{"level", "L0"},
                              {"family", "deberta"},
                              {"why", "-"},
                              {"dialect", "official"},
                              {"accuracy", 0},
                              {"config", {{"kind", "relative_index"}, {"queries", 2}, {"keys", 3}, {"span", 7}}},
                              {"stages", {{{"name", "relative.index"}, {"depends", nlohmann::json::array()}}}}};
        if (changed.is_object()) one.update(changed);  // {} is null
        const fs::path at = kit / "cases" / id;
        fs::create_directories(at);
        write_bytes(at / "case.json", one.dump());
        write_trace(at / "inputs.safetensors", {});
        write_trace(at / "reference.safetensors", reference);
        nlohmann::json files;
        for (const char* name : {"case.json", "inputs.safetensors", "reference.safetensors"})
            files[name] = sha256(read_file(at / name));
        const nlohmann::json entry = {{"id", id}, {"level", "L0"}, {"family", "deberta"}, {"files", files}};
        nlohmann::json cases = nlohmann::json::array();
        if (is_listed) cases.push_back(entry);
        write_bytes(
            kit / "kit.json",
            nlohmann::json{
                {"format", "locus-kit"}, {"version", "1.0"}, {"files", nlohmann::json::object()}, {"cases", cases}}
                .dump());
        write_dump(dumps / "L0" / "one.safetensors", right_index());
    }

    void is_refused(const std::vector<std::string>& parts, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments = {"check", kit.string(), dumps.string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        check_refusal(run("locus-kit", arguments), 3, parts);
    }
};

}  // namespace

TEST_CASE("kit bad input: a kit that asks for nothing, or for what it does not hold, passes no port", "[kit]") {
    const OneCase sound({}, "L0/one", true, right_index());
    CHECK(run("locus-kit", {"check", sound.kit.string(), sound.dumps.string()}).status == 0);
    OneCase({}, "L0/one", false).is_refused({"kit.json", "lists no case"});
    nlohmann::json twice = nlohmann::json::parse(read_file(sound.kit / "kit.json"));
    twice["cases"].push_back(twice["cases"][0]);
    write_bytes(sound.kit / "kit.json", twice.dump());
    sound.is_refused({"kit.json", "lists the case L0/one twice"});
    OneCase(nlohmann::json{{"stages", nlohmann::json::array()}}).is_refused({"case.json", "lists no stage"});
    OneCase().is_refused({"reference.safetensors", "has no stage relative.index, which case.json lists"});
    Trace more = right_index();
    more.add(named("c2c", Tensor<double>({1})));
    OneCase({}, "L0/one", true, more).is_refused({"holds the stage c2c, which case.json does not list"});
    for (const nlohmann::json& accuracy : {nlohmann::json(1e9), nlohmann::json(-1), nlohmann::json(nullptr)})
        OneCase(nlohmann::json{{"accuracy", accuracy}}, "L0/one", true, right_index())
            .is_refused({"case.json", "accuracy is ", "expected a number from 0 to 0.01"});
    OneCase(nlohmann::json{{"dialect", "zz"}}).is_refused({"case.json", "dialect is \"zz\""});
    OneCase(nlohmann::json{{"family", "zz"}}).is_refused({"case.json", "family is \"zz\""});
    OneCase(nlohmann::json{{"level", "L2"}}).is_refused({"case.json", "its level is not that of kit.json"});
    OneCase(nlohmann::json{{"config", 5}}).is_refused({"case.json", "\"config\""});
}

TEST_CASE("kit bad input: an index of another dialect is computed from numbers that make sense", "[kit]") {
    const auto refused = [](const nlohmann::json& config, const std::string& sentence) {
        for (const char* dialect : {"hf", "paper"})
            OneCase(nlohmann::json{{"config", config}}, "L0/one", true, right_index())
                .is_refused({sentence}, {"--dialect", dialect});
    };
    const auto index = [](const nlohmann::json& queries, const nlohmann::json& span) {
        return nlohmann::json{{"kind", "relative_index"}, {"queries", queries}, {"keys", 3}, {"span", span}};
    };
    refused(index(1000000000, 7), "config.queries is 1000000000, expected a whole number from 1 to 4096");
    refused(index(2.5, 7), "config.queries is 2.5");
    refused(index(2, 0), "config.span is 0");
    refused({{"kind", "relative_index"}, {"queries", 2}}, "config.keys is missing");
    refused(nlohmann::json::object(), "config.kind is \"\", expected relative_index, shift or permutation");
    refused({{"kind", "shift"}, {"queries", 3}, {"memory", 0}}, "config.both_sides is missing, expected true or false");
    refused({{"kind", "permutation"}, {"order", {1, 3}}}, "config.order is [1,3], expected the tokens 1 to T");
    refused({{"kind", "permutation"}, {"order", "1"}}, "config.order is \"1\", expected the tokens 1 to T");
}

TEST_CASE("kit bad input: a case is read, and its dump written, below the folders that were named", "[kit]") {
    for (const std::string& id :
         {std::string("../model"), std::string("L0/../../one"), std::string("L0//one"), std::string(".")}) {
        INFO(id);
        const OneCase kit({}, id, true, right_index());
        kit.is_refused({"kit.json", "names a case \"" + id + "\", expected a path below the kit's folder"});
        const fs::path victim = kit.folder / "model.safetensors";
        write_bytes(victim, "precious");
        check_refusal(run("locus-kit", {"rehearse", kit.kit.string(), (kit.folder / "out").string(), "--mistake", "1"}),
                      3, {"kit.json", "names a case"});
        CHECK(read_file(victim) == "precious");
    }
}

TEST_CASE("kit bad input: wrong usage", "[kit]") {
    const TemporaryFolder dumps;
    write_dump(dumps / (kId + ".safetensors"), reference_of(KitFixture::one(kId)));
    const std::string folder = dumps.path().string();
    check_refusal(check({}), 2, {"either a folder with dumps or --run"});
    check_refusal(check({folder, "--run", "true"}), 2, {"either a folder with dumps or --run"});
    check_refusal(check({folder, "--family", "bert"}), 2, {"\"bert\"", "transfo-xl"});
    check_refusal(check({folder, "--dialect", "tf"}), 2, {"\"tf\""});
    check_refusal(check({folder, "--waivers", folder + "/none.json"}), 3, {"none.json"});
    CHECK(run("locus-kit", {}).status == 2);
    CHECK(run("locus-kit", {"export", folder}).status == 2);
    CHECK(run("locus-kit", {"--help"}).status == 0);
    CHECK(run("locus-kit", {"check", "--help"}).status == 0);
    check_refusal(check({"--run", "exit 3; :"}), 3, {"ended with status 3"});
    const Outcome missing = check({"--run", "no-such-port"});
    INFO(missing.err);  // the shell's own line stands before ours
    CHECK(missing.status == 3);
    CHECK(missing.err.find("no-such-port: the shell cannot start it, it ended with status 127") != std::string::npos);
    CHECK(missing.out.empty());  // no other case was tried
    check_refusal(check({"--run", ":"}), 3, {"holds no dump of any case"});
}

TEST_CASE("kit: a program on the command line is started once per case", "[kit]") {
    const TemporaryFolder folder;
    const std::string script = (folder / "port.sh").string();
    // Says nothing but for one case, where it writes the reference's own values as a frame.
    write_file(script, "echo x >> '" + (folder / "calls").string() +
                           "'\n"
                           "case $1 in */L0/relpos_7x7_k7) printf 'relative.index\\0I64\\0007,7\\0'; tail -c 392 "
                           "$1/reference.safetensors;; esac\n");
    const Outcome outcome = check({"--run", "sh " + script, "--json"});
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    const auto json = nlohmann::json::parse(outcome.out);
    std::size_t passed = 0;
    for (const auto& one : json["cases"]) passed += one["verdict"] == "pass";
    CHECK(passed == 1);
    const std::string calls = read_file(folder / "calls");
    CHECK(std::count(calls.begin(), calls.end(), '\n') == static_cast<std::ptrdiff_t>(KitFixture::kit().cases.size()));
}

TEST_CASE("kit: the toy ports of the shims pass, and their injected mistake is mistake 1", "[kit]") {
    const fs::path shims = KitFixture::kit().folder / "shims";
    for (const auto& [tool, toy] : {std::pair{"python3", "python/toy.py"}, {"node", "js/toy.js"}}) {
        if (run_file("/bin/sh", {"-c", std::string("command -v ") + tool}).status != 0) {
            WARN(tool << " is not installed");
            continue;
        }
        INFO(tool);
        // Python's cache would lie in the kit otherwise.
        const std::string command =
            "PYTHONDONTWRITEBYTECODE=1 " + std::string(tool) + " " + quoted((shims / toy).string());
        for (const char* id : {"L1/p2c_t5_k9", "L1/p2c_t21_b8", "L1/terms_h5_t7_k3"}) {
            const KitCase& one = KitFixture::one(id);
            CHECK(check_case(KitFixture::kit(), one, run_port(command, one.folder), {}).verdict == Verdict::pass);
            const CaseReport wrong = check_case(KitFixture::kit(), one, run_port(command + " --slip", one.folder), {});
            CHECK(wrong.verdict == Verdict::fail);
            REQUIRE(wrong.diagnosis);
            REQUIRE(wrong.diagnosis->named);
            CHECK(wrong.diagnosis->named->mistake == 1);
        }
        const KitCase& wide = KitFixture::one("L1/terms_h5_q3_k6");
        CHECK(check_case(KitFixture::kit(), wide, run_port(command, wide.folder), {}).verdict == Verdict::pass);
        // Nothing is said about a case of another term.
        for (const char* id : {"L0/relpos_7x7_k7", "L1/txl_ac"})
            CHECK(run_port(command, KitFixture::one(id).folder).trace.stages().empty());
    }
}

}  // namespace locus::test::test_kit_bad_input
