#pragma once
// The bytes torch.save leaves, made by hand so that tests can bend each of them.
#include <string>
#include <utility>
#include <vector>

#include "core/io/torch_pickle.h"
#include "tests/files.h"

namespace locus::test {

inline std::string pickled_text(const std::string& text) {
    return "X" + bytes_of(static_cast<std::uint32_t>(text.size())) + text;
}
inline std::string pickled_number(std::int64_t number) { return "\x8a\x08" + bytes_of(number); }
inline std::string pickled_numbers(const std::vector<std::int64_t>& numbers) {
    std::string pickle = "(";
    for (const std::int64_t number : numbers) pickle += pickled_number(number);
    return pickle + "t";
}
inline std::string pickled_global(const std::string& module, const std::string& name) {
    return "c" + module + "\n" + name + "\n";
}

/// One tensor as torch pickles it.
struct TorchTensor {
    std::string name = "x", storage = "FloatStorage", key = "0";
    std::int64_t storage_size = 4, offset = 0;
    std::vector<std::int64_t> shape = {2, 2}, strides = {2, 1};
    std::string view = {};  // the pickled view of a legacy storage, if any

    std::string pickle() const {
        return pickled_global("torch._utils", "_rebuild_tensor_v2") + "((" + pickled_text("storage") +
               pickled_global("torch", storage) + pickled_text(key) + pickled_text("cpu") +
               pickled_number(storage_size) + view + "tQ" + pickled_number(offset) + pickled_numbers(shape) +
               pickled_numbers(strides) + "\x89" + pickled_global("collections", "OrderedDict") + ")RtR";
    }
};

/// A dictionary of names and pickled values.
inline std::string pickled_items(const std::vector<std::pair<std::string, std::string>>& items) {
    std::string pickle = "\x80\x02}(";
    for (const auto& [name, value] : items) pickle += pickled_text(name) + value;
    return pickle + "u.";
}
inline std::string pickled_dict(const std::vector<TorchTensor>& tensors) {
    std::vector<std::pair<std::string, std::string>> items;
    for (const TorchTensor& tensor : tensors) items.emplace_back(tensor.name, tensor.pickle());
    return pickled_items(items);
}

/// Keys and bytes.
using Storages = std::vector<std::pair<std::string, std::string>>;

/// A zip archive; checksums are left 0, as Locus maps members without reading them.
struct ZipBytes {
    struct Member {
        std::string name, bytes;
        std::uint16_t method = 0, flags = 0;
    };
    std::vector<Member> members;
    bool wide = false;  // sizes, offsets and the directory's place in 64-bit fields only
    std::string comment = {};

    std::string bytes() const {
        std::string archive, directory;
        for (const Member& member : members) {
            const std::uint64_t at = archive.size(), size = member.bytes.size();
            const auto narrow = [&](std::uint64_t number) {
                return bytes_of(wide ? 0xffffffffU : static_cast<std::uint32_t>(number));
            };
            const std::string extra = wide ? bytes_of<std::uint16_t>(1) + bytes_of<std::uint16_t>(24) + bytes_of(size) +
                                                 bytes_of(size) + bytes_of(at)
                                           : "";
            const std::string common = bytes_of<std::uint16_t>(20) + bytes_of(member.flags) + bytes_of(member.method) +
                                       std::string(8, '\0') + narrow(size) + narrow(size) +
                                       bytes_of(static_cast<std::uint16_t>(member.name.size()));
            archive += "PK\3\4" + common + bytes_of<std::uint16_t>(3) + member.name + "pad" + member.bytes;
            directory += "PK\1\2" + bytes_of<std::uint16_t>(20) + common +
                         bytes_of(static_cast<std::uint16_t>(extra.size())) + std::string(10, '\0') + narrow(at) +
                         member.name + extra;
        }
        return archive + directory + end(archive.size(), directory.size());
    }

private:
    std::string end(std::uint64_t at, std::uint64_t size) const {
        const auto count = static_cast<std::uint16_t>(wide ? 0xffff : members.size());
        std::string record;
        if (wide) {
            const std::uint64_t all = members.size();
            record += "PK\6\6" + bytes_of<std::uint64_t>(44) + std::string(12, '\0') + bytes_of(all) + bytes_of(all) +
                      bytes_of(size) + bytes_of(at);
            record += "PK\6\7" + std::string(4, '\0') + bytes_of(at + size) + bytes_of<std::uint32_t>(1);
        }
        return record + "PK\5\6" + std::string(4, '\0') + bytes_of(count) + bytes_of(count) +
               bytes_of(static_cast<std::uint32_t>(size)) +
               bytes_of(wide ? 0xffffffffU : static_cast<std::uint32_t>(at)) +
               bytes_of(static_cast<std::uint16_t>(comment.size())) + comment;
    }
};

/// A checkpoint as torch >= 1.6 writes it.
inline ZipBytes torch_zip(const std::string& pickle, const Storages& storages) {
    ZipBytes zip;
    zip.members.push_back({"archive/data.pkl", pickle});
    zip.members.push_back({"archive/byteorder", "little"});
    for (const auto& [key, bytes] : storages) zip.members.push_back({"archive/data/" + key, bytes});
    return zip;
}

/// A checkpoint as torch < 1.6 wrote it.
inline std::string torch_legacy(const std::string& pickle, const Storages& storages, int width = 4,
                                int protocol = 1001) {
    static constexpr unsigned char kMagic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
    std::string bytes = "\x80\x02\x8a\x0a" + std::string(reinterpret_cast<const char*>(kMagic), 10) + ".";
    bytes += "\x80\x02" + pickled_number(protocol) + ".";
    bytes += "\x80\x02}(" + pickled_text("little_endian") + "\x88u.";
    bytes += pickle + "\x80\x02](";
    for (const auto& storage : storages) bytes += pickled_text(storage.first);
    bytes += "e.";
    for (const auto& storage : storages)
        bytes += bytes_of(static_cast<std::int64_t>(storage.second.size()) / width) + storage.second;
    return bytes;
}

/// float32 values 0, 1, 2, ...
inline std::string counting_floats(int count) {
    std::string bytes;
    for (int n = 0; n < count; ++n) bytes += bytes_of(static_cast<float>(n));
    return bytes;
}

inline const Storages kFourFloats = {{"0", counting_floats(4)}};

/// Row-major values of a tensor of a file with these bytes.
inline std::vector<float> values_in(const std::string& bytes, const std::string& name = "x") {
    const TemporaryFolder folder;
    const TensorFile file = open_torch_pickle(write_bytes(folder / "pytorch_model.bin", bytes));
    const TensorEntry* entry = file.find(name);
    REQUIRE(entry);
    return read_tensor<float>(*entry).values();
}

inline std::string refusal_of(const std::string& bytes) {
    const TemporaryFolder folder;
    const fs::path file = write_bytes(folder / "pytorch_model.bin", bytes);
    const std::string sentence = refusal([&] { open_torch_pickle(file); });
    CHECK_THAT(sentence, Catch::Contains("pytorch_model.bin: "));
    CHECK(sentence.size() < 600);
    return sentence;
}

}  // namespace locus::test
