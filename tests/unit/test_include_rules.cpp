// Who may include whom: the plan of the tree, read off the files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <regex>

#include "tests/run_program.h"

namespace locus::test::test_include_rules {

namespace {

struct Source {
    std::string path;  // from the root
    std::string text;
    std::vector<std::string> includes;
    bool in(const std::string& room) const { return path.starts_with(room); }
};

std::vector<Source> all_sources() {
    std::vector<Source> sources;
    const fs::path root = LOCUS_SOURCE_DIR;
    const std::regex include(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
    for (const char* room : {"core", "cuda", "viewer", "lessons", "tests"})
        for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
            const std::string kind = entry.path().extension().string();
            if (kind != ".h" && kind != ".cpp" && kind != ".cu" && kind != ".cuh") continue;
            Source source{fs::relative(entry.path(), root).string(), read_file(entry.path()), {}};
            std::istringstream lines(source.text);
            for (std::string line; std::getline(lines, line);) {
                std::smatch match;
                if (std::regex_search(line, match, include)) source.includes.push_back(match[1]);
            }
            sources.push_back(std::move(source));
        }
    REQUIRE(sources.size() > 60);
    return sources;
}

bool starts_with_any(const std::string& text, const std::vector<std::string>& beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const std::string& one) { return text.starts_with(one); });
}

bool is_room(const std::string& include) {
    return starts_with_any(include, {"core/", "cuda/", "viewer/", "lessons/", "tests/"});
}

/// "core/tensor.h" but not "core/io/safetensors.h"
bool is_top_of_core(const std::string& include) {
    return include.starts_with("core/") && include.find('/', 5) == std::string::npos;
}

/// Everything that computes, and of the programs what a main() of any folder needs.
std::vector<std::string> core_but_programs(std::vector<std::string> and_these) {
    and_these.insert(and_these.end(),
                     {"core/positions/", "core/attention/", "core/fast/", "core/models/", "core/training/",
                      "core/text/", "core/io/", "core/conformance/", "core/cli/program.h"});
    return and_these;
}

/// What each folder may include of the project.
std::vector<std::string> allowed(const Source& source) {
    if (source.in("core/positions/")) return {"core/positions/"};
    if (source.in("core/attention/")) return {"core/positions/", "core/attention/"};
    if (source.in("core/fast/")) return {"core/positions/", "core/attention/", "core/fast/"};
    if (source.in("core/models/fast_encoder."))  // the one seam
        return {"core/positions/", "core/attention/", "core/fast/", "core/models/"};
    if (source.in("core/models/")) return {"core/positions/", "core/attention/", "core/models/"};
    if (source.in("core/io/model_request."))  // from a text to a model's input: it tokenizes and opens models
        return {"core/io/", "core/models/", "core/text/"};
    if (source.in("core/io/recorded_inputs."))  // from a trace's metadata to a model's input, and back
        return {"core/io/", "core/models/"};
    if (source.in("core/io/")) return {"core/io/"};
    if (source.in("core/text/")) return {"core/text/"};
    if (source.in("core/training/"))
        return {"core/positions/", "core/attention/", "core/fast/",    "core/models/",
                "core/io/",        "core/text/",      "core/training/"};
    if (source.in("core/conformance/"))
        return {"core/positions/", "core/attention/", "core/fast/",     "core/models/",
                "core/io/",        "core/text/",      "core/training/", "core/conformance/"};
    if (source.in("core/cli/")) return {"core/", "cuda/"};
    if (source.in("core/python/"))
        return {
            "core/positions/",   "core/attention/",          "core/models/", "core/io/", "core/text/", "core/training/",
            "core/conformance/", "core/fast/simd_kernels.h",  // which it says are chosen
            "core/python/"};
    if (source.in("core/")) return {};
    if (source.in("cuda/")) return {"core/", "cuda/"};
    if (source.in("viewer/")) return core_but_programs({"cuda/", "viewer/"});
    if (source.in("lessons/")) return core_but_programs({"lessons/"});
    return {"core/", "cuda/", "viewer/", "lessons/", "tests/"};
}

}  // namespace

TEST_CASE("structure: every folder includes only what it may", "[structure]") {
    for (const Source& source : all_sources())
        for (const std::string& include : source.includes) {
            if (!is_room(include)) continue;
            INFO(source.path << " includes " << include);
            CHECK((is_top_of_core(include) || starts_with_any(include, allowed(source))));
        }
}

TEST_CASE("structure: includes are written from the root", "[structure]") {
    for (const Source& source : all_sources())
        for (const std::string& include : source.includes) {
            INFO(source.path << " includes " << include);
            CHECK_FALSE(include.starts_with(".."));
            if (include.ends_with(".h") && include.find('/') == std::string::npos)
                CHECK_FALSE(fs::exists((fs::path(LOCUS_SOURCE_DIR) / source.path).parent_path() / include));
        }
}

TEST_CASE("structure: GLFW and OpenGL in one file, CLI11 in one, CUDA in its folder, printing at the edge",
          "[structure]") {
    for (const Source& source : all_sources()) {
        INFO(source.path);
        for (const std::string& include : source.includes) {
            INFO(include);
            if (starts_with_any(include, {"GL/", "GLFW/", "imgui_impl_"})) CHECK(source.in("viewer/ui/window"));
            if (include.starts_with("imgui")) CHECK((source.in("viewer/")));
            if (include.starts_with("cuda_runtime"))
                CHECK((source.path.ends_with(".cu") || source.path == "cuda/device.h"));
            // All of it is inline: every file that includes it compiles the library anew.
            if (include.starts_with("CLI/")) CHECK(source.path == "core/cli/program.cpp");
            if (include == "iostream")
                CHECK((source.in("core/cli/") || source.in("lessons/") || source.in("tests/") ||
                       source.path == "viewer/main.cpp"));
        }
        // The shims are handed to ports, where they print what went wrong.
        if (source.in("core/") && !source.in("core/cli/") && !source.in("core/conformance/shims/"))
            CHECK_FALSE(std::regex_search(source.text, std::regex(R"(std::(cout|cerr|clog)|\bf?printf\(|\bf?puts\()")));
    }
}

TEST_CASE("structure: no relaxed arithmetic, no marks left behind, two macros", "[structure]") {
    const std::string fast = std::string("fast-") + "math", mark = std::string("TO") + "DO",
                      fix = std::string("FIX") + "ME";
    const std::regex cross(std::string("\\bXX") + "X\\b"), macro(R"(#define (LOCUS_\w+))");
    for (const Source& source : all_sources()) {
        INFO(source.path);
        CHECK(source.text.find(fast) == std::string::npos);
        CHECK(source.text.find(mark) == std::string::npos);
        CHECK(source.text.find(fix) == std::string::npos);
        CHECK_FALSE(std::regex_search(source.text, cross));
        for (std::sregex_iterator at(source.text.begin(), source.text.end(), macro), end; at != end; ++at)
            CHECK(((*at)[1] == "LOCUS_CHECK" || (*at)[1] == "LOCUS_CUDA_CHECK"));
    }
    CHECK(read_file(fs::path(LOCUS_SOURCE_DIR) / "CMakeLists.txt").find(fast) == std::string::npos);
}

TEST_CASE("structure: no two headers give one name to two types", "[structure]") {
    // Programs link both, and the linker would take the functions of one for the other's.
    const std::regex opened(R"((?:^|\n)namespace (\w+(?:::\w+)*) \{)");
    const std::regex defined(R"(\n(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;{(]*)? \{)");
    std::map<std::string, std::string> first;
    for (const Source& source : all_sources()) {
        if (!source.path.ends_with(".h") || source.in("tests")) continue;
        std::smatch space;
        if (!std::regex_search(source.text, space, opened)) continue;
        for (std::sregex_iterator at(source.text.begin(), source.text.end(), defined), end; at != end; ++at) {
            const auto [found, is_new] = first.emplace(space[1].str() + "::" + (*at)[1].str(), source.path);
            INFO(found->first << " in " << found->second << " and in " << source.path);
            CHECK((is_new || found->second == source.path));
        }
    }
    CHECK(first.size() > 300);
}

TEST_CASE("structure: no file of ours passes 600 lines", "[structure]") {
    for (const Source& source : all_sources()) {
        INFO(source.path);
        CHECK(std::count(source.text.begin(), source.text.end(), '\n') <= 600);
    }
}

}  // namespace locus::test::test_include_rules
