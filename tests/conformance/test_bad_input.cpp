// Each kind of bad input gets one sentence that names what was wrong, the right exit status, and leaves nothing behind.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "cuda/library.h"
#include "tests/run_program.h"

namespace locus::test::test_bad_input {

using Json = nlohmann::ordered_json;

namespace {

const fs::path kFormats = fs::path(LOCUS_SOURCE_DIR) / "tests/oracle/formats";

/// A copy of a small model folder that a test may damage.
class Model {
public:
    explicit Model(const std::string& variant) {
        for (const auto& entry : fs::directory_iterator(kFormats / variant)) {
            fs::copy_file(entry.path(), folder_ / entry.path().filename().string());
            fs::permissions(folder_ / entry.path().filename().string(), fs::perms::owner_write, fs::perm_options::add);
        }
    }
    fs::path operator/(const std::string& name) const { return folder_ / name; }
    std::string path() const { return folder_.path().string(); }

    /// Runs a trace into a file beside the model's and checks that a refusal leaves no file.
    Outcome trace(std::vector<std::string> more = {"--tokens", "3,5,7"}, const std::string& before = "") const {
        const TemporaryFolder out;
        std::vector<std::string> arguments = {"--model", path(),  "--dialect",
                                              "hf",      "--out", (out / "trace.safetensors").string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = run("locus-trace", arguments, before);
        if (outcome.status == 0)
            CHECK(listing(out.path()) == std::vector<std::string>{"trace.safetensors"});
        else
            CHECK(listing(out.path()).empty());
        return outcome;
    }

private:
    TemporaryFolder folder_;
};

void check_refusal(const Outcome& outcome, int status, const std::vector<std::string>& named) {
    INFO("stderr: " << outcome.err);
    CHECK(outcome.status == status);
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.out.empty());
    for (const std::string& word : named) {
        INFO("should name: " << word);
        CHECK(outcome.err.find(word) != std::string::npos);
    }
}

/// Takes a safetensors file apart, lets `change` edit its header, and writes it back.
void edit_header(const fs::path& file, const std::function<void(Json&)>& change) {
    const std::string bytes = read_file(file);
    std::uint64_t old_size = 0;
    std::memcpy(&old_size, bytes.data(), sizeof old_size);
    Json header = Json::parse(bytes.substr(8, old_size));
    change(header);
    const std::string text = header.dump();
    const std::uint64_t size = text.size();
    write_file(file, std::string(reinterpret_cast<const char*>(&size), 8) + text + bytes.substr(8 + old_size));
}

const char* const kTensor = "deberta.encoder.layer.0.attention.self.query_proj.weight";

}  // namespace

TEST_CASE("bad input: a sound model passes, so that the refusals below mean something", "[cli]") {
    for (const char* variant : {"safetensors", "bin_zip", "bin_legacy"}) CHECK(Model(variant).trace().status == 0);
}

TEST_CASE("bad input: missing folder", "[cli]") {
    check_refusal(run("locus-trace", {"--model", "/nowhere/at/all", "--tokens", "1"}), 3,
                  {"/nowhere/at/all", "tiny-v3"});
}

TEST_CASE("bad input: no config.json", "[cli]") {
    const Model model("safetensors");
    fs::remove(model / "config.json");
    check_refusal(model.trace(), 3, {model.path(), "config.json"});
}

TEST_CASE("bad input: malformed JSON", "[cli]") {
    const Model model("safetensors");
    write_file(model / "config.json", "{\"model_type\": \"deberta-v2\", ");
    check_refusal(model.trace(), 3, {"config.json", "JSON"});
}

TEST_CASE("bad input: unsupported model_type", "[cli]") {
    const Model model("safetensors");
    Json config = Json::parse(read_file(model / "config.json"));
    config["model_type"] = "bert";
    write_file(model / "config.json", config.dump());
    check_refusal(model.trace(), 4, {"config.json", "model_type", "\"bert\"", "deberta-v2"});
}

TEST_CASE("bad input: no weights", "[cli]") {
    const Model model("safetensors");
    fs::remove(model / "model.safetensors");
    check_refusal(model.trace(), 3, {model.path(), "pytorch_model.bin"});
}

TEST_CASE("bad input: a safetensors header longer than the file", "[cli]") {
    const Model model("safetensors");
    std::string bytes = read_file(model / "model.safetensors");
    const std::uint64_t size = bytes.size() * 2;
    std::memcpy(bytes.data(), &size, sizeof size);
    write_file(model / "model.safetensors", bytes);
    check_refusal(model.trace(), 3, {"model.safetensors", "header", std::to_string(size)});
}

TEST_CASE("bad input: a safetensors file of three bytes, and an empty one", "[cli]") {
    const Model model("safetensors");
    write_file(model / "model.safetensors", "abc");
    check_refusal(model.trace(), 3, {"model.safetensors", "3 bytes"});
    write_file(model / "model.safetensors", "");
    check_refusal(model.trace(), 3, {"model.safetensors"});
}

TEST_CASE("bad input: overlapping offsets", "[cli]") {
    const Model model("safetensors");
    edit_header(model / "model.safetensors", [](Json& header) {
        Json& offsets = header[kTensor]["data_offsets"];
        for (Json& offset : offsets) offset = offset.get<std::uint64_t>() - 4;
    });
    check_refusal(model.trace(), 3, {"model.safetensors", kTensor, "overlap"});
}

TEST_CASE("bad input: offsets outside the data", "[cli]") {
    const Model model("safetensors");
    edit_header(model / "model.safetensors", [](Json& header) {
        for (Json& offset : header[kTensor]["data_offsets"]) offset = offset.get<std::uint64_t>() + 100000000;
    });
    check_refusal(model.trace(), 3, {"model.safetensors", kTensor, "data_offsets"});
}

TEST_CASE("bad input: a shape whose size overflows", "[cli]") {
    const Model model("safetensors");
    edit_header(model / "model.safetensors", [](Json& header) { header[kTensor]["shape"] = {1ULL << 40, 1ULL << 40}; });
    check_refusal(model.trace(), 3, {"model.safetensors", kTensor});
}

TEST_CASE("bad input: unknown dtype", "[cli]") {
    const Model model("safetensors");
    edit_header(model / "model.safetensors", [](Json& header) { header[kTensor]["dtype"] = "F31"; });
    check_refusal(model.trace(), 3, {"model.safetensors", kTensor, "F31"});
}

TEST_CASE("bad input: missing tensor", "[cli]") {
    const Model model("safetensors");
    edit_header(model / "model.safetensors", [](Json& header) {  // its bytes stay, under a name that nobody asks for
        header["another"] = header[kTensor];
        header.erase(kTensor);
    });
    check_refusal(model.trace(), 3, {"encoder.layer.0.attention.self.query_proj.weight", "missing", "[12, 12]"});
}

TEST_CASE("bad input: wrong shape", "[cli]") {
    const Model model("safetensors");
    edit_header(model / "model.safetensors", [](Json& header) { header[kTensor]["shape"] = {6, 24}; });
    check_refusal(model.trace(), 3, {"encoder.layer.0.attention.self.query_proj.weight", "[6, 24]", "[12, 12]"});
}

TEST_CASE("bad input: a pickle that names a foreign global is not executed", "[cli]") {
    const Model model("bin_legacy");
    const fs::path trap = model / "trap";
    // magic, version, system information, then: os.system("touch trap")
    const std::string legacy = read_file(model / "pytorch_model.bin");
    const std::size_t dictionary = legacy.find("ccollections\nOrderedDict");
    REQUIRE(dictionary != std::string::npos);
    const std::string shell = "touch " + trap.string();
    write_file(model / "pytorch_model.bin", legacy.substr(0, dictionary) + "cposix\nsystem\nX" +
                                                std::string(1, static_cast<char>(shell.size())) + std::string(3, '\0') +
                                                shell + "\x85R.");
    check_refusal(model.trace(), 3, {"pytorch_model.bin", "posix.system"});
    CHECK_FALSE(fs::exists(trap));
}

TEST_CASE("bad input: a truncated zip", "[cli]") {
    const Model model("bin_zip");
    const std::string bytes = read_file(model / "pytorch_model.bin");
    for (const std::size_t keep : {bytes.size() - 10, bytes.size() / 2, std::size_t{100}, std::size_t{4}}) {
        write_file(model / "pytorch_model.bin", bytes.substr(0, keep));
        check_refusal(model.trace(), 3, {"pytorch_model.bin", "cut short"});
    }
}

TEST_CASE("bad input: a legacy pickle cut short", "[cli]") {
    const Model model("bin_legacy");
    const std::string bytes = read_file(model / "pytorch_model.bin");
    for (const std::size_t keep :
         {bytes.size() - 1, bytes.size() / 2, std::size_t{200}, std::size_t{1}, std::size_t{0}}) {
        write_file(model / "pytorch_model.bin", bytes.substr(0, keep));
        check_refusal(model.trace(), 3, {"pytorch_model.bin", keep > 0 ? "cut short" : "is empty"});
    }
}

TEST_CASE("bad input: any single damaged byte of a container is refused or harmless, never a crash", "[cli][fuzz]") {
    for (const char* variant : {"bin_zip", "bin_legacy", "safetensors"}) {
        const Model model(variant);
        const fs::path file =
            fs::exists(model / "model.safetensors") ? model / "model.safetensors" : model / "pytorch_model.bin";
        const std::string bytes = read_file(file);
        std::uint32_t state = 12345;
        for (int n = 0; n < 60; ++n) {
            state = state * 1664525 + 1013904223;
            std::string damaged = bytes;
            damaged[state % std::min<std::size_t>(bytes.size(), 6000)] ^= static_cast<char>(1 << (state >> 29));
            write_file(file, damaged);
            const Outcome outcome = model.trace();
            INFO(variant << " round " << n << ": " << outcome.err);
            CHECK((outcome.status == 0 || outcome.status == 3 || outcome.status == 4));
        }
    }
}

TEST_CASE("bad input: token id beyond the vocabulary, on the command line and in a file", "[cli]") {
    const Model model("safetensors");
    check_refusal(model.trace({"--tokens", "3,29"}), 2, {"tokens", "29", "28"});
    const fs::path inputs = model / "inputs.safetensors";
    const std::string header = R"({"tokens":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]}})";
    const std::uint64_t size = header.size();
    const std::int64_t tokens[2] = {3, 29};
    write_file(inputs, std::string(reinterpret_cast<const char*>(&size), 8) + header +
                           std::string(reinterpret_cast<const char*>(tokens), 16));
    check_refusal(model.trace({"--input", inputs.string()}), 3, {"inputs.safetensors", "tokens", "29"});
}

TEST_CASE("bad input: empty text", "[cli]") {
    check_refusal(run("locus-trace", {"--model", "tiny-v3", "--text", "  "}), 2, {"empty"});
    check_refusal(run("locus-fill", {""}), 2, {"empty"});
    check_refusal(run("locus-fill", {"no mask here"}), 2, {"[MASK]"});
}

TEST_CASE("bad input: mask of the wrong length", "[cli]") {
    check_refusal(Model("safetensors").trace({"--tokens", "3,5,7", "--mask", "1,1"}), 2, {"mask", "[1, 2]", "[1, 3]"});
}

TEST_CASE("bad input: lists, numbers and names that are none", "[cli]") {
    const Model model("safetensors");
    check_refusal(model.trace({"--tokens", "3,x"}), 2, {"--tokens", "3,x"});
    check_refusal(model.trace({"--tokens", "3", "--precision", "f16"}), 2, {"f16", "f32"});
    check_refusal(model.trace({"--tokens", "3", "--stages", "layr.*"}), 2, {"layr.*"});
    check_refusal(model.trace({"--tokens", "3", "--device", "gpu"}), 2, {"gpu", "cuda"});
    if (!locus::cuda::library_error().empty())
        check_refusal(model.trace({"--tokens", "3", "--device", "cuda"}), 4, {"no CUDA device", "--device cpu"});
    check_refusal(model.trace({"--tokens", "3", "--dialekt", "hf"}), 2, {"--dialekt"});
    check_refusal(model.trace({}), 2, {"--text"});
    check_refusal(model.trace({"--text", "a"}), 4, {"--tokens"});
    check_refusal(run("locus-fill", {"a [MASK]", "--top", "0"}), 2, {"--top"});
}

TEST_CASE("bad input: numbers are decimal and in range, never a silent 0, an octal number or NaN", "[cli]") {
    const auto refused = [](const std::string& program, std::vector<std::string> arguments, const std::string& named) {
        check_refusal(run(program, arguments), 2, {arguments[arguments.size() - 2], named});
    };
    for (const char* word : {"010", "", "4x", "1e3", "0x10", "-"})
        refused("locus-rope", {"--d", word}, "not a whole number");
    refused("locus-rope", {"--d", "99999999999999999999"}, "is outside of -");
    refused("locus-check", {"--explain", "010"}, "not a whole number");
    for (const char* word : {"", "-1", "1.5"})
        refused("locus-train", {"--seed", word}, "not a whole number of 0 or more");
    refused("locus-train", {"--seed", "99999999999999999999"}, "is outside of 0 to 18446744073709551615");
    for (const char* option : {"--minutes", "--dropout", "--rate", "--heldout"})
        for (const char* word : {"nan", "", "1,5", "NaN"}) refused("locus-train", {option, word}, "is not a number");
    refused("locus-train", {"--warmup", "-1"}, "-1");
    refused("locus-check", {"a", "b", "--rtol", "nan"}, "is not a number");
    refused("locus-view", {"--layer", ""}, "not a whole number");
    CHECK(run("locus-rope", {"--d", "+8", "--json"}).status == 0);
    CHECK(run("locus-rope", {"--d", "8", "--base", "1e4", "--json"}).status == 0);
    // What is long or not for a terminal is cut and made harmless.
    const Outcome wild = run("locus-rope", {"--d", "\x1b[31m" + std::string(100'000, 'x')});
    CHECK(wild.status == 2);
    CHECK((wild.err.size() < 2000 && wild.err.find('\x1b') == std::string::npos));
    CHECK(run("locus-rope", {"--help"}, "exec 1>/dev/full; ").status == 3);
}

TEST_CASE("bad input: what a command does not use is refused, not ignored", "[cli]") {
    const TemporaryFolder folder;
    const std::string page = (folder / "page.html").string();
    check_refusal(run("locus-check", {"--explain", "1", "--json"}), 2, {"--explain", "--catalogue --json"});
    check_refusal(run("locus-check", {"--explain", "1", "--html", page}), 2, {"--explain", "--html"});
    check_refusal(run("locus-check", {"--catalogue", "--junit", page}), 2, {"--catalogue", "--junit"});
    check_refusal(run("locus-trace", {"--model", "tiny-txl", "--tokens", "5,6,7", "--mask", "0,0,0"}), 4,
                  {"--mask", "transfo-xl"});
    CHECK(run("locus-trace", {"--model", "tiny-xlnet", "--tokens", "5,6,7", "--mask", "1,1,0"}).status == 0);
    check_refusal(run("locus-train", {"--out", page, "--seeds", "2"}), 2, {"--seeds goes with --ablate"});
    check_refusal(run("locus-kit", {"check", ".", ".", "--timeout", "3"}), 2, {"--timeout goes with --run"});
    check_refusal(run("locus-kit", {"mistake", "7", "--model", "tiny-v3", "--text", "a", "--stages", "q"}), 2,
                  {"--out"});
    check_refusal(run("locus-view", {"--bench", "--screenshot", page}), 2, {"--bench", "--screenshot"});
    CHECK(listing(folder.path()).empty());
}

TEST_CASE("bad input: inputs and models that are not those of the reference are refused by name", "[cli]") {
    const TemporaryFolder folder;
    const auto trace = [&](const std::string& model, const std::string& tokens, const std::string& name) {
        const std::string file = (folder / name).string();
        REQUIRE(run("locus-trace", {"--model", model, "--tokens", tokens, "--out", file}).status == 0);
        return file;
    };
    const std::string a = trace("tiny-v3", "1,40,41,42,2", "a.safetensors"),
                      b = trace("tiny-v3", "1,40,43,42,2", "b.safetensors");
    const auto inputs = [&](std::initializer_list<std::int64_t> tokens) {
        const std::string header = R"({"tokens":{"dtype":"I64","shape":[1,)" + std::to_string(tokens.size()) +
                                   R"(],"data_offsets":[0,)" + std::to_string(8 * tokens.size()) + "]}}";
        std::string bytes(8, '\0');
        const std::uint64_t size = header.size();
        std::memcpy(bytes.data(), &size, 8);
        bytes += header + std::string(reinterpret_cast<const char*>(tokens.begin()), 8 * tokens.size());
        write_file(folder / "inputs_of_mine.safetensors", bytes);
        return (folder / "inputs_of_mine.safetensors").string();
    };
    const auto check = [&](const std::string& model, const std::string& input) {
        return run("locus-check", {a, b, "--model", model, "--input", input});
    };
    CHECK(check("tiny-v3", inputs({1, 40, 41, 42, 2})).status == 1);
    check_refusal(check("tiny-v3", inputs({1, 40, 44, 42, 2})), 3, {"inputs_of_mine", "the reference's embeddings"});
    check_refusal(check("tiny-v3", inputs({1, 40, 2})), 3, {"inputs_of_mine", "the reference's embeddings"});
    check_refusal(check("tiny-v3", inputs({1, 99999, 41, 42, 2})), 3, {"inputs_of_mine"});
    check_refusal(run("locus-check", {a, b, "--model", "tiny-txl"}), 3,
                  {"tiny-txl: is a transfo-xl", "is a stage of a deberta"});
}

TEST_CASE("bad input: pipes and files that fail while they are read are refused, not waited for", "[cli]") {
    for (const char* name : {"tokenizer_config.json", "added_tokens.json"}) {
        INFO(name);
        const TemporaryFolder folder;
        for (const auto& entry : fs::directory_iterator(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3"))
            if (entry.path().filename() != name) fs::copy_file(entry.path(), folder / entry.path().filename().string());
        REQUIRE(::mkfifo((folder / name).c_str(), 0600) == 0);
        check_refusal(run("locus-tokens", {"--model", folder.path().string(), "a"}, "ulimit -t 5; "), 3,
                      {name, "expected a regular file"});
        fs::remove(folder / name);
        fs::create_symlink("nobody", folder / name);  // as in a cache that was not downloaded to its end
        check_refusal(run("locus-tokens", {"--model", folder.path().string(), "a"}), 3,
                      {name, "is a link that leads nowhere"});
    }
    const TemporaryFolder shape;
    REQUIRE(::mkfifo((shape / "pipe").c_str(), 0600) == 0);
    for (const std::string& config : {(shape / "pipe").string(), std::string("/dev/zero")})
        check_refusal(run("locus-train", {"--config", config, "--out", "never"}), 3, {config, "not a regular file"});
    check_refusal(run("locus-fill", {"--text-file", "/proc/self/mem"}), 3, {"/proc/self/mem", "cannot be read"});
    check_refusal(run("locus-train", {"--corpus", "/dev/zero", "--out", "never"}), 4, {"/dev/zero", "1 GiB"});
    const TemporaryFolder circle;
    fs::create_symlink("two", circle / "one");
    fs::create_symlink("one", circle / "two");
    check_refusal(run("locus-kit", {"check", (circle / "one").string(), "."}), 3, {"one", "is no kit"});
}

TEST_CASE("bad input: words that no option and no command is are named, with the nearest that there is", "[cli]") {
    const auto refused = [](const std::string& program, const std::vector<std::string>& arguments,
                            const std::string& sentence) { check_refusal(run(program, arguments), 2, {sentence}); };
    refused("locus-trace", {"--modle=x"},
            "trace: there is no option --modle (did you mean --model?); locus trace --help");
    refused("locus-rope", {"--d", "64", "--scalign", "x"}, "there is no option --scalign (did you mean --scaling?)");
    refused("locus-check", {"a", "b", "--family", "x"}, "there is no option --family; locus check --help");
    refused("locus-trace", {"-x"}, "there is no option -x; ");
    refused("locus-check", {"a", "b", "first", "second"}, "the argument \"first\" is one too many");
    refused("locus-check", {"a", "b", "-"}, "the argument \"-\" is one too many");
    refused("locus-kit", {"chekc", "--json"}, "there is no command chekc (did you mean check?); locus kit --help");
    refused("locus-kit", {}, "a command is missing, expected export, check, rehearse or mistake");
    refused("locus-kit", {"check", "a", "b", "--juint", "c"}, "(did you mean --junit?); locus kit check --help");
    refused("locus-trace", {"--model", "a", "--model", "b"}, "--model was given 2 times, expected once");
    refused("locus-trace", {"--model", "a", "--out"}, "--out needs a value after it");
    refused("locus-trace", {"--" + std::string(5000, 'x')}, "xxx ... xxx");
}

TEST_CASE("bad input: an option with an empty value is refused, not ignored", "[cli]") {
    const Model model("safetensors");
    for (const char* option : {"--out", "--stages", "--mask", "--model"})
        check_refusal(run("locus-trace", {"--model", model.path(), "--dialect", "hf", "--tokens", "3", option, ""}), 2,
                      {option});
    check_refusal(run("locus-fill", {"--model", "", "a [MASK]"}), 2, {"--model"});
}

TEST_CASE("bad input: a trace is not written under the name of another format", "[cli]") {
    const TemporaryFolder folder;
    const std::string file = (folder / "trace.npz").string();
    check_refusal(run("locus-trace", {"--model", "tiny-v3", "--tokens", "3,5", "--out", file}), 2,
                  {file, "ends in .safetensors"});
    CHECK_FALSE(fs::exists(file));
}

TEST_CASE("bad input: a mask that is neither 0 nor 1", "[cli]") {
    check_refusal(Model("safetensors").trace({"--tokens", "3,5", "--mask", "7,1"}), 2,
                  {"mask holds 7, expected 0 (hidden) or 1 (visible)"});
}

TEST_CASE("bad input: an output that is no ordinary file is refused, and stays what it was", "[cli]") {
    const TemporaryFolder folder;
    const fs::path pipe = folder / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    check_refusal(
        run("locus-trace", {"--model", "tiny-v3", "--tokens", "5", "--stages", "layer.0.q", "--out", pipe.string()}), 3,
        {pipe.string(), "not a regular file"});
    CHECK(fs::is_fifo(pipe));
    CHECK(listing(folder.path()) == std::vector<std::string>{"pipe"});
}

TEST_CASE("bad input: fill does not rank words by NaN", "[cli]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    fs::copy(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3", model);
    fs::permissions(model / "pytorch_model.bin", fs::perms::owner_write, fs::perm_options::add);
    std::string bytes = read_file(model / "pytorch_model.bin");
    const std::size_t middle = bytes.size() / 2 / 4 * 4;
    for (std::size_t n = 0; n < 4096; ++n) bytes[middle + n] = '\xff';  // NaN in every float format
    write_file(model / "pytorch_model.bin", bytes);
    const Outcome outcome = run("locus-fill", {"--model", model.string(), "a [MASK].", "--json"});
    INFO(outcome.err);
    CHECK(outcome.status == 3);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("logits") != std::string::npos);
}

TEST_CASE("bad input: more tokens than the absolute table has rows, when the decoder is asked", "[cli]") {
    std::string tokens = "5";
    for (int n = 0; n < 128; ++n) tokens += ",5";
    check_refusal(run("locus-trace", {"--model", "tiny-v3", "--tokens", tokens, "--stages", "mlm.transform"}), 4,
                  {"129", "128"});
    CHECK(run("locus-trace", {"--model", "tiny-v3", "--tokens", tokens, "--stages", "layer.0.c2p"}).status == 0);
}

TEST_CASE("bad input: NaN in a weight is warned by name and does not stop the run", "[cli]") {
    const Model model("safetensors");
    std::string bytes = read_file(model / "model.safetensors");
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const Json json = Json::parse(bytes.substr(8, header));
    const std::uint32_t nan = 0x7fc00000;
    std::memcpy(bytes.data() + 8 + header + json[kTensor]["data_offsets"][0].get<std::uint64_t>(), &nan, sizeof nan);
    write_file(model / "model.safetensors", bytes);
    const Outcome outcome = model.trace();
    CHECK(outcome.status == 0);
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.err.find("warning") != std::string::npos);
    CHECK(outcome.err.find("encoder.layer.0.attention.self.query_proj.weight") != std::string::npos);
    CHECK(model.trace({"--tokens", "3", "--stages", "embeddings.output"}).err.empty());  // not read, not warned
}

TEST_CASE("bad input: an output folder that does not exist or cannot be written", "[cli]") {
    const std::vector<std::string> start = {"--model", "tiny-v3", "--tokens", "5", "--stages", "layer.0.q", "--out"};
    for (const std::string out : {"/nowhere/at/all/trace.safetensors", "/proc/trace.safetensors"}) {
        std::vector<std::string> arguments = start;
        arguments.push_back(out);
        check_refusal(run("locus-trace", arguments), 3, {out});
    }
}

TEST_CASE("bad input: an interrupted output leaves the old file and nothing else", "[cli]") {
    const TemporaryFolder folder;
    const fs::path out = folder / "trace.safetensors";
    write_file(out, "what was there before");
    // A limit of one block on file sizes stands in for a full disk.
    const Outcome outcome =
        run("locus-trace", {"--model", "tiny-v3", "--text", "a new store", "--out", out.string()}, "ulimit -f 1; ");
    check_refusal(outcome, 3, {out.string(), "written"});
    CHECK(read_file(out) == "what was there before");
    CHECK(listing(folder.path()) == std::vector<std::string>{"trace.safetensors"});
}

}  // namespace locus::test::test_bad_input
