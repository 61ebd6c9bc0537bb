#include "core/trace.h"

#include <algorithm>
#include <type_traits>

#include "core/nearest_name.h"

namespace locus {

namespace {

/// True if a character matches the element of a pattern at p, which ends where `next` says: itself, ?, or one of a
/// class: [02], [0-3], [!0].  A [ that nothing closes is itself, as in Python's fnmatch and in a shell.
bool matches_one(const std::string& pattern, std::size_t p, char character, std::size_t& next) {
    next = p + 1;
    if (pattern[p] != '[') return pattern[p] == '?' || pattern[p] == character;
    const bool others = pattern.compare(p + 1, 1, "!") == 0;
    const std::size_t first = p + (others ? 2 : 1);
    const std::size_t end = pattern.find(']', first + 1);  // a ] at the front is a member
    if (end == std::string::npos) return character == '[';
    next = end + 1;
    bool member = false;
    for (std::size_t at = first; at < end; ++at) {
        const bool range = at + 2 < end && pattern[at + 1] == '-';
        member = member || (pattern[at] <= character && character <= pattern[range ? at + 2 : at]);
        if (range) at += 2;
    }
    return member != others;
}

/// Glob with *, ? and classes, by backtracking to the last star.
bool matches(const std::string& pattern, const std::string& name) {
    std::size_t p = 0, n = 0, star = std::string::npos, resume = 0, next = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && matches_one(pattern, p, name[n], next)) {
            p = next;
            ++n;
        } else if (star != std::string::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace

const Shape& Stage::shape() const {
    return std::visit([](const auto& tensor) -> const Shape& { return tensor.shape(); }, values);
}

const char* Stage::dtype() const {
    if (std::holds_alternative<Tensor<float>>(values)) return "F32";
    return std::holds_alternative<Tensor<double>>(values) ? "F64" : "I64";
}

Index Stage::size() const {
    return std::visit([](const auto& tensor) { return tensor.size(); }, values);
}

double Stage::at(Index flat) const {
    return std::visit([flat](const auto& tensor) { return static_cast<double>(tensor[flat]); }, values);
}

template <class Scalar>
const Tensor<Scalar>& Stage::as() const {
    const auto* tensor = std::get_if<Tensor<Scalar>>(&values);
    LOCUS_CHECK(tensor, "stage " + name + " holds " + dtype() + ", another type was asked for");
    return *tensor;
}

StageFilter::StageFilter(const std::string& globs) : everything_(false) {
    for (std::size_t from = 0; from <= globs.size();) {
        const std::size_t comma = std::min(globs.find(',', from), globs.size());
        std::string pattern = globs.substr(from, comma - from);
        pattern.erase(0, pattern.find_first_not_of(' '));
        pattern.erase(pattern.find_last_not_of(' ') + 1);
        patterns_.push_back(std::move(pattern));
        LOCUS_CHECK(!patterns_.back().empty(),
                    "stages: an empty pattern in \"" + globs + "\", expected names like layer.0.c2p");
        from = comma + 1;
    }
}

StageFilter StageFilter::of(std::vector<std::string> names) {
    StageFilter filter;
    filter.everything_ = false;
    filter.patterns_ = std::move(names);
    return filter;
}

StageFilter StageFilter::none() { return of({}); }

bool StageFilter::keeps(const std::string& name) const {
    return everything_ || std::any_of(patterns_.begin(), patterns_.end(),
                                      [&](const std::string& pattern) { return matches(pattern, name); });
}

bool StageFilter::keeps_any(const std::vector<std::string>& names) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return keeps(name); });
}

std::vector<std::string> StageFilter::unmatched(const std::vector<std::string>& names) const {
    std::vector<std::string> left;
    for (const std::string& pattern : patterns_)
        if (std::none_of(names.begin(), names.end(), [&](const std::string& name) { return matches(pattern, name); }))
            left.push_back(pattern);
    return left;
}

void StageFilter::check_against(const std::vector<std::string>& names) const {
    const std::vector<std::string> unknown = unmatched(names);
    if (unknown.empty()) return;
    const bool is_glob = unknown.front().find_first_of("*?[") != std::string::npos;
    throw Error(Fault::usage, "stages: \"" + unknown.front() + "\" matches no stage of this model and input, " +
                                  (is_glob ? "expected names like " + names.front() + " or " + names.back()
                                           : "the nearest is " + nearest(unknown.front(), names)) +
                                  "; locus trace --list-stages prints all");
}

void Trace::expect(const std::vector<std::string>& names) {
    filter_.check_against(names);
    for (const std::string& name : names)
        if (wants(name) && !find(name)) awaited_.insert(name);
    announced_ = true;
}

bool Trace::awaits(const std::string& prefix) const {
    const auto first = awaited_.lower_bound(prefix);  // names that start with it stand together, from here on
    return first != awaited_.end() && first->starts_with(prefix);
}

template <class Scalar>
void Trace::add(const std::string& name, Tensor<Scalar>&& values) {
    if (!wants(name)) return;
    const auto description = describe_stage(name, scheme_);
    LOCUS_CHECK(description, "trace: \"" + name + "\" is not the name of a stage");
    add(Stage{name, description->axes, description->formula, description->source, std::move(values)});
}

void Trace::add(Stage stage) {
    LOCUS_CHECK(numbers_.emplace(stage.name, stages_.size()).second,
                "trace: stage " + stage.name + " is there already");
    awaited_.erase(stage.name);
    stages_.push_back(std::move(stage));
}

const Stage* Trace::find(const std::string& name) const {
    const auto number = numbers_.find(name);
    return number == numbers_.end() ? nullptr : &stages_[number->second];
}

const Stage& Trace::at(const std::string& name) const {
    const Stage* stage = find(name);
    if (stage) return *stage;
    std::string known;
    for (const Stage& other : stages_) known += (known.empty() ? "" : ", ") + other.name;
    throw Error(Fault::usage, "trace: no stage " + name + "; there is " + (known.empty() ? "none" : known));
}

std::vector<std::string> Trace::names() const {
    std::vector<std::string> names;
    for (const Stage& stage : stages_) names.push_back(stage.name);
    return names;
}

template const Tensor<float>& Stage::as<float>() const;
template const Tensor<double>& Stage::as<double>() const;
template const IndexTensor& Stage::as<std::int64_t>() const;
template void Trace::add<float>(const std::string&, Tensor<float>&&);
template void Trace::add<double>(const std::string&, Tensor<double>&&);
template void Trace::add<std::int64_t>(const std::string&, IndexTensor&&);

}  // namespace locus
