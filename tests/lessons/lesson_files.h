#pragma once
// The sources of the lessons and what their first lines say.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/run_program.h"

namespace locus::test {

struct LessonFile {
    std::string number, title, question;  // "// Lesson 09: The sign of p2c", "// Question: ..."
    std::string before, minutes, page;    // "// Before: 08. Minutes: 10. Page: attention."
    std::string show;                     // "// Show: layer=2&cell=3,5": the state of that page, as a link has it
    std::string name;                     // "09_sign_of_p2c.cpp"
    std::ptrdiff_t lines = 0;
};

inline std::vector<LessonFile> lesson_files() {
    const std::regex head(
        "// Lesson ([0-9]{2}): (.*)\n//\n// Question: (.*)\n// Before: (.*)\\. Minutes: ([0-9]+)\\. Page: "
        "(.*)\\.\n(?:// Show: (.*)\n)?#include ");
    std::vector<LessonFile> files;
    for (const std::string& name : listing(fs::path(LOCUS_SOURCE_DIR) / "lessons")) {
        if (!name.ends_with(".cpp") || !std::isdigit(static_cast<unsigned char>(name[0]))) continue;
        const std::string text = read_file(fs::path(LOCUS_SOURCE_DIR) / "lessons" / name);
        const std::string first = text.substr(0, text.find("#include ") + 9);
        std::smatch match;
        if (!std::regex_match(first, match, head)) throw std::runtime_error(name + ": its first lines name no lesson");
        files.push_back({match[1], match[2], match[3], match[4], match[5], match[6], match[7], name,
                         std::count(text.begin(), text.end(), '\n')});
    }
    return files;
}

}  // namespace locus::test
