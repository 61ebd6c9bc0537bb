// What a porter copies into his project works: in every language that is installed here, a toy port reads a case with
// the shim, computes p2c by plain loops and writes a dump.
#include <iostream>
#include <limits>

#include "core/compare.h"
#include "core/conformance/diagnosis/diagnosis.h"
#include "tests/conformance/shim_case.h"

namespace locus::test::test_shims {

using namespace locus::conformance;

namespace {

/// One language: what it needs on PATH, and the toy as a command, built inside `folder` where it must be.
struct Language {
    std::string name, tool, shim;
    std::string (*command)(const fs::path& folder);
};

std::string built(const std::string& line, const fs::path& toy) {
    const Outcome outcome = shell(line);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    REQUIRE(outcome.err.empty());
    return quoted(toy.string());
}

const std::vector<Language> kLanguages = {
    {"Python", "python3", "python/locus_kit.py",
     [](const fs::path&) { return "python3 -B " + quoted((kShims / "python/toy.py").string()); }},
    {"JavaScript", "node", "js/locus_kit.js",
     [](const fs::path&) { return "node " + quoted((kShims / "js/toy.js").string()); }},
    {"Rust", "rustc", "rust/locus_kit.rs",
     [](const fs::path& folder) {
         return built("rustc --edition 2021 -D warnings -o " + quoted((folder / "toy").string()) + " " +
                          quoted((kShims / "rust/toy.rs").string()),
                      folder / "toy");
     }},
    {"C", "cc", "c/locus_kit.h",
     [](const fs::path& folder) {
         const std::string source = quoted((kShims / "c/toy.c").string());
         if (installed("c++"))
             built("c++ -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only " + source, folder);  // in C++ as well
         return built(
             "cc -std=c99 -pedantic -Wall -Wextra -Werror -o " + quoted((folder / "toy").string()) + " " + source,
             folder / "toy");
     }},
    {"Go", "go", "go/locus_kit.go",
     [](const fs::path& folder) {
         return built("cd " + quoted((kShims / "go").string()) +
                          " && GO111MODULE=off GOCACHE=" + quoted((folder / "cache").string()) + " go build -o " +
                          quoted((folder / "toy").string()) + " toy.go locus_kit.go",
                      folder / "toy");
     }},
};

/// Inputs of every dtype that the shims write, with the values that conversions lose.
void write_every_dtype(const fs::path& file) {
    const double quiet = std::numeric_limits<double>::quiet_NaN(), tiny = std::numeric_limits<double>::denorm_min();
    const std::string f64 = bytes_of(quiet) + bytes_of(-0.0) + bytes_of(tiny) + bytes_of(0.1);
    const std::string i64 = bytes_of(std::int64_t{9007199254740993}) + bytes_of(std::int64_t{-3}) +
                            bytes_of(std::numeric_limits<std::int64_t>::min()) + bytes_of(std::int64_t{0});
    const std::string f32 = bytes_of(0.1f) + bytes_of(-std::numeric_limits<float>::infinity());
    const std::string i32 = bytes_of(std::int32_t{-5}) + bytes_of(std::numeric_limits<std::int32_t>::max());
    const std::string f16 = "\x66\x2e\x00\x7c", bf16 = std::string("\xcd\x3d\x80\xff", 4);
    std::string header, values;
    const auto add = [&](const char* name, const char* dtype, const char* shape, const std::string& bytes) {
        header += std::string(header.empty() ? "{" : ",") + "\"" + name + "\":{\"dtype\":\"" + dtype +
                  "\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(values.size()) + "," +
                  std::to_string(values.size() + bytes.size()) + "]}";
        values += bytes;
    };
    add("layer.0.q", "F64", "[2,2,1]", f64);
    add("relative.index", "I64", "[2, 2]", i64);
    add("layer.0.k", "F32", "[1,2]", f32);
    add("layer.0.k_r", "I32", "[2]", i32);
    add("layer.0.v", "F16", "[2,1]", std::string(f16.data(), 2) + std::string("\x00\x7c", 2));
    add("layer.0.q_r", "BF16", "[1,1,2]", bf16);
    write_file(file, bytes_of(std::uint64_t{header.size() + 1}) + header + "}" + values);
}

void check_right_and_wrong(const TermCase& one, const std::string& toy) {
    const fs::path right = one.root / "right.safetensors", wrong = one.root / "wrong.safetensors";
    const Outcome first = shell(toy + " " + quoted(one.folder.string()) + " " + quoted(right.string()));
    INFO(first.err);
    REQUIRE(first.status == 0);
    CHECK(first.out.empty());
    const Trace dump = read_trace(right);
    CHECK(dump.names() == std::vector<std::string>{"layer.0.p2c"});
    CHECK(compare(one.reference, dump).pass());
    CHECK(raw_frames(shell(toy + " " + quoted(one.folder.string())).out) == raw_tensors(right));

    REQUIRE(shell(toy + " --slip " + quoted(one.folder.string()) + " " + quoted(wrong.string())).status == 0);
    const Trace injected = read_trace(wrong);
    const Comparison comparison = compare(one.reference, injected);
    REQUIRE(comparison.first());
    CHECK(comparison.first()->name == "layer.0.p2c");
    const Diagnosis diagnosis = diagnose({one.reference, injected, nullptr, {}}, comparison, *comparison.first());
    REQUIRE(diagnosis.named);
    CHECK(diagnosis.named->mistake == 1);
}

void check_dtypes(const TermCase& one, const std::string& toy) {
    const fs::path every = one.root / "kit/cases/L1/every", copy = one.root / "copy.safetensors";
    fs::create_directories(every);
    write_every_dtype(every / "inputs.safetensors");
    write_file(every / "case.json", R"({"config": {}})");
    const std::vector<Raw> expected = raw_tensors(every / "inputs.safetensors");
    REQUIRE(expected.size() == 6);
    const Outcome outcome = shell(toy + " --copy " + quoted(every.string()) + " " + quoted(copy.string()));
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(raw_tensors(copy) == expected);
    CHECK(raw_frames(shell(toy + " --copy " + quoted(every.string())).out) == expected);
}

void check_refusals(const TermCase& one, const std::string& toy) {
    const fs::path dump = one.root / "refused.safetensors", inputs = one.folder / "inputs.safetensors";
    const auto outcome = [&](const fs::path& folder) {
        return shell(toy + " " + quoted(folder.string()) + " " + quoted(dump.string()));
    };
    check_refusal(outcome(one.root / "nowhere"), dump, "nowhere");
    const std::string whole = read_file(inputs);
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, whole.size() / 2, whole.size() - 1}) {
        INFO(size);
        write_file(inputs, whole.substr(0, size));
        check_refusal(outcome(one.folder), dump, "inputs.safetensors");
    }
    fs::remove(inputs);
    check_refusal(outcome(one.folder), dump, "inputs.safetensors");

    Trace other;  // a case of another term: not an error, and nothing to write
    other.add("layer.0.k", Tensor<double>({1, 1, 1, 1}));
    write_trace(inputs, other);
    const Outcome unknown = outcome(one.folder);
    CHECK(unknown.status == 0);
    CHECK(unknown.out + unknown.err == "");
    CHECK_FALSE(fs::exists(dump));
}

}  // namespace

TEST_CASE("shims: a toy port passes its case in every language, and its injected mistake is mistake 1",
          "[kit][shims]") {
    for (const Language& language : kLanguages) {
        if (!installed(language.tool)) {
            std::cout << "skipped: the shim for " << language.name << ", there is no " << language.tool << " on PATH"
                      << std::endl;
            continue;
        }
        INFO(language.name);
        const TermCase one;
        const std::string toy = language.command(one.root.path());
        check_right_and_wrong(one, toy);
        check_dtypes(one, toy);
        check_refusals(one, toy);
    }
}

TEST_CASE("shims: every one has at most 60 lines", "[kit][shims]") {
    for (const auto& entry : fs::recursive_directory_iterator(kShims)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_regular_file() || !(name.starts_with("locus_") || name.starts_with("toy."))) continue;
        INFO(name);
        const std::string text = read_file(entry.path());
        CHECK(std::count(text.begin(), text.end(), '\n') <= 60);
    }
}

TEST_CASE("shims: the C shim turns ggml's axes round", "[kit][shims]") {
    if (!installed("cc")) return void(std::cout << "skipped: ggml's axes, there is no cc on PATH" << std::endl);
    const TermCase one;
    const std::string toy = kLanguages[3].command(one.root.path());
    for (const std::string option : {"", "--reversed"}) {
        const fs::path dump = one.root / ("dump" + option);
        REQUIRE(shell(toy + " " + option + " " + quoted(one.folder.string()) + " " + quoted(dump.string())).status ==
                0);
        CHECK(compare(one.reference, read_trace(dump)).pass());
    }
}

// What single shims promise beyond the toy ports: a page without node, nested lists.

TEST_CASE("shims: the JavaScript shim needs nothing of node in a page", "[kit][shims]") {
    if (!installed("node")) return void(std::cout << "skipped: a page's script, there is no node on PATH" << std::endl);
    const TermCase one;
    // A context without require, module and process, whose fetch reads files.
    write_file(one.root / "page.js", R"js(
        const fs = require("fs"), vm = require("vm"), [shim, folder, dump] = process.argv.slice(2);
        const fetch = async (file) => ({ok: fs.existsSync(file), status: 404, statusText: "Not Found",
                                        arrayBuffer: async () => new Uint8Array(fs.readFileSync(file)).buffer});
        vm.runInNewContext(fs.readFileSync(shim, "utf8") +
            ";locusKit.loadCase(folder).then((c) => ({span: c.config.span, bytes: locusKit.safetensors(c.inputs)}))",
            {fetch, folder, TextEncoder, TextDecoder})
          .then(({span, bytes}) => { console.log(span); fs.writeFileSync(dump, new Uint8Array(bytes)); })
          .catch((error) => { console.error(error.message); process.exitCode = 3; });
    )js");
    const fs::path dump = one.root / "page.safetensors";
    const auto page = [&](const fs::path& folder) {
        return shell("node " + quoted((one.root / "page.js").string()) + " " +
                     quoted((kShims / "js/locus_kit.js").string()) + " " + quoted(folder.string()) + " " +
                     quoted(dump.string()));
    };
    check_refusal(page(one.root / "nowhere"), dump, "Not Found");
    const Outcome outcome = page(one.folder);
    INFO(outcome.err);
    CHECK(outcome.out == "3\n");
    CHECK(raw_tensors(dump) == raw_tensors(one.folder / "inputs.safetensors"));
}

TEST_CASE("shims: the Python shim takes nested lists and arrays, and refuses ragged ones", "[kit][shims]") {
    if (!installed("python3")) return void(std::cout << "skipped: lists, there is no python3 on PATH" << std::endl);
    const TermCase one;
    write_file(one.root / "lists.py", R"py(
import sys, array
sys.path.insert(0, sys.argv[1])
import locus_kit as kit
c = kit.case(sys.argv[2], dumps=sys.argv[3])
kit.dump(c, {"relative.index": c.inputs["relative.index"], "layer.0.k": c.inputs["layer.0.k"],
             "layer.0.q": array.array("f", [0.1, 2]), "layer.0.v": [[1, 0.5]]})
for wrong in ([[1, 2], [3]], b"bytes"):
    try: kit.dump(c, {"layer.0.k": wrong})
    except kit.KitError as error: print(c.id, c.config["span"], error)
)py");
    const Outcome outcome =
        shell("python3 -B " + quoted((one.root / "lists.py").string()) + " " + quoted((kShims / "python").string()) +
              " " + quoted(one.folder.string()) + " " + quoted((one.root / "dumps").string()));
    CHECK(outcome.err.empty());
    CHECK(outcome.out ==
          "L1/p2c 3 layer.0.k: its rows differ in length\n"
          "L1/p2c 3 layer.0.k: values of type 'B'; bytes are given as Tensor(dtype, shape, bytes)\n");
    const Trace dump = read_trace(one.root / "dumps/L1/p2c.safetensors");  // refusals left it alone
    CHECK(compare(one.reference, dump).pass());
    CHECK(dump.at("relative.index").dtype() == std::string("I64"));
    CHECK(dump.at("layer.0.k").dtype() == std::string("F64"));
    CHECK(dump.at("layer.0.q").as<float>().values() == std::vector<float>{0.1f, 2});
    CHECK(dump.at("layer.0.v").as<double>().values() == std::vector<double>{1, 0.5});
    CHECK(listing(one.root / "dumps/L1") == std::vector<std::string>{"p2c.safetensors"});
}

// locus_dump.h: a trace from a running program, and from ggml's evaluation of a graph.

namespace {

/// As much of ggml.h and ggml-backend.h as the callback uses, with the same names, fields and signatures.
constexpr const char* kStubOfGgml = R"c(
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
enum ggml_type { GGML_TYPE_F32 = 0, GGML_TYPE_F16 = 1, GGML_TYPE_I32 = 26 };
struct ggml_tensor { enum ggml_type type; int64_t ne[4]; size_t nb[4]; void *data; char name[64]; };
typedef bool (*ggml_backend_sched_eval_callback)(struct ggml_tensor *t, bool ask, void *user_data);
static inline size_t ggml_nbytes(const struct ggml_tensor *t) {
    size_t bytes = 4;
    for (int a = 0; a < 4; ++a) bytes += (size_t)(t->ne[a] - 1) * t->nb[a];
    return bytes;
}
static inline void ggml_backend_tensor_get(const struct ggml_tensor *t, void *data, size_t offset, size_t size) {
    memcpy(data, (const char *)t->data + offset, size);
}
)c";

/// A port whose p2c stands in memory with its last two axes exchanged, as a view of ggml does; --slip: mistake 1.
constexpr const char* kPortOfGgml = R"c(
#include "locus_kit.h"
#include "ggml.h"
#include "locus_dump.h"
int main(int count, char **arguments) {
    const int slip = count > 3;
    const lk_case c = lk_open(arguments[1]);
    const lk_tensor k = lk_get(&c, "layer.0.k"), q_r = lk_get(&c, "layer.0.q_r"), index = lk_get(&c, "relative.index");
    const int64_t batch = k.shape[0], heads = k.shape[1], tokens = k.shape[2], width = k.shape[3], rows = q_r.shape[1];
    float *values = (float *)calloc((size_t)(batch * heads * tokens * tokens), sizeof(float));
    for (int64_t n = 0; n < batch * heads; ++n)
        for (int64_t i = 0; i < tokens; ++i)
            for (int64_t j = 0; j < tokens; ++j) {
                const int64_t row = (int64_t)lk_at(&index, slip ? j * tokens + i : i * tokens + j);
                double sum = 0;
                for (int64_t x = 0; x < width; ++x)
                    sum += lk_at(&k, (n * tokens + j) * width + x) * lk_at(&q_r, (n % heads * rows + row) * width + x);
                values[(n * tokens + j) * tokens + i] = (float)sum;
            }
    const size_t line = sizeof(float) * (size_t)tokens, head = line * (size_t)tokens;
    struct ggml_tensor p2c = {GGML_TYPE_F32, {tokens, tokens, heads, batch}, {line, sizeof(float), head, head * (size_t)heads},
                              values, "layer.0.p2c"};
    struct ggml_tensor other = p2c;
    memcpy(other.name, "node_17", 8);
    locus_dump *dump = locus_dump_begin(arguments[2]);
    const ggml_backend_sched_eval_callback callback = locus_dump_ggml;
    struct ggml_tensor *graph[2];
    graph[0] = &other, graph[1] = &p2c;
    for (int n = 0; n < 2; ++n)
        if (callback(graph[n], true, dump)) callback(graph[n], false, dump);
    locus_dump_end(dump);
    return 0;
}
)c";

}  // namespace

TEST_CASE("shims: the callback for ggml dumps named tensors, views too, and a wrong port is mistake 1",
          "[kit][shims]") {
    if (!installed("cc")) return void(std::cout << "skipped: locus_dump.h, there is no cc on PATH" << std::endl);
    const TermCase one;
    const fs::path toy = one.root / "toy";
    write_file(one.root / "ggml.h", std::string("#pragma once\n") + kStubOfGgml);
    write_file(one.root / "port.c", kPortOfGgml);
    const std::string folders = " -I" + quoted((kShims / "c").string()) + " -I" + quoted(one.root.path().string());
    const std::string source = quoted((one.root / "port.c").string());
    built("cc -std=c99 -pedantic -Wall -Wextra -Werror -DLOCUS_DUMP_GGML" + folders + " -o " + quoted(toy.string()) +
              " " + source,
          toy);
    const auto dumped = [&](const std::string& option) {
        const fs::path file = one.root / ("port" + option + ".safetensors");
        const Outcome outcome = shell(quoted(toy.string()) + " " + quoted(one.folder.string()) + " " +
                                      quoted(file.string()) + " " + option);
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        return read_trace(file);
    };
    const Trace right = dumped("");
    CHECK(right.names() == std::vector<std::string>{"layer.0.p2c"});
    CHECK(compare(one.reference, right).pass());
    const Trace wrong = dumped("--slip");
    const Comparison comparison = compare(one.reference, wrong);
    REQUIRE(comparison.first());
    const Diagnosis diagnosis = diagnose({one.reference, wrong, nullptr, {}}, comparison, *comparison.first());
    REQUIRE(diagnosis.named);
    CHECK(diagnosis.named->mistake == 1);
    CHECK(listing(one.root.path()) ==
          std::vector<std::string>{"ggml.h", "kit", "port--slip.safetensors", "port.c", "port.safetensors", "toy"});
    const fs::path nowhere = one.root / "no/such/folder.safetensors";
    check_refusal(shell(quoted(toy.string()) + " " + quoted(one.folder.string()) + " " + quoted(nowhere.string())),
                  nowhere, "cannot be written");
}

TEST_CASE("shims: the Rust crate tests itself without a network", "[kit][shims]") {
    if (!installed("cargo"))
        return void(std::cout << "skipped: the Rust crate, there is no cargo on PATH" << std::endl);
    const TemporaryFolder folder;
    fs::copy(kShims / "rust", folder / "crate");
    const Outcome outcome =
        shell("cd " + quoted((folder / "crate").string()) + " && cargo test --offline --test round_trip 2>&1");
    INFO(outcome.out);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("2 passed") != std::string::npos);
}

}  // namespace locus::test::test_shims
