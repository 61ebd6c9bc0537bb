#include "core/io/pickle_reader.h"

#include <algorithm>
#include <cstring>

namespace locus {

namespace {

struct StorageName {
    const char* name;
    Dtype dtype;
};
constexpr StorageName kStorages[] = {{"torch.DoubleStorage", Dtype::f64}, {"torch.FloatStorage", Dtype::f32},
                                     {"torch.HalfStorage", Dtype::f16},   {"torch.BFloat16Storage", Dtype::bf16},
                                     {"torch.LongStorage", Dtype::i64},   {"torch.IntStorage", Dtype::i32},
                                     {"torch.ShortStorage", Dtype::i16},  {"torch.CharStorage", Dtype::i8},
                                     {"torch.ByteStorage", Dtype::u8},    {"torch.BoolStorage", Dtype::boolean}};

constexpr const char* kOrderedDict = "collections.OrderedDict";
constexpr const char* kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr const char* kRebuildParameter = "torch._utils._rebuild_parameter";

const StorageName* find_storage(const std::string& name) {
    const auto found = std::find_if(std::begin(kStorages), std::end(kStorages),
                                    [&](const StorageName& storage) { return name == storage.name; });
    return found == std::end(kStorages) ? nullptr : found;
}

constexpr std::size_t kMostMemo = std::size_t{1} << 18;

}  // namespace

void PickleReader::refuse(const std::string& what) const { throw Error(Fault::unreadable, location_ + ": " + what); }

const std::byte* PickleReader::take(std::size_t count) {
    if (count > static_cast<std::size_t>(end_ - at_))
        refuse("the pickle is cut short: " + std::to_string(count) + " bytes wanted, " + std::to_string(end_ - at_) +
               " left");
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

std::string PickleReader::take_text(std::size_t count) {
    const std::byte* from = take(count);
    return {reinterpret_cast<const char*>(from), count};
}

std::string PickleReader::take_line() {
    const auto newline = std::find(at_, end_, std::byte{'\n'});
    if (newline == end_) refuse("the pickle is cut short inside a name");
    const std::string line = take_text(static_cast<std::size_t>(newline - at_));
    take(1);
    return line;
}

void PickleReader::push(Kind kind, std::int64_t integer, std::string text) {
    PickleValue value;
    value.kind = kind;
    value.integer = integer;
    value.text = std::move(text);
    stack_.push_back(std::move(value));
}

void PickleReader::push_items(Kind kind, std::vector<PickleValue> values) {
    arena_.push_back({std::move(values)});
    push(kind);
    stack_.back().items = &arena_.back();
}

PickleValue& PickleReader::top() {
    if (stack_.empty() || stack_.back().kind == Kind::mark) refuse("the pickle is damaged: a value is missing");
    return stack_.back();
}

PickleValue PickleReader::pop() {
    PickleValue value = std::move(top());
    stack_.pop_back();
    return value;
}

std::vector<PickleValue> PickleReader::pop_to_mark() {
    const auto mark =
        std::find_if(stack_.rbegin(), stack_.rend(), [](const PickleValue& value) { return value.kind == Kind::mark; });
    if (mark == stack_.rend()) refuse("the pickle is damaged: a mark is missing");
    std::vector<PickleValue> values(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return values;
}

void PickleReader::push_global(const std::string& name) {
    if (name != kOrderedDict && name != kRebuildTensor && name != kRebuildParameter && !find_storage(name))
        refuse("names the foreign global " + name + ", expected only what tensors need; nothing was executed");
    push(Kind::global, 0, name);
}

void PickleReader::push_storage(const PickleValue& id) {
    // ('storage', type, key, location, elements) and, in legacy files, a view or None.
    const bool fits = id.kind == Kind::sequence && id.items->values.size() >= 5 &&
                      id.items->values[0].kind == Kind::text && id.items->values[0].text == "storage" &&
                      id.items->values[1].kind == Kind::global && find_storage(id.items->values[1].text) &&
                      id.items->values[2].kind == Kind::text && id.items->values[4].kind == Kind::integer;
    if (!fits) refuse("has a persistent id that is not a tensor storage");
    const std::vector<PickleValue>& parts = id.items->values;
    PickleValue storage;
    storage.kind = Kind::storage;
    storage.dtype = find_storage(parts[1].text)->dtype;
    storage.text = parts[2].text;
    storage.integer = parts[4].integer;
    PickleValue view_offset;
    view_offset.kind = Kind::integer;
    if (parts.size() > 5 && parts[5].kind == Kind::sequence) {
        const std::vector<PickleValue>& view = parts[5].items->values;
        if (view.size() != 3 || view[1].kind != Kind::integer) refuse("has a storage view that cannot be read");
        view_offset.integer = view[1].integer;
    }
    arena_.push_back({{view_offset}});
    storage.items = &arena_.back();
    stack_.push_back(std::move(storage));
}

void PickleReader::reduce(const PickleValue& callable, const PickleValue& arguments) {
    if (callable.kind != Kind::global || arguments.kind != Kind::sequence)
        refuse("calls something that is not a known global");
    const std::vector<PickleValue>& given = arguments.items->values;
    if (callable.text == kOrderedDict) {
        push_items(Kind::dict, {});
        for (const PickleValue& pairs : given)
            if (pairs.kind == Kind::sequence)
                for (const PickleValue& pair : pairs.items->values)
                    if (pair.kind == Kind::sequence && pair.items->values.size() == 2)
                        extend(stack_.back(), pair.items->values, true);
    } else if (callable.text == kRebuildTensor) {
        if (given.size() < 4 || given[0].kind != Kind::storage)
            refuse("rebuilds a tensor from something else than a storage");
        push_items(Kind::tensor, given);
    } else if (callable.text == kRebuildParameter && !given.empty() && given[0].kind == Kind::tensor) {
        stack_.push_back(given[0]);
    } else {
        refuse("calls " + callable.text + ", which builds no tensor");
    }
}

void PickleReader::extend(PickleValue& container, const std::vector<PickleValue>& values, bool pairs) {
    if (container.kind != (pairs ? Kind::dict : Kind::sequence) || (pairs && values.size() % 2 != 0))
        refuse("the pickle is damaged: items for something that holds none");
    container.items->values.insert(container.items->values.end(), values.begin(), values.end());
}

bool PickleReader::step_scalar(unsigned char opcode) {
    switch (opcode) {
        case 'N':
            push(Kind::none);
            return true;
        case 0x88:
            push(Kind::boolean, 1);
            return true;
        case 0x89:
            push(Kind::boolean, 0);
            return true;
        case 'J':
            push(Kind::integer, number<std::int32_t>());
            return true;
        case 'K':
            push(Kind::integer, number<std::uint8_t>());
            return true;
        case 'M':
            push(Kind::integer, number<std::uint16_t>());
            return true;
        case 'G':
            take(8);
            push(Kind::real);
            return true;
        case 'X':
            push(Kind::text, 0, take_text(number<std::uint32_t>()));
            return true;
        case 0x8c:
            push(Kind::text, 0, take_text(number<std::uint8_t>()));
            return true;
        case 'T':
            push(Kind::text, 0, take_text(number<std::uint32_t>()));
            return true;
        case 'U':
            push(Kind::text, 0, take_text(number<std::uint8_t>()));
            return true;
        case 0x8a: {
            const std::string bytes = take_text(number<std::uint8_t>());
            std::int64_t value = 0;
            std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
            if (!bytes.empty() && bytes.size() < sizeof value && (bytes.back() & 0x80))
                value |= static_cast<std::int64_t>(~std::uint64_t{0} << (8 * bytes.size()));
            push(Kind::integer, value, bytes);  // the bytes too: the magic number of legacy files has ten
            return true;
        }
        default:
            return false;
    }
}

bool PickleReader::step_memo(unsigned char opcode) {
    std::size_t slot = 0;
    switch (opcode) {
        case 'q':
            slot = number<std::uint8_t>();
            break;
        case 'r':
            slot = number<std::uint32_t>();
            break;
        case 0x94:
            slot = memo_.size();
            break;
        case 'h':
        case 'j': {
            slot = opcode == 'h' ? number<std::uint8_t>() : number<std::uint32_t>();
            if (slot >= memo_.size()) refuse("the pickle is damaged: it recalls what it never kept");
            stack_.push_back(memo_[slot]);
            return true;
        }
        default:
            return false;
    }
    if (slot >= kMostMemo) refuse("the pickle keeps more values than any state dictionary");
    if (slot >= memo_.size()) memo_.resize(slot + 1);
    memo_[slot] = top();
    return true;
}

bool PickleReader::step_container(unsigned char opcode) {
    switch (opcode) {
        case '(':
            push(Kind::mark);
            return true;
        case '}':
            push_items(Kind::dict, {});
            return true;
        case ']':
        case ')':
            push_items(Kind::sequence, {});
            return true;
        case 't':
        case 'l':
            push_items(Kind::sequence, pop_to_mark());
            return true;
        case 'd': {
            const std::vector<PickleValue> values = pop_to_mark();
            push_items(Kind::dict, {});
            extend(stack_.back(), values, true);
            return true;
        }
        case 0x85:
        case 0x86:
        case 0x87: {
            std::vector<PickleValue> values(static_cast<std::size_t>(opcode - 0x84));
            for (std::size_t n = values.size(); n-- > 0;) values[n] = pop();
            push_items(Kind::sequence, std::move(values));
            return true;
        }
        case 'a': {
            const PickleValue value = pop();
            extend(top(), {value}, false);
            return true;
        }
        case 'e': {
            const auto values = pop_to_mark();
            extend(top(), values, false);
            return true;
        }
        case 's': {
            const PickleValue value = pop(), key = pop();
            extend(top(), {key, value}, true);
            return true;
        }
        case 'u': {
            const auto values = pop_to_mark();
            extend(top(), values, true);
            return true;
        }
        default:
            return false;
    }
}

void PickleReader::step(unsigned char opcode) {
    if (step_scalar(opcode) || step_container(opcode) || step_memo(opcode)) return;
    switch (opcode) {
        case 0x80:
            take(1);
            return;  // protocol
        case 0x95:
            take(8);
            return;  // frame
        case 'c': {
            const std::string module = take_line();
            push_global(module + "." + take_line());
            return;
        }
        case 0x93: {
            const PickleValue name = pop(), module = pop();
            push_global(module.text + "." + name.text);
            return;
        }
        case 'R': {
            const PickleValue arguments = pop(), callable = pop();
            reduce(callable, arguments);
            return;
        }
        case 'Q':
            push_storage(pop());
            return;
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
    refuse(std::string("uses the pickle opcode ") + hex + ", which no state dictionary needs");
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

std::vector<Index> PickleReader::whole_numbers(const std::string& name, const PickleValue& sequence) const {
    std::vector<Index> numbers;
    if (sequence.kind == Kind::sequence && sequence.items->values.size() <= 8)
        for (const PickleValue& value : sequence.items->values)
            if (value.kind == Kind::integer && value.integer >= 0 && value.integer <= std::int64_t{1} << 40)
                numbers.push_back(value.integer);
    if (sequence.kind != Kind::sequence || numbers.size() != sequence.items->values.size())
        refuse("tensor " + name + " has sizes or strides that are not whole numbers");
    return numbers;
}

PickledTensor PickleReader::describe(const std::string& name, const PickleValue& value) const {
    const std::vector<PickleValue>& given = value.items->values;
    PickledTensor tensor;
    tensor.storage_key = given[0].text;
    tensor.dtype = given[0].dtype;
    tensor.storage_size = given[0].integer;
    if (given[1].kind != Kind::integer || given[1].integer < 0) refuse("tensor " + name + " has no offset");
    const std::int64_t view = given[0].items->values[0].integer;
    if (view < 0 || __builtin_add_overflow(given[1].integer, view, &tensor.storage_offset))
        refuse("tensor " + name + " has an offset outside its storage");
    tensor.shape = whole_numbers(name, given[2]);
    tensor.strides = whole_numbers(name, given[3]);
    if (tensor.shape.size() != tensor.strides.size())
        refuse("tensor " + name + " has sizes and strides of different rank");
    // Last element reached plus one must lie inside the storage.
    std::int64_t reach = tensor.storage_offset;
    bool empty = false, overflow = false;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        empty = empty || tensor.shape[axis] == 0;
        std::int64_t span = 0;
        overflow = overflow || __builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[axis], &span) ||
                   __builtin_add_overflow(reach, span, &reach);
    }
    if (overflow || (!empty && reach >= tensor.storage_size))
        refuse("tensor " + name + " reaches beyond its storage of " + std::to_string(tensor.storage_size) + " values");
    return tensor;
}

std::vector<std::pair<std::string, PickledTensor>> PickleReader::tensors(const PickleValue& dictionary) const {
    if (dictionary.kind != Kind::dict) refuse("does not hold a dictionary of tensors");
    std::vector<std::pair<std::string, PickledTensor>> found;
    const std::vector<PickleValue>& items = dictionary.items->values;
    for (std::size_t n = 0; n + 1 < items.size(); n += 2)
        if (items[n].kind == Kind::text && items[n + 1].kind == Kind::tensor)
            found.emplace_back(items[n].text, describe(items[n].text, items[n + 1]));
    if (found.empty()) refuse("holds no tensors");
    return found;
}

}  // namespace locus
