// Export as a program: what is on screen leaves it whole, says how it was made, and is made again by that.
#include <catch2/catch.hpp>

#include <cstring>
#include <pugixml.hpp>

#include "core/io/safetensors.h"
#include "tests/conformance/kit_npy.h"
#include "tests/viewer/run_view.h"
#include "viewer/command.h"
#include "viewer/export_request.h"
#include "viewer/picture_file.h"
#include "viewer/session.h"
#include "viewer/state.h"
#include "viewer/text_study.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

using namespace locus;
using namespace locus::test;

namespace {

/// What a PNG file says of itself under a keyword.
std::string note_of(const std::string& png, const std::string& keyword) {
    for (std::size_t at = 8; at + 12 <= png.size();) {
        std::uint32_t length = 0;
        for (std::size_t n = 0; n < 4; ++n) length = length << 8 | static_cast<unsigned char>(png[at + n]);
        const std::string body = png.substr(at + 8, length);
        if (png.compare(at + 4, 4, "iTXt") == 0 && body.starts_with(keyword + std::string(5, '\0')))
            return body.substr(keyword.size() + 5);
        at += length + 12;
    }
    return {};
}

/// CRC-32 bit by bit, as ISO 3309 divides.
std::uint32_t crc_32(std::string_view bytes) {
    std::uint32_t sum = ~0u;
    for (const char byte : bytes) {
        sum ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ 0xedb88320u : sum >> 1;
    }
    return ~sum;
}

/// The names of a PNG file's chunks; "wrong sum" in the place of one whose sum is another.
std::vector<std::string> chunks_of(const std::string& png) {
    const auto number = [&](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t n = 0; n < 4; ++n) value = value << 8 | static_cast<unsigned char>(png.at(at + n));
        return value;
    };
    std::vector<std::string> names;
    for (std::size_t at = 8; at + 12 <= png.size(); at += number(at) + 12)
        names.push_back(crc_32(std::string_view(png).substr(at + 4, number(at) + 4)) == number(at + 8 + number(at))
                            ? png.substr(at + 4, 4)
                            : "wrong sum");
    return names;
}

Pixels pixels_of(const std::string& png) {
    int width = 0, height = 0, channels = 0;
    stbi_uc* read = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(png.data()), static_cast<int>(png.size()),
                                          &width, &height, &channels, 4);
    Pixels pixels{width, height, {}};
    if (read) pixels.rgba.assign(read, read + static_cast<std::ptrdiff_t>(width) * height * 4);
    stbi_image_free(read);
    return pixels;
}

/// The stages that the pages show, computed here.
std::shared_ptr<const Answer> tiny_answer() {
    static const Session session("tiny-v3");
    Request request;
    request.text = State().text;
    request.layer = State().layer;
    return session.answer(request);
}

/// True if the stage holds exactly one head of the trace's.
bool is_head_of(const Stage& found, const Stage& whole, Index head) {
    const auto& values = found.as<float>();
    const auto expected = whole.as<float>().matrix(head);
    return values.size() == expected.size() &&
           std::memcmp(values.data(), expected.data(), static_cast<std::size_t>(values.size()) * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("png: notes are chunks with right sums, and the pixels are those that were given", "[view][export]") {
    Pixels picture{3, 2, {}};
    for (int n = 0; n < 24; ++n) picture.rgba.push_back(static_cast<std::uint8_t>(n * 10));
    const std::string png = png_bytes(picture, {{"Software", "Locus"}, {"Source", "locus view --text '발 없는'"}});
    CHECK(note_of(png, "Source") == "locus view --text '발 없는'");
    CHECK(note_of(png, "Software") == "Locus");
    CHECK(pixels_of(png).rgba == picture.rgba);
    CHECK(crc_32("123456789") == 0xcbf43926u);  // the check value of CRC-32
    CHECK(chunks_of(png) == std::vector<std::string>{"IHDR", "iTXt", "iTXt", "IDAT", "IEND"});
    make_opaque(picture);
    const Pixels solid = pixels_of(png_bytes(picture));
    CHECK(solid.rgba == picture.rgba);
    CHECK(cropped(picture, 1, 0, 1, 1).rgba == std::vector<std::uint8_t>{40, 50, 60, 255});
    CHECK(cropped(picture, 2, 0, 1, 2).rgba == std::vector<std::uint8_t>{80, 90, 100, 255, 200, 210, 220, 255});
    CHECK(cropped(picture, 1, 1, 5, 5).rgba ==
          std::vector<std::uint8_t>(picture.rgba.begin() + 16, picture.rgba.end()));
}

TEST_CASE("export: a name that is taken is counted on", "[view][export]") {
    const TemporaryFolder folder;
    CHECK(free_name(folder / "a.png") == folder / "a.png");
    write_file(folder / "a.png", "");
    CHECK(free_name(folder / "a.png") == folder / "a-2.png");
    write_file(folder / "a-2.png", "");
    CHECK(free_name(folder / "a.png") == folder / "a-3.png");
    fs::create_symlink(folder / "gone", folder / "b.svg");  // writing there would make "gone"
    CHECK(free_name(folder / "b.svg") == folder / "b-2.svg");
}

TEST_CASE("export: wrong wishes are refused before a window opens", "[view][export][cli]") {
    const auto refusal = [](const std::vector<std::string>& arguments, const std::string& named) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(named) != std::string::npos);
    };
    refusal({"--export", "a.gif"}, "a.gif");
    refusal({"--export", "a.png", "--pixels", "3"}, "--pixels is 3");
    refusal({"--export", "a.svg", "--pixels", "2"}, "--pixels");
    refusal({"--export", "a.csv", "--transparent"}, "--transparent");
    refusal({"--region", "page"}, "--export");
    refusal({"--export", "a.png", "--export", "b.png", "--export", "c.png", "--region", "page", "--region", "screen"},
            "--region is given 2 times");
    refusal({"--export", "a.csv", "--export", "b.svg", "--pixels", "2"}, "--pixels goes with .png alone");
    refusal({"--export", "a.csv", "--export", "b.npy", "--transparent"}, "--transparent goes with .png and .svg");
    refusal({"--export", "a.png", "--region", ""}, "--region is empty");
    refusal({"--transparent"}, "--export");
    refusal({"--set", "layer=17"}, "layer is 17");
    refusal({"--set", "head=17"}, "head is 17");
    refusal({"--set", "cell=3,99"}, "cell is \"3,99\"");
}

TEST_CASE("export: every page is a figure that parses, with the words and numbers of the screen",
          "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    std::string list = run("locus-view", {"--list-pages"}).out;
    std::istringstream pages(list);
    for (std::string page; std::getline(pages, page);) {
        const fs::path svg = folder / (page + ".svg");
        const Outcome outcome = view({"--page", page, "--export", svg.string(), "--region", "screen"});
        INFO(page << ": " << outcome.err);
        REQUIRE(outcome.status == 0);
        pugi::xml_document document;
        REQUIRE(document.load_file(svg.c_str()));
        std::string words;
        for (const auto& text : document.select_nodes("//text")) words += std::string(text.node().child_value()) + "\n";
        CHECK(words.find("Locus\n") != std::string::npos);
        for (const char* title : {"Positions\n", "Attention\n", "RoPE\n", "Permutation\n"})
            CHECK(words.find(title) != std::string::npos);
        CHECK(document.select_nodes("//line | //rect | //path | //image").size() > 50);
        CHECK(std::string(document.select_node("//metadata/*[2]").node().child_value()).starts_with("locus view "));
        CHECK(fs::file_size(svg) < 3'000'000);
    }
}

TEST_CASE("export: the pages of several sources leave as numbers too", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no page can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const auto numbers_of = [&](const std::string& page) {
        const fs::path file = folder / (page + ".safetensors");
        const Outcome outcome = view({"--page", page, "--export", file.string(), "--region", "page"});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        return read_trace(file);
    };
    const Trace start = numbers_of("start");
    CHECK(is_head_of(start.at("attention"), tiny_answer()->trace.at("layer.2.probs"), State().head));
    for (const char* page : {"positions", "compare", "transformer-xl", "permutation", "text"})
        CHECK(start.find(page) != nullptr);

    const Trace text = numbers_of("text");
    const TextPageState shown;
    const auto study = TextStudies().answer({shown.documents, shown.stop_words, shown.topics, shown.pair});
    const auto same = [](const Stage& stage, const Matrix<double>& expected) {
        return stage.shape() == Shape{expected.rows(), expected.cols()} &&
               stage.as<double>().matrix().isApprox(expected, 0);
    };
    CHECK(same(text.at("counts"), study->tables->counts));
    CHECK(same(text.at("cosine of counts"), study->tables->by_counts));
    CHECK(same(text.at("cosine of tf-idf"), study->tables->by_weights));
    CHECK(same(text.at("latent semantics"), study->by_topics));
    CHECK(same(text.at("flow"), study->plan.movers.flow));
    CHECK(same(text.at("distances"), study->plan.movers.costs));
    const Matrix<double> nearness = 1 - study->tables->distances.array() / 2;
    CHECK(same(text.at("word mover's"), nearness));

    // The report says how wide the gap is at the worst cell; the exported difference has to hold it.
    const Trace conformance = numbers_of("conformance");
    REQUIRE(conformance.stages().size() == 3);
    const Stage& reference = conformance.stages()[0];
    const Matrix<double> gap = conformance.stages()[1].as<double>().matrix() - reference.as<double>().matrix();
    CHECK(same(conformance.at(reference.name + ".difference"), gap));
    CHECK(gap.cwiseAbs().maxCoeff() > 0.01);
}

TEST_CASE("export: every number of a file is the trace's", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no page can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const auto at = [&](const char* name) { return (folder / name).string(); };
    const Outcome outcome = view({"--export", at("page.safetensors"), "--region", "page", "--export",
                                  at("layer.safetensors"), "--region", "layer", "--export", at("c2p.npy"), "--region",
                                  "c2p", "--export", at("probs.csv"), "--region", "layer.2.probs"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const auto answer = tiny_answer();
    REQUIRE(answer->error.empty());
    const Index head = State().head;

    const Trace page = read_trace(folder / "page.safetensors");
    CHECK(page.names() ==
          std::vector<std::string>{"layer.2.c2c", "layer.2.c2p", "layer.2.p2c", "layer.2.scores", "layer.2.probs"});
    for (const Stage& stage : page.stages()) CHECK(is_head_of(stage, answer->trace.at(stage.name), head));

    const Trace layer = read_trace(folder / "layer.safetensors");
    CHECK(layer.names() == answer->trace.names());
    for (const Stage& stage : layer.stages()) {
        INFO(stage.name);
        const Stage& expected = answer->trace.at(stage.name);
        REQUIRE(stage.shape() == expected.shape());
        CHECK(std::memcmp(stage.as<float>().data(), expected.as<float>().data(),
                          static_cast<std::size_t>(stage.size()) * sizeof(float)) == 0);
    }
    std::string stored;
    CHECK(is_head_of(conformance::read_npy(folder / "c2p.npy", stored), answer->trace.at("layer.2.c2p"), head));

    std::istringstream csv(read_file(folder / "probs.csv"));
    std::string line, header;
    std::getline(csv, header);
    CHECK(header.starts_with("layer.2.probs head 3,[CLS],a,new"));
    const auto probabilities = answer->trace.at("layer.2.probs").as<float>().matrix(head);
    Index i = 0;
    for (; std::getline(csv, line); ++i) {
        std::istringstream row(line);
        std::string field;
        std::getline(row, field, ',');
        for (Index j = 0; std::getline(row, field, ','); ++j)
            CHECK(std::strtof(field.c_str(), nullptr) == probabilities(i, j));
    }
    CHECK(i == answer->length());
}

TEST_CASE("export: the command in a picture draws it again, byte by byte, at every density",
          "[view][export][cli][law]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const std::vector<std::vector<std::string>> screens = {
        {"--text", "it's \"a\" new [MASK].", "--layer", "1", "--head", "2", "--cell", "2,4", "--theme", "light",
         "--region", "screen", "--set", "view=1.5,0.5,4", "--pixels", "2"},
        {"--page", "decoder", "--set", "decoder.head=1", "--set", "decoder.view=0.5,1,6", "--transparent"},
        {"--page", "positions", "--set", "positions.kind=clamp", "--set", "positions.cell=3,9", "--set",
         "positions.view=2,1,10", "--size", "1024x700", "--pixels", "4"},
        {"--page", "rope", "--set", "rope.m=9", "--set", "rope.layout=half-split", "--scale", "1.15", "--size",
         "1920x1200"},
        {"--page", "compare", "--set", "compare.stage=layer.1.c2p", "--set", "compare.head=2", "--region", "A-B"},
        {"--region", "probs", "--pixels", "2", "--transparent"}};
    for (const std::vector<std::string>& screen : screens) {
        const TemporaryFolder first, second;
        std::vector<std::string> arguments = screen;
        arguments.insert(arguments.end(), {"--export", (first / "it's.png").string()});
        const Outcome drawn = view(arguments);
        INFO(drawn.err);
        REQUIRE(drawn.status == 0);
        const std::string png = read_file(first / "it's.png"), line = note_of(png, "Source");
        CHECK(line.starts_with("locus view"));
        const Outcome again = view_line(line, second.path());
        INFO(line << "\n" << again.err);
        CHECK(again.status == 0);
        CHECK(read_file(second / "it's.png") == png);
        CHECK(pixels_of(png).width > 100);
    }
}

TEST_CASE("export: a transparent picture has no background, and the same strokes", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    REQUIRE(view({"--export", (folder / "solid.png").string(), "--region", "screen"}).status == 0);
    REQUIRE(view({"--export", (folder / "clear.png").string(), "--region", "screen", "--transparent", "--screenshot",
                  (folder / "shot.png").string()})
                .status == 0);
    const Pixels solid = pixels_of(read_file(folder / "solid.png")), clear = pixels_of(read_file(folder / "clear.png"));
    CHECK(solid.rgba == pixels_of(read_file(folder / "shot.png")).rgba);
    REQUIRE(clear.rgba.size() == solid.rgba.size());
    const auto pixel = [](const Pixels& pixels, int x, int y) {
        return &pixels.rgba[static_cast<std::size_t>(y * pixels.width + x) * 4];
    };
    CHECK(pixel(clear, 160, 110)[3] == 0);  // the page
    CHECK(pixel(clear, 20, 780)[3] == 0);   // the rail, a panel
    CHECK(pixel(solid, 160, 110)[3] == 255);
    // Laid over the background again it is the solid picture, but for rounding.
    std::size_t seen = 0, wrong = 0;
    for (int y = 97; y < 750; ++y)
        for (int x = 149; x < 980; ++x) {
            const std::uint8_t* over = pixel(clear, x, y);
            seen += over[3] == 255;
            for (int n = 0; n < 3; ++n) {
                const int background = pixel(solid, 160, 110)[n];
                const double mixed = (over[n] * over[3] + background * (255 - over[3])) / 255.0;
                wrong += std::abs(mixed - pixel(solid, x, y)[n]) > 4;
            }
        }
    CHECK(seen > 100'000);
    CHECK(wrong == 0);
}

TEST_CASE("export: where it cannot be written it says so once and leaves nothing", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    for (const std::string name : {"a.png", "a.svg", "a.csv", "a.safetensors"}) {
        const TemporaryFolder folder;
        write_file(folder / "file", "no folder");
        const Outcome outcome = view({"--region", "probs", "--export", (folder / "file" / name).string()});
        INFO(outcome.err);
        CHECK(outcome.status == 3);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(name) != std::string::npos);
        CHECK(listing(folder.path()) == std::vector<std::string>{"file"});
    }
    const TemporaryFolder folder;
    const Outcome outcome = view({"--region", "paintings", "--export", (folder / "a.svg").string()});
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find("paintings") != std::string::npos);
    CHECK(outcome.err.find("probs") != std::string::npos);
    CHECK(listing(folder.path()).empty());
}

TEST_CASE("view: --set that the page cannot keep is refused, not bent", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const Outcome outcome =
        view({"--page", "positions", "--set", "positions.cell=3,60", "--screenshot", (folder / "a.png").string()});
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find("positions.cell is \"3,60\"") != std::string::npos);
    CHECK(listing(folder.path()).empty());
}
