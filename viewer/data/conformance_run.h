#pragma once
// Has the kit judge a port: exported, rehearsed and checked by the program that porters run, away from the window.
#include <list>
#include <memory>
#include <string>

#include "core/cancel.h"
#include "core/io/atomic_file.h"
#include "viewer/data/check_report.h"

namespace locus {

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
    std::shared_ptr<const CheckReport> report;  // nullptr: `trouble` says why in one sentence
    std::string trouble;
    Fault fault = Fault::unreadable;
    std::string command;                        // how a reader gets the same report
    std::shared_ptr<const ScratchFolder> kept;  // the dumps of a rehearsal, as long as somebody looks at the report
};

/// One call at a time.
class ConformanceRuns {
public:
    /// Never throws: a refusal becomes ConformanceAnswer::trouble.  nullptr once `stop` says yes.
    std::shared_ptr<const ConformanceAnswer> answer(const ConformanceQuery& query, const CancelToken& stop = {});

private:
    void judge(ConformanceAnswer& answer, const CancelToken& stop);
    /// The kit of this build, exported once.
    std::string kit(const CancelToken& stop);

    std::unique_ptr<const ScratchFolder> kit_;
};

}  // namespace locus
