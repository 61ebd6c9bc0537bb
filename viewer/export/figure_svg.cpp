#include "viewer/export/figure_svg.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "viewer/automation/draw_recorder.h"
#include "viewer/export/picture_file.h"

namespace locus {

namespace {

/// Bytes of the UTF-8 character at `at` that XML can hold; 0 for anything else.
std::size_t character_length(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t n) { return n < text.size() ? static_cast<unsigned char>(text[n]) : 0u; };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0) return 0;
    unsigned code = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t n = 1; n < length; ++n) {
        if ((byte(at + n) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(at + n) & 0x3f);
    }
    constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool allowed = (code >= 0x20 || code == '\t' || code == '\n') && (code < 0xd800 || code > 0xdfff) &&
                         code != 0xfffe && code != 0xffff && code <= 0x10ffff;
    return allowed && code >= kSmallest[length] ? length : 0;
}

}  // namespace

std::string xml_text(const std::string& text) {
    std::string safe;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = character_length(text, at);
        const char c = text[at];
        if (length == 0)
            safe += "\xef\xbf\xbd";
        else if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else
            safe.append(text, at, length);
        at += length == 0 ? 1 : length;
    }
    return safe;
}

std::string svg_number(double value) {
    char text[64];
    const double rounded = std::round(value * 100) / 100;
    std::string number(text, std::to_chars(text, text + sizeof text, rounded, std::chars_format::fixed, 2).ptr);
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
    return number == "-0" ? "0" : number;
}

std::string svg_attribute(const char* name, double value) {
    return std::string(" ") + name + "=\"" + svg_number(value) + "\"";
}

std::string svg_colour(const char* role, ImU32 colour) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text = std::string(" ") + role + "=\"#";
    for (const int shift : {IM_COL32_R_SHIFT, IM_COL32_G_SHIFT, IM_COL32_B_SHIFT}) {
        const unsigned part = colour >> shift & 0xff;
        text += {kDigits[part >> 4], kDigits[part & 15]};
    }
    const unsigned alpha = colour >> IM_COL32_A_SHIFT & 0xff;
    return text + "\"" +
           (alpha == 255 ? "" : std::string(" ") + role + "-opacity=\"" + svg_number(alpha / 255.0) + "\"");
}

std::string base64(const std::string& bytes) {
    constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        unsigned three = 0;
        for (std::size_t n = 0; n < 3; ++n)
            three = three << 8 | (at + n < bytes.size() ? static_cast<unsigned char>(bytes[at + n]) : 0u);
        for (std::size_t n = 0; n < 4; ++n) text += at + n > bytes.size() ? '=' : kLetters[three >> (18 - 6 * n) & 63];
    }
    return text;
}

namespace {

constexpr const char* kSans = "Inter, 'Noto Sans', 'Noto Sans CJK KR', 'DejaVu Sans', sans-serif";
constexpr const char* kMono = "'JetBrains Mono', 'DejaVu Sans Mono', 'Noto Sans CJK KR', monospace";

std::string point(ImVec2 p) { return svg_number(p.x) + "," + svg_number(p.y); }

std::string points_of(const std::vector<ImVec2>& points) {
    std::string text;
    for (const ImVec2 p : points) text += (text.empty() ? "" : " ") + point(p);
    return text;
}

std::string stroke(ImU32 colour, float width) {
    return " fill=\"none\"" + svg_colour("stroke", colour) + svg_attribute("stroke-width", width);
}

std::string box_of(const Corners& box) {
    return svg_attribute("x", box.min.x) + svg_attribute("y", box.min.y) +
           svg_attribute("width", box.max.x - box.min.x) + svg_attribute("height", box.max.y - box.min.y);
}

/// Writes marks one after the other; what a clip cuts in two goes into a group that is clipped.
class SvgWriter {
public:
    explicit SvgWriter(const SvgSetup& setup) : setup_(setup) {}

    void add(const Mark& mark) {
        if ((mark.colour >> IM_COL32_A_SHIFT & 0xff) == 0) return;
        std::visit([&](const auto& shape) { add_clipped(shape, mark); }, mark.shape);
    }

    /// Everything after the root's own attributes.
    std::string finish() {
        close_clip();
        return (definitions_.empty() ? "" : "<defs>\n" + definitions_ + "</defs>\n") + body_;
    }

private:
    template <class Shape>
    void add_clipped(Shape shape, const Mark& mark) {
        const Corners box = bounds(shape), seen = mark.clip.common(setup_.frame);
        // A line that is level has no area, and is seen all the same.
        if (box.max.x < seen.min.x || box.min.x > seen.max.x || box.max.y < seen.min.y || box.min.y > seen.max.y)
            return;
        if (fit(shape, mark.clip))
            close_clip();
        else
            open_clip(mark.clip);
        write(shape, mark.colour);
    }

    /// Cuts the shape so that it is inside its clip; false if that takes a clip path.
    bool fit(LineMark& line, const Corners& clip) {
        if (line.points.size() == 2) return cut_line(line.points[0], line.points[1], clip) || clip.holds(bounds(line));
        return clip.holds(bounds(line));
    }
    bool fit(RectMark& rect, const Corners& clip) {
        if (rect.width == 0 && rect.rounding == 0) rect.box = rect.box.common(clip);
        return clip.holds(rect.box);
    }
    template <class Shape>
    bool fit(Shape& shape, const Corners& clip) {
        return clip.holds(bounds(shape));
    }

    void open_clip(const Corners& clip) {
        const auto key = std::tuple{clip.min.x, clip.min.y, clip.max.x, clip.max.y};
        const auto [known, fresh] = clips_.try_emplace(key, clips_.size() + 1);
        const std::string name = "c" + std::to_string(known->second);
        if (fresh) definitions_ += "<clipPath id=\"" + name + "\"><rect" + box_of(clip) + "/></clipPath>\n";
        if (open_ == name) return;
        close_clip();
        body_ += "<g clip-path=\"url(#" + name + ")\">\n";
        open_ = name;
    }
    void close_clip() {
        if (!open_.empty()) body_ += "</g>\n";
        open_.clear();
    }

    // Dear ImGui draws straight lines and outlines through the middles of pixels.
    void write(const LineMark& line, ImU32 colour) {
        if (line.points.size() != 2) {
            body_ += "<polyline points=\"" + points_of(line.points) + "\"" + stroke(colour, line.width) + "/>\n";
            return;
        }
        const ImVec2 a = line.points[0], b = line.points[1];
        body_ += "<line" + svg_attribute("x1", a.x + 0.5) + svg_attribute("y1", a.y + 0.5) +
                 svg_attribute("x2", b.x + 0.5) + svg_attribute("y2", b.y + 0.5) + svg_colour("stroke", colour) +
                 svg_attribute("stroke-width", line.width) + "/>\n";
    }
    void write(const CurveMark& curve, ImU32 colour) {
        body_ += "<path d=\"M" + point(curve.from) + "C" + points_of({curve.first, curve.second, curve.to}) + "\"" +
                 stroke(colour, curve.width) + "/>\n";
    }
    void write(const CircleMark& circle, ImU32 colour) {
        const bool filled = circle.width == 0;
        body_ += "<circle" + svg_attribute("cx", circle.centre.x) + svg_attribute("cy", circle.centre.y) +
                 svg_attribute("r", circle.radius - (filled ? 0 : 0.5)) +
                 (filled ? svg_colour("fill", colour) : stroke(colour, circle.width)) + "/>\n";
    }
    void write(const SectorMark& sector, ImU32 colour) {
        const auto at = [&](float angle) {
            return ImVec2{sector.centre.x + sector.radius * std::cos(angle),
                          sector.centre.y + sector.radius * std::sin(angle)};
        };
        const std::string radius = svg_number(sector.radius), turn = sector.to >= sector.from ? " 1 " : " 0 ";
        body_ += "<path d=\"M" + point(sector.centre) + "L" + point(at(sector.from));
        // In two halves, because an arc of SVG does not know a full turn.
        for (const float angle : {(sector.from + sector.to) / 2, sector.to})
            body_ += "A" + radius + " " + radius + " 0 0" + turn + point(at(angle));
        body_ += "Z\"" + svg_colour("fill", colour) + "/>\n";
    }
    void write(const PolygonMark& polygon, ImU32 colour) {
        body_ += "<polygon points=\"" + points_of(polygon.points) + "\"" + svg_colour("fill", colour) + "/>\n";
    }
    void write(const RectMark& rect, ImU32 colour) {
        Corners box = rect.box;
        if (rect.width > 0) box = {{box.min.x + 0.5f, box.min.y + 0.5f}, {box.max.x - 0.5f, box.max.y - 0.5f}};
        if (box.max.x < box.min.x || box.max.y < box.min.y) return;
        body_ += "<rect" + box_of(box) + (rect.rounding > 0 ? svg_attribute("rx", rect.rounding) : "") +
                 (rect.width > 0 ? stroke(colour, rect.width) : svg_colour("fill", colour)) + "/>\n";
    }
    void write(const TextMark& text, ImU32 colour) {
        const FaceSize face = kFaces[static_cast<std::size_t>(text.face)];
        const bool mono = face.family == 'm' || face.family == 'b', strong = face.family == 's' || face.family == 'b';
        const float width = text.upwards ? text.box.max.y - text.box.min.y : text.box.max.x - text.box.min.x;
        const double x = text.baseline.x, y = text.baseline.y;
        body_ += "<text" + svg_attribute("x", x) + svg_attribute("y", y) + " font-family=\"" + (mono ? kMono : kSans) +
                 "\"" + svg_attribute("font-size", face.em * setup_.units) + (strong ? " font-weight=\"600\"" : "") +
                 svg_colour("fill", colour) + svg_attribute("textLength", width) +
                 " lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"" +
                 (text.upwards ? " transform=\"rotate(-90 " + svg_number(x) + " " + svg_number(y) + ")\"" : "") + ">" +
                 xml_text(text.text) + "</text>\n";
    }
    void write(const ImageMark& image, ImU32) {
        if (!setup_.cells) return;
        const CellPicture picture = setup_.cells(image);
        if (picture.wide <= 0 || picture.high <= 0) return;
        if (picture.cells.width <= kMostVectorCells && picture.cells.height <= kMostVectorCells)
            write_cells(image, picture);
        else
            write_embedded(image, picture);
    }
    void write_cells(const ImageMark& image, const CellPicture& picture) {
        const double x_step = (image.box.max.x - image.box.min.x) / picture.wide;
        const double y_step = (image.box.max.y - image.box.min.y) / picture.high;
        const auto x = [&](int n) {
            return std::clamp<double>(image.box.min.x + (n - picture.first_x) * x_step, image.box.min.x,
                                      image.box.max.x);
        };
        const auto y = [&](int n) {
            return std::clamp<double>(image.box.min.y + (n - picture.first_y) * y_step, image.box.min.y,
                                      image.box.max.y);
        };
        body_ += "<g shape-rendering=\"crispEdges\" class=\"cells\">\n";
        const std::uint8_t* rgba = picture.cells.rgba.data();
        for (int i = 0; i < picture.cells.height; ++i)
            for (int j = 0; j < picture.cells.width; ++j, rgba += 4)
                body_ += "<rect" + svg_attribute("x", x(j)) + svg_attribute("y", y(i)) +
                         svg_attribute("width", x(j + 1) - x(j)) + svg_attribute("height", y(i + 1) - y(i)) +
                         svg_colour("fill", IM_COL32(rgba[0], rgba[1], rgba[2], rgba[3])) + "/>\n";
        body_ += "</g>\n";
    }
    void write_embedded(const ImageMark& image, const CellPicture& picture) {
        const double x_step = (image.box.max.x - image.box.min.x) / picture.wide;
        const double y_step = (image.box.max.y - image.box.min.y) / picture.high;
        const auto left = static_cast<float>(image.box.min.x - picture.first_x * x_step);
        const auto top = static_cast<float>(image.box.min.y - picture.first_y * y_step);
        const Corners all{{left, top},
                          {left + static_cast<float>(picture.cells.width * x_step),
                           top + static_cast<float>(picture.cells.height * y_step)}};
        const Corners slack{{image.box.min.x - 0.01f, image.box.min.y - 0.01f},
                            {image.box.max.x + 0.01f, image.box.max.y + 0.01f}};
        if (!slack.holds(all) && open_.empty()) open_clip(image.box);
        body_ += "<image" + box_of(all) +
                 " preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" "
                 "xlink:href=\"data:image/png;base64," +
                 base64(png_bytes(picture.cells)) + "\"/>\n";
    }

    const SvgSetup& setup_;
    std::string definitions_, body_, open_;
    std::map<std::tuple<float, float, float, float>, std::size_t> clips_;
};

}  // namespace

std::string svg_of(const DrawRecorder& log, const SvgSetup& setup) {
    SvgWriter writer(setup);
    for (const Mark& mark : log.marks) writer.add(mark);
    const float wide = setup.frame.max.x - setup.frame.min.x, high = setup.frame.max.y - setup.frame.min.y;
    std::string svg =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" version=\"1.1\"" +
        svg_attribute("width", wide) + svg_attribute("height", high) + " viewBox=\"" + svg_number(setup.frame.min.x) +
        " " + svg_number(setup.frame.min.y) + " " + svg_number(wide) + " " + svg_number(high) + "\">\n<title>" +
        xml_text(setup.title) + "</title>\n<metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:creator>" +
        xml_text(setup.software) + "</dc:creator><dc:source>" + xml_text(setup.command) + "</dc:source></metadata>\n";
    if (!setup.transparent) {
        svg += "<rect" + box_of(setup.frame) + svg_colour("fill", setup.background) + "/>\n";
        for (const auto& [panel, colour] : setup.panels) {
            const Corners seen = panel.common(setup.frame);
            if (!seen.empty()) svg += "<rect" + box_of(seen) + svg_colour("fill", colour) + "/>\n";
        }
    }
    return svg + writer.finish() + "</svg>\n";
}

}  // namespace locus
