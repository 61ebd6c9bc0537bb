#include "tests/bench/make_checkpoint.h"

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "core/models/deberta_weights.h"

namespace locus::bench {

namespace {

const char* const kConfig =
    R"({"model_type": "deberta-v2", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
 "intermediate_size": 3072, "max_position_embeddings": 512, "position_buckets": 256, "relative_attention": true,
 "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p",
 "position_biased_input": false, "type_vocab_size": 0, "vocab_size": 128100, "layer_norm_eps": 1e-7, "hidden_act": "gelu"})";

template <class Number>
std::string bytes_of(Number value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint32_t crc32(std::uint32_t crc, const char* bytes, std::size_t count) {
    static const std::array<std::uint32_t, 256> kTable = [] {
        std::array<std::uint32_t, 256> table{};
        for (std::uint32_t n = 0; n < 256; ++n) {
            std::uint32_t c = n;
            for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320U ^ (c >> 1) : c >> 1;
            table[n] = c;
        }
        return table;
    }();
    crc = ~crc;
    for (std::size_t n = 0; n < count; ++n)
        crc = kTable[(crc ^ static_cast<unsigned char>(bytes[n])) & 255] ^ (crc >> 8);
    return ~crc;
}

/// A zip archive of stored members, written front to back.
class StoredZip {
public:
    explicit StoredZip(const std::filesystem::path& file) : stream_(file, std::ios::binary) {}

    /// `write` appends the member's bytes through the function it is given.
    template <class Write>
    void add(const std::string& name, std::uint32_t size, Write write) {
        const auto at = static_cast<std::uint32_t>(stream_.tellp());
        stream_ << bytes_of<std::uint32_t>(0x04034b50) << header(0, size, name) << name;
        std::uint32_t crc = 0;
        write([&](const char* bytes, std::size_t count) {
            crc = crc32(crc, bytes, count);
            stream_.write(bytes, static_cast<std::streamsize>(count));
        });
        const auto end = stream_.tellp();
        stream_.seekp(at + 14);  // the checksum is known only now
        stream_ << bytes_of(crc);
        stream_.seekp(end);
        directory_ += bytes_of<std::uint32_t>(0x02014b50) + bytes_of<std::uint16_t>(20) + header(crc, size, name) +
                      std::string(2 + 2 + 2 + 4, '\0') + bytes_of(at) + name;
        ++count_;
    }

    void finish() {
        const auto at = static_cast<std::uint32_t>(stream_.tellp());
        stream_ << directory_ << bytes_of<std::uint32_t>(0x06054b50) << std::string(4, '\0') << bytes_of(count_)
                << bytes_of(count_) << bytes_of(static_cast<std::uint32_t>(directory_.size())) << bytes_of(at)
                << std::string(2, '\0');
    }

private:
    /// Version to name length: the same bytes in the local header and in the directory, extra length 0 after them.
    static std::string header(std::uint32_t crc, std::uint32_t size, const std::string& name) {
        return bytes_of<std::uint16_t>(20) + std::string(2 + 2 + 4, '\0') + bytes_of(crc) + bytes_of(size) +
               bytes_of(size) + bytes_of(static_cast<std::uint16_t>(name.size())) + std::string(2, '\0');
    }

    std::ofstream stream_;
    std::string directory_;
    std::uint16_t count_ = 0;
};

std::string pickled_text(const std::string& text) {
    return "X" + bytes_of(static_cast<std::uint32_t>(text.size())) + text;
}
std::string pickled_number(std::int64_t value) { return "J" + bytes_of(static_cast<std::int32_t>(value)); }

std::string pickled_tuple(const Shape& numbers) {
    std::string pickle = "(";
    for (const Index number : numbers) pickle += pickled_number(number);
    return pickle + "t";
}

std::string pickled_tensor(const std::string& key, const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled_text("storage") + "ctorch\nHalfStorage\n" +
           pickled_text(key) + pickled_text("cpu") + pickled_number(element_count(shape)) + "tQ" + pickled_number(0) +
           pickled_tuple(shape) + pickled_tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

std::vector<std::pair<std::string, Shape>> v3_base_tensors() {
    std::vector<std::pair<std::string, Shape>> tensors;
    for (auto& [name, shape] : expected_deberta_tensors(parse_deberta_config(kConfig, "config.json")))
        tensors.emplace_back("deberta." + name, shape);
    tensors.emplace_back("deberta.embeddings.position_embeddings.weight", Shape{512, 768});
    const std::string head = "lm_predictions.lm_head.";
    tensors.insert(tensors.end(), {{head + "dense.weight", {768, 768}},
                                   {head + "dense.bias", {768}},
                                   {head + "LayerNorm.weight", {768}},
                                   {head + "LayerNorm.bias", {768}},
                                   {head + "bias", {128100}}});
    return tensors;
}

}  // namespace

void write_v3_base_checkpoint(const std::filesystem::path& folder, std::uint64_t seed) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.json") << kConfig;
    const auto tensors = v3_base_tensors();
    std::string pickle = "\x80\x02}(";
    for (std::size_t n = 0; n < tensors.size(); ++n)
        pickle += pickled_text(tensors[n].first) + pickled_tensor(std::to_string(n), tensors[n].second);
    pickle += "u.";

    StoredZip zip(folder / "pytorch_model.bin");
    zip.add("pytorch_model/data.pkl", static_cast<std::uint32_t>(pickle.size()),
            [&](auto sink) { sink(pickle.data(), pickle.size()); });
    zip.add("pytorch_model/byteorder", 6, [&](auto sink) { sink("little", 6); });
    zip.add("pytorch_model/version", 2, [&](auto sink) { sink("3\n", 2); });
    for (std::size_t n = 0; n < tensors.size(); ++n) {
        const auto count = static_cast<std::size_t>(element_count(tensors[n].second));
        zip.add("pytorch_model/data/" + std::to_string(n), static_cast<std::uint32_t>(2 * count), [&](auto sink) {
            std::vector<std::uint16_t> values(std::size_t{1} << 16);
            for (std::size_t done = 0; done < count; done += values.size()) {
                const std::size_t now = std::min(values.size(), count - done);
                for (std::size_t v = 0; v < now; ++v) {
                    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
                    // A half between 2^-6 and 2^-5 with either sign.
                    values[v] = static_cast<std::uint16_t>((seed >> 48 & 0x8000) | 0x2400 | (seed >> 40 & 0x3ff));
                }
                sink(reinterpret_cast<const char*>(values.data()), 2 * now);
            }
        });
    }
    zip.finish();
}

}  // namespace locus::bench
