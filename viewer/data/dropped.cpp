#include "viewer/data/dropped.h"

#include <algorithm>
#include <fstream>

#include "core/check.h"
#include "core/io/input_file.h"
#include "core/text/tokenizers/unicode.h"
#include "viewer/data/check_report.h"
#include "viewer/data/comparison.h"
#include "viewer/ui/characters.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

std::string named(const fs::path& path) { return printable(path.string()); }

[[noreturn]] void throw_unreadable_drop(const std::string& sentence) { throw Error(Fault::unreadable, sentence); }

void classify_folder(Dropped& dropped) {
    std::error_code error;
    const fs::path& folder = dropped.path;
    if (!fs::is_regular_file(folder / "config.json", error))
        throw_unreadable_drop(named(folder) + " is a folder without config.json, expected a model's folder");
    dropped.kind = DropKind::model;
}

/// One of the files that a model's folder is made of.
bool is_part_of_model(const fs::path& file) {
    const std::string name = file.filename().string();
    std::error_code error;
    return (name == "config.json" || name == "pytorch_model.bin" || name == "model.safetensors" ||
            name == "model.safetensors.index.json") &&
           fs::is_regular_file(file.parent_path() / "config.json", error);
}

void read_text(Dropped& dropped) {
    std::ifstream stream(dropped.path, std::ios::binary);
    // A character has at most four bytes; one more shows that the file goes on.
    std::string bytes(4 * kDroppedCharacters + 4, '\0');
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (stream.bad() || (stream.fail() && !stream.eof()))
        throw_unreadable_drop(named(dropped.path) + " cannot be read");
    bytes.resize(static_cast<std::size_t>(stream.gcount()));
    try {
        dropped.text = opening_of_text(bytes, kDroppedCharacters, dropped.cut);
    } catch (const Error& error) {
        throw_unreadable_drop(named(dropped.path) + ": " + error.what());
    }
    if (std::all_of(dropped.text.begin(), dropped.text.end(), [](char c) { return c == ' ' || c == '\n'; }))
        throw_unreadable_drop(named(dropped.path) + " holds nothing but blanks, expected a text");
    dropped.kind = DropKind::text;
}

void classify_file(Dropped& dropped) {
    const std::string extension = lower_ascii(dropped.path.extension().string());
    const bool dump = extension == ".safetensors" || extension == ".npy";
    std::error_code error;
    if (fs::file_size(dropped.path, error) == 0 && !error)
        throw_unreadable_drop(named(dropped.path) + " is empty: it has 0 bytes");
    if (is_part_of_model(dropped.path)) {
        dropped.path = dropped.path.parent_path();
        dropped.kind = DropKind::model;
    } else if (extension == ".txt" || extension == ".md") {
        read_text(dropped);
    } else if (dump) {
        open_dump(dropped.path);
        dropped.kind = DropKind::dump;
    } else if (extension == ".json") {
        read_check_report(dropped.path);
        dropped.kind = DropKind::report;
    } else {
        throw_unreadable_drop(
            named(dropped.path) +
            " is of no kind that is shown here, expected a model's folder, a text (.txt), a dump (.safetensors, "
            ".npy) or a report (.json)");
    }
}

void look_at(Dropped& dropped) {
    std::error_code error;
    const fs::file_status status = fs::status(dropped.path, error);
    switch (status.type()) {
        case fs::file_type::directory:
            return classify_folder(dropped);
        case fs::file_type::regular:
            return classify_file(dropped);
        case fs::file_type::not_found:
            throw_unreadable_drop(named(dropped.path) + " is not there, or is a link to what is not there");
        case fs::file_type::none:
            throw_unreadable_drop(named(dropped.path) + " cannot be looked at: " + error.message());
        default:
            throw_unreadable_drop(named(dropped.path) + " is no file and no folder, but a pipe, a socket or a device");
    }
}

void show_sentence(std::string text, State& state) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    state.text = text;
    state.tokens.clear();
    state.mask.clear();
    if (state.page != "decoder") state.page = "attention";  // the pages that read the sentence
}

}  // namespace

std::string opening_of_text(std::string_view bytes, std::size_t characters, bool& cut) {
    std::string text;
    // The mark in front of some texts is no character of theirs.
    std::size_t at = bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;
    for (std::size_t n = 0; n < characters && at < bytes.size(); ++n) {
        const std::size_t from = at;
        const auto lead = static_cast<unsigned char>(bytes[at]);
        const std::size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
        bool whole = size > 0 && from + size <= bytes.size();
        for (std::size_t k = 1; whole && k < size; ++k)
            whole = (static_cast<unsigned char>(bytes[from + k]) & 0xc0) == 0x80;
        if (!whole)
            throw Error(Fault::unreadable, "byte " + std::to_string(from) + " is not UTF-8, expected a text in UTF-8");
        at += size;
        if (size == 1 && lead != '\n' && (lead < 0x20 || lead == 0x7f))
            text += ' ';
        else
            text.append(bytes.substr(from, size));
    }
    check_utf8(text);
    cut = at < bytes.size();
    return text;
}

void show_dropped(const Dropped& dropped, State& state) {
    const std::string name = printable(dropped.path.filename().string());
    switch (dropped.kind) {
        case DropKind::model:
            state.wanted_model = dropped.path.string();
            return;
        case DropKind::text:
            if (state.page == "training") {
                state.training.corpus = dropped.path.string();
                state.training.run = false;
                state.notice = name + " is what the model learns from now";
                return;
            }
            if (state.page == "text")
                state.text_page.documents = dropped.text;
            else
                show_sentence(dropped.text, state);
            if (dropped.cut)
                state.notice = name + ": the first " + std::to_string(kDroppedCharacters) + " characters are shown";
            return;
        case DropKind::dump:
            state.compare.report.reset();
            state.compare.b = {dropped.path.string()};
            state.compare.locked = false;
            state.page = "compare";
            return;
        case DropKind::report:
            state.compare.open(std::make_shared<const CheckReport>(read_check_report(dropped.path)));
            state.page = "compare";
            return;
        case DropKind::nothing:
            state.refusal = dropped.why;
            return;
    }
}

Dropped classify_drop(const std::filesystem::path& path) {
    Dropped dropped;
    std::error_code error;
    dropped.path = fs::absolute(path, error).lexically_normal();
    if (error || dropped.path.empty()) dropped.path = path;
    if (!dropped.path.has_filename()) dropped.path = dropped.path.parent_path();
    try {
        look_at(dropped);
    } catch (const std::bad_alloc&) {
        dropped.kind = DropKind::nothing;
        dropped.why = named(dropped.path) + " needs more memory than there is, expected a smaller file";
    } catch (const std::exception& refusal) {
        dropped.kind = DropKind::nothing;
        dropped.why = refusal.what();
    }
    return dropped;
}

}  // namespace locus
