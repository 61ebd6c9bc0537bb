#include "tests/fuzz/fuzz_target.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/check.h"

namespace locus::test {

namespace fs = std::filesystem;

const std::vector<FuzzTarget>& fuzz_targets() {
    static const std::vector<FuzzTarget> targets = {
        {"safetensors", fuzz_safetensors},
        {"zip", fuzz_zip},
        {"pickle", fuzz_pickle},
        {"npy", fuzz_npy},
        {"config", fuzz_config},
        {"inputs", fuzz_inputs},
        {"tokenizer_json", fuzz_tokenizer_json},
        {"sentencepiece", fuzz_sentencepiece},
        {"charsmap", fuzz_charsmap},
        {"vocabulary", fuzz_vocabulary},
        {"case", fuzz_case},
        {"stream", fuzz_stream},
        {"report", fuzz_report},
        {"script", fuzz_script},
        {"settings", fuzz_settings},
        {"training", fuzz_training},
    };
    return targets;
}

const FuzzTarget& fuzz_target(const std::string& name) {
    std::string names;
    for (const FuzzTarget& target : fuzz_targets()) {
        if (target.name == name) return target;
        names += (names.empty() ? "" : ", ") + target.name;
    }
    throw Error(Fault::usage, "there is no fuzz target \"" + name + "\", expected one of: " + names);
}

namespace {

/// No control characters, U+0080 to U+009F among them, which some terminals obey.
bool is_one_printable_line(const std::string& sentence) {
    for (std::size_t n = 0; n < sentence.size(); ++n) {
        const auto byte = static_cast<unsigned char>(sentence[n]);
        if (byte < 0x20 || byte == 0x7f) return false;
        if (byte != 0xc2 || n + 1 == sentence.size()) continue;
        const auto next = static_cast<unsigned char>(sentence[n + 1]);
        if (next >= 0x80 && next < 0xa0) return false;
    }
    return true;
}

}  // namespace

bool accepts(const FuzzTarget& target, std::string_view bytes, const fs::path& folder) {
    try {
        target.read(bytes, folder);
        return true;
    } catch (const Error& refusal) {
        const std::string sentence = refusal.what();
        promise(!sentence.empty() && sentence.size() < 2000, "a refusal is a sentence, not", sentence);
        promise(is_one_printable_line(sentence), "a refusal is one line of printable characters, not", sentence);
        for (const auto& entry : fs::directory_iterator(folder)) {
            const std::string& left = entry.path().native();
            // A draft, as core/io/write_target.h names it.
            promise(left.find("/.", folder.native().size()) == std::string::npos,
                    "a refusal leaves nothing, but there is", left);
        }
        return false;
    }
}

fs::path fuzz_file(const fs::path& folder, const std::string& name, std::string_view bytes) {
    const fs::path file = folder / name;
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("the fuzz target cannot write " + file.string());
    ::close(descriptor);
    return file;
}

bool takes_its_turn(std::string_view bytes, std::size_t many) {
    return std::hash<std::string_view>()(bytes) % many == 0;
}

std::vector<std::string_view> fuzz_parts(std::string_view bytes, std::size_t count) {
    static constexpr std::string_view kDivider = "\n%%\n";
    std::vector<std::string_view> parts;
    while (parts.size() + 1 < count) {
        const std::size_t end = bytes.find(kDivider);
        parts.push_back(bytes.substr(0, end));
        bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + kDivider.size());
    }
    parts.push_back(bytes);
    return parts;
}

}  // namespace locus::test
