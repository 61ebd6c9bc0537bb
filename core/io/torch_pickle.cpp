#include "core/io/torch_pickle.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "core/io/pickle_reader.h"
#include "core/io/zip_directory.h"

namespace locus {

namespace {

using File = std::shared_ptr<const MappedFile>;

/// Where a storage's bytes begin in the file and how many there are.
struct StoragePlace {
    std::size_t offset = 0, bytes = 0;
};

// Tied parameters are two tensors in one storage, and layers may share all of theirs; thousands of tensors in one
// storage would fill any memory.
constexpr std::uint64_t kMostShared = 16, kFreelyShared = std::uint64_t{1} << 20;

TensorFile place_tensors(const PickleReader& reader, const PickleValue& dictionary, const File& file,
                         const std::map<std::string, StoragePlace>& storages) {
    TensorFile tensors;
    std::uint64_t bytes = 0;  // of all values, each counted for every tensor that holds it
    for (const auto& [name, pickled] : reader.tensors(dictionary)) {
        const auto storage = storages.find(pickled.storage_key);
        if (storage == storages.end())
            reader.throw_unreadable("tensor " + name + " lies in storage " + pickled.storage_key +
                                    ", which the file does not hold");
        if (static_cast<std::uint64_t>(pickled.storage_size) > storage->second.bytes / byte_size(pickled.dtype))
            reader.throw_unreadable("storage " + pickled.storage_key + " of tensor " + name + " has " +
                                    std::to_string(storage->second.bytes) + " bytes, too few for " +
                                    std::to_string(pickled.storage_size) + " values of " + to_string(pickled.dtype));
        TensorEntry entry{
            name,
            pickled.dtype,
            pickled.shape,
            pickled.strides,
            storage->second.offset + static_cast<std::size_t>(pickled.storage_offset) * byte_size(pickled.dtype),
            file};
        bytes += static_cast<std::uint64_t>(element_count(entry.shape)) * byte_size(entry.dtype);
        if (bytes > kMostShared * file->size() + kFreelyShared)
            reader.throw_unreadable("its tensors up to " + name + " hold " + std::to_string(bytes) +
                                    " bytes, more than " + std::to_string(kMostShared) + " times the " +
                                    std::to_string(file->size()) + " of the file");
        tensors.entries.push_back(std::move(entry));
    }
    return tensors;
}

TensorFile open_zip(const File& file) {
    const auto members = read_zip_directory(*file);
    std::string prefix;
    const ZipMember* pickle = nullptr;
    for (const auto& [name, member] : members)
        if (name == "data.pkl" || name.ends_with("/data.pkl")) {
            if (pickle)
                throw Error(Fault::unreadable, file->path().string() + ": holds data.pkl twice, expected it once");
            pickle = &member;
            prefix = name.substr(0, name.size() - std::strlen("data.pkl"));
        }
    if (!pickle)
        throw Error(Fault::unreadable,
                    file->path().string() + ": is a zip archive without data.pkl, expected one that torch wrote");
    PickleReader reader(file->data() + pickle->offset, file->data() + pickle->offset + pickle->size,
                        file->path().string());
    const auto order = members.find(prefix + "byteorder");
    if (order != members.end() &&
        std::string(reinterpret_cast<const char*>(file->data()) + order->second.offset, order->second.size) != "little")
        reader.throw_unreadable("its byteorder is not little");
    std::map<std::string, StoragePlace> storages;
    for (const auto& [name, member] : members)
        if (name.starts_with(prefix + "data/"))
            storages[name.substr(prefix.size() + std::strlen("data/"))] = {member.offset, member.size};
    const PickleValue dictionary = reader.read();
    return place_tensors(reader, dictionary, file, storages);
}

/// Five pickles (magic, version, system, dictionary, storage keys), then for each key a count and the values.
TensorFile open_legacy(const File& file) {
    static constexpr unsigned char kMagic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
    PickleReader reader(file->data(), file->data() + file->size(), file->path().string());
    const PickleValue magic = reader.read();
    if (magic.text.size() != sizeof kMagic || std::memcmp(magic.text.data(), kMagic, sizeof kMagic) != 0)
        reader.throw_unreadable("is neither a zip archive nor a legacy torch file");
    const PickleValue version = reader.read();
    if (version.integer != 1001)
        reader.throw_unreadable("has legacy protocol " + std::to_string(version.integer) + ", expected 1001");
    reader.read();
    const PickleValue dictionary = reader.read();
    const PickleValue keys = reader.read();
    if (keys.kind != PickleValue::Kind::sequence) reader.throw_unreadable("has no list of storages");

    const std::map<std::string, Dtype>& dtypes = reader.storage_types();
    std::map<std::string, StoragePlace> storages;
    std::size_t at = reader.position();
    for (const PickleValue& value : keys.items->values) {
        const std::string key(value.text);
        const auto dtype = dtypes.find(key);
        if (dtype == dtypes.end()) reader.throw_unreadable("lists storage " + key + ", which no tensor uses");
        std::int64_t count = 0;
        if (file->size() - at < sizeof count) reader.throw_unreadable("is cut short before storage " + key);
        std::memcpy(&count, file->data() + at, sizeof count);
        at += sizeof count;
        const std::size_t width = byte_size(dtype->second), left = file->size() - at;
        if (count < 0 || static_cast<std::uint64_t>(count) > left / width)
            reader.throw_unreadable("is cut short inside storage " + key + ": " + std::to_string(count) +
                                    " values of " + to_string(dtype->second) + " expected, " + std::to_string(left) +
                                    " bytes left");
        storages[key] = {at, static_cast<std::size_t>(count) * width};
        at += static_cast<std::size_t>(count) * width;
    }
    return place_tensors(reader, dictionary, file, storages);
}

}  // namespace

TensorFile open_torch_pickle(const std::filesystem::path& path) {
    const File file = std::make_shared<const MappedFile>(path);
    check_no_pointer(*file);
    // What is a text or another archive would be read as damage of a pickle, which every byte can be.
    if (!looks_like_zip(*file) && (file->size() == 0 || file->data()[0] != std::byte{0x80}))
        throw Error(Fault::unreadable,
                    path.string() + ": " +
                        (file->size() == 0 ? "is empty" : "begins with neither a zip archive nor a pickle") +
                        ", expected what torch.save writes");
    return looks_like_zip(*file) ? open_zip(file) : open_legacy(file);
}

// What the globals, calls and persistent ids of a state dictionary mean (torch/_utils.py, torch/serialization.py).

namespace {

struct StorageName {
    std::string_view name;
    Dtype dtype;
};
constexpr StorageName kStorages[] = {{"torch.DoubleStorage", Dtype::f64}, {"torch.FloatStorage", Dtype::f32},
                                     {"torch.HalfStorage", Dtype::f16},   {"torch.BFloat16Storage", Dtype::bf16},
                                     {"torch.LongStorage", Dtype::i64},   {"torch.IntStorage", Dtype::i32},
                                     {"torch.ShortStorage", Dtype::i16},  {"torch.CharStorage", Dtype::i8},
                                     {"torch.ByteStorage", Dtype::u8},    {"torch.BoolStorage", Dtype::boolean}};

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";

// A tensor may repeat its storage by strides of 0; beyond this many values that is not a parameter but a trap.
constexpr std::int64_t kMostRepeated = std::int64_t{1} << 24;

const StorageName* find_storage(std::string_view name) {
    const auto found = std::find_if(std::begin(kStorages), std::end(kStorages),
                                    [&](const StorageName& storage) { return name == storage.name; });
    return found == std::end(kStorages) ? nullptr : found;
}

/// The listed spelling of a global; empty if it is not on the list.
std::string_view find_global(std::string_view name) {
    for (const std::string_view known : {kOrderedDict, kRebuildTensor, kRebuildParameter})
        if (name == known) return known;
    const StorageName* storage = find_storage(name);
    return storage ? storage->name : std::string_view();
}

}  // namespace

void PickleReader::push_global(std::string_view module, std::string_view name) {
    const std::string dotted = std::string(module) + "." + std::string(name);
    const std::string_view known = find_global(dotted);
    if (known.empty())
        throw_unreadable("names the foreign global " + dotted +
                         ", expected only what tensors need; nothing was executed");
    push(Kind::global, 0, known);
}

void PickleReader::push_storage(const PickleValue& id) {
    // ('storage', type, key, location, elements) and, in legacy files, None or a view (key, offset, elements).
    const bool fits = id.kind == Kind::sequence && id.items->values.size() >= 5 &&
                      id.items->values[0].kind == Kind::text && id.items->values[0].text == "storage" &&
                      id.items->values[1].kind == Kind::global && find_storage(id.items->values[1].text) &&
                      id.items->values[2].kind == Kind::text && id.items->values[4].kind == Kind::integer;
    if (!fits) throw_unreadable("has a persistent id that is not a tensor storage");
    const std::vector<PickleValue>& parts = id.items->values;
    const std::string key(parts[2].text);
    const Dtype dtype = find_storage(parts[1].text)->dtype;
    if (storage_types_.emplace(key, dtype).first->second != dtype)
        throw_unreadable("gives storage " + key + " two element types, expected one");
    PickleValue view_offset;
    view_offset.kind = Kind::integer;
    if (parts.size() > 5 && parts[5].kind != Kind::none) {
        if (parts[5].kind != Kind::sequence || parts[5].items->values.size() != 3 ||
            parts[5].items->values[1].kind != Kind::integer)
            throw_unreadable("storage " + key + " is a view that cannot be read");
        view_offset = parts[5].items->values[1];
    }
    push_items(Kind::storage, {view_offset});
    stack_.back().dtype = dtype;
    stack_.back().text = parts[2].text;
    stack_.back().integer = parts[4].integer;
}

void PickleReader::reduce(const PickleValue& callable, const PickleValue& arguments) {
    if (callable.kind != Kind::global || arguments.kind != Kind::sequence)
        throw_unreadable("calls something that is not a known global");
    const std::vector<PickleValue>& given = arguments.items->values;
    if (callable.text == kOrderedDict) {
        push_items(Kind::dict, {});
        for (const PickleValue& pairs : given) {  // Python 2 hands the items over as lists of two
            if (pairs.kind != Kind::sequence)
                throw_unreadable("calls collections.OrderedDict with something else than pairs");
            for (const PickleValue& pair : pairs.items->values) {
                if (pair.kind != Kind::sequence || pair.items->values.size() != 2)
                    throw_unreadable("calls collections.OrderedDict with something else than pairs");
                extend(stack_.back(), pair.items->values, true);
            }
        }
    } else if (callable.text == kRebuildTensor) {
        if (given.size() < 4 || given[0].kind != Kind::storage)
            throw_unreadable("rebuilds a tensor from something else than a storage");
        push_items(Kind::tensor, given);
    } else if (callable.text == kRebuildParameter && !given.empty() && given[0].kind == Kind::tensor) {
        push(Kind::tensor);
        stack_.back().items = given[0].items;
    } else {
        throw_unreadable("calls " + std::string(callable.text) + ", which builds no tensor");
    }
}

std::vector<Index> PickleReader::whole_numbers(const std::string& name, const PickleValue& sequence) const {
    // No more than an Index holds, where that has 32 bits.
    constexpr std::int64_t kMost = std::min<std::int64_t>(std::int64_t{1} << 40, std::numeric_limits<Index>::max());
    std::vector<Index> numbers;
    if (sequence.kind != Kind::sequence || sequence.items->values.size() > 8)
        throw_unreadable("tensor " + name + " has no list of at most 8 sizes or strides");
    for (const PickleValue& value : sequence.items->values) {
        if (value.kind != Kind::integer || value.integer < 0 || value.integer > kMost)
            throw_unreadable("tensor " + name + " has sizes or strides that are not whole numbers from 0 to " +
                             std::to_string(kMost));
        numbers.push_back(static_cast<Index>(value.integer));
    }
    return numbers;
}

PickledTensor PickleReader::describe(const std::string& name, const PickleValue& value) const {
    const std::vector<PickleValue>& given = value.items->values;
    PickledTensor tensor;
    tensor.storage_key = std::string(given[0].text);
    tensor.dtype = given[0].dtype;
    tensor.storage_size = given[0].integer;
    const std::int64_t view = given[0].items->values[0].integer;
    if (given[1].kind != Kind::integer || given[1].integer < 0 || view < 0 ||
        __builtin_add_overflow(given[1].integer, view, &tensor.storage_offset))
        throw_unreadable("tensor " + name + " has an offset outside its storage");
    tensor.shape = whole_numbers(name, given[2]);
    tensor.strides = whole_numbers(name, given[3]);
    if (tensor.shape.size() != tensor.strides.size())
        throw_unreadable("tensor " + name + " has sizes and strides of different rank");
    check_reach(name, tensor);
    return tensor;
}

/// The last element must lie inside the storage, and the sizes must be countable.
void PickleReader::check_reach(const std::string& name, const PickledTensor& tensor) const {
    std::int64_t last = tensor.storage_offset, count = 8;  // bytes of the widest element
    bool empty = false, overflow = false;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        const std::int64_t extent = std::max<std::int64_t>(tensor.shape[axis], 1);
        std::int64_t span = 0;
        empty = empty || tensor.shape[axis] == 0;
        overflow = overflow || __builtin_mul_overflow(count, extent, &count) ||
                   count > std::numeric_limits<Index>::max() ||
                   __builtin_mul_overflow(extent - 1, tensor.strides[axis], &span) ||
                   __builtin_add_overflow(last, span, &last);
    }
    if (overflow || (!empty && last >= tensor.storage_size))
        throw_unreadable("tensor " + name + " reaches beyond its storage of " + std::to_string(tensor.storage_size) +
                         " values");
    if (!empty && count / 8 > std::max(tensor.storage_size, kMostRepeated))
        throw_unreadable("tensor " + name + " repeats its storage of " + std::to_string(tensor.storage_size) +
                         " values into " + std::to_string(count / 8));
}

std::vector<std::pair<std::string, PickledTensor>> PickleReader::tensors(const PickleValue& dictionary) const {
    if (dictionary.kind != Kind::dict) throw_unreadable("does not hold a dictionary of tensors");
    std::vector<std::pair<std::string, PickledTensor>> found;
    const std::vector<PickleValue>& items = dictionary.items->values;
    for (std::size_t n = 0; n + 1 < items.size(); n += 2)
        if (items[n].kind == Kind::text && items[n + 1].kind == Kind::tensor) {
            const std::string name(items[n].text);
            found.emplace_back(name, describe(name, items[n + 1]));
        }
    if (found.empty()) throw_unreadable("holds no tensors");
    return found;
}

}  // namespace locus
