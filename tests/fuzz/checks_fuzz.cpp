// What ports and kits hand over: case.json, the stream of a port, and the report of a check.
#include <nlohmann/json.hpp>

#include "core/conformance/kit/case.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/sha256.h"
#include "core/io/safetensors.h"
#include "tests/fuzz/fuzz_target.h"
#include "viewer/data/check_report.h"

namespace locus::test {

namespace fs = std::filesystem;

namespace {

/// A safetensors file of one stage.
std::string one_stage() {
    std::string file;
    const std::vector<float> values(6, 0.5f);
    write_safetensors([&](const void* more, std::size_t count) { file.append(static_cast<const char*>(more), count); },
                      {{"layer.0.c2p", {1, 1, 2, 3}, values.data()}});
    return file;
}

/// A kit of one case whose hashes are right, so that case.json itself is read.
void open_one_case(std::string_view bytes, const fs::path& folder) {
    static const std::string tensors = one_stage(), hash = conformance::sha256(tensors);
    const fs::path kit = folder / "kit", one = kit / "cases/one";
    if (!fs::exists(kit)) {
        fs::create_directories(one);
        for (const char* name : {"inputs.safetensors", "reference.safetensors"}) fuzz_file(one, name, tensors);
    }
    fuzz_file(one, "case.json", bytes);
    const nlohmann::json files = {
        {"case.json", conformance::sha256(bytes)}, {"inputs.safetensors", hash}, {"reference.safetensors", hash}};
    const nlohmann::json description = {{"format", conformance::kKitFormat},
                                        {"version", conformance::kKitVersion},
                                        {"files", nlohmann::json::object()},
                                        {"cases", {{{"id", "one"}, {"files", files}}}}};
    fuzz_file(kit, "kit.json", description.dump());
    const conformance::Kit opened = conformance::open_kit(kit);
    promise(opened.cases.size() == 1 && opened.find("one") != nullptr, "the case of a kit is found");
    bool refused = false;
    try {
        conformance::reference_of(opened.cases.front());
    } catch (const Error&) {
        refused = true;
    }
    static const std::vector<std::string> recorded = read_trace(one / "reference.safetensors").names();
    promise(refused == (opened.cases.front().stages != recorded), "a reference holds the stages that case.json lists");
    conformance::inputs_of(opened.cases.front());
}

}  // namespace

void fuzz_case(std::string_view bytes, const fs::path& folder) {
    if (takes_its_turn(bytes, 16)) open_one_case(bytes, folder);
    const conformance::KitCase one = conformance::parse_case(bytes, "case.json");
    promise(!one.stages.empty() && one.depends.size() == one.stages.size(), "no stage is there twice");
    for (const std::string& stage : one.stages)
        promise(one.depends.contains(stage), "every stage says what it depends on");
    promise(one.accuracy >= 0 && one.accuracy <= 0.01, "an accuracy that no port could miss is refused");
}

void fuzz_stream(std::string_view bytes, const fs::path&) {
    const conformance::Dump dump = conformance::parse_frames(bytes, "stream");
    std::size_t values = 0;
    for (const Stage& stage : dump.trace.stages()) {
        promise(dump.stored.contains(stage.name), "every stage has a dtype");
        values += static_cast<std::size_t>(stage.size());
    }
    promise(values <= bytes.size(), "every value has a byte");
}

void fuzz_report(std::string_view bytes, const fs::path& folder) {
    const CheckReport report = read_check_report(fuzz_file(folder, "report.json", bytes));
    promise(report.cases.empty() || report.opening() < report.cases.size(), "the case to open is one of the report");
    for (const ReportedCase& one : report.cases) {
        const Index judged =
            one.count(StageState::pass) + one.count(StageState::fail) + one.count(StageState::not_reported);
        promise(judged == static_cast<Index>(one.stages.size()), "every stage has one state");
    }
}

}  // namespace locus::test
