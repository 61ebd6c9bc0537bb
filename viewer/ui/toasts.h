#pragma once
// Sentences that are shown for a while: what was done, and why something was refused.
#include <string>
#include <vector>

namespace locus {

struct Toast {
    std::string sentence;
    bool refusal = false;
    double since = 0;  // seconds on the caller's clock
    /// Seconds on screen: long enough to be read, a refusal half as long again.
    double lifetime() const;
};

/// The newest at the end; the same sentence twice is shown once, anew.
class Toasts {
public:
    static constexpr std::size_t kMost = 4;
    static constexpr double kFade = 0.25;  // seconds at the end of a life

    /// Empty sentences are none.
    void add(const std::string& sentence, bool refusal, double now);
    /// Drops those whose time is over.
    void update(double now);
    /// Drops the newest, or the one of that number; false if there is none.
    bool dismiss();
    void dismiss(std::size_t number);

    const std::vector<Toast>& shown() const { return shown_; }
    /// 1, and towards the end of its life less; always 1 where nothing should move.
    static double opacity(const Toast& toast, double now, bool still);
    /// Seconds until one of them looks different; infinity if none will.
    double next_change(double now, bool still) const;

private:
    std::vector<Toast> shown_;
};

}  // namespace locus
