// Python's pickle machine, protocols 2 to 5 as far as state dictionaries use them (Python's pickletools.py lists the
// opcodes).
#include "core/io/pickle_reader.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/io/input_file.h"

namespace locus {

namespace {

constexpr std::size_t kLongestName = 256;

}  // namespace

void PickleReader::throw_unreadable(const std::string& what) const {
    throw Error(Fault::unreadable, location_ + ": " + printable(what));
}

const std::byte* PickleReader::take(std::size_t count) {
    if (count > static_cast<std::size_t>(end_ - at_))
        throw_unreadable("the pickle is cut short: " + std::to_string(count) + " bytes wanted, " +
                         std::to_string(end_ - at_) + " left");
    const std::byte* taken = at_;
    at_ += count;
    return taken;
}

template <class Number>
Number PickleReader::number() {
    Number value;
    std::memcpy(&value, take(sizeof(Number)), sizeof(Number));
    return value;
}

std::string_view PickleReader::take_text(std::size_t count) {
    return {reinterpret_cast<const char*>(take(count)), count};
}

std::string_view PickleReader::take_line() {
    const std::byte* limit = at_ + std::min<std::ptrdiff_t>(end_ - at_, kLongestName);
    const std::byte* newline = std::find(at_, limit, std::byte{'\n'});
    if (newline == limit) throw_unreadable("the pickle is cut short inside a name, or the name is no name");
    const std::string_view line = take_text(static_cast<std::size_t>(newline - at_));
    take(1);
    return line;
}

/// A whole number of any length.  One that does not fit 64 bits keeps its bytes only: the magic number of legacy files
/// has ten, nothing else in a state dictionary does.
void PickleReader::push_long() {
    const std::string_view bytes = take_text(number<std::uint8_t>());
    std::int64_t value = 0;
    if (bytes.size() > sizeof value) return push(Kind::real, 0, bytes);
    std::memcpy(&value, bytes.data(), bytes.size());
    if (!bytes.empty() && bytes.size() < sizeof value && (bytes.back() & 0x80))
        value |= static_cast<std::int64_t>(~std::uint64_t{0} << (8 * bytes.size()));
    push(Kind::integer, value);
}

bool PickleReader::step_scalar(unsigned char opcode) {
    switch (opcode) {
        case 'N':
            return push(Kind::none), true;
        case 0x88:
        case 0x89:
            return push(Kind::boolean, opcode == 0x88), true;
        case 'J':
            return push(Kind::integer, number<std::int32_t>()), true;
        case 'K':
            return push(Kind::integer, number<std::uint8_t>()), true;
        case 'M':
            return push(Kind::integer, number<std::uint16_t>()), true;
        case 0x8a:
            return push_long(), true;
        case 'G':
            return take(8), push(Kind::real), true;
        case 'X':  // BINUNICODE
        case 'T':  // BINSTRING, from Python 2
            return push(Kind::text, 0, take_text(number<std::uint32_t>())), true;
        case 0x8c:  // SHORT_BINUNICODE
        case 'U':   // SHORT_BINSTRING
            return push(Kind::text, 0, take_text(number<std::uint8_t>())), true;
        default:
            return false;
    }
}

bool PickleReader::step_memo(unsigned char opcode) {
    switch (opcode) {
        case 'q':
            return keep(number<std::uint8_t>()), true;
        case 'r':
            return keep(number<std::uint32_t>()), true;
        case 0x94:
            return keep(memo_.size()), true;
        case 'h':
            return recall(number<std::uint8_t>()), true;
        case 'j':
            return recall(number<std::uint32_t>()), true;
        default:
            return false;
    }
}

bool PickleReader::step_container(unsigned char opcode) {
    std::vector<PickleValue> values;
    switch (opcode) {
        case '(':
            return push(Kind::mark), true;
        case '}':
            return push_items(Kind::dict, {}), true;
        case ']':
        case ')':
            return push_items(Kind::sequence, {}), true;
        case 't':
        case 'l':
            return push_items(Kind::sequence, pop_to_mark()), true;
        case 'd':
            values = pop_to_mark();
            push_items(Kind::dict, {});
            return extend(stack_.back(), values, true), true;
        case 0x85:
        case 0x86:
        case 0x87:  // tuples of 1, 2 and 3
            values.resize(static_cast<std::size_t>(opcode - 0x84));
            for (std::size_t n = values.size(); n-- > 0;) values[n] = pop();
            return push_items(Kind::sequence, std::move(values)), true;
        case 'a':
            values = {pop()};
            return extend(top(), values, false), true;
        case 'e':
            values = pop_to_mark();
            return extend(top(), values, false), true;
        case 's':
            values.resize(2);
            values[1] = pop();
            values[0] = pop();
            return extend(top(), values, true), true;
        case 'u':
            values = pop_to_mark();
            return extend(top(), values, true), true;
        default:
            return false;
    }
}

void PickleReader::step(unsigned char opcode) {
    if (step_scalar(opcode) || step_container(opcode) || step_memo(opcode)) return;
    PickleValue second;
    switch (opcode) {
        case 0x80:
            take(1);
            return;  // protocol
        case 0x95:
            take(8);
            return;  // frame
        case 'c': {
            const std::string_view module = take_line();
            return push_global(module, take_line());
        }
        case 0x93:
            second = pop();
            return push_global(pop().text, second.text);
        case 'R':
            second = pop();
            return reduce(pop(), second);
        case 'Q':
            return push_storage(pop());
        case 'b':
            pop();
            top();
            return;  // attributes of an OrderedDict such as _metadata: not needed
        case '0':
            pop();
            return;
        default:
            break;
    }
    char hex[8];
    std::snprintf(hex, sizeof hex, "0x%02x", opcode);
    throw_unreadable(std::string("uses the pickle opcode ") + hex + ", which no state dictionary needs");
}

PickleValue PickleReader::read() {
    stack_.clear();
    memo_.clear();
    for (;;) {
        const auto opcode = number<std::uint8_t>();
        if (opcode == '.') return pop();
        step(opcode);
    }
}

// The stack, memo and containers of the pickle machine, with the limits a state dictionary keeps within.

namespace {

// A tensor costs about 30 values and 10 places in the memo; the limits keep a small hostile file small in memory.
constexpr std::size_t kMostValues = std::size_t{1} << 20;
constexpr std::size_t kMostMemo = std::size_t{1} << 19;

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
