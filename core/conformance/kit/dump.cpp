#include "core/conformance/kit/dump.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/io/input_file.h"
#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "core/io/subprocess.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> arrays_in(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".npy" && !entry.is_directory(error)) files.push_back(entry.path());
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

}  // namespace

std::optional<Dump> read_dump(const fs::path& dumps, const std::string& id) {
    const fs::path single = dumps / (id + ".safetensors"), inside = dumps / id / "dump.safetensors";
    const std::vector<fs::path> arrays = arrays_in(dumps / id);
    std::vector<fs::path> found = arrays;
    if (!found.empty()) found.resize(1);
    std::error_code ignored;  // a link that leads nowhere is refused when it is read
    for (const fs::path& file : {inside, single})
        if (fs::exists(fs::symlink_status(file, ignored))) found.insert(found.begin(), file);
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
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(dumps))
        if (entry.is_regular_file(ignored)) files.push_back(entry.path());
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

// A port that is a program: the frames that it writes to standard output.

namespace {

std::string take_word(std::string_view& bytes, const std::string& location, const char* what) {
    const std::size_t end = bytes.substr(0, 1000).find('\0');
    if (end == std::string_view::npos)
        throw_unreadable(location, std::string("a frame is cut short in its ") + what +
                                       ", expected name, dtype and shape, each with a zero byte after it; it begins " +
                                       "\"" + printable(std::string(bytes.substr(0, 40))) +
                                       "\", and nothing but frames may be written to standard output");
    const std::string word(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
    return word;
}

/// "2,3,9,9"; an empty text is a single number.
Shape parse_sizes(const std::string& text, const std::string& location) {
    Shape shape;
    for (const char* at = text.data(); at < text.data() + text.size();) {
        std::int64_t extent = 0;
        constexpr std::int64_t kMost = std::min<std::int64_t>(std::int64_t{1} << 40, std::numeric_limits<Index>::max());
        const auto [end, error] = std::from_chars(at, text.data() + text.size(), extent);
        const bool whole = end == text.data() + text.size();
        if (error != std::errc{} || extent < 0 || extent > kMost || (!whole && *end != ','))
            throw_unreadable(location, "has the shape \"" + text + "\", expected sizes like 2,3,9,9");
        shape.push_back(static_cast<Index>(extent));
        at = whole ? end : end + 1;
    }
    return shape;
}

}  // namespace

Dump parse_frames(std::string_view bytes, const std::string& location) {
    Dump dump;
    while (!bytes.empty()) {
        const std::string name = take_word(bytes, location, "name");
        const std::string where = location + ": stage " + name;
        const std::string dtype_name = take_word(bytes, where, "dtype");
        const Dtype dtype = dtype_named(dtype_name, where);
        const Shape shape = parse_sizes(take_word(bytes, where, "shape"), where);
        std::size_t count = byte_size(dtype);
        for (const Index extent : shape)
            if (__builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count))
                throw_unreadable(where, "is larger than any memory");
        if (dump.trace.find(name)) throw_unreadable(where, "comes twice");
        Stage stage = stage_of_bytes(where, dtype, shape, bytes.substr(0, count));
        bytes.remove_prefix(std::min(count, bytes.size()));
        stage.name = name;
        dump.stored[name] = dtype_name;
        dump.trace.add(std::move(stage));
    }
    return dump;
}

Dump run_port(const std::string& command, const std::filesystem::path& case_folder, double seconds) {
    const ProgramOutput output = run_shell_command(command, case_folder.string(), seconds);
    const std::string about = " for the case " + case_folder.string();
    if (output.end == ProgramOutput::End::too_late)
        throw PortDoesNotRun(printable(command) + ": did not end within " + format_number(seconds) + " seconds" +
                             printable(about) + "; --timeout SECONDS waits longer");
    if (output.end == ProgramOutput::End::too_long) throw_unreadable(command, "wrote more than 1 GiB" + about);
    // What a shell says of a command that it does not find, or may not run.
    if (output.status == 126 || output.status == 127)
        throw PortDoesNotRun(printable(command) + ": the shell cannot start it, it ended with status " +
                             std::to_string(output.status) + printable(about));
    if (output.status != 0) throw_unreadable(command, "ended with status " + std::to_string(output.status) + about);
    return parse_frames(output.out, command);
}

}  // namespace locus::conformance
