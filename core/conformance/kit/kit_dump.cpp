#include "core/conformance/kit/kit_dump.h"

#include <algorithm>

#include "core/io/input_file.h"
#include "core/io/npy.h"
#include "core/io/safetensors.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> arrays_in(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.is_regular_file() && entry.path().extension() == ".npy") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

Dump read_arrays(const std::vector<fs::path>& files) {
    Dump dump;
    for (const fs::path& file : files) {
        std::string stored;
        Stage stage = read_npy(file, stored);
        stage.name = file.stem().string();
        dump.stored[stage.name] = stored;
        dump.trace.add(std::move(stage));
    }
    return dump;
}

std::size_t edits(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
    const std::string start = word.substr(0, 200);
    return *std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
        return edits(start, a) < edits(start, b);
    });
}

std::optional<Dump> read_dump(const fs::path& dumps, const std::string& id) {
    const fs::path single = dumps / (id + ".safetensors"), inside = dumps / id / "dump.safetensors";
    const std::vector<fs::path> arrays = arrays_in(dumps / id);
    std::vector<fs::path> found = arrays;
    if (!found.empty()) found.resize(1);
    for (const fs::path& file : {inside, single})
        if (fs::exists(file)) found.insert(found.begin(), file);
    if (found.empty()) return std::nullopt;
    if (found.size() > 1)
        throw Error(Fault::unreadable, printable(found[0].string()) + " and " + printable(found[1].string()) +
                                           " are both dumps of " + id + ", expected one of them");
    if (!arrays.empty()) return read_arrays(arrays);
    Dump dump;
    dump.trace = read_trace(found.front(), &dump.stored);
    dump.file = found.front();
    return dump;
}

std::vector<std::string> strange_dumps(const fs::path& dumps, const Kit& kit) {
    std::vector<std::string> ids, sentences;
    for (const KitCase& one : kit.cases) ids.push_back(one.id);
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(dumps))
        if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::string before;
    for (const fs::path& file : files) {
        const fs::path name = file.lexically_relative(dumps);
        const bool in_folder = file.extension() == ".npy" || name.filename() == "dump.safetensors";
        if (!in_folder && file.extension() != ".safetensors") continue;
        const std::string id =
            in_folder ? name.parent_path().generic_string() : fs::path(name).replace_extension().generic_string();
        if (kit.find(id) || id == before) continue;
        before = id;
        sentences.push_back(printable(file.string()) + " belongs to no case of the kit; the nearest is " +
                            nearest(id, ids));
    }
    return sentences;
}

}  // namespace locus::conformance
