#include "core/cli/train_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "core/json_text.h"

namespace locus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kOld = 0.95;                 // share of the past in a running mean
constexpr Index kMostSteps = Index{1} << 30;  // as many as --steps may be

/// "2:05"
std::string clock_time(double seconds) {
    const auto whole = static_cast<Index>(std::lround(std::max(0.0, seconds)));
    const std::string rest = std::to_string(whole % 60);
    return std::to_string(whole / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

}  // namespace

std::string loss_text(double loss) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", loss);
    return text;
}

TrainProgress::TrainProgress(bool json, double minutes)
    : json_(json),
      terminal_(!json && ::isatty(STDOUT_FILENO) == 1),
      minutes_(minutes),
      begin_(std::chrono::steady_clock::now()) {}

TrainProgress::~TrainProgress() {
    if (line_open_) std::cout << std::endl;
}

Index TrainProgress::steps_in_time(Index done, Index steps) const {
    const Index here = first_step_ < 0 ? 0 : last_step_ - first_step_ + 1;
    // A training that had made all of its steps goes on: at the rate of its last one, which is 0, it would not learn.
    if (minutes_ <= 0 || here < 3) return done < steps ? steps : std::min(2 * done, kMostSteps);
    const double left = std::max(0.0, 60 * minutes_ - seconds()),
                 fit = std::min(left / seconds() * static_cast<double>(here), static_cast<double>(kMostSteps));
    return std::min(done + std::max<Index>(1, static_cast<Index>(fit)), kMostSteps);
}

std::string TrainProgress::line(const StepReport& report, Index steps) const {
    const double here = static_cast<double>(report.step - first_step_ + 1), passed = seconds();
    const double left =
        minutes_ > 0 ? 60 * minutes_ - passed : passed / here * static_cast<double>(steps - report.step);
    const std::string all = std::to_string(steps);
    std::string text = "step " +
                       std::string(all.size() - std::min(all.size(), std::to_string(report.step).size()), ' ') +
                       std::to_string(report.step) + "/" + all + "  loss " + loss_text(loss_ / share_);
    if (detection_ > 0) text += "  replaced " + loss_text(detection_ / share_);
    return text + "  " + std::to_string(std::lround(tokens_ / passed)) + " tokens/s  " + clock_time(left) + " left";
}

void TrainProgress::step(const StepReport& report, Index steps) {
    if (first_step_ < 0) first_step_ = report.step;
    last_step_ = report.step;
    tokens_ += static_cast<double>(report.tokens);
    loss_ = kOld * loss_ + (1 - kOld) * report.loss;
    detection_ = kOld * detection_ + (1 - kOld) * report.detection;
    share_ = kOld * share_ + (1 - kOld);
    const double now = seconds(), period = terminal_ ? 0.2 : json_ ? 1 : 5;
    if (now - said_ < period && report.step != first_step_ && report.step != steps) return;
    said_ = now;
    line_open_ = terminal_;
    if (json_)
        std::cout << Json{{"step", report.step},
                          {"steps", steps},
                          {"loss", json_number(report.loss)},
                          {"detection", json_number(report.detection)},
                          {"sift", json_number(report.sift)},
                          {"rate", report.rate},
                          {"tokens_per_second", std::lround(tokens_ / now)}}
                         .dump()
                  << std::endl;
    else if (terminal_)
        std::cout << "\r\x1b[K" << line(report, steps) << std::flush;
    else
        std::cout << line(report, steps) << std::endl;
}

void TrainProgress::say(const std::string& sentence) {
    if (json_) return;
    if (terminal_) std::cout << "\r\x1b[K";
    std::cout << sentence << std::endl;
    line_open_ = false;
}

void TrainProgress::finish(TrainingRun& run, double heldout, const std::string& out, const std::string& go_on,
                           bool stopped) {
    const Index step = run.trainer().steps();
    if (json_) {
        std::cout << Json{{"out", out},
                          {"step", step},
                          {"heldout_loss", run.has_heldout() ? json_number(heldout) : Json()},
                          {"stopped", stopped},
                          {"seconds", seconds()}}
                         .dump(-1, ' ', false, Json::error_handler_t::replace)  // a name need not be UTF-8
                  << std::endl;
        return;
    }
    std::string text = std::string(stopped ? "stopped" : "done") + " after " + std::to_string(step) + " steps in " +
                       clock_time(seconds());
    if (std::isfinite(heldout)) text += "; masked-word loss on sentences never seen: " + loss_text(heldout);
    say(text);
    say(stopped ? "saved; go on with " + go_on : "the model is in " + out);
}

}  // namespace locus::cli
