#pragma once
// What a fine-tuned head says, in words: logits with the names of their classes and as probabilities.
// transformers pipelines/text_classification.py, token_classification.py, question_answering.py.
#include <map>
#include <string>
#include <vector>

#include "core/io/checkpoint.h"
#include "core/trace.h"

namespace locus {

/// How logits become probabilities.
enum class ClassProbability {
    softmax,  // one class of several
    sigmoid,  // each class by itself: several labels at once, or the one score of a reranker
    none,     // a regression: the number is meant as it is
};

/// What config.json and the head say of the classes.
struct ClassNames {
    std::map<std::string, std::string> names;  // "7": what id2label calls class 7, on one line
    ClassProbability probability = ClassProbability::softmax;
    bool answers = false;  // the two classes of a token are that an answer begins and that it ends there
    std::string warning;   // of more or fewer names than the head has classes; empty where all is well

    /// "class 7" where there is no name.
    std::string name(Index number) const;
};

/// Reads id2label and problem_type; several labels at once are those of problem_type "multi_label_classification".
/// Throws Error(unreadable) naming config.json where either is something else than transformers writes: a name beside
/// the wrong class would not be seen.
ClassNames class_names(const Checkpoint& checkpoint);

struct ClassScore {
    std::string name;  // of the class; of a token where an answer begins or ends
    Index number = 0;  // of the class, or of the token
    double logit = 0;
    double probability = 0;  // NaN where there is none
};

/// The classes of a text, of one token, or of where an answer begins or ends, the likeliest first.
struct Classes {
    enum class Of { text, token, begin, end };
    Of of = Of::text;
    Index token = -1;              // of a token: where it stands
    std::vector<ClassScore> best;  // NaN logits last
    Index count = 0;               // of all, of which `best` holds some
    bool holds_nan = false;        // a logit of all is NaN: nothing is likeliest
};

/// One of classifier.logits; or one per token of classifier.token_logits; or where an answer begins, and where it ends.
/// Empty where the trace holds neither stage.  `tokens` names the T tokens of this sample; `most` is how many of each
/// are kept.
std::vector<Classes> classes_in(const Trace& trace, Index sample, const ClassNames& names,
                                const std::vector<std::string>& tokens, Index most);

}  // namespace locus
