#pragma once
// One sentence as every snapshot of a training sees it: the terms of all heads, and the words predicted for each
// [MASK].
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "viewer/data/deberta_session.h"
#include "viewer/data/training_course.h"

namespace locus {

/// How far the learned curves reach, in tokens to either side.
inline constexpr Index kCurveReach = 24;

/// What decides a look, and nothing else.
struct LookQuery {
    std::shared_ptr<const CourseSubject> subject;
    std::vector<std::shared_ptr<const Parameters<float>>> snapshots;
    std::string text;
    std::vector<Index> masked;  // tokens replaced by [MASK]; those that the text does not have are left out
    bool operator==(const LookQuery&) const = default;
};

struct SnapshotLook {
    Trace trace;                               // layer.{l}.q, k, q_r, k_r, c2c, c2p, p2c
    std::vector<std::vector<double>> chances;  // [V] for each [MASK]
};

struct TrainingLook {
    LookQuery query;
    std::uint64_t serial = 0;
    std::string error;  // one sentence; the rest is then empty
    Fault fault = Fault::usage;
    Answer sentence;                         // labels, special, continues, behind: nothing else is filled
    std::vector<Index> masks;                // positions of [MASK], in order
    std::vector<Index> hidden;               // ids of what each replaces; -1 where the text itself says [MASK]
    std::optional<RelativeBuckets> buckets;  // of kCurveReach + 1 tokens
    std::vector<std::shared_ptr<const SnapshotLook>> snapshots;

    Index length() const { return sentence.length(); }
    /// Words of one mask at one snapshot, the likeliest first.
    std::vector<Word> words(std::size_t snapshot, std::size_t mask, std::size_t count) const;
    /// The chance of one word at every snapshot.
    std::vector<double> chances(std::size_t mask, Index id) const;
    /// Whose chance is worth following: the hidden word, else the likeliest of the last snapshot.
    Index followed(std::size_t mask) const;
    /// A piece as a person reads it.
    std::string word(Index id) const;
};

/// Answers, and keeps what the next question needs again: the animation and a growing training look at the same
/// snapshots.
class TrainingLooks {
public:
    /// Never throws: a refusal becomes TrainingLook::error.  nullptr once `stop` says yes.  One call at a time.
    std::shared_ptr<const TrainingLook> answer(const LookQuery& query, const CancelToken& stop = {});

private:
    void fill(TrainingLook& look, const CancelToken& stop);

    std::shared_ptr<const TrainingLook> kept_;
    std::uint64_t serial_ = 0;
};

/// One of the position terms of a head through all snapshots.
struct CurveHistory {
    std::vector<std::vector<double>> means;  // per snapshot, over the tokens: [2 kCurveReach + 1], distance i - j
    std::vector<Matrix<float>> tokens;       // per snapshot, each token's own: [T, 2 kCurveReach + 1]
    double low = 0, high = 0;                // of all tokens, and so of their means; 0 among them
};

/// One head through all snapshots.
struct HeadHistory {
    std::array<double, 3> widest{};  // largest |c2c|, |c2p|, |p2c| of all snapshots
    CurveHistory c2p, p2c;
};
HeadHistory head_history(const TrainingLook& look, Index layer, Index head);

/// The distance i - j at which a curve of 2 kCurveReach + 1 values is highest.
Index peak_of(const std::vector<double>& curve);

}  // namespace locus
