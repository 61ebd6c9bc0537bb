// The stack, memo and containers of the pickle machine, with the limits a state dictionary keeps within.
#include <algorithm>

#include "core/io/pickle_reader.h"

namespace locus {

namespace {

// A tensor costs about 30 values and 10 places in the memo; the limits keep a small hostile file small in memory.
constexpr std::size_t kMostValues = std::size_t{1} << 22;
constexpr std::size_t kMostMemo = std::size_t{1} << 20;

}  // namespace

void PickleReader::spend(std::size_t values) {
    spent_ += values;
    if (spent_ > kMostValues || stack_.size() > kMostValues)
        throw_unreadable("the pickle holds more values than any state dictionary, expected at most " +
                         std::to_string(kMostValues));
}

void PickleReader::push(Kind kind, std::int64_t integer, std::string_view text) {
    spend(0);
    PickleValue value;
    value.kind = kind;
    value.integer = integer;
    value.text = text;
    stack_.push_back(value);
}

void PickleReader::push_items(Kind kind, std::vector<PickleValue> values) {
    spend(1 + values.size());
    arena_.push_back({std::move(values)});
    push(kind);
    stack_.back().items = &arena_.back();
}

PickleValue& PickleReader::top() {
    if (stack_.empty() || stack_.back().kind == Kind::mark)
        throw_unreadable("the pickle is damaged: a value is missing");
    return stack_.back();
}

PickleValue PickleReader::pop() {
    const PickleValue value = top();
    stack_.pop_back();
    return value;
}

std::vector<PickleValue> PickleReader::pop_to_mark() {
    const auto mark =
        std::find_if(stack_.rbegin(), stack_.rend(), [](const PickleValue& value) { return value.kind == Kind::mark; });
    if (mark == stack_.rend()) throw_unreadable("the pickle is damaged: a mark is missing");
    std::vector<PickleValue> values(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return values;
}

void PickleReader::extend(PickleValue& container, const std::vector<PickleValue>& values, bool pairs) {
    if (container.kind != (pairs ? Kind::dict : Kind::sequence) || (pairs && values.size() % 2 != 0))
        throw_unreadable("the pickle is damaged: items for something that holds none");
    spend(values.size());
    container.items->values.insert(container.items->values.end(), values.begin(), values.end());
}

void PickleReader::keep(std::size_t slot) {
    if (slot >= kMostMemo) throw_unreadable("the pickle keeps more values than any state dictionary");
    PickleValue nothing;
    nothing.kind = Kind::mark;
    if (slot >= memo_.size()) memo_.resize(slot + 1, nothing);
    memo_[slot] = top();
}

void PickleReader::recall(std::size_t slot) {
    if (slot >= memo_.size() || memo_[slot].kind == Kind::mark)
        throw_unreadable("the pickle is damaged: it recalls what it never kept");
    spend(0);
    stack_.push_back(memo_[slot]);
}

}  // namespace locus
