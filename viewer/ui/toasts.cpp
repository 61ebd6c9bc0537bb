#include "viewer/ui/toasts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus {

namespace {

constexpr double kFrame = 1.0 / 30;  // between two pictures of a toast that fades

}  // namespace

double Toast::lifetime() const {
    // About 15 letters are read in a second.
    const double reading = 2.5 + static_cast<double>(sentence.size()) / 15;
    return std::min(reading * (refusal ? 1.5 : 1), 20.0);
}

void Toasts::add(const std::string& sentence, bool refusal, double now) {
    if (sentence.empty()) return;
    std::erase_if(shown_, [&](const Toast& old) { return old.sentence == sentence; });
    shown_.push_back({sentence, refusal, now});
    if (shown_.size() > kMost) shown_.erase(shown_.begin());
}

void Toasts::update(double now) {
    std::erase_if(shown_, [&](const Toast& toast) { return now - toast.since >= toast.lifetime(); });
}

bool Toasts::dismiss() {
    if (shown_.empty()) return false;
    shown_.pop_back();
    return true;
}

void Toasts::dismiss(std::size_t number) {
    if (number < shown_.size()) shown_.erase(shown_.begin() + static_cast<std::ptrdiff_t>(number));
}

double Toasts::opacity(const Toast& toast, double now, bool still) {
    const double left = toast.since + toast.lifetime() - now;
    return still ? 1 : std::clamp(left / kFade, 0.0, 1.0);
}

double Toasts::next_change(double now, bool still) const {
    double soonest = std::numeric_limits<double>::infinity();
    for (const Toast& toast : shown_) {
        const double left = toast.since + toast.lifetime() - now;
        soonest = std::min(soonest, still ? left : left > kFade ? left - kFade : kFrame);
    }
    return std::max(soonest, 0.0);
}

}  // namespace locus
