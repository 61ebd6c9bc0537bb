#pragma once
// What a training says while it runs: a line that renews itself on a terminal, one now and then elsewhere.
#include <chrono>
#include <string>

#include "core/training/training_run.h"

namespace locus::cli {

/// "5.846": three digits after the point.
std::string loss_text(double loss);

class TrainProgress {
public:
    using Seconds = std::chrono::duration<double>;

    /// minutes: the whole time there is; 0: as long as the steps take.
    TrainProgress(bool json, double minutes);
    /// What follows, such as an error, begins on a line of its own.
    ~TrainProgress();
    TrainProgress(const TrainProgress&) = delete;
    TrainProgress& operator=(const TrainProgress&) = delete;

    /// One step was done.  Says so if it is time to.
    void step(const StepReport& report, Index steps);
    /// A sentence of its own, in front of the renewing line.
    void say(const std::string& sentence);
    /// The last word.  heldout: the loss on sentences held out; go_on: the options with which a training that was
    /// stopped goes on.
    void finish(TrainingRun& run, double heldout, const std::string& out, const std::string& go_on, bool stopped);

    double seconds() const { return Seconds(std::chrono::steady_clock::now() - begin_).count(); }
    bool time_is_over() const { return minutes_ > 0 && seconds() >= 60 * minutes_; }
    /// How many steps fit into the time, as far as is known; where nothing is, `steps`, or twice as many as are done
    /// where these are all.
    Index steps_in_time(Index done, Index steps) const;

private:
    std::string line(const StepReport& report, Index steps) const;

    bool json_, terminal_;
    bool line_open_ = false;  // the line that renews itself has no end yet
    double minutes_;
    std::chrono::steady_clock::time_point begin_;
    double said_ = 0;
    Index first_step_ = -1, last_step_ = 0;
    double tokens_ = 0, loss_ = 0, detection_ = 0, share_ = 0;  // running means of the losses, and their weight
};

}  // namespace locus::cli
