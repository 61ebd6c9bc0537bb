#include "core/io/torch_pickle.h"

#include <cstring>
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

TensorFile place_tensors(const PickleReader& reader, const PickleValue& dictionary, const File& file,
                         const std::map<std::string, StoragePlace>& storages) {
    TensorFile tensors;
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
    return looks_like_zip(*file) ? open_zip(file) : open_legacy(file);
}

}  // namespace locus
