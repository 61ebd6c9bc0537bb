#include "viewer/data/conformance_run.h"

#include "core/io/atomic_file.h"
#include "core/io/subprocess.h"

namespace locus {

namespace {

constexpr double kCheckingPatience = 600;  // seconds that a check may take

/// What the kit's program prints.  `wrong_is_fine`: status 1 says that a port has something wrong.
/// Throws Error(unreadable) with the program's own sentence, Cancelled where it was stopped.
std::string ask_kit(const std::vector<std::string>& words, bool wrong_is_fine, const CancelToken& stop) {
    const ProgramOutput output = run_subprocess(sibling_program("locus-kit"), words, stop, kCheckingPatience);
    if (output.end == ProgramOutput::End::cancelled) throw Cancelled();
    const bool good = output.succeeded() || (wrong_is_fine && output.end == ProgramOutput::End::itself &&
                                             (output.status == 1 || !output.out.empty()));
    if (!good) throw Error(Fault::unreadable, output.error("locus kit"));
    return output.out;
}

}  // namespace

std::string ConformanceRuns::kit(const CancelToken& stop) {
    if (!kit_) {
        auto folder = std::make_unique<const ScratchFolder>("view");
        ask_kit({"export", (*folder / "kit").string()}, false, stop);
        kit_ = std::move(folder);
    }
    return (*kit_ / "kit").string();
}

void ConformanceRuns::judge(ConformanceAnswer& answer, const CancelToken& stop) {
    const ConformanceQuery& query = answer.query;
    if (!query.report.empty()) {
        answer.command = "./locus view --report " + query.report;
        answer.report = std::make_shared<const CheckReport>(read_check_report(query.report));
        return;
    }
    const auto folder = std::make_shared<const ScratchFolder>("view");
    std::string dumps = query.dumps;
    if (dumps.empty()) {
        dumps = (*folder / "dumps").string();
        ask_kit({"rehearse", kit(stop), dumps, "--mistake", std::to_string(query.mistake)}, false, stop);
    }
    std::vector<std::string> words = {"check", kit(stop), dumps, "--json"};
    if (!query.dialect.empty()) words.insert(words.end(), {"--dialect", query.dialect});
    const std::string printed = ask_kit(words, true, stop);
    const std::filesystem::path file = *folder / "report.json";
    write_atomic_file(file, [&](const ByteSink& sink) { sink(printed.data(), printed.size()); });
    answer.report = std::make_shared<const CheckReport>(read_check_report(file));
    answer.command = query.dumps.empty()
                         ? "./locus kit rehearse my-kit/ dumps/ --mistake " + std::to_string(query.mistake) + " && "
                         : "";
    answer.command += "./locus kit check my-kit/ " + (query.dumps.empty() ? "dumps/" : query.dumps) +
                      (query.dialect.empty() ? "" : " --dialect " + query.dialect);
    answer.kept = folder;
}

std::shared_ptr<const ConformanceAnswer> ConformanceRuns::answer(const ConformanceQuery& query,
                                                                 const CancelToken& stop) {
    auto answer = std::make_shared<ConformanceAnswer>();
    answer->query = query;
    try {
        judge(*answer, stop);
    } catch (const Cancelled&) {
        return nullptr;
    } catch (const Error& error) {
        answer->trouble = error.what();
        answer->fault = error.fault();
    }
    return answer;
}

}  // namespace locus
