// Traces on disk: core/io/safetensors.cpp and core/io/atomic_file.cpp.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "tests/files.h"

namespace locus::test::test_trace_file {

using Catch::Contains;

namespace {

Trace small_trace() {
    Trace trace;
    trace.add("relative.index", IndexTensor({2, 2}, {3, 2, 4, 3}));
    trace.add("layer.0.q", Tensor<float>({1, 1, 1, 3}, {0.5f, std::numeric_limits<float>::quiet_NaN(), -1e-40f}));
    trace.add("layer.0.c2p", Tensor<double>({1, 1, 1, 2}, {1.0 / 3, -std::numeric_limits<double>::infinity()}));
    return trace;
}

}  // namespace

TEST_CASE("trace_file: a trace comes back bit by bit, in order, with its metadata", "[trace]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "trace.safetensors";
    const Trace written = small_trace();
    write_trace(file, written, {{"text", "a \"caf\u00e9\""}});
    CHECK(folder.count() == 1);
    std::map<std::string, std::string> stored;
    const Trace trace = read_trace(file, &stored);
    CHECK(trace.names() == written.names());
    CHECK(stored ==
          std::map<std::string, std::string>{{"relative.index", "I64"}, {"layer.0.q", "F32"}, {"layer.0.c2p", "F64"}});
    for (const Stage& stage : written.stages()) {
        const Stage& found = trace.at(stage.name);
        CHECK(found.shape() == stage.shape());
        CHECK(found.axes == stage.axes);
        CHECK(found.formula == stage.formula);
        std::visit(
            [&](const auto& expected) {
                const auto* values = std::get_if<std::decay_t<decltype(expected)>>(&found.values);
                REQUIRE(values);
                CHECK(std::memcmp(values->data(), expected.data(), expected.values().size() * sizeof expected[0]) == 0);
            },
            stage.values);
    }
    const TensorFile raw = open_safetensors(file);
    CHECK((raw.entries.front().offset % 8) == 0);
    std::map<std::string, std::string> metadata(raw.metadata.begin(), raw.metadata.end());
    CHECK(metadata["format"] == "locus-trace-1");
    CHECK(metadata["text"] == "a \"caf\u00e9\"");
    const auto stages = nlohmann::json::parse(metadata["stages"]);
    REQUIRE(stages.size() == 3);
    CHECK(stages[2]["name"] == "layer.0.c2p");
    CHECK(stages[2]["axes"] == nlohmann::json(small_trace().at("layer.0.c2p").axes));
}

TEST_CASE("trace_file: an opened trace has the stages of a read one, each when it is asked for", "[trace]") {
    const TemporaryFolder folder;
    const fs::path file = folder / "trace.safetensors";
    const Trace written = small_trace();
    write_trace(file, written);
    std::map<std::string, std::string> stored;
    const TraceView opened = open_trace(file, &stored);
    CHECK(opened.names() == written.names());
    CHECK(stored.at("layer.0.c2p") == "F64");
    const TraceView in_memory = written;
    for (const Stage& stage : written.stages()) {
        REQUIRE(opened.shape_of(stage.name));
        CHECK(*opened.shape_of(stage.name) == stage.shape());
        CHECK(in_memory.at(stage.name).get() == &stage);
        const auto found = opened.at(stage.name);
        CHECK(found->axes == stage.axes);
        CHECK(found->values.index() == stage.values.index());
        for (Index n = 0; n < stage.size(); ++n) {
            const double expected = stage.at(n), value = found->at(n);
            CHECK((value == expected || (std::isnan(value) && std::isnan(expected))));
        }
    }
    for (const TraceView& view : {opened, in_memory, TraceView()}) {
        CHECK_FALSE(view.has("layer.1.q"));
        CHECK_FALSE(view.find("layer.1.q"));
        CHECK_THAT(refusal([&] { view.at("layer.1.q"); }, Fault::usage), Contains("no stage layer.1.q; there is"));
    }
}

TEST_CASE("trace_file: stages without a stage list come in model order", "[trace]") {
    const TemporaryFolder folder;
    std::string header = "{";
    int at = 0;
    for (const char* name : {"mlm.logits", "layer.10.q", "layer.2.q", "relative.index"}) {
        header += (at ? "," : "") + nlohmann::json(name).dump() + R"(:{"dtype":"F16","shape":[1],"data_offsets":[)" +
                  std::to_string(at) + "," + std::to_string(at + 2) + "]}";
        at += 2;
    }
    header += "}";
    const fs::path file = write_bytes(folder / "foreign.safetensors",
                                      bytes_of<std::uint64_t>(header.size()) + header + std::string(8, '\0'));
    CHECK(read_trace(file).names() ==
          std::vector<std::string>{"relative.index", "layer.2.q", "layer.10.q", "mlm.logits"});
    CHECK(std::string(read_trace(file).at("mlm.logits").dtype()) == "F32");
}

TEST_CASE("trace_file: what cannot be written is refused and leaves nothing behind", "[trace]") {
    const TemporaryFolder folder;
    const auto refused = [&](const fs::path& file) { return refusal([&] { write_trace(file, small_trace()); }); };
    CHECK_THAT(refused(folder / "absent" / "trace.safetensors"), Contains("absent"));
    CHECK_THAT(refused("/proc/trace.safetensors"), Contains("/proc/trace.safetensors"));
    CHECK_THAT(refused(folder.path()), Contains("there is a folder of that name"));
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK_THAT(refused(folder / "pipe"), Contains("not a regular file"));
    CHECK_THAT(refusal(
                   [&] {
                       write_trace(folder / "t", small_trace(), {{"text", "\xff"}});
                   },
                   Fault::usage),
               Contains("UTF-8"));
    CHECK(folder.count() == 1);
}

TEST_CASE("trace_file: a folder without the right to write is refused", "[trace]") {
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    if (::geteuid() == 0) {
        // The superuser may write everywhere, so somebody else tries.
        const pid_t child = ::fork();
        if (child == 0) {
            if (::setuid(65534) != 0) ::_exit(9);
            try {
                write_trace(folder / "trace.safetensors", small_trace());
            } catch (const Error& error) {
                ::_exit(error.exit_status());
            }
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 3);
    } else {
        CHECK_THAT(refusal([&] { write_trace(folder / "trace.safetensors", small_trace()); }), Contains("denied"));
    }
    CHECK(folder.count() == 0);
    fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST_CASE("trace_file: an interrupted write leaves the old file and nothing else", "[trace]") {
    const TemporaryFolder folder;
    const fs::path file = write_bytes(folder / "trace.safetensors", "old");
    SECTION("because the file may not grow further") {
        const auto previous = std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit = {};
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
        rlimit small = limit;
        small.rlim_cur = 64;
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
        std::string sentence;
        try {
            write_trace(file, small_trace());
        } catch (const Error& error) {
            sentence = error.what();
        }
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
        std::signal(SIGXFSZ, previous);
        CHECK_THAT(sentence, Contains("trace.safetensors: cannot be written"));
    }
    SECTION("because something is thrown") {
        CHECK_THROWS_AS(write_atomic_file(file,
                                          [](const ByteSink& sink) {
                                              sink("half", 4);
                                              throw std::runtime_error("stop");
                                          }),
                        std::runtime_error);
    }
    SECTION("because the program is killed") {
        const pid_t child = ::fork();
        if (child == 0) {
            write_atomic_file(file, [](const ByteSink& sink) {
                sink("half", 4);
                ::_exit(7);
            });
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WEXITSTATUS(status) == 7);
    }
    CHECK(read_bytes(file) == "old");
    CHECK(folder.count() == 1);
}

}  // namespace locus::test::test_trace_file
