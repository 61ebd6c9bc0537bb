#include "core/conformance/kit/kit_stream.h"

#include <charconv>

#include "core/conformance/kit/kit_process.h"
#include "core/io/input_file.h"
#include "core/io/npy.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

std::string take_word(std::string_view& bytes, const std::string& location, const char* what) {
    const std::size_t end = bytes.substr(0, 1000).find('\0');
    if (end == std::string_view::npos)
        throw_unreadable(location, std::string("a frame is cut short in its ") + what +
                                       ", expected name, dtype and shape, each with a zero byte behind it");
    const std::string word(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
    return word;
}

/// "2,3,9,9"; an empty text is a single number.
Shape parse_sizes(const std::string& text, const std::string& location) {
    Shape shape;
    for (const char* at = text.data(); at < text.data() + text.size();) {
        Index extent = 0;
        const auto [end, error] = std::from_chars(at, text.data() + text.size(), extent);
        const bool whole = end == text.data() + text.size();
        if (error != std::errc{} || extent < 0 || extent > (Index{1} << 40) || (!whole && *end != ','))
            throw_unreadable(location, "has the shape \"" + text + "\", expected sizes like 2,3,9,9");
        shape.push_back(extent);
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
    const PortOutput output = output_of(command, case_folder.string(), seconds);
    const std::string about = " for the case " + case_folder.string();
    if (output.end == PortOutput::End::too_late)
        throw PortHangs(printable(command) + ": did not end within " + format_number(seconds) + " seconds" +
                        printable(about) + "; --timeout SECONDS waits longer");
    if (output.end == PortOutput::End::too_long) throw_unreadable(command, "wrote more than 1 GiB" + about);
    if (output.status != 0) throw_unreadable(command, "ended with status " + std::to_string(output.status) + about);
    return parse_frames(output.bytes, command);
}

}  // namespace locus::conformance
