#include "tests/conformance/toy/mutation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "core/conformance/kit/case.h"
#include "tests/conformance/toy/toy_attention.h"
#include "tests/conformance/toy/toy_deberta_gradients.h"
#include "tests/run_program.h"

namespace locus::conformance::toy {

Trace only(const Trace& all, const std::string& globs) {
    const StageFilter filter(globs);
    Trace kept;
    for (const Stage& stage : all.stages())
        if (filter.keeps(stage.name)) kept.add(stage);
    return kept;
}

Finding finding_of(const Evidence& evidence, const Trace& reference) {
    Finding finding;
    const Comparison comparison = compare(reference, evidence.candidate);
    const StageVerdict* first = comparison.first();
    if (!first) return finding;
    finding.first = first->name;
    const Diagnosis diagnosis = diagnose(evidence, comparison, *first);
    if (diagnosis.named) {
        finding.named = diagnosis.named->mistake;
        finding.residual = diagnosis.named->residual;
    }
    finding.equivalent = diagnosis.equivalent;
    return finding;
}

std::vector<Finding> try_mistake(const Injection& injected, const Range& range, bool partial) {
    ToyOptions options;
    options.hugging_face = range.hugging_face;
    options.injected = injected;
    std::vector<Finding> verdicts;
    const auto add = [&](const Trace& reference, const Trace& candidate, const char* precision) {
        // A long text is recorded without most of its terms: the first wrong stage may not be there.
        const bool whole = std::any_of(reference.stages().begin(), reference.stages().end(),
                                       [](const Stage& stage) { return stage.name.ends_with("probs"); });
        std::vector<std::pair<std::string, std::string>> dumps = {{whole ? "everything" : "all that is recorded", "*"}};
        if (partial)
            dumps.insert(dumps.end(), {{"scores", "*.scores"},
                                       {"terms and scores", "*.c2c,*.c2p,*.p2c,*.ac,*.bd,*.ef,*.scores"},
                                       {"outputs", "*.output,*.logits"}});
        for (const auto& [dump, globs] : dumps) {
            const Trace dumped = only(candidate, globs);
            Evidence evidence{reference, dumped, range.model, range.segments};
            if (range.hugging_face) evidence.dialect = Dialect::hf;
            Finding verdict = finding_of(evidence, reference);
            verdict.where = range.name + ", " + precision;
            verdict.in_float = std::string(precision) == "float32";
            verdict.dump = dump;
            verdicts.push_back(std::move(verdict));
        }
    };
    add(range.recorded, run_toy<float>(range.model_folder, range.segments, options), "float32");
    add(range.sharp, run_toy<double>(range.model_folder, range.segments, options), "float64");
    return verdicts;
}

bool names(int named, const Injection& injected) {
    return named == injected.mistake ||
           std::any_of(equivalents().begin(), equivalents().end(),
                       [&](const Equivalent& pair) { return pair.made == injected.mistake && pair.named == named; });
}

namespace {

/// The forward pass, and the gradients that the case asks for.
template <class Scalar>
Trace whole_model(const GradientRange& range, const Injection& injected) {
    Trace trace = run_toy<Scalar>(range.content.model.string(), range.segments, {});
    const Trace gradients = toy_gradients<Scalar>(range.model->deberta->config(), *range.model->source,
                                                  range.segments.front(), trace, injected);
    for (const Stage& stage : range.content.reference.stages())
        if (stage.name.starts_with("grad.")) trace.add(gradients.at(stage.name));
    return trace;
}

Finding judge(const GradientRange& range, const Trace& candidate) {
    Evidence evidence{range.known, candidate, range.model, range.segments};
    evidence.family = range.content.family;
    Finding finding = finding_of(evidence, range.content.reference);
    if (const Stage* first = candidate.find(finding.first))
        finding.unwritten = finding.first.starts_with("grad.") && widened(*first).rows().isZero(0);
    return finding;
}

}  // namespace

std::vector<GradientRange> gradient_ranges(const std::filesystem::path& oracle) {
    std::vector<GradientRange> ranges;
    for (CaseContent& content : gradient_cases(oracle)) {
        GradientRange range;
        range.content = std::move(content);
        for (const Trace* part : {&range.content.inputs, &range.content.reference})
            for (const Stage& stage : part->stages()) range.known.add(stage);
        if (!range.content.model.empty()) {
            range.model = ModelFolder::open(range.content.model.string());
            range.segments = segments_in(range.content.model.parent_path() / "inputs.safetensors");
        }
        ranges.push_back(std::move(range));
    }
    return ranges;
}

template <class Scalar>
Trace run_backward(const GradientRange& range, const Injection& injected) {
    if (range.model) return whole_model<Scalar>(range, injected);
    return run_toy_attention<Scalar>(range.content.family, range.content.inputs, injected,
                                     range.content.config["probes"].value("rotary_value", false));
}

std::vector<Finding> try_gradient_mistake(const Injection& injected, const GradientRange& range) {
    std::vector<Finding> findings;
    const auto add = [&](const Trace& candidate, const char* precision) {
        std::vector<std::pair<std::string, std::string>> dumps = {{"everything", "*"}, {"gradients", "grad.*"}};
        if (range.model && precision == std::string("float32")) dumps.resize(1);  // a hundred stages each
        if (range.model && precision == std::string("float64"))
            dumps.insert(dumps.end(), {{"gradients of outputs", "grad.*.output,grad.mlm.*"},
                                       {"gradients of parameters", "grad.deberta.*,grad.lm_predictions.*"}});
        if (!range.model)
            dumps.insert(dumps.end(), {{"gradients of q, k, v", "grad.*.q,grad.*.k,grad.*.v"},
                                       {"gradients of tables", "grad.*_r,grad.*.r_k,grad.*.bias.?"},
                                       {"gradient of q", "grad.*.q"}});
        for (const auto& [dump, globs] : dumps) {
            const Trace part = only(candidate, globs);
            if (part.stages().empty()) continue;
            Finding finding = judge(range, part);
            finding.where = range.content.id + ", " + precision;
            finding.in_float = std::string(precision) == "float32";
            finding.dump = dump;
            findings.push_back(std::move(finding));
        }
    };
    add(run_backward<float>(range, injected), "float32");
    add(run_backward<double>(range, injected), "float64");
    return findings;
}

template Trace run_backward<float>(const GradientRange&, const Injection&);
template Trace run_backward<double>(const GradientRange&, const Injection&);

namespace {

const std::string kPage = std::string(LOCUS_SOURCE_DIR) + "/core/conformance/README.md";

PrintedTable read_table() {
    const std::string text = test::read_file(kPage);
    const std::size_t begin = text.find("<!-- table -->"), end = text.find("<!-- end of table -->");
    if (begin == std::string::npos || end == std::string::npos)
        throw Error(Fault::unreadable, kPage + ": no table of mistakes between its two marks");
    PrintedTable table;
    std::istringstream lines(text.substr(begin, end - begin));
    for (std::string line; std::getline(lines, line);) {
        if (line.size() > 2 && line.starts_with("| ") && std::isdigit(static_cast<unsigned char>(line[2])))
            table.rows.push_back(line);
        else if (line.find(" ways to make them") != std::string::npos)
            table.sum = line;
    }
    return table;
}

}  // namespace

std::string table_row(const Injection& injected, const std::string& what, const std::string& no_name,
                      const std::vector<Finding>& all) {
    LOCUS_CHECK(!all.empty(), "mistake " + std::to_string(injected.mistake) + " has no findings, expected one or more");
    const auto weight = [&](const Finding& each) {
        if (each.dump != "everything" || each.first.empty()) return 0;
        return each.named == injected.mistake ? 3 : each.named && names(each.named, injected) ? 2 : 1;
    };
    const Finding& best = *std::max_element(all.begin(), all.end(),
                                            [&](const Finding& a, const Finding& b) { return weight(a) < weight(b); });
    const std::string name = weight(best) == 3   ? "yes"
                             : weight(best) == 2 ? "as " + std::to_string(best.named)
                             : no_name.empty()   ? "no"
                                                 : "no: " + no_name;
    return "| " + std::to_string(injected.mistake) + " | " + what + " | " + best.where + " | `" + best.first + "` | " +
           name + " |";
}

std::string table_row(const InjectedMistake& known, const std::vector<Finding>& all) {
    return table_row(known.injected, known.what, known.no_name, all);
}

const PrintedTable& printed_table() {
    static const PrintedTable table = read_table();
    return table;
}

void check_row(const std::string& row) {
    const auto& rows = printed_table().rows;
    INFO("this row belongs into the table of " << kPage << ":\n" << row);
    CHECK(std::count(rows.begin(), rows.end(), row) == 1);
}

}  // namespace locus::conformance::toy
