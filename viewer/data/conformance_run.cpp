#include "viewer/data/conformance_run.h"

#include "core/conformance/kit/check.h"
#include "core/conformance/kit/export.h"
#include "core/conformance/kit/rehearse.h"
#include "core/io/input_file.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

/// What the kit says of the dumps; strange files among them are errors of the report.
conformance::Report checked(const conformance::Kit& kit, const fs::path& dumps, const std::string& dialect,
                            const CancelToken& stop) {
    if (!fs::is_directory(dumps))
        throw Error(Fault::unreadable, dumps.string() + ": no such folder, expected one with dumps");
    conformance::CheckOptions options;
    if (!dialect.empty()) options.dialect = parse_dialect(dialect);
    options.today = conformance::today();
    options.candidate = dumps.string();
    options.stop = stop;
    const auto dump_of = [&](const conformance::KitCase& one) { return conformance::read_dump(dumps, one.id); };
    conformance::Report report = conformance::check_kit(kit, dump_of, options).report;
    for (std::string& sentence : conformance::strange_dumps(dumps, kit)) report.errors.push_back(std::move(sentence));
    return report;
}

}  // namespace

const conformance::Kit& ConformanceRuns::kit(const CancelToken& stop) {
    // Where the programs are handed out without the recorded cases, a kit comes along instead.
    if (const fs::path ready = asset_path("kit"); !kit_ && fs::is_directory(ready))
        kit_ = std::make_shared<const conformance::Kit>(conformance::open_kit(ready));
    if (!kit_) {
        auto folder = std::make_unique<const ScratchFolder>("view");
        conformance::export_kit(*folder / "kit", conformance::source_tree(), stop);
        kit_ = std::make_shared<const conformance::Kit>(conformance::open_kit(*folder / "kit"));
        kit_folder_ = std::move(folder);
    }
    return *kit_;
}

void ConformanceRuns::judge(ConformanceAnswer& answer, const CancelToken& stop) {
    const ConformanceQuery& query = answer.query;
    if (!query.report.empty()) {
        answer.command = "./locus view --report " + query.report;
        answer.report = std::make_shared<const CheckReport>(read_check_report(query.report));
        return;
    }
    const auto folder = std::make_shared<const ScratchFolder>("view");
    fs::path dumps = query.dumps;
    if (query.dumps.empty()) {
        dumps = *folder / "dumps";
        conformance::rehearse(kit(stop), conformance::MistakeChoice::parse(std::to_string(query.mistake)), dumps, stop);
    }
    const conformance::Report report = checked(kit(stop), dumps, query.dialect, stop);
    // Only for the command that shows it again; the pages show what is in memory.
    const std::string text = conformance::report_json(report);
    const fs::path file = *folder / "report.json";
    write_atomic_file(file, text);
    answer.report = std::make_shared<const CheckReport>(check_report_of(report, file));
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
        answer->error = error.what();
        answer->fault = error.fault();
    } catch (const std::bad_alloc&) {
        answer->error = "this check needs more memory than there is, expected smaller dumps";
        answer->fault = Fault::memory;
    } catch (const std::filesystem::filesystem_error& error) {  // a folder changed while it was read
        answer->error = error.path1().string() + ": cannot be read: " + error.code().message();
        answer->fault = Fault::unreadable;
    }
    return answer;
}

}  // namespace locus
