#pragma once
// The report that grows row by row: what a crash or a hang leaves behind is everything before it.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

/// What the command line leaves of every part; empty: all.
struct Narrowing {
    std::vector<int> tokens;               // T
    std::vector<std::string> rows, peers;  // "forward", "packed", "backward", "model"; names of peers
    std::string tests;                     // a part of a test's name

    bool wants_tokens(int count) const {
        return tokens.empty() || std::find(tokens.begin(), tokens.end(), count) != tokens.end();
    }
    /// Of "packed forward": does a wanted row begin like it?
    bool wants_row(const std::string& what) const {
        return rows.empty() ||
               std::any_of(rows.begin(), rows.end(), [&](const std::string& row) { return what.starts_with(row); });
    }
    bool wants_peer(const std::string& name) const {
        return peers.empty() || std::find(peers.begin(), peers.end(), name) != peers.end();
    }
};

/// The rows of one part.
class Rows {
public:
    using Clock = std::chrono::steady_clock;

    using Known = std::function<void(const nlohmann::ordered_json&)>;

    /// `known` is called with every row, `so_far` with one that grows; no row begins after so many seconds.
    Rows(Known known, Known so_far, double seconds)
        : known_(std::move(known)), so_far_(std::move(so_far)), seconds_(seconds) {}
    void add(const nlohmann::ordered_json& row) const { known_(row); }
    /// What is known of the row that comes next.
    void add_so_far(const nlohmann::ordered_json& row) const { so_far_(row); }
    double left() const { return seconds_ - std::chrono::duration<double>(Clock::now() - begin_).count(); }
    bool is_over() const { return left() <= 0; }
    /// Why a row was not begun.
    std::string over() const {
        return "the " + std::to_string(static_cast<int>(seconds_ / 60)) + " minutes of this part were over";
    }

private:
    Known known_, so_far_;
    double seconds_;
    Clock::time_point begin_ = Clock::now();
};

/// All parts, and the file that has them.
class Report {
public:
    /// file: empty, or written anew whenever something is added.
    explicit Report(std::filesystem::path file) : file_(std::move(file)) {}
    void set(const std::string& pointer, const nlohmann::ordered_json& value);
    /// Rows that are appended to the array at this JSON pointer, "/against/rows", and told on stderr.  What is known of
    /// the next one lies at "/against/rows_so_far" until it is there.
    Rows rows(const std::string& pointer, double seconds);
    const nlohmann::ordered_json& all() const { return all_; }

private:
    void save() const;
    void erase(const std::string& pointer);

    std::filesystem::path file_;
    std::mutex guard_;
    nlohmann::ordered_json all_ = nlohmann::ordered_json::object();
};

}  // namespace locus::bench
