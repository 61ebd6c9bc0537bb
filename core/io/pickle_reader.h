#pragma once
// The part of Python's pickle that state dictionaries are written in.  Nothing is executed: a global is a name on a
// short list, and calling one builds a description of a tensor.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/tensor_file.h"

namespace locus {

struct PickleItems;

/// One Python value.  Texts are views into the pickle and containers belong to the reader, so that a copy costs the
/// same whatever it holds, and hostile nesting costs neither stack nor leaks.
struct PickleValue {
    enum class Kind { none, boolean, integer, real, text, sequence, dict, global, storage, tensor, mark };
    Kind kind = Kind::none;
    Dtype dtype = Dtype::f32;  // of a storage
    std::int64_t integer = 0;  // of a storage: its elements
    std::string_view text;     // of text; the dotted name of a global; the key of a storage; digits of a long integer
    PickleItems* items = nullptr;  // of sequence, dict (key, value, key, value, ...), tensor (the arguments that
                                   // rebuild it) and storage (its offset in the storage it is a view of)
};

struct PickleItems {
    std::vector<PickleValue> values;
};

/// What _rebuild_tensor_v2 was called with.
struct PickledTensor {
    std::string storage_key;
    Dtype dtype = Dtype::f32;
    std::int64_t storage_size = 0;    // elements
    std::int64_t storage_offset = 0;  // elements, from the start of the storage
    Shape shape, strides;
};

class PickleReader {
public:
    /// Reads from bytes [begin, end), which must outlive the reader and its values; `location` is the file's name, for
    /// messages.
    PickleReader(const std::byte* begin, const std::byte* end, std::string location)
        : begin_(begin), at_(begin), end_(end), location_(std::move(location)) {}

    /// Reads one pickle up to its STOP and returns its value, valid as long as the reader lives.
    /// Throws Error(unreadable) for a global that is not on the list ("os.system"), an opcode tensors do not need, more
    /// values than a state dictionary has, and bytes that end too early.
    PickleValue read();
    /// Bytes consumed so far.
    std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }

    /// Named tensors of a state dictionary, in order; values that are not tensors are skipped.
    std::vector<std::pair<std::string, PickledTensor>> tensors(const PickleValue& dictionary) const;
    /// Element type of every storage met so far, by key.
    const std::map<std::string, Dtype>& storage_types() const { return storage_types_; }
    [[noreturn]] void throw_unreadable(const std::string& what) const;

private:
    using Kind = PickleValue::Kind;

    // pickle_reader.cpp: bytes and opcodes
    void step(unsigned char opcode);
    bool step_scalar(unsigned char opcode);
    bool step_container(unsigned char opcode);
    bool step_memo(unsigned char opcode);
    const std::byte* take(std::size_t count);
    template <class Number>
    Number number();
    std::string_view take_text(std::size_t count);
    std::string_view take_line();
    void push_long();

    // The stack, the marks and the memo.
    void push(Kind kind, std::int64_t integer = 0, std::string_view text = {});
    void push_items(Kind kind, std::vector<PickleValue> values);
    PickleValue pop();
    PickleValue& top();
    std::vector<PickleValue> pop_to_mark();
    void extend(PickleValue& container, const std::vector<PickleValue>& values, bool pairs);
    void keep(std::size_t slot);
    void recall(std::size_t slot);
    void spend(std::size_t values);

    // torch_pickle.cpp: what globals, calls and persistent ids mean
    void push_global(std::string_view module, std::string_view name);
    void push_storage(const PickleValue& id);
    void reduce(const PickleValue& callable, const PickleValue& arguments);
    PickledTensor describe(const std::string& name, const PickleValue& tensor) const;
    void check_reach(const std::string& name, const PickledTensor& tensor) const;
    std::vector<Index> whole_numbers(const std::string& name, const PickleValue& sequence) const;

    const std::byte *begin_, *at_, *end_;
    std::string location_;
    std::deque<PickleValue> stack_;  // grows without a copy of all that is there
    std::vector<PickleValue> memo_;  // marks where nothing was kept
    std::deque<PickleItems> arena_;
    std::size_t spent_ = 0;  // values held by containers
    std::map<std::string, Dtype> storage_types_;
};

}  // namespace locus
