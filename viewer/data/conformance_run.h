#pragma once
// Has the kit judge a port: exported, rehearsed and checked, away from the window.
#include <memory>
#include <string>

#include "core/cancel.h"
#include "core/io/atomic_file.h"
#include "viewer/data/check_report.h"

namespace locus {

namespace conformance {
struct Kit;
}

/// What decides a report, and nothing else.
struct ConformanceQuery {
    std::string report, dumps;
    int mistake = 1;
    std::string dialect;
    Index checks = 0;
    bool operator==(const ConformanceQuery&) const = default;
};

struct ConformanceAnswer {
    ConformanceQuery query;
    std::shared_ptr<const CheckReport> report;  // nullptr: `error` says why in one sentence
    std::string error;
    Fault fault = Fault::unreadable;
    std::string command;                        // how a reader gets the same report
    std::shared_ptr<const ScratchFolder> kept;  // the dumps of a rehearsal, as long as somebody looks at the report
};

/// One call at a time.
class ConformanceRuns {
public:
    /// Never throws: a refusal becomes ConformanceAnswer::error.  nullptr once `stop` says yes, which is asked before
    /// every case and stage.
    std::shared_ptr<const ConformanceAnswer> answer(const ConformanceQuery& query, const CancelToken& stop = {});

private:
    void judge(ConformanceAnswer& answer, const CancelToken& stop);
    /// The kit of this build, exported once.
    const conformance::Kit& kit(const CancelToken& stop);

    std::unique_ptr<const ScratchFolder> kit_folder_;
    std::shared_ptr<const conformance::Kit> kit_;
};

}  // namespace locus
