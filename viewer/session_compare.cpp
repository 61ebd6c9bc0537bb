// Both sides of the Compare page: a pass of the model each, or a dump.
#include <algorithm>
#include <cmath>

#include "core/cli/request.h"
#include "core/compare.h"
#include "core/io/printable.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/session.h"

namespace locus {

namespace {

constexpr std::size_t kKeptDumps = 4;

double largest_magnitude(const Stage& stage) {
    double largest = 0;
    for (Index n = 0; n < stage.size(); ++n)
        if (std::isfinite(stage.at(n))) largest = std::max(largest, std::abs(stage.at(n)));
    return largest;
}

std::string in_words(const CompareSide& side) { return side.file.empty() ? "the opened model" : printable(side.file); }

}  // namespace

const OpenedDump& Session::dump(const std::string& file) const {
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file, error);
    const auto known =
        std::find_if(dumps_.begin(), dumps_.end(), [&](const OpenedDump& one) { return one.file == file; });
    if (known != dumps_.end() && !error && known->written == written) {
        dumps_.splice(dumps_.end(), dumps_, known);
        return dumps_.back();
    }
    if (known != dumps_.end()) dumps_.erase(known);
    OpenedDump opened = open_dump(file);
    while (dumps_.size() >= kKeptDumps) dumps_.pop_front();
    return dumps_.emplace_back(std::move(opened));
}

std::vector<std::string> Session::stage_names(const CompareSide& side, const ModelInput& input) const {
    if (!side.file.empty()) return dump(side.file).trace.names();
    return model_.stage_names(input, DebertaOptions::of(side.dialect));
}

const Trace& Session::trace_of(const CompareSide& side, const std::string& stage, const ModelInput& input,
                               Trace& own) const {
    if (!side.file.empty()) return dump(side.file).trace;
    const StageFilter wanted(at_layer(stage, side.layer));
    const DebertaOptions options = DebertaOptions::of(side.dialect);
    if (side.exact && !exact_) exact_.emplace(cli::open_deberta<double>(checkpoint_));
    own = side.exact ? exact_->forward(input, options, wanted, stop_) : model_.forward(input, options, wanted, stop_);
    return own;
}

void Session::fill_comparison(CompareAnswer& answer, const CompareRequest& request, const ModelInput& input) const {
    if (request.stage.empty()) return;
    answer.stages =
        common_stages(stage_names(request.a, input), stage_names(request.b, input), request.a.layer, request.b.layer);
    answer.stage = nearest_stage(request.stage, answer.stages);
    if (request.exactly) answer.stage = request.stage;
    for (const CompareSide* side : {&request.a, &request.b})
        if (!side->file.empty()) {
            require_stage(dump(side->file), at_layer(answer.stage, side->layer),
                          request.exactly ? "the report" : "the comparison");
            if (answer.tokens.empty()) answer.tokens = dump(side->file).tokens;
        }
    LOCUS_CHECK(!answer.stage.empty(),
                in_words(request.a) + " and " + in_words(request.b) + " have no stage in common");
    Trace own_a, own_b;
    const Trace& a = trace_of(request.a, answer.stage, input, own_a);
    const Trace& b = trace_of(request.b, answer.stage, input, own_b);
    answer.a = a.at(at_layer(answer.stage, request.a.layer));
    answer.b = b.at(at_layer(answer.stage, request.b.layer));
    if (answer.a.shape() != answer.b.shape())
        throw Error(Fault::unreadable, answer.stage + " is " + to_string(answer.a.shape()) + " in " +
                                           in_words(request.a) + " and " + to_string(answer.b.shape()) + " in " +
                                           in_words(request.b) + ": only one shape can be subtracted");
    if (answer.a.size() == 0)
        throw Error(Fault::unreadable, answer.stage + " is " + to_string(answer.a.shape()) + ": it has no values");
    const auto stored = request.b.file.empty() ? std::map<std::string, std::string>() : dump(request.b.file).stored;
    const Tolerance tolerance = derived_tolerance(a, answer.a, answer.b, stored);
    answer.allowed = tolerance.absolute + tolerance.relative * largest_magnitude(answer.a);
}

CompareAnswer Session::compare(const CompareRequest& request, const ModelInput& input) const {
    CompareAnswer answer;
    try {
        fill_comparison(answer, request, input);
    } catch (const Error& error) {
        answer.trouble = error.what();
        answer.fault = error.fault();
    }
    return answer;
}

}  // namespace locus
