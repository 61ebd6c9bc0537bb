// Two traces compared, kits written and judged, and the catalogue of mistakes.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/conformance/kit/check.h"
#include "core/conformance/kit/export.h"
#include "core/conformance/kit/found_inputs.h"
#include "core/conformance/kit/pair.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/io/checkpoint.h"
#include "core/io/recorded_inputs.h"
#include "core/python/interruptible.h"
#include "core/python/module.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace locus::python {

namespace {

namespace conf = locus::conformance;

/// What a pair was given: by an input file, or else by the first of these texts (JSON, as a trace file keeps it) that
/// the reference does not contradict.
std::vector<ModelInput> inputs_of(const std::string& file, const std::vector<std::string>& recorded,
                                  const Trace& reference, const std::shared_ptr<const conf::ModelFolder>& model,
                                  Dialect& dialect) {
    if (!file.empty()) return conf::segments_of(file, *model);
    for (const std::string& text : recorded) {
        std::vector<ModelInput> segments = inputs_from_json(text, "\"inputs\" of the trace");
        if (conf::contradiction(reference, model, segments, dialect).empty()) return segments;
    }
    return {};
}

/// The report of a pair of traces as (JSON, text, HTML).  model and input may be empty; recorded: what the traces say
/// that their pass was given, used where no input is named.
nb::tuple check(const Trace& reference, const Trace& candidate, const std::map<std::string, std::string>& stored,
                const std::string& reference_name, const std::string& candidate_name, const std::string& model,
                const std::string& input, const std::vector<std::string>& recorded, const std::optional<double>& rtol,
                const std::optional<double>& atol, const nb::object& progress, const std::string& dialect) {
    conf::TracePair pair{reference, candidate, stored, reference_name, candidate_name};
    if (!dialect.empty()) pair.dialect = parse_dialect(dialect);
    if (rtol || atol) pair.fixed = Tolerance{rtol.value_or(0), atol.value_or(0)};
    LOCUS_CHECK(input.empty() || !model.empty(), "inputs go with a model");
    conf::Report report;
    run_interruptibly(
        [&](const CancelToken& stop, StepCount& hypotheses) {
            if (!model.empty()) {
                pair.model = conf::ModelFolder::open(resolve_model(model).string());
                pair.segments = inputs_of(input, recorded, reference, pair.model, pair.dialect);
            } else {
                pair.says_inputs = !recorded.empty();
            }
            pair.stop = [&] {
                ++hypotheses;
                return stop();
            };
            report.candidate = candidate_name;
            report.cases.push_back(conf::judge_pair(pair));
        },
        progress);
    const conf::CaseReport& one = report.cases.front();
    return nb::make_tuple(conf::pair_json(one, pair.fixed), conf::pair_text(one, pair.fixed),
                          conf::report_html(report));
}

/// Cases, files and bytes of a kit written into a new folder; of a model's own sizes where one is named, and with its
/// config.json and weights where `copies_model` says so.
nb::tuple export_kit(const std::string& folder, const std::string& source, const std::string& model,
                     const std::string& dialect, const nb::object& progress, bool copies_model) {
    const conf::ModelPlace place = copies_model ? conf::ModelPlace::copied : conf::ModelPlace::stays;
    const Dialect spoken = parse_dialect(dialect);
    conf::ExportSummary summary;
    run_interruptibly(
        [&](const CancelToken& stop, StepCount& steps) {
            const auto before_every_case = [&] {
                ++steps;
                return stop();
            };
            summary = model.empty() ? conf::export_kit(folder, source, before_every_case)
                                    : conf::export_kit_for(folder, source, model, spoken, before_every_case, place);
        },
        progress);
    return nb::make_tuple(summary.cases, summary.files, summary.bytes);
}

/// The report of a kit as (JSON, text, HTML).
nb::tuple check_kit(const std::string& folder, const std::string& dumps, const std::string& family,
                    const std::string& dialect, const nb::object& progress) {
    conf::CheckOptions options;
    options.family = family;
    if (!dialect.empty()) options.dialect = parse_dialect(dialect);
    options.today = conf::today();
    options.candidate = dumps;
    conf::CheckResult result;
    run_interruptibly(
        [&](const CancelToken& stop, StepCount& steps) {
            options.stop = stop;
            if (!std::filesystem::is_directory(dumps))
                throw Error(Fault::unreadable, dumps + ": no such folder, expected one with dumps");
            const conf::Kit kit = conf::open_kit(folder);
            const auto dump_of = [&](const conf::KitCase& one) {
                ++steps;
                return conf::read_dump(dumps, one.id);
            };
            result = conf::check_kit(kit, dump_of, options);
            for (std::string& sentence : conf::strange_dumps(dumps, kit))
                result.report.errors.push_back(std::move(sentence));
        },
        progress);
    return nb::make_tuple(conf::report_json(result.report), conf::report_text(result.report, false),
                          conf::report_html(result.report));
}

}  // namespace

void bind_conformance(nb::module_& module) {
    module.def("check", check, "reference"_a, "candidate"_a, "stored"_a, "reference_name"_a, "candidate_name"_a,
               "model"_a, "input"_a, "recorded"_a, "rtol"_a.none(), "atol"_a.none(), "progress"_a.none(),
               "dialect"_a = "");
    module.def("export_kit", export_kit, "folder"_a, "source"_a, "model"_a, "dialect"_a, "progress"_a.none(),
               "copies_model"_a = false);
    module.def("check_kit", check_kit, "folder"_a, "dumps"_a, "family"_a, "dialect"_a, "progress"_a.none());
    module.def("catalogue", [] { return conf::catalogue_json(); });
}

}  // namespace locus::python
